/* map.h -- TEIR + device -> scheduled TEIR -> tile program.
 *
 * The work of a TEIR is cut into blocks that fit a core's memory (map_choose);
 * the TEIR is split, reordered and placed so, on tensors as they lie or padded
 * and block by block (map_schedule); and it is read into what each core does
 * and which blocks each column must move (map_program).  Any TEIR of that shape
 * may come in, edited by hand or made by another tool.
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

/* ---- layout.c: tensors that lie as in the program ---- */
/* How a tensor lies in device memory, as a matrix of its two roles: in0 M x K,
 * in1 K x N, out M x N. */
struct map_layout {
  bool in_place; /* as in the program; else padded, block by block */
  bool turned;   /* in place: the first of its roles is contiguous */
};
/* Which tensors of a plain TEIR may stay in place: the axes of a role fuse,
 * one role is contiguous, and the other moves by whole words of 4 bytes that a
 * descriptor can count. */
void map_layouts(struct arena *, const struct device *, const struct teir *,
                 struct map_layout[TENSORS]);
/* Whether kernels turn the small matrices of out, which lies turned: words of 4
 * bytes are turned on their way, unless a kernel that has both inputs turned
 * does it in passing. */
bool map_turns_out(const enum dtype type[TENSORS], bool in0_turned,
                   bool in1_turned, bool out_turned);
/* How a role's elements are dealt out: core c's block of round r begins at
 * element c * core + r * round.  Blocks may overlap: what lies in two of them
 * is computed twice, to the same result. */
struct map_share {
  int64_t core, round; /* 0: one block behind the other */
};
/* Shares that end with the last element; false: there are none. */
bool map_share(int64_t extent, int cores, int rounds, int64_t block,
               int64_t unit, struct map_share *);

/* ---- grid.c: which cores take what ---- */
/* `m` cores share out m and `n` share out n.  A row of cores takes one part of
 * m; or, where few parts of m meet many of n, every `split` rows do, and each
 * of these another part of n.  So the core in row r and column c has part
 * r / split of m and part c * split + r % split of n. */
struct map_grid {
  int m, n;
  int columns, rows, split;
  /* Every core has products of a batch to itself: m and n are 1. */
  bool apart;
};
/* False: the device has no such grid, or its mem tiles have no channels for
 * it. */
bool map_grid(const struct device *, int m, int n, struct map_grid *);
/* Of a grid: the column whose mem tile sends a part of m's blocks of in0. */
int map_grid_home(const struct map_grid *, int part);
struct tile_program;
/* Channels on which a column's blocks of out leave: a second one halves the
 * time, but its tasks are pushed, too, which little work would wait for. */
int map_joins(const struct tile_program *);

/* What the array's rows and columns take, and how tensors lie. */
struct map_form {
  /* Rows of cores take n and columns m: in1 is what a row shares.  In a
   * blocking and a tile program m, n, in0 and in1 then change places. */
  bool swapped;
  struct map_layout layout[TENSORS];
  struct map_share m, n;
  int cores_m, cores_n; /* of the grid; 0: all rows and all columns */
  bool apart;           /* all of them for products of a batch */
};
struct map_grid map_grid_of(const struct device *, const struct map_form *);
/* Products that the cores work on at once, each on its own: 1 but for a grid
 * apart. */
int map_grid_products(const struct map_grid *);

/* How the problem is cut.  A core's part of m is rounds_m groups, its part of n
 * rounds_n blocks; steps_k blocks of k follow each other. */
struct map_blocking {
  int block_m, block_n, block_k; /* elements */
  /* Blocks of out that a core holds at once along m: every block of in1 is used
   * for all of them.  1: the other block of out leaves meanwhile. */
  int group_m;
  int rounds_m, rounds_n, steps_k;
  double predicted_cycles; /* by the model in choose.c */
  struct map_form form;
};
bool map_choose(const struct platform *, const struct teir_problem *,
                struct map_blocking *, struct diag *);
/* The same for tensors that lie so; of a batch, all of them.  Those become
 * blocked that the blocks cannot be made to end with, or only at a price. */
bool map_choose_in_place(const struct platform *, const struct teir_problem *,
                         const struct map_layout[TENSORS],
                         struct map_blocking *, struct diag *);

/* The same work, scheduled: rows and columns in parallel, rounds and k in time,
 * one block per primitive, on tensors that lie in place or padded and blocked.
 * NULL and *d: it is no matrix product of one batch. */
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
  int tensor; /* of the TEIR: in0 is its in1 if rows and columns are swapped */
  enum dtype type;
  int64_t bytes;               /* of the whole device buffer */
  int64_t column_stride_bytes; /* first block of the next part of n (or, for
                                  in0, of m) */
  int64_t row_stride_bytes;    /* out: block of the next part of m, else 0; of
                                  a grid apart, products of the next column
                                  and row */
  struct map_loop time[4]; /* m rounds, n rounds, k steps, blocks of a group;
                              stride 0: the same block again */
  struct map_loop batch;   /* around all of these: other products */
  /* A block in memory: rows of contiguous elements, pitch_bytes apart.  Rows
   * are the first of the tensor's roles (in0 m, in1 k, out m), or if turned the
   * second. */
  int block_rows, block_columns;
  int64_t pitch_bytes;
  bool turned;
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
  /* Steps of k that a buffer of in0's and of in1's ring holds: so many that
   * rows along k are read in long runs. */
  int run[OUT];
};
/* Buffers of an input's ring. */
int map_mem_depth(const struct map_panel *, int tensor);
/* The most that fits beside the rings; false: not even these do. */
bool map_mem_panel(const struct device *, const struct teir_problem *,
                   const struct map_blocking *, struct map_panel *);

/* Buffers per ring in a mem tile: in flight from device memory, which hides
 * its jitter, and towards it. */
enum {
  MAP_MEM_DEPTH_IN = 4,
  MAP_MEM_DEPTH_STREAMED = 2, /* of as many steps as a stretch streams */
  MAP_MEM_DEPTH_OUT = 2,
  MAP_APART_DEPTH = 2, /* of both inputs, for every row of a grid apart */
  MAP_MAX_CHUNKS = 8
};

/* What the array does: every core (column c, row r) runs, for every m and n
 * round and block of the group, zero once, the product steps_k times, and what
 * turns sums into results. */
struct tile_program {
  const struct device *device;
  struct map_grid grid;
  int joins; /* channels on which a column's blocks of out leave */
  int batch; /* products, one after the other (of a grid apart, for every
                core); of several each is one round */
  int block_m, block_n, block_k;
  int group_m; /* 1 or 2 */
  int rounds_m, rounds_n, steps_k;
  bool zero;      /* the block of out is cleared before its first step */
  bool turns_out; /* kernels turn small matrices of out */
  enum dtype acc;
  struct teir_finish finish;
  struct map_panel panel;
  struct map_core core;
  /* in0, which the cores of a row share, in1, which those of a column share,
   * and out */
  struct map_transfer transfer[TENSORS];
};
struct tile_program *map_program(struct arena *, const struct teir *,
                                 const struct device *, struct diag *);
void map_print(const struct tile_program *, struct text *);
/* Bytes from a tensor's first product to another of the batch. */
int64_t map_product_bytes(const struct tile_program *,
                          const struct map_transfer *, int64_t product);

#endif
