/* sums_first.c -- layers whose sums are used in ways that no tail can say:
 * functions by pointer, of the library, with output, a row's largest element,
 * two sums at once.  Prints checksums that do not depend on the order in which
 * sums of small whole numbers are formed.
 *
 *   sums_first [M N K [two]]
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t half;

static uint32_t seed = 1;
static int next(void) {
  return (int)((seed = seed * 1664525 + 1013904223) >> 16);
}

static half to_half(int v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (half)(bits >> 16);
}

static float number(half h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

static void print(const char *what, const void *data, size_t bytes) {
  const unsigned char *x = data;
  uint32_t h = 1;
  for (size_t i = 0; i < bytes; i++)
    h = h * 31 + x[i];
  printf("%s %u\n", what, h);
}

static float half_of(float x) { return x * 0.5f; }
static float squared(float x) { return x * x; }

/* A call by pointer, which restrict keeps from a and b. */
__attribute__((noinline)) static void layer(int m, int n, int k, float *c,
                                            const half *restrict a,
                                            const half *restrict b,
                                            float (*f)(float)) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int l = 0; l < k; l++)
        s += number(a[i * k + l]) * number(b[l * n + j]);
      c[i * n + j] = f(s);
    }
}

/* Output within the nest keeps its place. */
__attribute__((noinline)) static int told(int m, int n, int k, int32_t *c,
                                          const int8_t *a, const int8_t *b) {
  int large = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int32_t s = 0;
      for (int l = 0; l < k; l++)
        s += a[i * k + l] * b[l * n + j];
      c[i * n + j] = s;
      if (s > 90 * k && large++ < 5)
        printf("large: %d in row %d, column %d\n", s, i, j);
    }
  return large;
}

/* Scores of queries and keys, of each row the largest, and the row's powers. */
__attribute__((noinline)) static void scores(int m, int n, int k, float *p,
                                             float *row, const half *q,
                                             const half *key) {
  for (int i = 0; i < m; i++) {
    float top = -1e30f;
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int l = 0; l < k; l++)
        s += number(q[i * k + l]) * number(key[j * k + l]);
      row[j] = s;
      top = fmaxf(top, s);
    }
    for (int j = 0; j < n; j++)
      p[i * n + j] = row[j] - top > -8 ? ldexpf(1, (int)(row[j] - top)) : 0;
  }
}

/* Two sums at once. */
__attribute__((noinline)) static void gated(int m, int n, int k, float *c,
                                            const half *x, const half *u,
                                            const half *v) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0, t = 0;
      for (int l = 0; l < k; l++) {
        s += number(x[i * k + l]) * number(u[j * k + l]);
        t += number(x[i * k + l]) * number(v[j * k + l]);
      }
      c[i * n + j] = s > 0 ? truncf(s / 3) * t : 0;
    }
}

/* In place: the inputs of later products are results of earlier ones. */
__attribute__((noinline)) static void in_place(int n, int8_t *a,
                                               const int8_t *b) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int32_t s = 0;
      for (int l = 0; l < n; l++)
        s += a[i * n + l] * b[l * n + j];
      while (s > 100 || s < -100)
        s /= 3;
      a[i * n + j] = (int8_t)s;
    }
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 48, n = argc > 2 ? atoi(argv[2]) : 40;
  int k = argc > 3 ? atoi(argv[3]) : 56;
  size_t a_size = (size_t)(m * k), b_size = (size_t)(k * n);
  half *a = malloc(a_size * 2), *b = malloc(b_size * 2),
       *d = malloc(b_size * 2);
  int8_t *x = malloc(a_size), *y = malloc(b_size),
         *z = calloc((size_t)(m * m), 1);
  float *c = malloc((size_t)(m * n) * 4), *row = malloc((size_t)n * 4);
  for (size_t i = 0; i < a_size; i++)
    a[i] = to_half(next() % 9 - 4), x[i] = (int8_t)next();
  for (size_t i = 0; i < b_size; i++) {
    b[i] = to_half(next() % 9 - 4), d[i] = to_half(next() % 5 - 2);
    y[i] = (int8_t)next();
  }
  for (int i = 0; i < m * m; i++)
    z[i] = (int8_t)next();
  float (*volatile f)(float) = half_of;
  layer(m, n, k, c, a, b, f);
  print("halves", c, (size_t)(m * n) * 4);
  f = squared;
  layer(m, n, k, c, a, b, f);
  print("squares", c, (size_t)(m * n) * 4);
  printf("%d are large\n", told(m, n, k, (int32_t *)c, x, y));
  print("sums", c, (size_t)(m * n) * 4);
  scores(m, n, k, c, row, a, b);
  print("scores", c, (size_t)(m * n) * 4);
  if (argc > 4) { /* two calls, or one that is compared with the loop */
    gated(m, n, k, c, a, b, d);
    print("gated", c, (size_t)(m * n) * 4);
  }
  in_place(m < n ? m : n, z, y);
  print("in place", z, (size_t)(m * m));
  free(a), free(b), free(d), free(x), free(y), free(z), free(c), free(row);
  return 0;
}
