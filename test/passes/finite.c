// Where the source skips a product, zero takes its place, which needs leave for
// floats: zero times infinity is not zero.  It needs none where the source
// multiplies by zero itself.
// RUN: %clang %s -O2 -c -o /dev/null -fno-math-errno -fassociative-math -fno-signed-zeros -fno-trapping-math -Rpass=nputeir -Rpass-missed=nputeir 2>&1 | FileCheck %s --check-prefixes=BOTH,INFINITE
// RUN: %clang %s -O2 -c -o /dev/null -fno-math-errno -fassociative-math -fno-signed-zeros -fno-trapping-math -ffinite-math-only -Rpass=nputeir -Rpass-missed=nputeir 2>&1 | FileCheck %s --check-prefixes=BOTH,FINITE
// RUN: env NPUTEIR_OPTIONS=fp=relaxed,cpu=off %clang %s -O2 -c -o /dev/null -Rpass=nputeir -Rpass-missed=nputeir 2>&1 | FileCheck %s --check-prefixes=BOTH,FINITE
void skips(int n, int m, float *y, const __bf16 *x, const __bf16 *w) {
  // INFINITE: finite.c:[[@LINE+2]]:{{.*}}kept [NeedsFinite]: products are skipped {{.*}}allow that zero times a number is zero: -ffinite-math-only or fp=relaxed
  // FINITE: finite.c:[[@LINE+1]]:{{.*}}replaced by a call: mk,nk->mn
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float s = 0;
      for (int t = 0; t < 3; t++)
        if (i + t >= 1 && i + t <= n)
          s += (float)x[i + t - 1] * (float)w[j * 3 + t];
      y[i * m + j] = s;
    }
}
void multiplies(int n, int m, float *y, const __bf16 *x, const __bf16 *w) {
  // BOTH: finite.c:[[@LINE+1]]:{{.*}}replaced by a call: mk,nk->mn
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float s = 0;
      for (int t = 0; t < 3; t++)
        s += (i + t >= 1 && i + t <= n ? (float)x[i + t - 1] : 0) *
             (float)w[j * 3 + t];
      y[i * m + j] = s;
    }
}
