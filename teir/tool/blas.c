/* blas.c -- OpenBLAS as the fast executor wants it. */
#include "teir_blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static cblas_gemm_s *sgemm;
static cblas_gemm_d *dgemm;

static int form(bool transposed) {
  return transposed ? CBLAS_TURNED : CBLAS_AS_IS;
}

static void gemm_f32(bool a_t, bool b_t, int m, int n, int k, const float *a,
                     int lda, const float *b, int ldb, float *c, int ldc) {
  sgemm(CBLAS_ROW_MAJOR, form(a_t), form(b_t), m, n, k, 1, a, lda, b, ldb, 1, c,
        ldc);
}

static void gemm_f64(bool a_t, bool b_t, int m, int n, int k, const double *a,
                     int lda, const double *b, int ldb, double *c, int ldc) {
  dgemm(CBLAS_ROW_MAJOR, form(a_t), form(b_t), m, n, k, 1, a, lda, b, ldb, 1, c,
        ldc);
}

static struct teir_blas blas = {gemm_f32, gemm_f64, NULL};
static bool found;

static bool find(void *library, const char *name, void *function) {
  void *f = dlsym(library, name);
  memcpy(function, &f, sizeof f);
  return f;
}

void *teir_openblas_library(void) {
  return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
  void *library = teir_openblas_library();
  found = library && find(library, "cblas_sgemm", &sgemm) &&
          find(library, "cblas_dgemm", &dgemm) &&
          find(library, "openblas_set_num_threads", &blas.set_threads);
}

const struct teir_blas *teir_openblas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return found ? &blas : NULL;
}
