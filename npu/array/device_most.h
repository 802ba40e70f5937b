/* device_most.h -- the most that any device has, for arrays that hold what one
 * has, and for who does not know the device yet. */
#ifndef NPUTEIR_DEVICE_MOST_H
#define NPUTEIR_DEVICE_MOST_H

/* clang-format off */
#define CORE(banks, address, lock)
#define DMA(queue, repeat, iterations, lock) | queue
#define TILE(kind, memory, channels, bds, locks, words, dims, wrap, step, length)

/* Combined by |, so that each is at least the largest. */
enum {
#define DEVICE(name, isa, columns, rows, program, generation, ops, limits, tiles) | program
  DEVICE_MOST_PROGRAM_BYTES = 0
#include "device.def"
#undef DEVICE
#define DEVICE(name, isa, columns, rows, program, generation, ops, limits, tiles) limits
  ,
  DEVICE_MOST_TASKS = 0 /* in a channel's queue */
#include "device.def"
#undef DEVICE
};
#undef CORE
#undef DMA
#undef TILE
/* clang-format on */

#endif
