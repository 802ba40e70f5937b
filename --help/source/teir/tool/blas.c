/* blas.c -- OpenBLAS as the fast executor wants it. */
#include "teir_blas.h"

#include <cblas.h>

static CBLAS_TRANSPOSE form(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

static void gemm_f32(bool a_t, bool b_t, int m, int n, int k, const float *a,
                     int lda, const float *b, int ldb, float *c, int ldc) {
  cblas_sgemm(CblasRowMajor, form(a_t), form(b_t), m, n, k, 1, a, lda, b, ldb,
              1, c, ldc);
}

static void gemm_f64(bool a_t, bool b_t, int m, int n, int k, const double *a,
                     int lda, const double *b, int ldb, double *c, int ldc) {
  cblas_dgemm(CblasRowMajor, form(a_t), form(b_t), m, n, k, 1, a, lda, b, ldb,
              1, c, ldc);
}

const struct teir_blas teir_openblas = {gemm_f32, gemm_f64,
                                        openblas_set_num_threads};
