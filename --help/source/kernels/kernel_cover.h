/* kernel_cover.h -- inside kernels/: cutting C into blocks of accumulators. */
#ifndef NPUTEIR_KERNELS_COVER_H
#define NPUTEIR_KERNELS_COVER_H

#include "base.h"

enum { COVER_ROWS = 3, COVER_COLS = 4 };

/* Extents in MAC results, parts in 32-byte accesses. */
struct cover_problem {
  int rows, cols, k_steps;
  int left_parts, right_parts, result_parts; /* per operand or result */
  bool load_result;
  bool left_shuffle, right_shuffle; /* each use takes an MV slot */
  int result_moves;                 /* MV slots per result */
  int accumulators;                 /* results that one block may hold */
  int distance; /* bundles between multiplies into one accumulator */
  int most_rows, most_cols; /* of a block: at most COVER_ROWS, COVER_COLS */
  int usual_rows, usual_cols;
};

/* rows x cols results from (row, col) on; blocks of one region have the same
 * shape and lie in a rectangle, row by row. */
struct cover_block {
  int row, col, rows, cols, region;
};
struct cover_block *kernel_cover(struct arena *, const struct cover_problem *,
                                 int *count);

#endif
