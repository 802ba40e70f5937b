// Of few rows all of in0 is one block, which is packed once for all columns; not
// so where K is cut, too, and not from one matrix of a batch to the next.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math %s -o %t
// RUN: %t | FileCheck %s
#include <stdio.h>

enum { BATCH = 2, M = 90, N = 700, K = 2100 };

#define MULTIPLY(NAME, IN, SUM)                                                \
  __attribute__((noinline)) static void NAME(                                  \
      long m, long n, long k, const IN *restrict a, const IN *restrict b,      \
      SUM *restrict c) {                                                       \
    for (long z = 0; z < BATCH; z++)                                           \
      for (long i = 0; i < m; i++)                                             \
        for (long j = 0; j < n; j++)                                           \
          for (long p = 0; p < k; p++)                                         \
            c[(z * m + i) * n + j] += (SUM)a[(z * m + i) * k + p] *            \
                                      (SUM)b[p * n + j];                       \
  }                                                                            \
  static int NAME##_differs(long m, long n, long k) {                          \
    static IN a[BATCH * M * K], b[K * N];                                      \
    static SUM c[BATCH * M * N];                                               \
    for (long i = 0; i < BATCH * m * k; i++)                                   \
      a[i] = (IN)(i * 7 % 5 - 2);                                              \
    for (long i = 0; i < k * n; i++)                                           \
      b[i] = (IN)(i * 5 % 7 - 3);                                              \
    for (long i = 0; i < BATCH * m * n; i++)                                   \
      c[i] = 1;                                                                \
    NAME(m, n, k, a, b, c);                                                    \
    for (long i = 0; i < BATCH * m; i++)                                       \
      for (long j = i % 3; j < n; j += 3) {                                    \
        int sum = 1;                                                           \
        for (long p = 0; p < k; p++)                                           \
          sum += (int)a[i * k + p] * (int)b[p * n + j];                        \
        if ((int)c[i * n + j] != sum)                                          \
          return 1;                                                            \
      }                                                                        \
    return 0;                                                                  \
  }
MULTIPLY(floats, float, float)
MULTIPLY(doubles, double, double)
MULTIPLY(bytes, signed char, int)

int main(void) {
  static const long rows[] = {20, 60, M}, columns[] = {40, 300, N},
                    steps[] = {150, 1200, K};
  int tried = 0, different = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 3; k++, tried++) {
        different += floats_differs(rows[i], columns[j], steps[k]);
        different += doubles_differs(rows[i], columns[j], steps[k]);
        different += bytes_differs(rows[i], columns[j], steps[k]);
      }
  // CHECK: 27 shapes, 0 different
  printf("%d shapes, %d different\n", tried, different);
}
