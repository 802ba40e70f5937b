/* complex.c -- products of matrices of complex numbers, row after row added to
 * what was there: of integers, which must agree in every bit.
 *   complex M N K */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct input {
  int8_t re, im;
};
struct sum {
  int32_t re, im;
};

__attribute__((noinline)) static void add(int m, int n, int k,
                                          const struct input *a,
                                          const struct input *b, struct sum *c,
                                          int row) {
  for (int i = 0; i < m; i++)
    for (int l = 0; l < k; l++)
      for (int j = 0; j < n; j++) {
        struct input x = a[i * k + l], y = b[l * n + j];
        c[i * row + j].re += x.re * y.re - x.im * y.im;
        c[i * row + j].im += x.re * y.im + x.im * y.re;
      }
}

/* The conjugate of a, transposed. */
__attribute__((noinline)) static void add_conjugate(int m, int n, int k,
                                                    const struct input *a,
                                                    const struct input *b,
                                                    struct sum *c, int row) {
  for (int l = 0; l < k; l++)
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++) {
        struct input x = a[l * m + i], y = b[l * n + j];
        c[i * row + j].im += x.re * y.im - x.im * y.re;
        c[i * row + j].re += x.re * y.re + x.im * y.im;
      }
}

static void show(const char *name, const struct sum *c, int count) {
  uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < count; i++) {
    hash = (hash ^ (uint32_t)c[i].re) * 1099511628211u;
    hash = (hash ^ (uint32_t)c[i].im) * 1099511628211u;
  }
  printf("%s: %d%+di, hash %016llx\n", name, (int)c[0].re, (int)c[0].im,
         (unsigned long long)hash);
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 33;
  int n = argc > 2 ? atoi(argv[2]) : 20;
  int k = argc > 3 ? atoi(argv[3]) : 17;
  size_t size = (size_t)(m * n + m * k + k * n);
  struct input *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b);
  struct sum *c = calloc(size, sizeof *c);
  if (!a || !b || !c)
    return 1;
  for (size_t i = 0; i < size; i++) {
    a[i] = (struct input){(int8_t)(i * 7 % 31), (int8_t)(i * 5 % 29 - 14)};
    b[i] = (struct input){(int8_t)(i * 3 % 37 - 18), (int8_t)(i * 11 % 23)};
  }
  add(m, n, k, a, b, c, n);
  show("product", c, m * n);
  add_conjugate(m, n, k, a, b, c, n);
  show("conjugate", c, m * n);
  add(m, n, k, a, b, c, n / 2); /* rows meet */
  show("rows that meet", c, m * n);
  /* The next number's real part is this one's imaginary part. */
  add(m, n, k, a, b, (struct sum *)(void *)&c[0].im, n);
  show("shifted", c, m * n);
  free(a);
  free(b);
  free(c);
  return 0;
}
