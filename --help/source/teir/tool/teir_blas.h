/* teir_blas.h -- Debian's OpenBLAS for the fast executor, in a library of its
 * own, so that only programs that want it need it. */
#ifndef NPUTEIR_TEIR_BLAS_H
#define NPUTEIR_TEIR_BLAS_H

#include "teir_fast.h"

extern const struct teir_blas teir_openblas;

#endif
