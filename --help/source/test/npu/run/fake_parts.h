/* fake_parts.h -- what fake_driver.c and fake_commands.c share. */
#ifndef FAKE_PARTS_H
#define FAKE_PARTS_H

#include "fake_driver.h"

#include "amdxdna_uapi.h"
#include "image.h"
#include "sim.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
  HEAP = 64 << 20,
  HEAP_BASE = 0x4000000,
  HEAP_GRAIN = 32 << 10,
  PAGE = 4096,
  LINE = 64,
  BUFFERS = 4096,
  CONTEXTS = 64,
  NODES = 64,
  IN_FLIGHT = 4, /* commands of a context */
};
static const uint64_t fake_addresses = 0x100000000000;

/* handle = index + 1 */
struct buffer {
  uint32_t type;          /* 0: free */
  uint64_t bytes, offset; /* in the file that is mapped; in the heap */
  char *cpu;              /* the view behind mmap */
  char *device;           /* what the device sees */
  char *clean;            /* what both saw last */
  bool user;              /* the program's own memory */
};
/* A command under way: what it needs is looked up when it runs, as the device
 * would find it then. */
struct sent {
  uint32_t packet, buffer_count; /* its handle */
  uint32_t *buffer;              /* handles */
};
struct context {
  bool used;
  uint32_t columns, pdi;
  struct sim *sim;
  uint64_t sequence, done; /* of commands that were sent; that have ended */
  struct sent command[IN_FLIGHT]; /* by sequence */
  bool begun; /* the oldest one has, and goes on while the host looks */
};
extern struct fake {
  pthread_mutex_t lock;
  char name[64];
  const struct preset *preset;
  const struct device *device;
  int contexts_max, taken;
  int slow; /* the clock, so many times */
  int64_t slow_from;
  atomic_int *contexts; /* of all processes; NULL: this is the only one */
  bool addresses, old, noheap, nouser, nochain, latechain, every, nounmap;
  int hurry, fail_at, fail_errno, state_at, state, reload, open_errno;
  int map_fail_at, map_errno;
  int interrupts, interrupted; /* of a wait; of this one so far */
  int node[NODES], nodes;      /* open files that are the device */
  int memory;                  /* the file behind all buffers; -1: none yet */
  uint64_t memory_bytes;
  struct buffer buffer[BUFFERS];
  struct context context[CONTEXTS];
  uint32_t heap;         /* handle of the first chunk */
  int heaps, heaps_most; /* chunks; it grows to so many */
  uint64_t heap_bytes;   /* of a chunk, that are used */
  struct fake_driver_counts counts;
  bool said;
} fake;

/* A call that the driver refuses because a rule is broken. */
int fake_refuse(int error, const char *rule);
/* NULL: no such buffer. */
struct buffer *fake_buffer(uint64_t handle);
/* Lines that were not flushed leave the cache at some time: here, after a
 * command. */
void fake_evict(struct buffer *);

/* ---- fake_commands.c: each is an ioctl and returns what errno will be ---- */
int fake_create_context(struct xdna_create_context *);
int fake_destroy_context(const struct xdna_destroy_context *);
int fake_config_context(const struct xdna_config_context *);
int fake_execute(struct xdna_execute *);
int fake_timeline_wait(const struct xdna_timeline_wait *);
int fake_wait_command(const struct xdna_wait_command *);
/* Whether a command that is under way uses a buffer. */
bool fake_is_used(uint32_t handle);
/* The host looks at what the device may have written to a buffer: commands that
 * use it go on for a while. */
void fake_look(uint32_t handle);
/* Time passes for commands that have begun. */
void fake_hurry(void);

#endif
