// Blocks of the result in registers: several sums and stores per iteration.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 33
#include "forms.h"
// Column-major, with leading dimensions, as in BLAS.
#define a(i, j) A[(j) * lda + (i)]
#define b(i, j) B[(j) * ldb + (i)]
#define c(i, j) C[(j) * ldc + (i)]
#define PARAMETERS                                                             \
  int k, const int8_t *A, int lda, const int8_t *B, int ldb, int32_t *C, int ldc
#define ARGUMENTS(i, j) K, &a(i, 0), lda, &b(0, j), ldb, &c(i, j), ldc
#define SIZES                                                                  \
  M &= ~3, N &= ~3;                                                            \
  int lda = M, ldb = K, ldc = M

static inline void dot(int k, const int8_t *x, int incx, const int8_t *y,
                       int32_t *gamma) {
  for (int p = 0; p < k; p++)
    *gamma += x[p * incx] * y[p];
}
static inline void dot_1x4(PARAMETERS) {
  int32_t c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  const int8_t *b0 = &b(0, 0), *b1 = &b(0, 1), *b2 = &b(0, 2), *b3 = &b(0, 3);
  for (int p = 0; p < k; p++) {
    int8_t a0 = a(0, p);
    c0 += a0 * *b0++;
    c1 += a0 * *b1++;
    c2 += a0 * *b2++;
    c3 += a0 * *b3++;
  }
  c(0, 0) += c0;
  c(0, 1) += c1;
  c(0, 2) += c2;
  c(0, 3) += c3;
}
static inline void dot_4x4(PARAMETERS) {
  for (int p = 0; p < k; p++) {
#define ROW(i)                                                                 \
  c(i, 0) += a(i, p) * b(p, 0), c(i, 1) += a(i, p) * b(p, 1),                  \
      c(i, 2) += a(i, p) * b(p, 2), c(i, 3) += a(i, p) * b(p, 3)
    ROW(0);
    ROW(1);
    ROW(2);
    ROW(3);
  }
}
static inline void dot_2x2(PARAMETERS) {
  int32_t c00 = 0, c01 = 0, c10 = 0, c11 = 0;
  const int8_t *b0 = &b(0, 0), *b1 = &b(0, 1);
  for (int p = 0; p < k; p++, b0++, b1++) {
    int8_t a0 = a(0, p), a1 = a(1, p);
    c00 += a0 * *b0;
    c01 += a0 * *b1;
    c10 += a1 * *b0;
    c11 += a1 * *b1;
  }
  c(0, 0) += c00;
  c(0, 1) += c01;
  c(1, 0) += c10;
  c(1, 1) += c11;
}

INT_FORM(one_by_four_dots) {
  SIZES;
  for (int j = 0; j < N; j += 4) // expected-remark {{->}}
    for (int i = 0; i < M; i++) {
      dot(K, &a(i, 0), lda, &b(0, j), &c(i, j));
      dot(K, &a(i, 0), lda, &b(0, j + 1), &c(i, j + 1));
      dot(K, &a(i, 0), lda, &b(0, j + 2), &c(i, j + 2));
      dot(K, &a(i, 0), lda, &b(0, j + 3), &c(i, j + 3));
    }
}
INT_FORM(one_by_four) {
  SIZES;
  for (int j = 0; j < N; j += 4) // expected-remark {{->}}
    for (int i = 0; i < M; i++)
      dot_1x4(ARGUMENTS(i, j));
}
INT_FORM(four_by_four) {
  SIZES;
  for (int j = 0; j < N; j += 4) // expected-remark {{->}}
    for (int i = 0; i < M; i += 4)
      dot_4x4(ARGUMENTS(i, j));
}
INT_FORM(two_by_two) {
  SIZES;
  for (int j = 0; j < N; j += 2) // expected-remark {{->}}
    for (int i = 0; i < M; i += 2)
      dot_2x2(ARGUMENTS(i, j));
}
INT_FORM(columns_by_double) { // declined at run time where the double wraps
  unsigned half = K == 7 ? 0x80000008 : 8;
  M &= 15;
  for (int j = 0; j < N; j++) // expected-remark {{->}}
    for (int i = 0; i < M; i++)
      for (int p = 0; p < K; p++) {
        C[j * 64 + i] += A[i * K + p] * B[j * K + p];
        C[j * 64 + i + (int)(2 * half)] +=
            A[i * K + p] * B[j * K + p + (int)(2 * half)];
      }
}
INT_FORM(other_length) { // one of the sums is shorter
  SIZES;
  for (int j = 0; j < N; j += 2) // expected-remark {{kept}}
    for (int i = 0; i < M; i++) {
      dot(K, &a(i, 0), lda, &b(0, j), &c(i, j));
      dot(K - 1, &a(i, 0), lda, &b(0, j + 1), &c(i, j + 1));
    }
}
INT_FORM(other_direction) { // one of the sums goes through B backwards
  SIZES;
  for (int j = 0; j < N; j += 2) // expected-remark {{mk,kn->mn}} expected-remark {{kept}}
    for (int i = 0; i < M; i++) {
      dot(K, &a(i, 0), lda, &b(0, j), &c(i, j));
      for (int p = 0; p < K; p++)
        c(i, j + 1) += a(i, p) * b(K - 1 - p, j + 1);
    }
}
INT_FORM(same_place_twice) { // a second sum into the first one's place
  SIZES;
  for (int j = 0; j < N; j += 2) // expected-remark {{kept}}
    for (int i = 0; i < M; i++) {
      dot(K, &a(i, 0), lda, &b(0, j), &c(i, j));
      dot(K, &a(i, 0), lda, &b(0, j + 1), &c(i, j));
      dot(K, &a(i, 0), lda, &b(0, j), &c(i, j + 1));
    }
}
