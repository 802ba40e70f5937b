// Products of matrices that may have one row or one column when the program
// runs get code for a matrix and a vector beside their own; where a size is
// known, only for what the other one may be.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DROWS=m -DCOLUMNS=n -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DROWS=80 -DCOLUMNS=n -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=COLUMN
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DROWS=80 -DCOLUMNS=80 -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=NEITHER
// Where in0 lies along the rows, few columns are multiplied as rows, by the
// loop and the kernels that there are.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DACROSS -DROWS=m -DCOLUMNS=n -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=ACROSS
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DACROSS -DTURNED -DROWS=m -DCOLUMNS=n -O2 -march=x86-64-v4 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=ACROSS
// Processors as old as the weakest of several have none.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DROWS=m -DCOLUMNS=n -O2 -ffast-math -S -emit-llvm %s -o - | FileCheck %s --check-prefix=SOME
// A row adds multiples of in1's rows, a column has dot products of in0's.
// CHECK: define {{.*}}@nputeir.vector.add8.f32.f32.f32.
// CHECK: define {{.*}}@nputeir.vector.dot0.f32.f32.f32.
// CHECK: define {{.*}}@nputeir.thin.[[#ADD:2]].[[#DOT:1]].
// COLUMN: define {{.*}}@nputeir.thin.0.1.
// COLUMN-NOT: @nputeir.vector.add
// NEITHER-NOT: @nputeir.thin
// ACROSS: define {{.*}}@nputeir.small.{{.*}}.spreads.exchanged.
// ACROSS: define {{.*}}@nputeir.direct.3.
// ACROSS-NOT: define {{.*}}@nputeir.direct.3.
// ACROSS: define {{.*}}@nputeir.spread.f32.
// ACROSS-NOT: define {{.*}}@nputeir.direct.3.
// What asks for it, and the loops around its kernels, are there once.
// SOME-NOT: define {{.*}}@nputeir.vector.{{[a-z]+[0-9].*}}.sse2.
// SOME: define {{.*}}@nputeir.thin.2.1.
// SOME-NOT: define {{.*}}@nputeir.thin
// SOME: define {{.*}}@nputeir.vector.dot0.{{.*}}.avx2.
// SOME-NOT: define {{.*}}@nputeir.{{thin.*|vector.[a-z]+[0-9].*.sse2.}}
#ifdef ACROSS
#define A a[p * ROWS + i]
#else
#define A a[i * k + p]
#endif
#ifdef TURNED
#define B b[j * k + p]
#else
#define B b[p * COLUMNS + j]
#endif
void product(long m, long n, long k, const float *restrict a,
             const float *restrict b, float *restrict c) {
  for (long i = 0; i < ROWS; i++)
    for (long j = 0; j < COLUMNS; j++)
      for (long p = 0; p < k; p++)
        c[i * COLUMNS + j] += A * B;
}
