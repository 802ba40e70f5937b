/* kann.c -- each transposition of kann's product, with columns and without that
 * are left over beside its vectors, as a table of sums. */
#include <stdio.h>

void kad_sgemm_simple(int trans_A, int trans_B, int M, int N, int K,
                      const float *A, const float *B, float *C);

enum { M = 21, N = 37, K = 43 };
static float a[K * K], b[K * K], c[M * N];

static void multiply(int ta, int tb, int n) {
  for (int i = 0; i < M * n; i++)
    c[i] = (float)(i % 5);
  kad_sgemm_simple(ta, tb, M, n, K, a, b, c);
  for (int i = 0; i < M * n; i++)
    printf("%.3f%c", c[i], i % n == n - 1 ? '\n' : ' ');
}

int main(void) {
  for (int i = 0; i < K * K; i++) {
    a[i] = (float)(i * 7 % 23 - 11) / 4;
    b[i] = (float)(i * 5 % 19 - 9) / 8;
  }
  for (int n = N; n >= 32; n -= 5) {
    multiply(0, 1, n);
    multiply(0, 0, n);
    multiply(1, 0, n);
  }
  return 0;
}
