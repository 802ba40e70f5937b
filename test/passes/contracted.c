// A product of floats that is widened before it is added need not be rounded to
// their type where the compiler may contract it with the sum.
// RUN: %clang %s -O2 -c -o /dev/null -ffast-math -Rpass=nputeir -Rpass-missed=nputeir 2>&1 | FileCheck %s --check-prefixes=BOTH,FAST
// RUN: %clang %s -O2 -c -o /dev/null -ffast-math -ffp-contract=off -Rpass=nputeir -Rpass-missed=nputeir 2>&1 | FileCheck %s --check-prefixes=BOTH,OFF
#define NEST                                                                   \
  for (int i = 0; i < n; i++)                                                  \
    for (int j = 0; j < n; j++)
#define A a[i * n + k]
#define B b[k * n + j]
__attribute__((annotate("nputeir:f32=bf16x3")))
void in_double(int n, float *c, const float *a, const float *b) {
  // FAST: contracted.c:[[@LINE+2]]:{{.*}}replaced by a call: mk,kn->mn
  // OFF: contracted.c:[[@LINE+1]]:{{.*}}[RoundedProduct]: the product is rounded to f32
  NEST {
    double s = 0;
    for (int k = 0; k < n; k++)
      s += A * B;
    c[i * n + j] = s;
  }
}
__attribute__((annotate("nputeir:f32=bf16x3")))
void subtracted(int n, double *c, const float *a, const float *b) {
  // FAST: contracted.c:[[@LINE+2]]:{{.*}}replaced by a call: mk,kn->mn
  // OFF: contracted.c:[[@LINE+1]]:{{.*}}[RoundedProduct]: the product is rounded to f32
  NEST for (int k = 0; k < n; k++)
    c[i * n + j] -= A * B;
}
__attribute__((annotate("nputeir:f32=bf16x3")))
void before(int n, double *c, const float *a, const float *b) {
  // BOTH: contracted.c:[[@LINE+1]]:{{.*}}replaced by a call: mk,kn->mn
  NEST for (int k = 0; k < n; k++)
    c[i * n + j] += (double)A * B;
}
// Not where something else is done with the rounded product.
__attribute__((annotate("nputeir:f32=bf16x3")))
void chosen(int n, double *c, const float *a, const float *b) {
  // BOTH: contracted.c:[[@LINE+1]]:{{.*}}nest kept
  NEST {
    double s = 0;
    for (int k = 0; k < n; k++) {
      double p = A * B;
      s += p > 3 ? p : 0;
    }
    c[i * n + j] = s;
  }
}
