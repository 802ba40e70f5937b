// Sizes of which only run time knows how small they are: the call is made for
// as many multiply-adds as the runtime asks for, unless somebody wants it
// whatever the sizes.
// RUN: %clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=ALL
// RUN: env NPUTEIR_OPTIONS=device=sim %clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=ALL
// RUN: env NPUTEIR_OPTIONS=device=host %clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=ALL
// RUN: %clang -DREQUIRED -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=ALL
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=BOTH
// RUN: %clang -O2 %s -o %t && %t
// RUN: %plain -O2 -c -DRUNTIME %s -o %t.o
// RUN: %clang -O2 -DSIZES %s %t.o -o %t && %t
// The loop is there once (by twos), whatever the call returned.
// CHECK: @nputeir_least_macs_1
// CHECK-COUNT-3: mul nsw i32
// CHECK-NOT: mul nsw i32
// ALL-NOT: nputeir_least_macs_1
// BOTH: load atomic i64, ptr @nputeir_least_macs_1
// BOTH: call i32 @nputeir.nest.
#include <limits.h>
#include <stdint.h>
extern uint64_t nputeir_least_macs_1;
extern int calls;
#ifdef RUNTIME
uint64_t nputeir_least_macs_1;
int calls;
int nputeir_call_1(const char *teir, const char *options, const char *where,
                   const int64_t *value, uint64_t value_count,
                   void *const *tensor, uint64_t tensor_count) {
  (void)teir, (void)options, (void)where, (void)value, (void)value_count;
  (void)tensor, (void)tensor_count;
  return calls++, 0; // done
}
void nputeir_compare_1(int status) { (void)status; }
#else
#ifdef REQUIRED
__attribute__((annotate("nputeir:require")))
#endif
__attribute__((noinline)) void
gemm(int *C, const signed char *A, const signed char *B, long m, long n,
     long k) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long l = 0; l < k; l++)
        C[i * n + j] += A[i * k + l] * B[l * n + j];
}

int main(void) {
  static signed char a[64], b[64];
  static int c[64];
#ifdef SIZES
  int x = 0;
  gemm(c, a, b, 2, 3, 4); // 24
  x += calls == 1;
  nputeir_least_macs_1 = 25;
  gemm(c, a, b, 2, 3, 4);
  x += calls == 1;
  nputeir_least_macs_1 = 24;
  gemm(c, a, b, 2, 3, 4);
  x += calls == 2;
  nputeir_least_macs_1 = INT64_MAX;
  gemm(c, a, b, 2, 3, 4);
  x += calls == 2;
  gemm(c, a, b, 0, 3, 4);
  x += calls == 2;
  gemm(c, a, b, -1, LONG_MAX, LONG_MAX);
  x += calls == 2;
  gemm(c, a, b, 1l << 31, 1l << 31, 1l << 31); // more than 64 bits
  x += calls == 3;
  gemm(c, a, b, 1l << 32, 1l << 32, 2);
  x += calls == 4;
  return x != 8;
#else
  a[1] = b[1] = 1;
  gemm(c, a, b, 2, 3, 4);
  return c[1] != 0;
#endif
}
#endif
