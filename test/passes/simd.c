// Clang asks for the work of an `omp simd` loop in front of it; what it reads
// of the variables that threads share is known before the nest all the same.
// RUN: %verify -O2 -fopenmp %s
// RUN: %verify -O1 -fopenmp %s

void rows(int n, const signed char *a, const signed char *b, int *c) {
  // expected-remark@+1 {{nest replaced by a call}}
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
#pragma omp simd
      for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}

// No loop around asks for the extent of k.
void sums(int m, int n, int extent, int scale, const signed char *a, int lda,
          const signed char *b, int ldb, int *c, int ldc) {
  // expected-remark@+1 {{nest replaced by a call}}
#pragma omp parallel for collapse(2) schedule(dynamic)
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int s = 0;
#pragma omp simd reduction(+ : s)
      for (int k = 0; k < extent; k++)
        s += a[i * lda + k] * b[k * ldb + j];
      c[i * ldc + j] = scale * s;
    }
}

// How far the sums go depends on what is summed: nothing is known before.
void stopped(int n, const int *ends, const signed char *a, const signed char *b,
             int *c) {
  // expected-remark@+1 {{[GuardedBody]}}
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int s = 0;
      if (ends[j] > i)
        for (int k = 0; k < n; k++)
          s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}
