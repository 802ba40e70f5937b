// Loops that run down: past zero, and to prepare a result that is then formed
// upwards.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 54
#include "forms.h"
#define TWO for (int b = 0; b < 2; b++)
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define DOWN(i, n) for (int i = n - 1; i >= 0; i--)
#define C_AT C[(b * M + i) * N + j]
#define ADD C_AT += A[(b * M + i) * K + k] * B[k * N + j]

// ---- what prepares the result ----

INT_FORM(zeroed_downwards) {
  TWO { // expected-remark {{mxk,kn->mxn with m=2 x=n_j n=n_k k=n_n}}
    DOWN(i, M) DOWN(j, N) C_AT = 0;
    I J L ADD;
  }
}
INT_FORM(rows_zeroed_downwards) {
  TWO { // expected-remark {{mxk,kn->mxn}}
    DOWN(i, M) J C_AT = 0;
    I J L ADD;
  }
}
INT_FORM(each_row_zeroed_downwards) {
  for (int i = 0; i < M; i++) { // expected-remark {{mk,kn->mn}}
    DOWN(j, N) C[i * N + j] = 0;
    L J C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(zeroed_by_columns) {
  TWO { // expected-remark {{mxk,kn->mxn}}
    for (int j = N; j-- > 0;)
      for (int i = M; i-- > 0;)
        C_AT = 0;
    I J L ADD;
  }
}
INT_FORM(scaled_downwards) {
  TWO { // expected-remark {{mxk,kn->mxn}}
    DOWN(j, N) I C_AT *= 3;
    L I J ADD;
  }
}
INT_FORM(summed_downwards) {
  TWO DOWN(i, M) { // expected-remark {{mxk,kn->mxn}}
    DOWN(j, N) C_AT = B[j];
    DOWN(k, K) J ADD;
  }
}
INT_FORM(all_but_the_last_column) { // a near miss
  for (int i = 0; i < M; i++) { // expected-remark {{ExtraStore}}
    DOWN(j, N - 1) C[i * N + j] = 0;
    L J C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(all_but_the_first_column) { // a near miss
  for (int i = 0; i < M; i++) { // expected-remark {{ExtraStore}}
    for (int j = N - 1; j > 0; j--)
      C[i * N + j] = 0;
    L J C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(one_column_further) { // a near miss
  for (int i = 0; i < M; i++) { // expected-remark {{nest kept}}
    DOWN(j, N) C[i * N + j + 1] = 0;
    L J C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}

// ---- past zero ----

#define SIZES(type)                                                            \
  if (M < 1 || N < 1 || K < 1)                                                 \
    return;                                                                    \
  type m = (type)M, n = (type)N, l = (type)K;
#define PRODUCT C[i * n + j] += A[i * l + k] * B[k * n + j]

INT_FORM(past_zero) {
  SIZES(size_t)
  for (size_t i = m - 1; i < m; i--) // expected-remark {{mk,kn->mn}}
    for (size_t j = n - 1; j < n; j--)
      for (size_t k = l - 1; k < l; k--)
        PRODUCT;
}
INT_FORM(past_zero_in_32_bits) {
  SIZES(unsigned)
  for (unsigned i = m - 1; i < m; i--) // expected-remark {{mk,kn->mn}}
    for (unsigned j = 0; j < n; j++)
      for (unsigned k = 0; k < l; k++)
        PRODUCT;
}
INT_FORM(up_to_the_end) { // one row more
  SIZES(size_t)
  for (size_t i = m; i <= m; i--) // expected-remark {{mk,kn->mn}}
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < l; k++)
        PRODUCT;
}
INT_FORM(from_above_the_end) { // does nothing: asked before the nest
  SIZES(size_t)
  for (size_t i = m + (size_t)K; i < m; i--) // expected-remark {{mk,kn->mn}}
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < l; k++)
        PRODUCT;
}
INT_FORM(two_rows_at_a_time) { // may miss zero
  SIZES(size_t)
  for (size_t i = m - 1; i < m; i -= 2) // expected-remark {{UncountableLoop}}
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < l; k++)
        PRODUCT;
}
