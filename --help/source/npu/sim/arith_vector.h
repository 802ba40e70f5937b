/* arith_vector.h -- the vector versions of the products, for arith_best.c. */
#ifndef NPUTEIR_ARITH_VECTOR_H
#define NPUTEIR_ARITH_VECTOR_H

#include "arith.h"

#if defined(__x86_64__)
extern const struct arith arith_avx2, arith_avx512;
void arith_mac_i8_avx2(uint32_t d[32], const uint32_t acc1[32],
                       const uint8_t a[32], const uint8_t b[64],
                       unsigned flags);
#endif

#endif
