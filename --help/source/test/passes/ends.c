// Sums over a result, before and after the product that fills it: what they
// hold at the end is computed behind each loop, and computing it must end.
// RUN: timeout 120 %verify -O2 %s
// RUN: timeout 120 %verify -O1 %s
// RUN: timeout 120 %verify -O3 -DSUM=int %s
#ifndef SUM
#define SUM double
#endif

SUM checksums(int m, int n, int k, const signed char *a, const signed char *b,
              int *c) {
  SUM s = 0;
  for (int i = 0; i < m * n; i++)
    s += c[i] * (i % 7 + 1);
  // expected-remark@+1 {{nest replaced by a call}}
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int t = 0;
      for (int p = 0; p < k; p++)
        t += a[i * k + p] * b[p * n + j];
      c[i * n + j] = t;
    }
  for (int i = 0; i < m * n; i++)
    s += c[i] * (i % 7 + 1);
  return s;
}

void two_types(int m, int n, int k, const signed char *a, const signed char *b,
               int *c, int *d, double *e) {
  for (int i = 0; i < m * k; i++)
    d[i] = i % 13;
  // expected-remark@+1 {{nest replaced by a call}}
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int t = 0;
      for (int p = 0; p < k; p++)
        t += a[i * k + p] * b[p * n + j];
      c[i * n + j] = t;
    }
  double s = 0;
  for (int i = 0; i < m * n; i++) {
    unsigned h = i * 2654435761u % 13;
    s += c[i] * h;
  }
  e[0] = s;
  s = 0;
  for (int i = 0; i < m * n; i++)
    s += c[i];
  e[1] = s;
  for (int i = 0; i < m * n; i++)
    d[i] = i % 7;
}
