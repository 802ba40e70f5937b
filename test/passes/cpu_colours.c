// Three colours of so many pixels are as many columns as these have: one axis,
// along which vectors are loaded and stored, if none has a gap behind it.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -DONE -S -emit-llvm %s -o - | FileCheck --check-prefix=ONE --implicit-check-not=.many. %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -S -emit-llvm %s -o - | FileCheck --check-prefix=GAP %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -DONE %s -o %t
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math %s -o %t
// RUN: %t | FileCheck %s
// ONE: define {{.*}}@nputeir.driver.
// GAP: define {{.*}}@nputeir.driver.{{.*}}.many.
// CHECK: 0 differ
#include <stdio.h>

#ifdef ONE
enum { STEP = 3 };
#else
enum { STEP = 4 };
#endif
#define PRODUCT                                                                \
  for (int i = 0; i < m; i++)                                                  \
    for (int x = 0; x < n; x++)                                                \
      for (int c = 0; c < 3; c++) {                                            \
        float sum = 0;                                                         \
        for (int p = 0; p < k; p++)                                            \
          sum += w[i * k + p] * in[(p * n + x) * STEP + c];                    \
        out[(i * n + x) * STEP + c] = sum;                                     \
      }

__attribute__((noinline)) static void blend(int m, int n, int k, const float *w,
                                            const float *in,
                                            float *restrict out) {
  PRODUCT
}
__attribute__((noinline, annotate("nputeir:off"))) static void
loops(int m, int n, int k, const float *w, const float *in,
      float *restrict out) {
  PRODUCT
}

enum { M = 21, N = 37, K = 29 };
static float w[M * K], in[K * N * 4], a[M * N * 4], b[M * N * 4];

int main(void) {
  int differ = 0;
  for (int i = 0; i < M * K; i++)
    w[i] = (float)(i * 7 % 13 - 6);
  for (int i = 0; i < K * N * 4; i++)
    in[i] = (float)(i * 5 % 11 - 5);
  for (int m = 0; m <= M; m += 7)
    for (int n = 0; n <= N; n += n < 4 ? 1 : 11)
      for (int k = 1; k <= K; k += 14) {
        for (int i = 0; i < M * N * 4; i++)
          a[i] = b[i] = -1;
        blend(m, n, k, w, in, a);
        loops(m, n, k, w, in, b);
        for (int i = 0; i < M * N * 4; i++)
          differ += a[i] != b[i];
      }
  printf("%d differ\n", differ);
  return 0;
}
