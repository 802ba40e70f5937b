/* teir_fast.h -- executes a program on host memory, fast: leaves that are
 * matrix products go to a BLAS or to blocked loops of our own, parallel loops
 * to threads.
 *
 * Integers and, without a BLAS, f32 and f64 give the same bits as teir_run.
 * A BLAS sums in an order of its own.
 */
#ifndef NPUTEIR_TEIR_FAST_H
#define NPUTEIR_TEIR_FAST_H

#include "teir.h"

/* C(m x n) += A(m x k) * B(k x n), all row-major; A or B is stored transposed
 * when a_t or b_t is set. */
struct teir_blas {
  void (*gemm_f32)(bool a_t, bool b_t, int m, int n, int k, const float *a,
                   int lda, const float *b, int ldb, float *c, int ldc);
  void (*gemm_f64)(bool a_t, bool b_t, int m, int n, int k, const double *a,
                   int lda, const double *b, int ldb, double *c, int ldc);
  void (*set_threads)(int);
};

/* blas may be NULL. */
bool teir_run_fast(const struct teir *, void *const tensor[], int threads,
                   const struct teir_blas *, struct diag *);

#endif
