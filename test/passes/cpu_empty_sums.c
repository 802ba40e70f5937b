// Where the sums of a triangle are empty the source touches none of its
// elements, which may then be where nobody may read, squares on the diagonal
// included.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -Rpass=nputeir %s -o %t 2> %t.err
// RUN: FileCheck --check-prefix=TAKEN %s < %t.err
// RUN: %t | FileCheck %s
// TAKEN-COUNT-3: nest replaced by code for the processor
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { N = 41, K = 5, ROOM = 16384 };

#define FORM(name)                                                             \
  __attribute__((noinline)) static void name(long n, long m,                   \
                                             float *restrict c,                \
                                             const float *restrict a)
FORM(inside) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j <= i; j++)
      for (long k = 0; k < m; k++)
        c[i * n + j] += a[i * m + k] * a[j * m + k];
}
FORM(between) {
  for (long i = 0; i < n; i++)
    for (long k = 0; k < m; k++)
      for (long j = 0; j <= i; j++)
        c[i * n + j] += a[i * m + k] * a[j * m + k];
}
FORM(in_one_row_less) {
  for (long i = n - 1; i >= 0; i--)
    for (long j = i; j < n; j++)
      for (long k = 0; k < m - 1; k++)
        c[i * n + j] += a[i * m + k] * a[j * m + k];
}

int main(void) {
  void (*const form[])(long, long, float *, const float *) = {inside, between,
                                                              in_one_row_less};
  static float a[N * K], c[N * N];
  float *none =
      mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < N * K; i++)
    a[i] = (float)(i * 7 % 11 - 5);
  for (int f = 0; f < 3; f++) {
    form[f](N, 0, none, a);
    form[f](N, K, c, a);
  }
  float sum = 0;
  for (int i = 0; i < N * N; i++)
    sum += c[i] * (float)(i % 13);
  // CHECK: sum 14818
  printf("sum %g\n", (double)sum);
}
