// One kernel does all of a product of a matrix and a vector that is near, and
// threads are not asked for: sums of columns stay in registers over all steps.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// Loops over several rows or columns at once are faster than loops over one:
// their code begins where it is as fast, and asks for no price.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DAT_ONCE=4 -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=FOUR
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DAT_ONCE=2 -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=FOUR
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=5 %clang -DAT_ONCE=4 -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=GIVEN
// Kernels scale what they sum, too, which is no second product.  What is done to
// sums otherwise has the same loops, but no such kernel.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DBETA=beta -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=SCALED
// Of known sizes the code is declined below that.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DAT_ONCE=4 -DROWS=16 -DCOLUMNS=63 -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=KNOWN
#ifndef ROWS
#define ROWS rows
#define COLUMNS columns
#endif
#ifndef AT_ONCE
#define AT_ONCE 1
#endif
#ifdef BETA
void scaled(long rows, long columns, float alpha, float beta, const float *restrict a, const float *restrict x, float *restrict y) {
  for (long i = 0; i < rows; i++) {
    float sum = 0;
    for (long p = 0; p < columns; p++)
      sum += a[i * columns + p] * x[p];
    y[i] = alpha * sum + beta * y[i];
  }
}
void limited(long rows, long columns, float alpha, float beta, const float *restrict a, const float *restrict x, float *restrict y) {
  for (long i = 0; i < rows; i++) {
    float sum = 0;
    for (long p = 0; p < columns; p++)
      sum += a[i * columns + p] * x[p];
    sum = sum > alpha ? sum : alpha;
    y[i] = sum + beta * y[i];
  }
}
#else
void add(long rows, long columns, const float *restrict a, const float *restrict x, float *restrict y) {
  for (long p = 0; p < ROWS; p += AT_ONCE)
    for (long j = 0; j < COLUMNS; j++)
      y[j] += a[p * COLUMNS + j] * x[p]
#if AT_ONCE > 1
        + a[(p + 1) * COLUMNS + j] * x[p + 1]
#endif
#if AT_ONCE > 2
        + a[(p + 2) * COLUMNS + j] * x[p + 2] + a[(p + 3) * COLUMNS + j] * x[p + 3]
#endif
        ;
}
#endif
// CHECK-LABEL: define {{.*}}@add(
// CHECK: icmp sgt i64 %{{.*}}, 1039{{$}}
// CHECK: define {{.*}}@nputeir.nest.
// CHECK: icmp sle i64 1048576, %
// CHECK: icmp ult i64 %{{.*}}, 8388608
// CHECK-NOT: call i32
// CHECK: call i64 @nputeir.vector.add.3.
// CHECK: call i32 @nputeir.threads.3.
// CHECK: define {{.*}}@nputeir.vector.add0.f32.f32.f32.
// CHECK: define {{.*}}@nputeir.vector.add.3.
// SCALED: define {{.*}}@nputeir.nest.
// SCALED: i64 1048576
// SCALED: call i64 @nputeir.vector.dot.scaled.5.
// SCALED: call i64 @nputeir.vector.dot.5.
// SCALED: define {{.*}}@nputeir.vector.dot.5.
// FOUR-LABEL: define {{.*}}@add(
// FOUR: icmp sgt i64 %{{.*}}, 1023{{$}}
// FOUR: define {{.*}}@nputeir.nest.
// FOUR-NOT: i64 1048576
// FOUR: call i64 @nputeir.vector.add.3.
// GIVEN-LABEL: define {{.*}}@add(
// GIVEN: icmp sgt i64 %{{.*}}, 4{{$}}
// KNOWN-NOT: @nputeir
