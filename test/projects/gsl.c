/* gsl.c -- triangular and symmetric products of GSL's BLAS, of all sides,
 * halves and transpositions, with small whole numbers. */
#include "gsl_cblas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 40, N = 48, LD = 50, ELEMENTS = LD * LD };

static double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];
static unsigned seed;

void cblas_xerbla(int p, const char *routine, const char *form, ...) {
  (void)p, (void)form;
  fprintf(stderr, "%s\n", routine);
  exit(1);
}

static int next(void) {
  seed = seed * 1664525 + 1013904223;
  return (int)(seed >> 16) % 5 - 2;
}

static void fill(void) {
  seed = 1;
  for (int i = 0; i < ELEMENTS; i++) {
    a[i] = i % (LD + 1) ? (i % 19 ? 0 : next()) : i % 2 * 2 - 1;
    b[i] = next();
    c[i] = next();
  }
}

static void print(const char *name, int form, const double *x) {
  double sum = 0;
  for (int i = 0; i < ELEMENTS; i++)
    sum += x[i] * (i % 7 - 3);
  printf("%s %d: %.0f\n", name, form, sum);
}

int main(void) {
  for (int form = 0; form < 16; form++) {
    enum CBLAS_SIDE side = form & 1 ? CblasRight : CblasLeft;
    enum CBLAS_UPLO half = form & 2 ? CblasLower : CblasUpper;
    enum CBLAS_TRANSPOSE way = form & 4 ? CblasTrans : CblasNoTrans;
    enum CBLAS_DIAG diagonal = form & 8 ? CblasUnit : CblasNonUnit;
    fill();
    cblas_dtrmm(CblasRowMajor, side, half, way, diagonal, M, N, 2, a, LD, b,
                LD);
    print("dtrmm", form, b);
    fill();
    cblas_dtrsm(CblasRowMajor, side, half, way, diagonal, M, N, 2, a, LD, b,
                LD);
    print("dtrsm", form, b);
    cblas_dsymm(CblasRowMajor, side, half, M, N, 3, a, LD, b, LD, 2, c, LD);
    print("dsymm", form, c);
    fill();
    cblas_dsyr2k(CblasRowMajor, half, way, M, M, 3, a, LD, b, LD, 2, c, LD);
    print("dsyr2k", form, c);
  }
  return 0;
}
