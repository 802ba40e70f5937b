/* darknet.c -- each transposition of darknet's gemm, as a table of sums. */
#include <stdio.h>

void gemm(int ta, int tb, int m, int n, int k, float alpha, float *a, int lda,
          float *b, int ldb, float beta, float *c, int ldc);

enum { M = 29, N = 34, K = 41 };
static float a[K * K], b[K * K], c[M * N];

int main(void) {
  for (int i = 0; i < K * K; i++) {
    a[i] = (float)(i * 7 % 23 - 11) / 4;
    b[i] = (float)(i * 5 % 19 - 9) / 8;
  }
  for (int t = 0; t < 4; t++) {
    for (int i = 0; i < M * N; i++)
      c[i] = (float)(i % 5);
    gemm(t & 1, t >> 1, M, N, K, 0.5f, a, t & 1 ? M : K, b, t >> 1 ? K : N,
         t == 3 ? 0 : 1, c, N);
    for (int i = 0; i < M * N; i++)
      printf("%.3f%c", c[i], i % N == N - 1 ? '\n' : ' ');
  }
  return 0;
}
