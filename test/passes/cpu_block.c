// The kernel of a block, whose sums are in registers, keeps its code, so that
// its callers are one product when it is part of them.
// RUN: env NPUTEIR_OPTIONS=cpu=on,f32=bf16x3 %verify -O3 %s
// RUN: env NPUTEIR_OPTIONS=cpu=on,f32=bf16x3,min-macs=0 %clang -ffast-math -Rpass=nputeir -Xclang -verify=blocks -c -o /dev/null -O3 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O3 -ffast-math %s -o %t && %t

enum { ROWS = 4, COLUMNS = 8 };
#define SUM                                                                    \
  for (int p = 0; p < k; p++)                                                  \
    for (int i = 0; i < ROWS; i++)                                             \
      for (int j = 0; j < COLUMNS; j++)                                        \
        sum[i][j] += a[i * lda + p] * b[p * ldb + j]
#define ADD                                                                    \
  for (int i = 0; i < ROWS; i++)                                               \
    for (int j = 0; j < COLUMNS; j++)                                          \
      c[i * ldc + j] += sum[i][j]
void kernel(int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc) {
  float sum[ROWS][COLUMNS] = {{0}};
  // blocks-remark@+2 {{mk,kn->mn with k=n_i m=4 n=8}}
  // expected-remark@+1 {{[BelowThreshold]: the sums of a block stay in registers}}
  SUM;
  ADD;
}
static void block(int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc) {
  float sum[ROWS][COLUMNS] = {{0}};
  SUM;
  ADD;
}
__attribute__((noinline)) void gemm(int m, int n, int k, const float *a, const float *b, float *c) {
  // blocks-remark@+2 {{mk,kn->mn with m=n_i.all n=n_j.all k=n_k}}
  // expected-remark@+1 {{mk,kn->mn with m=n_i.all n=n_j.all k=n_k}}
  for (int i = 0; i < m; i += ROWS)
    for (int j = 0; j < n; j += COLUMNS)
      block(k, a + i * k, k, b + j, n, c + i * n + j, n);
}
// More sums than there are registers.
void wide(int k, const float *a, const float *b, float *c) {
  float sum[32][32] = {{0}};
  // blocks-remark@+2 {{mk,kn->mn with k=n_i m=32 n=32}}
  // expected-remark@+1 {{mk,kn->mn with k=n_i m=32 n=32}}
  for (int p = 0; p < k; p++)
    for (int i = 0; i < 32; i++)
      for (int j = 0; j < 32; j++)
        sum[i][j] += a[i * 32 + p] * b[p * 32 + j];
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 32; j++)
      c[32 * i + j] += sum[i][j];
}
// Sums that others see are in memory.
void normal(int k, const double *a, double c[4][4]) {
  // blocks-remark@+2 {{code for the processor}}
  // expected-remark@+1 {{code for the processor}}
  for (int p = 0; p < k; p++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        c[i][j] += a[4 * p + i] * a[4 * p + j];
}

__attribute__((annotate("nputeir:off"))) int main(void) {
  enum { M = 12, N = 24, K = 17 };
  static float a[M * K], b[K * N], c[M * N];
  for (int i = 0; i < M * K; i++)
    a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; i++)
    b[i] = (float)(i % 5 - 2);
  gemm(M, N, K, a, b, c);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float s = c[i * N + j];
      for (int k = 0; k < K; k++)
        s -= (float)((i * K + k) % 7 - 3) * (float)((k * N + j) % 5 - 2);
      if (s != 0)
        return 1;
    }
  return 0;
}
