/* arith_best.c -- picks the arithmetic for the processor we run on. */
#include "arith_vector.h"

#include <stddef.h>

const struct arith *arith_variant(int i) {
  if (i == 0)
    return &arith_plain;
#if defined(__x86_64__)
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
  if (i == 1 && avx2)
    return &arith_avx2;
  if (i == 2 && avx512)
    return &arith_avx512;
#endif
  return NULL;
}

const struct arith *arith_best(void) {
  int i = 0;
  while (arith_variant(i + 1))
    ++i;
  return arith_variant(i);
}
