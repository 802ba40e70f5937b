/* llm.c -- the products of llm.c's layers, forwards and backwards. */
#include <stdio.h>

void matmul_forward_naive(float *out, const float *inp, const float *weight,
                          const float *bias, int b, int t, int c, int oc);
void matmul_forward(float *out, const float *inp, const float *weight,
                    const float *bias, int b, int t, int c, int oc);
void matmul_backward(float *dinp, float *dweight, float *dbias,
                     const float *dout, const float *inp, const float *weight,
                     int b, int t, int c, int oc);

enum { B = 2, T = 12, C = 20, OC = 28 };
static float inp[B * T * C], weight[OC * C], bias[OC], out[B * T * OC];
static float dinp[B * T * C], dweight[OC * C], dbias[OC];

static void print(const float *at, int count) {
  for (int i = 0; i < count; i++)
    printf("%.3f%c", at[i], i % 16 == 15 ? '\n' : ' ');
  printf("\n");
}

int main(void) {
  for (int i = 0; i < B * T * C; i++)
    inp[i] = (float)(i * 7 % 23 - 11) / 4;
  for (int i = 0; i < OC * C; i++)
    weight[i] = (float)(i * 5 % 19 - 9) / 8;
  for (int i = 0; i < OC; i++)
    bias[i] = (float)i / 4;
  matmul_forward_naive(out, inp, weight, bias, B, T, C, OC);
  print(out, B * T * OC);
  matmul_forward(out, inp, weight, NULL, B, T, C, OC);
  print(out, B * T * OC);
  for (int i = 0; i < OC; i++)
    dbias[i] = 1;
  matmul_backward(dinp, dweight, dbias, out, inp, weight, B, T, C, OC);
  print(dinp, B * T * C);
  print(dweight, OC * C);
  print(dbias, OC);
  matmul_backward(dinp, dweight, NULL, out, inp, weight, B, T, C, OC);
  print(dweight, OC * C);
  return 0;
}
