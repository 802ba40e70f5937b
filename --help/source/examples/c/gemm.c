/* gemm.c -- a product of bytes with 32-bit sums, its bias and ReLU: one nest. */
#include <stdint.h>
#include <stdio.h>

enum { M = 128, N = 96, K = 256 };
static int8_t a[M][K], b[K][N];
static int32_t bias[N], c[M][N];

int main(void) {
  for (int i = 0; i < M; i++)
    for (int k = 0; k < K; k++)
      a[i][k] = (int8_t)((i * 7 + k * 3) % 19 - 9);
  for (int k = 0; k < K; k++)
    for (int j = 0; j < N; j++)
      b[k][j] = (int8_t)((k * 5 + j * 11) % 23 - 11);
  for (int j = 0; j < N; j++)
    bias[j] = j * 10 - 400;

  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int32_t sum = bias[j];
      for (int k = 0; k < K; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum > 0 ? sum : 0;
    }

  uint32_t hash = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      hash = hash * 31 + (uint32_t)c[i][j];
  printf("hash %08x\n", (unsigned)hash);
  return 0;
}
