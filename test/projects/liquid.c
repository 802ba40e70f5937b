/* liquid.c -- liquid-dsp's products of matrices, of real and complex numbers.
 */
#include <complex.h>
#include <stdio.h>

void matrixf_mul(float *, unsigned, unsigned, float *, unsigned, unsigned,
                 float *, unsigned, unsigned);
void matrixf_mul_transpose(float *, unsigned, unsigned, float *);
void matrixf_transpose_mul(float *, unsigned, unsigned, float *);
void matrixcf_mul(float complex *, unsigned, unsigned, float complex *,
                  unsigned, unsigned, float complex *, unsigned, unsigned);
void matrixcf_mul_transpose(float complex *, unsigned, unsigned,
                            float complex *);
void matrixcf_mul_hermitian(float complex *, unsigned, unsigned,
                            float complex *);
void matrixcf_transpose_mul(float complex *, unsigned, unsigned,
                            float complex *);
void matrixcf_hermitian_mul(float complex *, unsigned, unsigned,
                            float complex *);

/* Where sizes do not fit, which they do. */
int liquid_error_fl(int code, const char *file, int line, const char *format,
                    ...) {
  (void)file, (void)line, (void)format;
  return code;
}

enum { M = 21, N = 30, K = 18 };
static float x[M * K], y[K * N], z[N * N];
static float complex cx[M * K], cy[K * N], cz[N * N];

static void show(const char *name, int rows, int columns) {
  for (int i = 0; i < rows * columns; i += 37)
    printf("%s %d: %.3f\n", name, i, z[i]);
}

static void show_complex(const char *name, int rows, int columns) {
  for (int i = 0; i < rows * columns; i += 37)
    printf("%s %d: %.3f %.3f\n", name, i, crealf(cz[i]), cimagf(cz[i]));
}

int main(void) {
  for (int i = 0; i < M * K; i++) {
    x[i] = (float)(i * 7 % 31) / 8 - 2;
    cx[i] = x[i] + (float)(i * 5 % 17) / 4 * I;
  }
  for (int i = 0; i < K * N; i++) {
    y[i] = (float)(i * 11 % 29) / 8 - 1;
    cy[i] = y[i] - (float)(i * 3 % 19) / 4 * I;
  }
  matrixf_mul(x, M, K, y, K, N, z, M, N);
  show("mul", M, N);
  matrixf_mul_transpose(x, M, K, z);
  show("mul_transpose", M, M);
  matrixf_transpose_mul(x, M, K, z);
  show("transpose_mul", K, K);
  matrixcf_mul(cx, M, K, cy, K, N, cz, M, N);
  show_complex("complex mul", M, N);
  matrixcf_mul_transpose(cx, M, K, cz);
  show_complex("complex mul_transpose", M, M);
  matrixcf_mul_hermitian(cx, M, K, cz);
  show_complex("complex mul_hermitian", M, M);
  matrixcf_transpose_mul(cx, M, K, cz);
  show_complex("complex transpose_mul", K, K);
  matrixcf_hermitian_mul(cx, M, K, cz);
  show_complex("complex hermitian_mul", K, K);
  return 0;
}
