// The loops that stay beside code for the processor run for small work alone,
// and are not unrolled; those beside a call alone are as they were.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -fno-vectorize -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=cpu=off,f32=bf16x3 %clang -O2 -fno-vectorize -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=CALL
// CALL: nputeir_call_1
// CALL-NOT: llvm.loop.unroll.runtime.disable
// CHECK: llvm.loop.unroll.runtime.disable
void gemm(long m, long n, long k, const float *restrict a,
          const float *restrict b, float *restrict c) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long p = 0; p < k; p++)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
}
