/* cmsis_dsp.c -- the matrix products of CMSIS-DSP in float and double. */
#include "dsp/matrix_functions.h"
#include <stdio.h>

enum { M = 21, N = 18, K = 33 };
static float32_t a[M * K], b[K * N], c[M * N];
static float64_t a64[M * K], b64[K * N], c64[M * N];

int main(void) {
  for (int i = 0; i < M * K; i++)
    a64[i] = a[i] = (float)(i * 7 % 23 - 11) / 4;
  for (int i = 0; i < K * N; i++)
    b64[i] = b[i] = (float)(i * 5 % 19 - 9) / 8;
  arm_matrix_instance_f32 ma = {M, K, a}, mb = {K, N, b}, mc = {M, N, c};
  arm_matrix_instance_f64 ma64 = {M, K, a64}, mb64 = {K, N, b64},
                          mc64 = {M, N, c64};
  printf("%d\n", arm_mat_mult_f32(&ma, &mb, &mc));
  printf("%d\n", arm_mat_mult_f64(&ma64, &mb64, &mc64));
  for (int i = 0; i < M * N; i++)
    printf("%.3f %.3f%c", c[i], c64[i], i % N == N - 1 ? '\n' : ' ');
  return 0;
}
