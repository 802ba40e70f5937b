// The loops of a product of matrices that stay beside code for the processor run
// for small work alone, and are not unrolled; those beside a call alone are as
// they were, and so are those of a vector or a triangle, which run for more.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -fno-vectorize -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=cpu=off,f32=bf16x3 %clang -O2 -fno-vectorize -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=CALL
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DVECTOR -O2 -fno-vectorize -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=MORE
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DTRIANGLE -O2 -fno-vectorize -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefixes=EDGE,MORE
// A triangle, which is counted whole, is asked about from 256 multiply-adds on.
// EDGE: icmp sgt i64 %{{.*}}, 255{{$}}
// MORE: @nputeir.nest
// MORE-NOT: !{!"llvm.loop.unroll.runtime.disable", i32 0}
// CALL: nputeir_call_1
// CALL-NOT: llvm.loop.unroll.runtime.disable
// CHECK: !{!"llvm.loop.unroll.runtime.disable", i32 0}
#ifdef VECTOR
void gemv(long n, long k, const float *restrict a, const float *restrict x,
          float *restrict y) {
  for (long j = 0; j < n; j++)
    for (long p = 0; p < k; p++)
      y[j] += a[j * k + p] * x[p];
}
#elif defined TRIANGLE
void syrk(long n, long k, const float *restrict a, float *restrict c) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      for (long p = 0; p < k; p++)
        c[i * n + j] += a[i * k + p] * a[j * k + p];
}
#else
void gemm(long m, long n, long k, const float *restrict a,
          const float *restrict b, float *restrict c) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long p = 0; p < k; p++)
        c[i * n + j] += a[i * k + p] * b[p * n + j];
}
#endif
