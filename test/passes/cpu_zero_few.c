// Numbers less their zero points, for which elements of the other input must be
// summed: of few rows, that costs more than it saves.
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O2 %s
#include <stdint.h>

#define PRODUCT(M, X, W)                                                       \
  for (int i = 0; i < M; i++)                                                  \
    for (int j = 0; j < n; j++) {                                              \
      int s = 0;                                                               \
      for (int p = 0; p < k; p++)                                              \
        s += (x[i * k + p] X) * (w[j * k + p] W);                              \
      out[i * n + j] = s;                                                      \
    }
#define ARGUMENTS                                                              \
  int n, int k, const int8_t *restrict x, const int8_t *restrict w,            \
      int *restrict out, int a

void rows(int m, ARGUMENTS) {
  PRODUCT(m, +a, -3) // expected-remark {{mk,nk->mn}}
}
void four(ARGUMENTS) {
  PRODUCT(4, +a, ) // expected-remark {{mk,nk->mn}}
}
void three(ARGUMENTS) {
  PRODUCT(3, +a, ) // expected-remark {{BelowThreshold}}
}
void three_less(ARGUMENTS) { // of which there are as many as columns
  PRODUCT(3, , -a) // expected-remark {{nest replaced}}
}
void vector(ARGUMENTS) {
  for (int j = 0; j < n; j++) { // expected-remark {{BelowThreshold}}
    int s = 0;
    for (int p = 0; p < k; p++)
      s += (x[p] + a) * w[j * k + p];
    out[j] = s;
  }
}
void matrix(ARGUMENTS) {
  for (int j = 0; j < n; j++) { // expected-remark {{nest replaced}}
    int s = 0;
    for (int p = 0; p < k; p++)
      s += x[p] * (w[j * k + p] + a);
    out[j] = s;
  }
}
void depthwise(int h, ARGUMENTS) {
  for (int y = 0; y < h; y++) // expected-remark {{BelowThreshold}}
    for (int c = 0; c < n; c++)
      for (int j = 0; j < k; j++) {
        int s = 0;
        for (int v = 0; v < 3; v++)
          if (y + v - 1 >= 0 && y + v - 1 < h)
            s += (x[(y + v - 1) * n + c] + a) * w[(v * n + c) * k + j];
        out[(y * n + c) * k + j] = s;
      }
}
