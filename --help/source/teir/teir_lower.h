/* teir_lower.h -- which kernel call a primitive becomes (the specification's
 * section 10.6): eligibility as in Table 10.6.1, run-time parameters as in
 * Table 10.6.2.
 *
 * A declined primitive is well formed but matches no kernel; the message says
 * which pattern it misses.  Restructuring the axes changes the answer.
 */
#ifndef NPUTEIR_TEIR_LOWER_H
#define NPUTEIR_TEIR_LOWER_H

#include "teir.h"

enum teir_kernel {
  TEIR_KERNEL_SCALAR,  /* one element, or one multiply-add */
  TEIR_KERNEL_GEMM,    /* out(m x n) += in0(m x k) * in1(k x n) */
  TEIR_KERNEL_BRGEMM,  /* the same, summed over br_size pairs of blocks */
  TEIR_KERNEL_ELEMENTS /* an element-wise operation on an m x n block */
};
const char *teir_kernel_name(enum teir_kernel);

/* Extents count; leading dimensions and br_stride are in elements of their
 * tensor.  unit[] names the role whose axis lies densely: for in0 M means
 * column-major and K row-major, for in1 K and N, for out M and N. */
struct teir_call {
  enum teir_kernel kernel;
  enum teir_op op;
  int operand_count;
  int operand[TEIR_OPERANDS]; /* tensors: inputs, then the output */
  int64_t m, n, k;            /* 1 where a list is empty */
  enum teir_role unit[3];     /* by operand */
  int64_t ld[3];              /* by operand: lda, ldb, ldc */
  int64_t br_size;            /* 1 unless BRGEMM */
  int64_t br_stride[2];       /* on in0 and in1 */
};

/* Nothing that the primitive uses may be symbolic. */
bool teir_lower(const struct teir *, int primitive, struct teir_call *,
                struct diag *);
/* "gemm_squ: GEMM f32 M=4 N=5 K=6 lda=4 ldb=12 ldc=8, in0 column-major, .." */
void teir_call_print(const struct teir *, int primitive,
                     const struct teir_call *, struct text *);

#endif
