// Of a loop with several sums, each a matrix times a vector, those of some are
// not formed before if others stay: these would read the matrix once more.
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -ffast-math -Rpass=nputeir -Rpass-missed=nputeir -Xclang -verify -c -o /dev/null %s
#include <complex.h>

// The real parts alone could be.
void conjugate(int m, int n, const float complex *a, const float complex *x,
               float complex *restrict y) {
  for (int i = 0; i < m; i++) { // expected-remark {{SeveralProducts}}
    float complex sum = 0;
    for (int k = 0; k < n; k++)
      sum += a[i * n + k] * conjf(x[k]);
    y[i] = sum;
  }
}
void gates(int m, int n, const float *a, const float *b, const float *x,
           float *restrict y) {
  // expected-remark@+2 {{for its sums, which its other code reads}}
  // expected-remark@+1 {{by code for the processor: k,nk->n}}
  for (int i = 0; i < m; i++) {
    float in = 0, out = 0;
    for (int k = 0; k < n; k++) {
      in += a[i * n + k] * x[k];
      out += b[i * n + k] * x[k];
    }
    y[i] = in > 0 ? out / (1 + in) : out * y[i];
  }
}
