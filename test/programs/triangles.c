/* triangles.c -- nests over triangles and symmetric matrices as numerical
 * libraries and PolyBench write them, of int8_t and of float.
 *
 * usage: triangles n
 *
 * Matrices are n x n in memory of LD x LD.  Values are small, so that float
 * sums are exact in any order and as bf16; one line per nest with a hash of all
 * that it left in the result. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LD = 104 };

#define LOOP(v, from, to) for (int v = (from); v < (to); v++)

#define KERNELS(T, R, name)                                                    \
  static void name##_syr2k(int n, R c[LD][LD], const T a[LD][LD],              \
                           const T b[LD][LD], R alpha, R beta) {               \
    LOOP(i, 0, n) {                                                            \
      LOOP(j, 0, i + 1) c[i][j] *= beta;                                       \
      LOOP(k, 0, n)                                                            \
      LOOP(j, 0, i + 1)                                                        \
      c[i][j] += a[j][k] * alpha * b[i][k] + b[j][k] * alpha * a[i][k];        \
    }                                                                          \
  }                                                                            \
  static void name##_syr2k_full(int n, R c[LD][LD], const T a[LD][LD],         \
                                const T b[LD][LD], R alpha, R beta) {          \
    (void)alpha, (void)beta;                                                   \
    LOOP(i, 0, n)                                                              \
    LOOP(j, 0, n)                                                              \
    LOOP(k, 0, n) c[i][j] += a[j][k] * b[i][k] + b[j][k] * a[i][k];            \
  }                                                                            \
  static void name##_covariance(int n, R c[LD][LD], const T a[LD][LD],         \
                                const T b[LD][LD], R alpha, R beta) {          \
    (void)b, (void)alpha;                                                      \
    LOOP(i, 0, n)                                                              \
    LOOP(j, i, n) {                                                            \
      c[i][j] = 0;                                                             \
      LOOP(k, 0, n) c[i][j] += a[k][i] * a[k][j];                              \
      c[i][j] *= beta;                                                         \
      c[j][i] = c[i][j];                                                       \
    }                                                                          \
  }                                                                            \
  static void name##_correlation(int n, R c[LD][LD], const T a[LD][LD],        \
                                 const T b[LD][LD], R alpha, R beta) {         \
    (void)b, (void)alpha, (void)beta;                                          \
    LOOP(i, 0, n - 1) {                                                        \
      c[i][i] = 1;                                                             \
      LOOP(j, i + 1, n) {                                                      \
        c[i][j] = 0;                                                           \
        LOOP(k, 0, n) c[i][j] += a[k][i] * a[k][j];                            \
        c[j][i] = c[i][j];                                                     \
      }                                                                        \
    }                                                                          \
    c[n - 1][n - 1] = 1;                                                       \
  }                                                                            \
  static void name##_symm(int n, R c[LD][LD], const T a[LD][LD],               \
                          const T b[LD][LD], R alpha, R beta) {                \
    LOOP(i, 0, n)                                                              \
    LOOP(j, 0, n) {                                                            \
      R sum = 0;                                                               \
      LOOP(k, 0, i) {                                                          \
        c[k][j] += alpha * b[i][j] * a[i][k];                                  \
        sum += b[k][j] * a[i][k];                                              \
      }                                                                        \
      c[i][j] = beta * c[i][j] + alpha * b[i][j] * a[i][i] + alpha * sum;      \
    }                                                                          \
  }                                                                            \
  static void name##_symm_upper(int n, R c[LD][LD], const T a[LD][LD],         \
                                const T b[LD][LD], R alpha, R beta) {          \
    (void)beta;                                                                \
    LOOP(i, 0, n)                                                              \
    LOOP(j, 0, n) {                                                            \
      R factor = alpha * b[i][j], sum = 0;                                     \
      c[i][j] += factor * a[i][i];                                             \
      LOOP(k, i + 1, n) {                                                      \
        c[k][j] += factor * a[i][k];                                           \
        sum += b[k][j] * a[i][k];                                              \
      }                                                                        \
      c[i][j] += alpha * sum;                                                  \
    }                                                                          \
  }

KERNELS(int8_t, int32_t, i8)
KERNELS(float, float, f32)

static uint32_t state = 7;
static int noise(void) { /* -4 .. 3 */
  state = state * 1664525 + 1013904223;
  return (int)(state >> 29) - 4;
}

static void report(const char *name, const void *p, size_t bytes) {
  uint64_t h = 14695981039346656037u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u;
  printf("%s %016llx\n", name, (unsigned long long)h);
}

#define RUN(name, kernel, R)                                                   \
  do {                                                                         \
    LOOP(i, 0, LD) LOOP(j, 0, LD) name##_c[i][j] = (R)(noise() + 5);           \
    name##_##kernel(n, name##_c, name##_a, name##_b, 3, 2);                    \
    report(#name " " #kernel, name##_c, sizeof name##_c);                      \
  } while (0)

#define ALL(T, R, name)                                                        \
  static T name##_a[LD][LD], name##_b[LD][LD];                                 \
  static R name##_c[LD][LD];                                                   \
  __attribute__((noinline)) static void name##_all(int n) {                    \
    LOOP(i, 0, LD)                                                             \
    LOOP(j, 0, LD) name##_a[i][j] = (T)noise(), name##_b[i][j] = (T)noise();   \
    RUN(name, syr2k, R);                                                       \
    RUN(name, syr2k_full, R);                                                  \
    RUN(name, covariance, R);                                                  \
    RUN(name, correlation, R);                                                 \
    RUN(name, symm, R);                                                        \
    RUN(name, symm_upper, R);                                                  \
  }

ALL(int8_t, int32_t, i8)
ALL(float, float, f32)

int main(int argc, char **argv) {
  int n = argc == 2 ? atoi(argv[1]) : 0;
  if (n < 1 || n > LD) {
    fprintf(stderr, "usage: triangles n, up to %d\n", LD);
    return 2;
  }
  i8_all(n);
  f32_all(n);
  return 0;
}
