// Blocks of results, two rows or more by two columns or more, and in the loop
// around them, what they leave of their rows or columns.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 67
#include "forms.h"

// Of counters without a sign, as most of these are written with.
#define SIZES                                                                  \
  uint32_t m = M < 0 ? 0 : M, n = N < 0 ? 0 : N, depth = K < 0 ? 0 : K;         \
  (void)m;
#define A_AT(i, k) A[(i) * depth + (k)]
#define B_AT(k, j) B[(k) * n + (j)]
#define C_AT(i, j) C[(i) * n + (j)]
#define BT_AT(k, j) B[(k) + (j) * depth]

// The products of a block at row i and column j.
#define BLOCK(B_AT)                                                            \
  int32_t s = 0, t = 0, u = 0, v = 0;                                          \
  for (uint32_t k = 0; k < depth; k++) {                                       \
    int32_t a = A_AT(i, k), b = B_AT(k, j), c = B_AT(k, j + 1);                \
    s += a * b;                                                                \
    t += a * c;                                                                \
    a = A_AT(i + 1, k);                                                        \
    u += a * b;                                                                \
    v += a * c;                                                                \
  }
#define STORES(row)                                                            \
  C[i * (row) + j] = s;                                                        \
  C[i * (row) + j + 1] = t;                                                    \
  C[(i + 1) * (row) + j] = u;                                                  \
  C[(i + 1) * (row) + j + 1] = v;
#define COLUMN(at, B_AT)                                                       \
  for (uint32_t r = i; r < i + 2; r++) {                                       \
    int32_t s = 0;                                                             \
    for (uint32_t k = 0; k < depth; k++)                                       \
      s += A_AT(r, k) * B_AT(k, n - 1);                                        \
    C[r * n + (at)] = s;                                                       \
  }
#define LAST_ROW                                                               \
  if (m & 1)                                                                   \
    for (uint32_t j = 0; j < n; j++) {                                         \
      int32_t s = 0;                                                           \
      for (uint32_t k = 0; k < depth; k++)                                     \
        s += A_AT(m - 1, k) * B_AT(k, j);                                      \
      C_AT(m - 1, j) = s;                                                      \
    }

INT_FORM(columns_left_in_rows) {
  SIZES
  for (uint32_t i = 0; i < (m & ~1u); i += 2) { // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all}}
    for (uint32_t j = 0; j < (n & ~1u); j += 2) {
      BLOCK(B_AT)
      STORES(n)
    }
    if (n & 1)
      COLUMN(n - 1, B_AT)
  }
  LAST_ROW // expected-remark {{by a vector}}
}
INT_FORM(turned) { // with a start that only the program knows
  SIZES
  uint32_t first = K == 5 ? 2 : 0;
  for (uint32_t i = first; i < (m & ~1u); i += 2) { // expected-remark {{mk,nk->mn with m=n_i.all n=n_j.all}}
    for (uint32_t j = 0; j < (n & ~1u); j += 2) {
      BLOCK(BT_AT)
      STORES(n)
    }
    if (n & 1)
      COLUMN(n - 1, BT_AT)
  }
}
INT_FORM(rows_left_in_columns) {
  SIZES
  for (uint32_t j = 0; j < (n & ~1u); j += 2) { // expected-remark {{mk,kn->mn with n=n_i.all m=n_j.all}}
    for (uint32_t i = 0; i < (m & ~1u); i += 2) {
      BLOCK(B_AT)
      STORES(n)
    }
    if (m & 1)
      for (uint32_t c = j; c < j + 2; c++) {
        int32_t s = 0;
        for (uint32_t k = 0; k < depth; k++)
          s += A_AT(m - 1, k) * B_AT(k, c);
        C_AT(m - 1, c) = s;
      }
  }
}
INT_FORM(several_columns_left) {
  for (int i = 0; i + 1 < M; i += 2) { // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all}}
    for (int j = 0; j + 2 < N; j += 3) {
      int32_t s[6] = {0};
      for (int k = 0; k < K; k++) {
        const int8_t *b = B + k * N + j;
        s[0] += A[i * K + k] * b[0];
        s[1] += A[i * K + k] * b[1];
        s[2] += A[i * K + k] * b[2];
        s[3] += A[(i + 1) * K + k] * b[0];
        s[4] += A[(i + 1) * K + k] * b[1];
        s[5] += A[(i + 1) * K + k] * b[2];
      }
      C[i * N + j] = s[0];
      C[i * N + j + 1] = s[1];
      C[i * N + j + 2] = s[2];
      C[(i + 1) * N + j] = s[3];
      C[(i + 1) * N + j + 1] = s[4];
      C[(i + 1) * N + j + 2] = s[5];
    }
    for (int r = i; r < i + 2; r++)
      for (int c = N / 3 * 3; c < N; c++) {
        int32_t s = 0;
        for (int k = 0; k < K; k++)
          s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
      }
  }
}
INT_FORM(added) {
  SIZES
  for (int i = 0; i + 1 < M; i += 2) { // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all}}
    for (int j = 0; j + 1 < N; j += 2) {
      BLOCK(B_AT)
      C[i * N + j] += s;
      C[i * N + j + 1] += t;
      C[(i + 1) * N + j] += u;
      C[(i + 1) * N + j + 1] += v;
    }
    if (N > 0 && N % 2)
      for (int r = i; r < i + 2; r++)
        for (int k = 0; k < K; k++)
          C[r * N + N - 1] += A[r * K + k] * B[k * N + N - 1];
  }
}

