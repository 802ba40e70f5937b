// Where floats may be infinite or NaN, what a sum is scaled by is not what its
// parts, or the terms beside it, are scaled by: infinity times 3 - 2 is not
// infinity minus infinity.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -fno-math-errno -fassociative-math -fno-signed-zeros -fno-trapping-math -Rpass=nputeir %s -o %t 2> %t.err
// RUN: FileCheck --check-prefix=TAKEN %s < %t.err
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -fno-math-errno -fassociative-math -fno-signed-zeros -fno-trapping-math -S -emit-llvm %s -o - | FileCheck --check-prefix=INFINITE --implicit-check-not=nputeir.scale. %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -w -S -emit-llvm %s -o - | FileCheck --check-prefix=FINITE %s
// TAKEN-COUNT-3: nest replaced by code for the processor
// INFINITE: @nputeir.store.
// FINITE: @nputeir.scale.
#include <stdio.h>

enum { M = 9, N = 7, K = 130, COLUMN = 3 };
float a[M][K], b[N][K], c[M][N];

#define PRODUCT(name, result)                                                  \
  __attribute__((noinline)) static void name(int k, float alpha, float beta) { \
    for (int i = 0; i < M; i++)                                                \
      for (int j = 0; j < N; j++) {                                            \
        float s = 0, old = c[i][j];                                            \
        for (int p = 0; p < k; p++)                                            \
          s += a[i][p] * b[j][p];                                              \
        c[i][j] = result;                                                      \
      }                                                                        \
  }
PRODUCT(blas, alpha *s + beta * old)
PRODUCT(distance, (s - old) * beta)
PRODUCT(twice, old *alpha + s + old * beta)

static void fill(float old) {
  for (int i = 0; i < M; i++)
    for (int p = 0; p < K; p++)
      a[i][p] = p == 0 ? 2 : p == K - 1 ? -3 : 0;
  for (int j = 0; j < N; j++)
    for (int p = 0; p < K; p++)
      b[j][p] = 1;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      c[i][j] = old;
}

int main(void) {
  volatile float infinity = __builtin_inff();
  fill(4);
  blas(K, infinity, 1);
  printf("%g\n", c[M - 1][COLUMN]); // CHECK: -inf
  fill(0);
  distance(K, 0, infinity);
  printf("%g\n", c[M - 1][COLUMN]); // CHECK-NEXT: -inf
  fill(infinity);
  twice(K, -0.5f, 1.5f);
  printf("%d\n", __builtin_isnan(c[M - 1][COLUMN])); // CHECK-NEXT: 1
}
