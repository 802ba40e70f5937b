/* qwen_asr.c -- the products of qwen-asr: layers of floats and of bf16, also in
 * the vectors that it has for AVX2, a convolution and attention, as tables of
 * sums. */
#include <stdint.h>
#include <stdio.h>

void qwen_matmul_t(float *c, const float *a, const float *b, int m, int k,
                   int n);
void qwen_linear(float *y, const float *x, const float *w, const float *b,
                 int rows, int in, int out);
void qwen_conv2d(float *out, const float *in, const float *weight,
                 const float *bias, int c_in, int c_out, int h, int w, int kh,
                 int kw, int stride, int padding);
void qwen_causal_attention(float *out, const float *q, const float *k,
                           const float *v, int seq_q, int seq_k, int heads,
                           int kv_heads, int head_dim, float scale, int offset);
void qwen_bf16_matvec_fused_generic(float *y, const float *x, const uint16_t *w,
                                    const float *bias, int in, int out);
void qwen_bf16_matvec_fused_avx(float *y, const float *x, const uint16_t *w,
                                const float *bias, int in, int out);

int qwen_verbose;

enum { SIZE = 8192 };
static float a[SIZE], b[SIZE], bias[64], c[SIZE];
static uint16_t half[SIZE];

static void print(int count) {
  for (int i = 0; i < count; i++)
    printf("%.3f%c", c[i], i % 16 == 15 ? '\n' : ' ');
  printf("\n");
}

int main(void) {
  for (int i = 0; i < SIZE; i++) {
    a[i] = (float)(i * 7 % 23 - 11) / 16;
    b[i] = (float)(i * 5 % 19 - 9) / 8;
    half[i] = (uint16_t)(0x3e80 + i * 5 % 19 * 0x10); /* from a quarter on */
  }
  for (int i = 0; i < 64; i++)
    bias[i] = (float)i / 4;
  qwen_matmul_t(c, a, b, 30, 44, 26);
  print(30 * 26);
  qwen_linear(c, a, b, bias, 22, 36, 50);
  print(22 * 50);
  qwen_conv2d(c, a, b, bias, 6, 10, 12, 14, 3, 3, 1, 1);
  print(10 * 12 * 14);
  qwen_causal_attention(c, a, b, a, 20, 24, 4, 2, 16, 0.25f, 4);
  print(20 * 4 * 16);
  qwen_bf16_matvec_fused_generic(c, a, half, bias, 100, 63);
  print(63);
#ifdef __AVX2__
  qwen_bf16_matvec_fused_avx(c, a, half, bias, 100, 63);
  print(63);
#endif
  return 0;
}
