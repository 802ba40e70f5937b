// Small products that are added to complex numbers, to one part of each after
// the other, keep their code, which adds to both at once.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -ffast-math -S -emit-llvm %s -o - | FileCheck --check-prefix=SMALL %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -S -emit-llvm %s -o - | FileCheck --check-prefix=ALL --implicit-check-not=65535 --implicit-check-not=65536 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -ffast-math %s -o %t
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math %s -o %t
// RUN: %t | FileCheck %s
// SMALL-LABEL: @apart
// SMALL: icmp u{{gt|lt}} i64 {{.*}}, 6553{{5|6}}
// SMALL: call i32 @nputeir.nest.
// SMALL-LABEL: @near
// SMALL: icmp u{{gt|lt}} i64 {{.*}}, 6553{{5|6}}
// SMALL: call i32 @nputeir.nest.
// ALL-LABEL: @apart
// ALL: call i32 @nputeir.nest.
// CHECK: 0 differ
#include <complex.h>
#include <stdio.h>

typedef float complex number;
#define PRODUCT                                                                \
  for (int i = 0; i < m; i++)                                                  \
    for (int l = 0; l < k; l++)                                                \
      for (int j = 0; j < n; j++)                                              \
        c[i * n + j] += a[i * k + l] * b[l * n + j];

__attribute__((noinline)) void apart(int m, int n, int k,
                                     const number *restrict a,
                                     const number *restrict b,
                                     number *restrict c) {
  PRODUCT
}
__attribute__((noinline)) void near(int m, int n, int k, const number *a,
                                    const number *b, number *c) {
  PRODUCT
}
__attribute__((noinline, annotate("nputeir:off"))) static void
loops(int m, int n, int k, const number *a, const number *b, number *c) {
  PRODUCT
}

enum { SIDE = 43 };
static number a[SIDE * SIDE], b[SIDE * SIDE], c[3][SIDE * SIDE];

int main(void) {
  int differ = 0, sides[] = {0, 1, 8, 39, 43};
  for (int i = 0; i < SIDE * SIDE; i++) {
    a[i] = (float)(i * 7 % 13 - 6) + (float)(i * 3 % 11 - 5) * I;
    b[i] = (float)(i * 5 % 9 - 4) - (float)(i * 11 % 7) * I;
  }
  for (int x = 0; x < 125; x++) {
    int m = sides[x % 5], n = sides[x / 5 % 5], k = sides[x / 25];
    for (int i = 0; i < SIDE * SIDE; i++)
      c[0][i] = c[1][i] = c[2][i] = (float)(i % 5);
    apart(m, n, k, a, b, c[0]);
    near(m, n, k, a, b, c[1]);
    loops(m, n, k, a, b, c[2]);
    for (int i = 0; i < SIDE * SIDE; i++)
      differ += c[0][i] != c[2][i] || c[1][i] != c[2][i];
  }
  printf("%d differ\n", differ);
  return 0;
}
