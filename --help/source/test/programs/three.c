/* three.c -- products of three factors: MTTKRP, whose two matrices are
 * multiplied element by element first, TTMc by way of all their products,
 * weights along the sum.  Taken, and kept: too small for an intermediate, and
 * out that is one of the three. */
#include <stdint.h>
#include <stdio.h>

enum { I = 20, J = 9, K = 13, R = 8, Q = 5 };

static int8_t x[I * J * K], b[J * R], c[K * R], weight[K];
static int32_t out[I * R * Q];

__attribute__((noinline)) static void mttkrp(int rows, int32_t *a,
                                             const int8_t *t, const int8_t *u,
                                             const int8_t *v) {
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < J; j++)
      for (int k = 0; k < K; k++)
        for (int r = 0; r < R; r++)
          a[i * R + r] += t[(i * J + j) * K + k] * u[j * R + r] * v[k * R + r];
}

__attribute__((noinline)) static void ttmc(int32_t *a) {
  for (int i = 0; i < I; i++)
    for (int r = 0; r < R; r++)
      for (int q = 0; q < Q; q++) {
        int32_t s = 0;
        for (int j = 0; j < J; j++)
          for (int k = 0; k < K; k++)
            s += x[(i * J + j) * K + k] * b[j * R + r] * c[k * R + q];
        a[(i * R + r) * Q + q] = s >> 3 > 100 ? 100 : s >> 3;
      }
}

__attribute__((noinline)) static void weighted(int32_t *a) {
  for (int i = 0; i < I; i++)
    for (int r = 0; r < R; r++)
      for (int k = 0; k < K; k++)
        a[i * R + r] += x[i * K + k] * weight[k] * c[k * R + r];
}

static void show(const char *name) {
  uint32_t sum = 0;
  for (int i = 0; i < I * R * Q; i++)
    sum = sum * 31 + (uint32_t)out[i];
  printf("%s %08x\n", name, sum);
}

int main(void) {
  for (int i = 0; i < I * J * K; i++)
    x[i] = (int8_t)(i % 7 ? i * 37 : -128);
  for (int i = 0; i < J * R; i++)
    b[i] = (int8_t)(i % 3 ? i * 11 : -128);
  for (int i = 0; i < K * R; i++)
    c[i] = (int8_t)(i % 5 ? i * 13 : -128);
  for (int i = 0; i < K; i++)
    weight[i] = (int8_t)(i - 6);
  mttkrp(I, out, x, b, c);
  show("mttkrp");
  ttmc(out);
  show("ttmc");
  weighted(out);
  show("weighted");
  mttkrp(5, out, x, b, c);
  show("five rows");
  mttkrp(I, out, x, b, (const int8_t *)out + 40);
  show("overlap");
  return 0;
}
