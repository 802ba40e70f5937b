/* matmul.c -- an ordinary C program: C = A * B in bfloat16 with float sums, and
 * the same in 8-bit integers.  It knows nothing of an NPU.
 *
 * usage: matmul [m n k]
 *
 * The values are small multiples of 1/8, so that every float sum is exact and
 * the printed hashes must be the same however the sums are ordered. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void multiply(int m, int n, int k, const __bf16 *a, const __bf16 *b,
                     float *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int l = 0; l < k; l++)
        sum += (float)a[i * k + l] * (float)b[l * n + j];
      c[i * n + j] = sum;
    }
}

static void multiply_int(int m, int n, int k, const int8_t *a, const int8_t *b,
                         int32_t *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int32_t sum = 0;
      for (int l = 0; l < k; l++)
        sum += a[i * k + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
}

static uint32_t state = 1;
static int noise(void) { /* -8 .. 7 */
  state = state * 1664525 + 1013904223;
  return (int)(state >> 28) - 8;
}

/* Exact for these values: the upper half of the float.  (A cast would call
 * __truncsfbf2, which Debian 12's libgcc does not have.) */
static __bf16 to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint16_t half = (uint16_t)(bits >> 16);
  __bf16 b;
  memcpy(&b, &half, sizeof b);
  return b;
}

static uint64_t hash(const void *p, size_t bytes) {
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u;
  return h;
}

static void *room(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    fprintf(stderr, "matmul: out of memory\n");
    exit(1);
  }
  return p;
}

int main(int argc, char **argv) {
  int m = 256, n = 256, k = 256;
  if (argc == 4) {
    m = atoi(argv[1]);
    n = atoi(argv[2]);
    k = atoi(argv[3]);
  }
  if ((argc != 1 && argc != 4) || m < 1 || n < 1 || k < 1) {
    fprintf(stderr, "usage: matmul [m n k]\n");
    return 2;
  }
  size_t mk = (size_t)m * k, kn = (size_t)k * n, mn = (size_t)m * n;
  __bf16 *a = room(mk * sizeof *a), *b = room(kn * sizeof *b);
  float *c = room(mn * sizeof *c);
  int8_t *ai = room(mk), *bi = room(kn);
  int32_t *ci = room(mn * sizeof *ci);
  for (size_t i = 0; i < mk; i++)
    a[i] = to_bf16((float)noise() / 8), ai[i] = (int8_t)(noise() * 16);
  for (size_t i = 0; i < kn; i++)
    b[i] = to_bf16((float)noise() / 8), bi[i] = (int8_t)(noise() * 16);
  multiply(m, n, k, a, b, c);
  multiply_int(m, n, k, ai, bi, ci);
  printf("bf16 %dx%dx%d: c[0] = %g, hash %016llx\n", m, n, k, c[0],
         (unsigned long long)hash(c, mn * sizeof *c));
  printf("int8 %dx%dx%d: c[0] = %d, hash %016llx\n", m, n, k, (int)ci[0],
         (unsigned long long)hash(ci, mn * sizeof *ci));
  free(a), free(b), free(c), free(ai), free(bi), free(ci);
  return 0;
}
