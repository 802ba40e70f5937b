/* design.h -- tile program -> what the hardware must be told.
 *
 * Buffers in tile memories, locks with initial values, descriptor chains per
 * channel, routes through the stream switches, the program of every core, and
 * the tasks that the shim channels run.  Everything is data here; npu/emit.c
 * turns it into register writes: a configuration of the array, which does not
 * depend on extents but by the blocks, and a transaction for these extents.
 * design_check looks for what hardware would only show as a hang.
 */
#ifndef NPUTEIR_DESIGN_H
#define NPUTEIR_DESIGN_H

#include "array.h"
#include "asm.h"
#include "image.h"
#include "map.h"

struct design_buffer {
  const char *name;
  int column, row;
  uint32_t offset, bytes; /* in the tile's own data memory */
};

struct design_lock {
  const char *name;
  int column, row, id, value; /* initial value */
};

/* One buffer descriptor of a static chain; in shim tiles, of a task. */
struct design_bd {
  const char *name;
  int column, row, id;
  bool mm2s;
  int channel;
  struct bd bd;         /* next refers to a descriptor of the same tile */
  int64_t offset_bytes; /* of a shim's: behind the place of its task */
};

/* A channel that starts with a chain when the array is configured. */
struct design_start {
  int column, row, channel, bd;
  bool mm2s;
};

/* One connection of a stream switch: slave port -> master port. */
struct design_route {
  const char *flow;
  int column, row;
  enum port from, to;
  int from_channel, to_channel;
};

/* What the transaction runs in one phase: on a shim channel a descriptor on an
 * argument buffer, on a mem tile's one that is there already.  A phase is one m
 * round of the tile program. */
struct design_task {
  int phase, column, row, channel, bd;
  bool mm2s;
  int argument;          /* the TEIR's tensor: 0 in0, 1 in1, 2 out */
  uint64_t offset_bytes; /* in the argument */
  uint32_t length_words;
  int repeat;
  bool queued; /* its push waits for a place in the channel's queue */
  bool token;  /* issues a token; the transaction waits for it where a later
                * phase needs its place */
};

enum { DESIGN_KERNELS = 5 };
struct design_core {
  int column, row;
  struct asm_program *program; /* of the outer loop; NULL: from a cache */
  struct asm_program *text[DESIGN_KERNELS]; /* that it calls, or NULL */
  const void *elf;
  size_t elf_bytes;
};

/* What the cores of the first row read when a launch begins: the first words of
 * their first block of out, and then their lock `launch` is released. */
struct design_launch {
  uint32_t steps, rounds; /* of k in a round; for which a core computes out */
  uint32_t above;         /* rows that the core's own has above it */
};

enum { DESIGN_TOKEN_ID = 15 }; /* packet id of tokens, array.md 7 */

struct design {
  const struct tile_program *program;
  struct design_launch launch;
  int phases, phases_ahead; /* tasks of so many phases may be outstanding, */
  int turns; /* of which each `turns`th has tasks that are not queued */
  int buffer_count, lock_count, bd_count, start_count, route_count, task_count,
      core_count;
  struct design_buffer *buffer;
  struct design_lock *lock;
  struct design_bd *bd;
  struct design_start *start;
  struct design_route *route;
  struct design_task *task;
  struct design_core *core;
};

/* A bias is read from out's argument, behind the results: a block for every
 * column of the grid and n round, as a buffer of in1 of the mem tile. */
struct design_bias {
  int64_t offset_bytes, block_bytes; /* of all, of one */
  int blocks;                        /* column after column */
};
struct design_bias design_bias(const struct tile_program *);
/* For every word of a block's bias in core memory (map_bias_words) its place in
 * the block in device memory, in words. */
bool design_bias_words(const struct tile_program *, uint32_t *place);

/* Programs of cores that were made before, for any thread, few of them. */
struct core_cache;
struct core_cache *core_cache_open(void);   /* NULL: no memory */
void core_cache_close(struct core_cache *); /* NULL is fine */

/* Whether it has the program of such cores. */
bool core_cache_has(struct core_cache *, const struct tile_program *);

/* Rows of cores with a program: the grid's, and one that converts. */
int design_rows(const struct tile_program *);

/* All of it: buffers and locks, descriptors, routes, tasks, programs.  With a
 * cache (NULL: none) cores may have their ELF alone. */
struct design *design_make(struct arena *, const struct tile_program *,
                           struct core_cache *, struct diag *);
/* Capacity, overlap, descriptor, lock-balance and route rules. */
bool design_check(const struct design *, struct diag *);
void design_print(const struct design *, struct text *);
/* The same as lines of key=value words, the first of them part=. */
void design_records(const struct design *, struct text *);
const struct design_lock *design_find_lock(const struct design *, int column,
                                           int row, const char *name);
const struct design_buffer *design_find_buffer(const struct design *,
                                               int column, int row,
                                               const char *name);

#endif