// ---- near misses, which the program finds ----

INT_FORM(column_of_the_next_block) { // which is written again
  SIZES
  for (uint32_t i = 0; i < (m & ~1u); i += 2) { // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all}}
    for (uint32_t j = 0; j < (n & ~1u); j += 2) {
      BLOCK(B_AT)
      STORES(n)
    }
    if (n & 1)
      COLUMN(n, B_AT)
  }
}
INT_FORM(rows_over_each_other) {
  SIZES
  for (uint32_t i = 0; i < (m & ~1u); i += 2) { // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all}}
    for (uint32_t j = 0; j < (n & ~1u); j += 2) {
      BLOCK(B_AT)
      STORES(n / 2)
    }
    if (n & 1)
      COLUMN(n - 1, B_AT)
  }
}
INT_FORM(row_of_the_block) { // beside it, in each column
  SIZES
  for (uint32_t j = 0; j < (n & ~1u); j += 2) { // expected-remark {{mk,kn->mn with n=n_i.all m=n_j.all}}
    for (uint32_t i = 0; i < (m & ~1u); i += 2) {
      BLOCK(B_AT)
      STORES(n)
    }
    if (m & 1)
      for (uint32_t c = j; c < j + 3; c++) {
        int32_t s = 0;
        for (uint32_t k = 0; k < depth; k++)
          s += A_AT(0, k) * B_AT(k, c);
        C_AT(0, c) = s;
      }
  }
}

// ---- near misses ----

INT_FORM(column_read_by_the_next_block) {
  SIZES
  for (uint32_t i = 0; i < (m & ~1u); i += 2) { // expected-remark {{for its sums}}
    for (uint32_t j = 0; j < (n & ~1u); j += 2) {
      int32_t old = C[i * n + n];
      BLOCK(B_AT)
      s += old;
      STORES(n)
    }
    if (n & 1)
      COLUMN(n + 1, B_AT)
  }
}
INT_FORM(in_an_order) { // of what is used behind it
  SIZES
  int32_t all = 0;
  for (uint32_t i = 0; i < (m & ~1u); i += 2) {
    for (uint32_t j = 0; j < (n & ~1u); j += 2) { // expected-remark {{for its sums}}
      BLOCK(B_AT)
      STORES(n)
      all = all * 3 + s;
    }
    if (n & 1)
      COLUMN(n - 1, B_AT)
  }
  C[0] ^= all;
}
