// Loops written in other ways, and conditions that do not change in the nest.
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %verify -O1 %s
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %verify -O3 %s
// DONE: 216
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

static inline int dot(const int8_t *a, const int8_t *b, int n, int step) {
  int s = 0;
  for (int k = 0; k < n; k++) // expected-remark 0-1 {{mk,kn->mn}}
    s += a[k] * b[k * step];
  return s;
}
INT_FORM(dot_helper) {
  I J C[i * N + j] = dot(A + i * K, B + j, K, N); // expected-remark 0-1 {{mk,kn->mn}}
}
static inline int at(const int8_t *a, int row, int column, int pitch) {
  return a[row * pitch + column];
}
INT_FORM(at_helper) {
  I J L C[i * N + j] += at(A, i, k, K) * at(B, k, j, N); // expected-remark {{mk,kn->mn}}
}
INT_FORM(flag) {
  int twice = B[0] > 0;
  I J // expected-remark {{mk,kn->mn}}
    if (twice)
      L C[i * N + j] += AB;
}
INT_FORM(flag_of_a_store) { // neither side sums, one writes
  int stored = K > 5;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += AB;
    if (stored)
      C[i * N + j] = s;
  }
}
INT_FORM(flag_else) { // both sides sum products, one of a matrix and a vector
  int twice = B[0] > 0;
  I J { // expected-remark {{mk,kn->mn}}
    if (twice)
      L C[i * N + j] += AB;
    else
      L C[i * N + j] += A[i * K + k] * A[k];
  }
}
INT_FORM(whiles) {
  int i = 0;
  while (i < M) { // expected-remark {{mk,kn->mn}}
    int j = 0;
    while (j < N) {
      int k = 0, s = 0;
      while (k < K) {
        s += AB;
        k++;
      }
      C[i * N + j] = s;
      j++;
    }
    i++;
  }
}
INT_FORM(do_while) {
  if (M < 1 || N < 1 || K < 1)
    return;
  int i = 0;
  do { // expected-remark {{mk,kn->mn}}
    int j = 0;
    do {
      int k = 0, s = 0;
      do
        s += AB;
      while (++k < K);
      C[i * N + j] = s;
    } while (++j < N);
  } while (++i < M);
}
INT_FORM(do_while_once) { // the body runs once even for sizes below one
  int i = 0;
  do { // expected-remark {{mk,kn->mn}}
    J L C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
  } while (++i < M);
}
INT_FORM(up_to_and_with) {
  for (int i = 1; i <= M; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 1; j <= N; j++)
      for (int k = 1; k <= K; k++)
        C[(i - 1) * N + j - 1] += A[(i - 1) * K + k - 1] * B[(k - 1) * N + j - 1];
}
INT_FORM(step_two) {
  for (int i = 0; i < M; i += 2) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N; j++)
      for (int k = 0; k < K; k += 3)
        C[i * N + j] += AB;
}
INT_FORM(half) {
  for (int i = 0; i < M / 2; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N / 2; j++)
      L C[i * N + j] += AB;
}
INT_FORM(short_index) {
  for (short i = 0; i < 20; i++) // expected-remark {{mk,kn->mn}}
    for (short j = 0; j < 12; j++)
      for (short k = 0; k < 9; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
}
INT_FORM(row_pointers_bumped) {
  for (int i = 0; i < M; i++, C += N, A += K) // expected-remark {{mk,kn->mn}}
    J {
      int s = 0;
      L s += A[k] * B[k * N + j];
      C[j] = s;
    }
}
INT_FORM(batched) {
  for (int b = 0; b < 3; b++) // expected-remark {{cmk,ckn->cmn}}
    for (int i = 0; i < 10; i++)
      for (int j = 0; j < 8; j++) {
        int s = 0;
        for (int k = 0; k < 12; k++)
          s += A[b * 400 + i * 12 + k] * B[b * 300 + k * 8 + j];
        C[b * 80 + i * 8 + j] = s;
      }
}
INT_FORM(batch_offset) { // the same product, into places that overlap
  for (int b = 0; b < 3; b++)
    for (int i = 0; i < 10; i++) // expected-remark {{mk,kn->mn}}
      for (int j = 0; j < 8; j++)
        for (int k = 0; k < 12; k++)
          C[b * 8 + i * 8 + j] += A[b * 400 + i * 12 + k] * B[b * 300 + k * 8 + j];
}
INT_FORM(two_sums) {
  for (int i = 0; i < 16; i++) // expected-remark {{mk,kn->mn with m=16 n=20 k=32}}
    for (int j = 0; j < 20; j++) {
      int s = 0;
      for (int p = 0; p < 8; p++)
        for (int q = 0; q < 4; q++)
          s += A[i * 32 + p * 4 + q] * B[(p * 4 + q) * 20 + j];
      C[i * 20 + j] = s;
    }
}
// What is known before the first of several nests is known before all of them,
// whatever was put between.
INT_FORM(several) {
  if (M < 1 || N < 1 || K < 1)
    return;
  unsigned m = M, n = N;
  for (unsigned i = 0; i != m; i++) // expected-remark {{mk,kn->mn}}
    for (unsigned j = 0; j != n; j++)
      L C[i * 64l + j] += A[i * 64l + k] * B[k * 64l + j];
  for (int t = 0; t < 2; t++) {
    I // expected-remark {{mk,kn->mn}}
      for (int j = 0; j < i; j++)
        L C[i * 64 + j] -= A[i * 64 + k] * B[k * 64 + j + t];
    if (C[t] > 5)
      I J L C[i * 64 + j] += A[k * 64 + i] * B[k * 64 + j]; // expected-remark {{km,kn->mn}}
    for (unsigned i = 0; i != m; i++) // expected-remark {{mk,nk->mn}}
      for (unsigned j = 0; j != n; j++)
        L C[i * 64l + j] += A[i * 64l + k] * B[j * 64l + k];
  }
  I J L C[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(tiled) {
  for (int ii = 0; ii < 32; ii += 16) // expected-remark {{mk,kn->mn with m=32}}
    for (int jj = 0; jj < 32; jj += 8)
      for (int kk = 0; kk < 32; kk += 4)
        for (int i = ii; i < ii + 16; i++)
          for (int j = jj; j < jj + 8; j++)
            for (int k = kk; k < kk + 4; k++)
              C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
}
INT_FORM(convolution) {
  for (int o = 0; o < 6; o++) // expected-remark {{k=3}}
    for (int y = 0; y < 10; y++)
      for (int x = 0; x < 10; x++) {
        int s = 0;
        for (int c = 0; c < 3; c++)
          for (int r = 0; r < 3; r++)
            for (int q = 0; q < 3; q++)
              s += A[c * 144 + (y + r) * 12 + x + q] * B[o * 27 + c * 9 + r * 3 + q];
        C[o * 100 + y * 10 + x] = s;
      }
}
// Loops that a break ends first, out of the scope of variables.
INT_FORM(left_first) {
  int i = 0;
  for (;;) { // expected-remark {{mk,kn->mn}}
    if (i >= M)
      break;
    int k = 0;
    for (;;) {
      int a;
      if (k >= K)
        break;
      a = 3 * A[i * K + k];
      J C[i * N + j] += a * B[k * N + j];
      k++;
    }
    i++;
  }
}
INT_FORM(left_first_with_an_array) {
  int i = 0;
  while (1) { // expected-remark {{mk,kn->mn}}
    int sums[64];
    if (i >= M)
      break;
    J sums[j] = 0;
    for (int k = 0;; k++) {
      int a = 0, *sum = sums;
      if (k >= K)
        break;
      a = A[i * K + k];
      J sum[j] += a * B[k * N + j];
    }
    J C[i * N + j] = sums[j];
    i++;
  }
}
INT_FORM(left_by_an_element) { // a near miss
  for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int k = 0;; k++) {
      int a;
      if (k >= K)
        break;
      a = A[i * K + k];
      if (a == 77)
        break;
      J C[i * N + j] += a * B[k * N + j];
    }
}
INT_FORM(left_out_of_both) { // a near miss
  for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int k = 0;; k++) {
      int a;
      if (k >= K)
        break;
      a = A[i * K + k];
      if (k > i + 4)
        return;
      J C[i * N + j] += a * B[k * N + j];
    }
}
