// Where a factor is made in front of a nest, and code for the processor then
// does not run, as where the result overlaps an input, the loops as written do:
// there is no second copy of them that reads what was made.
// RUN: env NPUTEIR_OPTIONS=cpu=on %clang -O1 -ffast-math -S -emit-llvm %s -o - | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=cpu=on,min-macs=0 %clang -O2 -ffast-math %s -o %t && %t > %t.with
// RUN: %plain -O2 -ffast-math %s -o %t && %t > %t.without
// RUN: diff %t.with %t.without
#include <stdio.h>

// CHECK-LABEL: @reversed(
// CHECK-COUNT-2: @free
// CHECK: fmul
// CHECK-NOT: fmul
// CHECK-LABEL: @masked(
// CHECK: @free
// CHECK: fmul
// CHECK-NOT: fmul
// CHECK-LABEL: @main(
__attribute__((noinline)) void reversed(int m, int n, int k, const float *a,
                                        const float *b, float *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int p = 0; p < k; p++)
        s += a[i * k + k - 1 - p] * b[p * n + j];
      c[i * n + j] = s;
    }
}

__attribute__((noinline)) void masked(int m, int n, int k, const float *a,
                                      const float *b, float *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int p = 0; p < k; p++)
        if (a[p * m + i] > 0)
          s += a[i * k + p] * b[p * n + j];
      c[i * n + j] = s;
    }
}

enum { MOST = 48 };
static float a[MOST * MOST], b[3 * MOST * MOST];

__attribute__((noinline)) static unsigned hashOf(const float *c, int count) {
  unsigned hash = 0;
  for (int i = 0; i < count; i++)
    hash = hash * 31 + (unsigned)(int)c[i];
  return hash;
}

int main(void) {
  void (*const nest[])(int, int, int, const float *, const float *,
                       float *) = {reversed, masked};
  const int size[] = {3, 17, MOST};
  for (int f = 0; f < 2; f++)
    for (int s = 0; s < 3; s++) {
      // A row of the result is one of the input, or none is.
      int n = size[s], apart[] = {n - n * n, n * n - n, n * n};
      for (int d = 0; d < 3; d++) {
        for (int i = 0; i < 3 * MOST * MOST; i++)
          b[i] = (float)(i * 7 % 3 - 1);
        for (int i = 0; i < MOST * MOST; i++)
          a[i] = (float)(i * 5 % 7 - 3);
        float *in = b + MOST * MOST, *out = in + apart[d];
        nest[f](n, n, n, a, in, out);
        printf("nest %d of %d, %d apart: %u\n", f, n, apart[d],
               hashOf(out, n * n));
      }
    }
}
