/* teir_blas.h -- OpenBLAS for the fast executor, where it is installed.  It is
 * loaded when somebody asks for it: with it comes Fortran's library, which has
 * words of its own for printf, and makes every printf slower. */
#ifndef NPUTEIR_TEIR_BLAS_H
#define NPUTEIR_TEIR_BLAS_H

#include "teir_fast.h"

/* NULL: there is none. */
const struct teir_blas *teir_openblas(void);

/* What it has, as cblas.h declares it. */
enum { CBLAS_ROW_MAJOR = 101, CBLAS_AS_IS = 111, CBLAS_TURNED = 112 };
typedef void cblas_gemm_s(int, int, int, int, int, int, float, const float *,
                          int, const float *, int, float, float *, int);
typedef void cblas_gemm_d(int, int, int, int, int, int, double, const double *,
                          int, const double *, int, double, double *, int);

#endif
