/* map.h -- TEIR + device -> scheduled TEIR -> tile program.
 *
 * The work of a TEIR is cut into blocks that fit a core's memory (map_choose);
 * the TEIR is split, reordered and placed so, on tensors that lie padded and
 * block by block (map_schedule); and it is read into what each core does and
 * which blocks each column must move (map_program).  Any TEIR of that shape may
 * come in, edited by hand or made by another tool.
 *
 * const arguments are borrowed; results live in the arena.
 */
#ifndef NPUTEIR_MAP_H
#define NPUTEIR_MAP_H

#include "array.h"
#include "base.h"
#include "teir_problem.h"

/* The type to sum in when nothing is said: f32 for floats; for integers out's,
 * or i32 where `finish` needs the sum itself or no kernel sums in out's. */
enum dtype map_sum_type(const struct teir_problem *);

/* What the chooser knows of the machine; the array alone when preset is NULL.
 */
struct platform {
  const struct device *device;
  const struct preset *preset;
};
/* By the name of a device or of a preset; false and *d: neither. */
bool platform_find(const char *name, struct platform *, struct diag *);

/* How the problem is cut.  A row of cores owns rounds_m groups of m, a column
 * of cores rounds_n blocks of n; steps_k blocks of k follow each other. */
struct map_blocking {
  int block_m, block_n, block_k; /* elements */
  /* Blocks of out that a core holds at once along m: every block of in1 is used
   * for all of them.  1: the other block of out leaves meanwhile. */
  int group_m;
  int rounds_m, rounds_n, steps_k;
  double predicted_cycles; /* by the model in choose.c */
};
bool map_choose(const struct platform *, const struct teir_problem *,
                struct map_blocking *, struct diag *);

/* The same work, scheduled: rows and columns in parallel, rounds and k in time,
 * one block per primitive, on tensors that lie padded and blocked.  NULL and
 * *d: it is no matrix product of one batch. */
struct teir *map_schedule(struct arena *, const struct device *,
                          const struct teir *, const struct map_blocking *,
                          struct diag *);

/* A loop around blocks in device memory: extent and byte stride. */
struct map_loop {
  const char *axis;
  int64_t extent, stride_bytes;
};

/* How one tensor's blocks travel, the same for every row or column. */
struct map_transfer {
  enum dtype type;
  int64_t bytes;               /* of the whole device buffer */
  int64_t column_stride_bytes; /* first block of the next column (or, for in0,
                                  of the next row of cores) */
  int64_t row_stride_bytes;    /* out: block of the next row, else 0 */
  struct map_loop time[4]; /* m rounds, n rounds, k steps, blocks of a group;
                              stride 0: the same block again */
  int block_rows, block_columns; /* row-major and contiguous in memory */
};

/* ---- memory.c: what fits where ---- */
struct map_block_bytes {
  uint32_t in0, in1, sums, out;
};
struct map_block_bytes map_block_bytes(const struct teir_problem *,
                                       const struct map_blocking *);
/* Byte offsets in a core's memory. */
struct map_core {
  uint32_t in0[2], in1[2], out[2], sums;
  /* Whether sums have a place of their own, which the core alone knows, and
   * results are copied to `out`; else they take the place of their sums. */
  bool staged;
  int out_depth; /* blocks of out: 1 or 2 */
  bool joined;   /* sums share a pair of banks with in0 */
};
/* Whether the kernel reads in0's bank in every cycle (kernels.h): with two
 * blocks of out, nothing else happens in the bank of the block of in0 in use,
 * while in1's is also that of in1's DMA. */
bool map_tall(int group_m);
/* False: they do not fit so that no two ports meet in a bank. */
bool map_core_places(const struct device *, const struct map_block_bytes *,
                     int group_m, int steps_k, struct map_core *);
/* Cycles for which the core waits for a DMA in its banks: in a step of k, and
 * in a round, with what a copy of staged results takes.  `macs` are the
 * multiplies of a product. */
struct map_waits {
  double step, round;
};
struct map_waits map_core_waits(const struct device *,
                                const struct map_block_bytes *, int group_m,
                                double macs, const struct map_core *);

/* What a mem tile keeps of the panel of in0 of an m round (steps_k blocks of
 * every block of a group), so that it need not be read again in every n round.
 */
struct map_panel {
  int chunks; /* all of it, in so many; 0: not all */
  /* Or of each of so many stretches of k the first `kept` steps, while the
   * `streamed` steps behind them come again; 0: nothing is kept. */
  int stretches, kept, streamed;
};
/* The most that fits beside the rings; false: not even these do. */
bool map_mem_panel(const struct device *, const struct teir_problem *,
                   const struct map_blocking *, struct map_panel *);

/* Buffers per ring in a mem tile: in flight from device memory, which hides
 * its jitter, and towards it. */
enum {
  MAP_MEM_DEPTH_IN = 4,
  MAP_MEM_DEPTH_STREAMED = 2, /* of as many steps as a stretch streams */
  MAP_MEM_DEPTH_OUT = 2,
  MAP_MAX_CHUNKS = 8
};

/* What the array does: every core (column c, row r) runs, for every m and n
 * round and block of the group, zero once, the product steps_k times, and what
 * turns sums into results. */
struct tile_program {
  const struct device *device;
  int columns, rows;
  int block_m, block_n, block_k;
  int group_m; /* 1 or 2 */
  int rounds_m, rounds_n, steps_k;
  bool zero; /* the block of out is cleared before its first step */
  enum dtype acc;
  struct teir_finish finish;
  struct map_panel panel;
  struct map_core core;
  struct map_transfer transfer[TENSORS];
};
struct tile_program *map_program(struct arena *, const struct teir *,
                                 const struct device *, struct diag *);
void map_print(const struct tile_program *, struct text *);

#endif
