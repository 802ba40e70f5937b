// Without leave to forget infinities, a product of complex numbers is a verdict
// of its own.  Other calls are not.
// RUN: %clang -O2 -fassociative-math -fno-signed-zeros -fno-trapping-math -Rpass-missed=nputeir -Xclang -verify -c -o /dev/null %s
#include <complex.h>

double complex drawn(double complex x);

void floats(int n, float complex *restrict c, const float complex *a,
            const float complex *b) {
  // expected-remark@+1 {{ComplexProduct]: a product of complex numbers}}
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float complex s = 0;
      for (int k = 0; k < n; k++)
        s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}
void doubles(int n, double complex *restrict c, const double complex *a,
             const double complex *b) {
  // expected-remark@+1 {{ComplexProduct]: a product of complex numbers}}
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}
void called(int n, double *restrict c, const double *a, const double *b) {
  // expected-remark@+1 {{SideEffect]: the nest calls drawn}}
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        c[i * n + j] += a[i * n + k] * b[k * n + j] + creal(drawn(k));
}
