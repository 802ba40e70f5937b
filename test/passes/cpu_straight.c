// Sizes that are known have code in a row for a block of columns; blocks that
// are alike share it where it is long, so that an object stays small.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -S -emit-llvm \
// RUN:   -march=x86-64-v3 %s -o - | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -DRUN \
// RUN:   -march=x86-64-v2 %s -o %t
// RUN: %t | FileCheck --check-prefix=SUMS %s
#include <stdio.h>

enum { M = 20, N = 23, K = 20 };

#define MULTIPLY(NAME, T, IN1)                                                 \
  void NAME(T c[M][N], const T a[M][K], const T *b) {                          \
    for (int i = 0; i < M; i++)                                                \
      for (int j = 0; j < N; j++) {                                            \
        T sum = 0;                                                             \
        for (int k = 0; k < K; k++)                                            \
          sum += a[i][k] * b[IN1];                                             \
        c[i][j] = sum;                                                         \
      }                                                                        \
  }
// Blocks of five rows by two vectors, steps in a loop.
// CHECK-LABEL: define {{.*}} @nputeir.small.cpu.
// CHECK-COUNT-10: mul <4 x i64>
// The last ones, which overlap.
// CHECK-COUNT-10: mul <4 x i64>
// CHECK-NOT: mul <4 x i64>
MULTIPLY(longs, long, k * N + j)

#ifdef RUN
MULTIPLY(turned_longs, long, j * K + k)
MULTIPLY(turned_shorts, short, j * K + k)
MULTIPLY(shorts, short, k * N + j)

#define PRINT(NAME, T)                                                         \
  {                                                                            \
    static T a[M][K], b[K * N], c[M][N];                                       \
    long wrong = 0;                                                            \
    for (int i = 0; i < M * K; i++)                                            \
      a[i / K][i % K] = (T)(i % 13 - 6);                                       \
    for (int i = 0; i < K * N; i++)                                            \
      b[i] = (T)(i % 17 - 8);                                                  \
    NAME(c, a, b);                                                             \
    int turned = #NAME[0] == 't';                                              \
    for (int i = 0; i < M; i++)                                                \
      for (int j = 0; j < N; j++) {                                            \
        T sum = 0;                                                             \
        for (volatile int k = 0; k < K; k++)                                   \
          sum += a[i][k] * b[turned ? j * K + k : k * N + j];                  \
        wrong += sum != c[i][j];                                               \
      }                                                                        \
    printf("%s: %ld\n", #NAME, wrong);                                         \
  }

int main(void) {
  // SUMS: {{^}}longs: 0
  PRINT(longs, long)
  // SUMS: turned_longs: 0
  PRINT(turned_longs, long)
  // SUMS: turned_shorts: 0
  PRINT(turned_shorts, short)
  // SUMS: {{^}}shorts: 0
  PRINT(shorts, short)
}
#endif
