/* gemm.h -- inside kernels/: the kinds of matrix products and their traces. */
#ifndef NPUTEIR_KERNELS_GEMM_H
#define NPUTEIR_KERNELS_GEMM_H

#include "trace.h"

enum gemm_part { PART_AM, PART_BM, PART_CM };

/* A row of kernel.def. */
struct gemm_kind {
  enum dtype in0, in1, out;
  struct kernel_shape mac_shape;
  int config;
  enum insn_id mac, mul;
  int rows, cols;
  enum gemm_part part;
  enum mem_kind load, store;
};

/* Writes the whole run of a checked kernel.  `alternate` keeps C loads to odd
 * cycles and A loads and C stores to even ones. */
void gemm_trace(struct trace *, const struct kernel_gemm *,
                const struct gemm_kind *, bool alternate);
/* The vshuffle mode that transposes a block, or -1. */
int gemm_transpose_mode(enum dtype, int rows, int columns);

#endif
