// A filter that goes backwards through its signal, and has no loop but those
// over time and taps, reads a reversed copy of the taps, as those of matrices
// do; where the copy would not be read so often, the loops run as written.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -Rpass=nputeir %s -o %t 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %t | FileCheck %s
// TAKEN: replaced by code for the processor: k,nk->n with n=n_i k=n_j
#include <stdio.h>

__attribute__((noinline)) static void filter(const float *x, const float *h,
                                             float *y, int n, int taps) {
  for (int t = 0; t < n; t++) {
    float s = 0;
    for (int k = 0; k < taps; k++)
      s += h[k] * x[t - k + taps - 1];
    y[t] = s;
  }
}

static int differs(int n, int taps) {
  static float x[700], h[100], y[600];
  for (int i = 0; i < 700; i++)
    x[i] = (float)(i * 7 % 13 - 6);
  for (int k = 0; k < taps; k++)
    h[k] = (float)(k * 5 % 11 - 5);
  filter(x, h, y, n, taps);
  for (int t = 0; t < n; t++) {
    float s = 0;
    for (int k = taps; k-- > 0;)
      s += x[t - k + taps - 1] * h[k];
    if (s != y[t])
      return 1;
  }
  return 0;
}

int main(void) {
  // CHECK: 0 differ
  int count = 0;
  for (int n = 1; n <= 600; n += 23)
    for (int taps = 1; taps <= 100; taps += 11)
      count += differs(n, taps);
  printf("%d differ\n", count);
}
