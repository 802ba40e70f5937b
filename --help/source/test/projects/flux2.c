/* flux2.c -- the products of flux2.c: matrices, a layer, a convolution and
 * attention, as tables of sums. */
#include <stdio.h>

void flux_matmul(float *c, const float *a, const float *b, int m, int k, int n);
void flux_matmul_t(float *c, const float *a, const float *b, int m, int k,
                   int n);
void flux_linear(float *y, const float *x, const float *w, const float *b,
                 int rows, int in, int out);
void flux_conv2d(float *out, const float *in, const float *weight,
                 const float *bias, int batch, int in_ch, int out_ch, int h,
                 int w, int kh, int kw, int stride, int padding);
void flux_attention(float *out, const float *q, const float *k, const float *v,
                    int batch, int heads, int seq_q, int seq_k, int head_dim,
                    float scale);

enum { SIZE = 8192 };
static float a[SIZE], b[SIZE], bias[64], c[SIZE];

static void print(int count) {
  for (int i = 0; i < count; i++)
    printf("%.3f%c", c[i], i % 16 == 15 ? '\n' : ' ');
  printf("\n");
}

int main(void) {
  for (int i = 0; i < SIZE; i++) {
    a[i] = (float)(i * 7 % 23 - 11) / 16;
    b[i] = (float)(i * 5 % 19 - 9) / 8;
  }
  for (int i = 0; i < 64; i++)
    bias[i] = (float)i / 4;
  flux_matmul(c, a, b, 30, 44, 26);
  print(30 * 26);
  flux_matmul_t(c, a, b, 30, 44, 26);
  print(30 * 26);
  flux_linear(c, a, b, bias, 22, 36, 50);
  print(22 * 50);
  flux_linear(c, a, b, NULL, 22, 36, 50);
  print(22 * 50);
  flux_conv2d(c, a, b, bias, 1, 6, 10, 12, 14, 3, 3, 1, 1);
  print(10 * 12 * 14);
  flux_attention(c, a, b, a, 1, 2, 20, 24, 16, 0.25f);
  print(2 * 20 * 16);
  return 0;
}
