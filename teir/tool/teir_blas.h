/* teir_blas.h -- OpenBLAS for the fast executor, where it is installed.  It is
 * loaded when somebody asks for it: with it comes libquadmath, which has
 * conversions of its own for printf and makes every one slower. */
#ifndef NPUTEIR_TEIR_BLAS_H
#define NPUTEIR_TEIR_BLAS_H

#include "teir_fast.h"

/* A handle, which stays, and what is wanted of it; NULL: there is none. */
void *teir_openblas_library(void);
const struct teir_blas *teir_openblas(void);

/* What it has, as cblas.h declares it. */
enum { CBLAS_ROW_MAJOR = 101, CBLAS_AS_IS = 111, CBLAS_TURNED = 112 };
typedef void cblas_gemm_s(int, int, int, int, int, int, float, const float *,
                          int, const float *, int, float, float *, int);
typedef void cblas_gemm_d(int, int, int, int, int, int, double, const double *,
                          int, const double *, int, double, double *, int);

#endif
