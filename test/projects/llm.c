/* llm.c -- the products of llm.c's layers, forwards and backwards. */
#include <stdio.h>

void matmul_forward_naive(float *out, const float *inp, const float *weight,
                          const float *bias, int b, int t, int c, int oc);
void matmul_forward(float *out, const float *inp, const float *weight,
                    const float *bias, int b, int t, int c, int oc);
void matmul_backward(float *dinp, float *dweight, float *dbias,
                     const float *dout, const float *inp, const float *weight,
                     int b, int t, int c, int oc);
void attention_forward(float *out, float *preatt, float *att, float *inp, int b,
                       int t, int c, int nh);
void attention_backward(float *dinp, float *dpreatt, float *datt, float *dout,
                        float *inp, float *att, int b, int t, int c, int nh);

enum { B = 2, T = 12, C = 20, OC = 28 };
static float inp[B * T * C], weight[OC * C], bias[OC], out[B * T * OC];
static float dinp[B * T * C], dweight[OC * C], dbias[OC];

static void print(const float *at, int count) {
  for (int i = 0; i < count; i++)
    printf("%.3f%c", at[i], i % 16 == 15 ? '\n' : ' ');
  printf("\n");
}

enum { T2 = 35, NH = 2 };
static float qkv[B * T2 * 3 * C], dqkv[B * T2 * 3 * C], mixed[B * T2 * C];
static float pre[B * NH * T2 * T2], att[B * NH * T2 * T2];
static float dpre[B * NH * T2 * T2], datt[B * NH * T2 * T2];

static void attend(void) {
  for (int i = 0; i < B * T2 * 3 * C; i++)
    qkv[i] = (float)(i * 7 % 23 - 11) / 16;
  attention_forward(mixed, pre, att, qkv, B, T2, C, NH);
  print(mixed, B * T2 * C);
  attention_backward(dqkv, dpre, datt, mixed, qkv, att, B, T2, C, NH);
  print(dqkv, B * T2 * 3 * C);
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
  attend();
  return 0;
}
