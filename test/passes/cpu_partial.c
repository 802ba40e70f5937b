// Products of which a triangle is stored are one product, and nothing else is
// read or written: arrays end, or begin, with their pages, and what lies beside
// the triangle stays as it is.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math %s -o %t && %t > %t.with
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -mavx2 -mfma %s -o %t && %t > %t.avx2
// RUN: %plain -O2 -ffast-math %s -o %t && %t > %t.without
// RUN: diff %t.with %t.without
// RUN: diff %t.avx2 %t.without
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NEST(name, T)                                                          \
  __attribute__((noinline)) static void name(                                  \
      long n, long m, const T *restrict a, const T *restrict b, T *restrict c, \
      T alpha, T beta)
#define I for (long i = 0; i < n; i++)
#define K for (long k = 0; k < m; k++)
#define LOWER for (long j = 0; j <= i; j++)
#define UPPER for (long j = i; j < n; j++)
#define C c[i * n + j]
#define AA a[i * m + k] * a[j * m + k]
#define AB a[i * m + k] * b[j * m + k]

#define NESTS(T)                                                               \
  NEST(syrk_##T, T) { I { LOWER C *= beta; K LOWER C += alpha * AA; } }        \
  NEST(upper_##T, T) { I UPPER { T s = 0; K s += AB; C = alpha * s + beta * C; } } \
  NEST(strict_##T, T) { I for (long j = 0; j < i; j++) { T s = 0; K s += AB; C = s; } } \
  NEST(above_##T, T) { I for (long j = i + 1; j < n; j++) K C += AB; }         \
  NEST(anti_##T, T) { I for (long j = 0; j < n - i; j++) K C += AB; }          \
  NEST(ends_##T, T) { I for (long j = n - 1 - i; j < n; j++) K C += AB; }      \
  NEST(across_##T, T) { K I LOWER C += a[k * n + i] * b[k * n + j]; }          \
  NEST(biased_##T, T) { I LOWER { T s = 0; K s += AB; s += b[j]; C = s > 0 ? s : 0; } } \
  NEST(squared_##T, T) { I LOWER { T s = 0; K s += AB; C = s + C * C; } }      \
  static void (*const nests_##T[])(long, long, const T *, const T *, T *, T, T) = \
      {syrk_##T, upper_##T, strict_##T, above_##T, anti_##T, ends_##T,         \
       across_##T, biased_##T, squared_##T};                                   \
  static void run_##T(int f, long n, long m, int beta) {                       \
    long in = n * m > n ? n * m : n;                                           \
    T *a = place(in * (long)sizeof(T)), *b = place(in * (long)sizeof(T));      \
    T *c = place(n * n * (long)sizeof(T));                                     \
    for (long i = 0; i < in; i++) {                                            \
      a[i] = (T)(i * 5 % 7 - 3);                                               \
      b[i] = (T)(i * 7 % 5 - 2);                                               \
    }                                                                          \
    for (long i = 0; i < n * n; i++)                                           \
      c[i] = (T)(i * 3 % 11 - 5);                                              \
    nests_##T[f](n, m, a, b, c, 3, (T)beta);                                   \
    unsigned hash = 0;                                                         \
    for (long i = 0; i < n * n; i++)                                           \
      hash = hash * 31 + (unsigned)(long)c[i];                                 \
    printf(#T " nest %d of %ld %ld: %u\n", f, n, m, hash);                     \
    release();                                                                 \
  }

// Memory that ends, or begins, at a page that is not there.
enum { PAGE = 4096, ARRAYS = 3 };
static struct {
  char *at;
  size_t bytes;
} held[ARRAYS];
static int count, ends;
static void *place(long bytes) {
  size_t whole = ((size_t)bytes + PAGE - 1) / PAGE * PAGE;
  char *at = mmap(NULL, whole + 2 * PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(at, PAGE, PROT_NONE);
  mprotect(at + PAGE + whole, PAGE, PROT_NONE);
  held[count].at = at;
  held[count++].bytes = whole + 2 * PAGE;
  return at + PAGE + (ends ? whole - (size_t)bytes : 0);
}
static void release(void) {
  while (count > 0) {
    count--;
    munmap(held[count].at, held[count].bytes);
  }
}

// clang-format off
NESTS(double) // expected-remark 9 {{code for the processor}}
NESTS(float) // expected-remark 9 {{code for the processor}}
NESTS(int) // expected-remark 9 {{code for the processor}}
// clang-format on

static void run(int f, long n, long m, int beta) {
  run_double(f, n, m, beta);
  run_float(f, n, m, beta);
  run_int(f, n, m, beta);
}

int main(void) {
  for (int f = 0; f < 9; f++) {
    for (long n = 1; n <= 70; n++) {
      ends = (int)n & 1;
      run(f, n, n * 7 % 23 + 1, (int)n % 3);
    }
    run(f, 40, 0, 2);
    run(f, 270, 300, 2);
    run(f, 530, 70, 1);
    run(f, 90, 1100, 0);
  }
  return 0;
}
