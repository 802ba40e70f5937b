// A matrix of bytes or 16-bit integers times a vector: pairs are multiplied and
// added at once.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DT='signed char' -O2 -march=x86-64-v4 -S -emit-llvm %s -o - | FileCheck %s -DINTRINSIC=pmaddw.d.512
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DT=short -O2 -march=x86-64-v4 -S -emit-llvm %s -o - | FileCheck %s -DINTRINSIC=pmaddw.d.512
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DT='unsigned char' -O2 -march=cascadelake -S -emit-llvm %s -o - | FileCheck %s -DINTRINSIC=vpdpwssd.512
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DT='signed char' -O2 -march=haswell -S -emit-llvm %s -o - | FileCheck %s -DINTRINSIC=pmadd.wd
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -DT=int -O2 -march=x86-64-v4 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=WIDE
// CHECK: define {{.*}}@nputeir.vector.dot0.
// CHECK: call {{.*}}[[INTRINSIC]](
// WIDE-NOT: pmadd
void rows(long m, long k, const T *restrict a, const T *restrict x,
          int *restrict y) {
  for (long i = 0; i < m; i++)
    for (long p = 0; p < k; p++)
      y[i] += a[i * k + p] * x[p];
}
