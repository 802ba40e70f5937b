// One loop over all elements of the result, or over some of them.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 51
#include "forms.h"
#define SUM(i, j)                                                              \
  int32_t s = 0;                                                               \
  for (int k = 0; k < K; k++)                                                  \
    s += A[(i) * K + k] * B[k * N + (j)];                                      \
  C[(i) * N + (j)] = s

INT_FORM(all) {
  N = N < 1 ? 1 : N;
  for (int n = 0; n < M * N; n++) { // expected-remark {{mk,kn->mn}}
    int i = n / N, j = n % N;
    SUM(i, j);
  }
}
INT_FORM(some) { // from within a row to within another one
  N = N < 1 ? 1 : N;
  for (int n = M / 3; n < M * N - N / 2; n++) { // expected-remark {{mk,kn->mn}}
    int i = n / N, j = n - i * N;
    SUM(i, j);
  }
}
INT_FORM(sixteen_columns) {
  N = 16;
  for (int n = K; n < M * 16; n++) { // expected-remark {{mk,kn->mn}}
    int i = n / 16, j = n % 16;
    SUM(i, j);
  }
}
INT_FORM(sixteen_columns_unsigned) {
  N = 16;
  M = M < 0 ? 0 : M;
  for (unsigned n = 5; n < (unsigned)M * 16; n++) { // expected-remark {{->}}
    int i = (int)(n >> 4), j = (int)(n & 15);
    SUM(i, j);
  }
}
INT_FORM(inclusive) {
  N = N < 1 ? 1 : N;
  for (int n = 1; n <= M * N - 2; n++) { // expected-remark {{mk,kn->mn}}
    int i = n / N, j = n % N;
    SUM(i, j);
  }
}
INT_FORM(within_a_row) {
  N = N < 1 ? 1 : N;
  for (int n = M < 0 ? 0 : M; n < M + K; n++) { // expected-remark {{mk,kn->mn}}
    int i = n / N, j = n % N;
    SUM(i, j);
  }
}
INT_FORM(below_zero) { // where n / N rounds up, each element is the loop's
  N = N < 1 ? 1 : N;
  A += K < 0 ? 0 : K, B += N;
  for (int n = -N; n < M * N; n++) { // expected-remark {{mk,kn->mn}}
    int i = n / N, j = n % N;
    SUM(i, j);
  }
}
INT_FORM(negative_columns) { // the loop as it was does it
  int columns = K == 5 ? -16 : 16;
  N = 16;
  for (int n = 0; n < M * 16; n++) { // expected-remark {{->}}
    int i = n / columns, j = n % columns;
    i = i < 0 ? -i : i;
    SUM(i, j);
  }
}

// ---- near misses ----

INT_FORM(other_columns) { // the rest is that of another number
  N = N < 1 ? 1 : N;
  for (int n = 0; n < M * N; n++) { // expected-remark {{kept}}
    int i = n / N, j = n % (N + 1);
    SUM(i, j);
  }
}
INT_FORM(two_steps) {
  N = N < 1 ? 1 : N;
  for (int n = 0; n < M * N; n += 2) { // expected-remark {{kept}}
    int i = n / N, j = n % N;
    SUM(i, j);
  }
}
INT_FORM(columns_change) {
  N = N < 1 ? 1 : N;
  for (int n = 0; n < M; n++) { // expected-remark {{kept}}
    int columns = 1 + (n & 1), i = n / columns, j = n % columns;
    SUM(i, j);
  }
}
INT_FORM(carried) { // from one element to the next
  N = N < 1 ? 1 : N;
  int32_t s = 0;
  for (int n = 0; n < M * N; n++) { // expected-remark {{kept}}
    int i = n / N, j = n % N;
    for (int k = 0; k < K; k++)
      s += A[i * K + k] * B[k * N + j];
    C[n] = s;
  }
}
