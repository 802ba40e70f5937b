/* device_most.h -- the most that any device has, for arrays that hold what one
 * has, and for who does not know the device yet; and what is the same for all,
 * which array.c asserts. */
#ifndef NPUTEIR_DEVICE_MOST_H
#define NPUTEIR_DEVICE_MOST_H

/* clang-format off */

#define WIDTH(stream, bytes, banks, written)
#define SHARE(first, columns, contexts)
#define REGISTERS(burst, pad, shim, mem, core)
/* Combined by |, so that each is at least the largest. */
enum {
#define DEVICE(name, isa, columns, rows, program, generation, ops, limits, tiles) | program
  DEVICE_MOST_PROGRAM_BYTES = 0
#include "device.def"
#undef DEVICE
#define DEVICE(name, isa, columns, rows, program, generation, ops, limits, tiles) limits
#define CORE(banks, address, lock)
#define DMA(queue, repeat, iterations, lock) | queue
  ,
  DEVICE_MOST_TASKS = 0 /* in a channel's queue */
#include "device.def"
#undef DMA
#define DMA(queue, repeat, iterations, lock) | lock
  ,
  DEVICE_MOST_LOCK = 0 /* the value of one */
#include "device.def"
#undef DMA
#undef CORE
#define DMA(queue, repeat, iterations, lock)
#define CORE(banks, address, lock) | address
  ,
  DEVICE_CORE_ADDRESS = 0 /* at which all cores see their own memory */
#include "device.def"
#undef CORE
#define CORE(banks, address, lock) | lock
  ,
  DEVICE_CORE_LOCK = 0 /* under which all see their own lock 0 */
#include "device.def"
#undef CORE
#undef DMA
#undef DEVICE
#define DEVICE(name, isa, columns, rows, program, generation, ops, limits, tiles) tiles
#define TILE(kind, memory, channels, bds, locks, words, dims, wrap, step, length) MOST_##kind(memory, locks)
#define MOST_SHIM(memory, locks)
#define MOST_MEM(memory, locks)
#define MOST_CORE(memory, locks) | memory
  ,
  DEVICE_MOST_CORE_BYTES = 0 /* of a core's own memory */
#include "device.def"
#undef MOST_CORE
#define MOST_CORE(memory, locks) | locks
  ,
  DEVICE_MOST_CORE_LOCKS = 0 /* of a core's own */
#include "device.def"
#undef MOST_SHIM
#undef MOST_MEM
#undef MOST_CORE
#undef TILE
#undef DEVICE
};
#undef WIDTH
#undef SHARE
#undef REGISTERS
/* clang-format on */

#endif
