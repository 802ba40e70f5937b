/* fake_driver.h -- the amdxdna kernel driver with an npu1 behind it, for tests:
 * open, ioctl, mmap, munmap and close of libc, which pass on everything but the
 * node that NPUTEIR_ACCEL names and what sysfs says of it.
 *
 * A command runs when somebody waits for it, or when more are sent than can be
 * under way; and for some cycles at a time while somebody asks what it has
 * written.  It makes the driver's checks (doc/hardware/driver.md) and runs
 * commands in the simulator.  CPU caches are modelled at their least
 * favourable: the device sees nothing that was not flushed, and lines that the
 * CPU wrote and did not flush go over the device's results.
 *
 * Linked into a test it is steered by fake_driver_say; as a library before libc
 * (LD_PRELOAD) by the same words in FAKE_AMDXDNA:
 *
 *   name=NAME        what sysfs calls the device (default: NPU Phoenix)
 *   contexts=N       places for contexts (default 6); taken=N by others
 *   file=PATH        other processes that say so have contexts of the same
 *                    device
 *   slow=N           the clock is N times slower, for a program that an
 *                    instrument has made N times slower
 *   addresses        buffers have addresses of the device's own
 *   old              contexts without a synchronisation object; WAIT_CMD works
 *   open=ERRNO       the node cannot be opened
 *   interrupts=N     each wait is interrupted N times
 *   noheap           no heap can be made
 *   heaps=N          the heap grows to N chunks (default 1)
 *   heap=N           a chunk has place for N KiB
 *   nouser           buffers on the program's own memory are not known
 *   nochain          command chains are refused
 *   latechain        command chains are refused when their turn comes
 *   fail=N:ERRNO     the N-th ioctl fails with that number, from 1
 *   map=N:ERRNO      the N-th mmap of the node, or of addresses for it, fails
 *   nounmap          every munmap fails
 *   state=N:STATE    the N-th command ends in that state, without results
 *   reload=N         before every N-th command the context's configuration is
 *                    loaded again, as when others have used the array meanwhile
 *   hurry=N          so many cycles pass at each ioctl for a command that has
 *                    begun, as if the host were slow
 *   every            (with fail= or map=) also all after the N-th
 *   preset=NAME      of the simulator
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

void fake_driver_say(const char *words);
struct fake_driver_counts {
  int ioctls, commands;            /* so far; of a chain each counts */
  int maps;                        /* mmaps so far */
  int executes, chains, flushes;   /* calls so far; chains: of executes */
  int looks;                       /* of flushes, at what a command writes */
  int contexts, most_contexts;     /* now; at once */
  int contexts_made, buffers_made; /* so far */
  int buffers;                     /* now */
  int heaps;                       /* chunks of the heap */
  int user_buffers;                /* so far, of the program's own memory */
  uint64_t pinned_bytes;           /* now */
  int broken_rules;                /* calls that the real driver would refuse */
};
struct fake_driver_counts fake_driver_counts(void);

#endif
