/* teir_block.h -- a Contraction's call as products of packed blocks. */
#ifndef NPUTEIR_TEIR_BLOCK_H
#define NPUTEIR_TEIR_BLOCK_H

#include "teir_fast.h"
#include "teir_run.h"

/* The type in which blocks are multiplied. */
enum block_type { BLOCK_F32, BLOCK_F64, BLOCK_U32, BLOCK_U64, BLOCK_NONE };

/* A call in parts: loops [0, outer_count) around a product of m x n x k, with
 * byte strides on in0, in1 and out; an axis that is missing has extent 1.
 * Loops that do not move out come last among these. */
struct block {
  const struct run_kernel *kernel;
  enum block_type type; /* BLOCK_NONE: element by element */
  struct run_loop m, n, k;
  int outer_count, sum_from; /* outer loops from sum_from on sum */
  struct run_loop *outer;
  const struct teir_blas *blas;
  bool direct; /* the BLAS works on the tensors themselves */
};

struct block teir_block_ready(struct arena *, const struct run_kernel *,
                              const struct teir_blas *);
void teir_block_call(const struct block *, char *const p[RUN_OPERANDS]);

#endif
