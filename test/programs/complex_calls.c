/* complex_calls.c -- products of matrices of complex numbers that functions
 * add and multiply, as std::complex does: numbers are given and returned two
 * at a time, and copied as a whole.  They are small integers, so that all sums
 * are exact.
 *   complex_calls M N K */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct number {
  float re, im;
};

static struct number times(struct number x, struct number y) {
  struct number z = {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  return z;
}
static struct number plus(struct number x, struct number y) {
  struct number z = {x.re + y.re, x.im + y.im};
  return z;
}
static struct number conjugate(struct number x) {
  struct number z = {x.re, -x.im};
  return z;
}
static struct number multiple(float x, struct number y) {
  struct number z = {x * y.re, x * y.im};
  return z;
}
static void add(struct number *sum, struct number x) { *sum = plus(*sum, x); }

__attribute__((noinline)) static void columns(int m, int n, int k,
                                              const struct number *a,
                                              const struct number *b,
                                              struct number *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      struct number sum = {0, 0};
      for (int l = 0; l < k; l++)
        sum = plus(sum, times(a[i * k + l], b[l * n + j]));
      c[i * n + j] = sum;
    }
}

__attribute__((noinline)) static void rows(int m, int n, int k,
                                           const struct number *a,
                                           const struct number *b,
                                           struct number *c) {
  for (int i = 0; i < m; i++)
    for (int l = 0; l < k; l++) {
      struct number x = a[i * k + l];
      for (int j = 0; j < n; j++)
        c[i * n + j] = plus(c[i * n + j], times(x, b[l * n + j]));
    }
}

__attribute__((noinline)) static void
conjugates(int m, int n, int k, struct number scale, const struct number *a,
           const struct number *b, struct number *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      struct number sum = {0, 0};
      for (int l = 0; l < k; l++)
        add(&sum, times(a[i * k + l], conjugate(b[j * k + l])));
      c[i * n + j] = plus(times(scale, sum), c[i * n + j]);
    }
}

/* Of columns of pairs. */
__attribute__((noinline)) static void multiples(int m, int n, int k,
                                                const float *a,
                                                const struct number *b,
                                                struct number *c) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      struct number sum = {0, 0};
      for (int l = 0; l < k; l++)
        add(&sum, multiple(a[i * k + l], b[l * n + j]));
      c[i * n + j] = sum;
    }
}

/* Sums of the row before are factors: no product of matrices. */
__attribute__((noinline)) static void
powers(int m, int n, int k, const struct number *b, struct number *c) {
  for (int i = 1; i < m; i++)
    for (int j = 0; j < n; j++) {
      struct number sum = {0, 0};
      for (int l = 0; l < k && l < n; l++) {
        struct number x = times(c[(i - 1) * n + l], b[l * n + j]);
        sum.re += x.re - 8 * (float)(int)(x.re / 8);
        sum.im += x.im - 8 * (float)(int)(x.im / 8);
      }
      c[i * n + j].re = (float)((int)sum.re % 8);
      c[i * n + j].im = (float)((int)sum.im % 8);
    }
}

static void show(const char *name, const struct number *c, int count) {
  uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < count; i++) {
    hash = (hash ^ (uint32_t)(int)c[i].re) * 1099511628211u;
    hash = (hash ^ (uint32_t)(int)c[i].im) * 1099511628211u;
  }
  printf("%s: %d%+di, hash %016llx\n", name, (int)c[0].re, (int)c[0].im,
         (unsigned long long)hash);
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 33;
  int n = argc > 2 ? atoi(argv[2]) : 20;
  int k = argc > 3 ? atoi(argv[3]) : 17;
  size_t size = (size_t)(m * n + m * k + k * n);
  struct number *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b);
  struct number *c = calloc(size + 1, sizeof *c);
  if (!a || !b || !c)
    return 1;
  for (size_t i = 0; i < size; i++) {
    a[i] = (struct number){(float)(i * 7 % 15), (float)(i * 5 % 13) - 6};
    b[i] = (struct number){(float)(i * 3 % 11) - 5, (float)(i * 11 % 9)};
  }
  columns(m, n, k, a, b, c);
  show("columns", c, m * n);
  rows(m, n, k, a, b, c);
  show("rows", c, m * n);
  conjugates(m, n, k, (struct number){2, -1}, a, b, c);
  show("conjugates", c, m * n);
  multiples(m, n, k, (const float *)a, b, c);
  show("multiples", c, m * n);
  /* The next number's real part is this one's imaginary part. */
  rows(m, n, k, a, b, (struct number *)(void *)&c[0].im);
  show("shifted", c, m * n);
  columns(m, n, 1, a, c, c); /* of which the first row is read again */
  show("in place", c, m * n);
  for (int i = 0; i < n; i++)
    c[i] = b[i];
  powers(m, n, k, b, c);
  show("powers", c, m * n);
  free(a);
  free(b);
  free(c);
  return 0;
}
