// Products that the source skips where a factor is zero.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 99
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define a A[i * K + k]
#define b B[k * N + j]
#define c C[i * N + j]

INT_FORM(around_a_loop) {
  I L if (a != 0) J c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(outer_product) {
  L I if (a) J c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(scaled) { // as the reference BLAS has it
  L I { // expected-remark {{mk,kn->mn}}
    int t = 3 * a;
    if (t != 0)
      J c += t * b;
  }
}
INT_FORM(in_a_sum) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L if (a != 0) s += a * b;
    c = s;
  }
}
INT_FORM(with_continue) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = B[j];
    L {
      if (a == 0)
        continue;
      s -= a * b;
    }
    c = s;
  }
}
INT_FORM(of_the_other) {
  I J L if (b != 0) c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(into_zeros) {
  I { // expected-remark {{mk,kn->mn}}
    J c = 0;
    L if (a != 0) J c += a * b;
  }
}
INT_FORM(sparse) { // whole rows and columns of A are zero
  static int8_t x[64 * 64];
  for (int i = 0; i < 64 * 64; i++)
    x[i] = i % 3 ? 0 : A[i];
  I L if (x[i * K + k] != 0) J c += x[i * K + k] * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(nothing_there) { // no row of B may be read
  static const int8_t zero[64 * 64];
  const int8_t *x = M == 8 ? zero : A, *y = M == 8 ? 0 : B;
  I L if (x[i * K + k] != 0) J c += x[i * K + k] * y[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(batched) {
  for (int n = 0; n < 2; n++) // expected-remark {{mxk,kn->mxn}}
    I
      L if (A[(n * M + i) * K + k] != 0)
        J C[(n * M + i) * N + j] += A[(n * M + i) * K + k] * b;
}
// Of these, a sum is skipped with its result: where all are formed, the nest is
// a product.
INT_FORM(results) {
  static int8_t one[64 * 64];
  memset(one, 1, sizeof one);
  I J if (one[i * N + j]) { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += a * b;
    c = s;
  }
}
INT_FORM(some_results) {
  I J if (B[j * N + i] != 0) { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += a * b;
    c = s;
  }
}
INT_FORM(some_results_at_least_zero) {
  I J { // expected-remark {{mk,kn->mn}}
    if (B[j * N + i] == 0)
      continue;
    int s = 0;
    L s += a * b;
    c = s > 0 ? s : 0;
  }
}
INT_FORM(rows_of_results) {
  I if (B[i]) J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += a * b;
    c = s;
  }
}
BF16_FORM(floats) {
  I L if ((float)a != 0) J c += (float)a * (float)b; // expected-remark {{mk,kn->mn}}
}
BF16_FORM(floats_in_a_sum) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L {
      float x = a;
      if (x == 0)
        continue;
      s += x * (float)b;
    }
    c = s;
  }
}

// What these ask is not whether the factor is zero; a copy of it is made that is
// zero where they do not hold.
INT_FORM(above_zero) {
  I L if (a > 0) J c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(unless_one) {
  I L if (a != 1) J c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(where_zero) {
  I L if (a == 0) J c += a * b + b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(another_element) { // of which the product knows nothing
  I L if (A[i * K + k + 1] != 0) J c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(low_bits) { // are zero more often
  I L if ((int8_t)(a << 4) != 0) J c += a * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(shifted_product) {
  I L if (a != 0) J c += (a + 1) * b; // expected-remark {{mk,kn->mn}}
}

// ---- near misses ----

INT_FORM(sets_it_too) {
  I L if (a != 0) J c = a * b; // expected-remark 0-1 {{kept}}
}
INT_FORM(adds_something) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L if (a != 0) s += a * b + 1;
    c = s;
  }
}
INT_FORM(above_the_diagonal) { // results that counters pick
  I J if (i < j) { // expected-remark {{kept}}
    int s = 0;
    L s += a * b;
    c = s;
  }
}
INT_FORM(results_above_three) {
  I J if (B[j * N + i] > 3) { // expected-remark {{kept}}
    int s = 0;
    L s += a * b;
    c = s;
  }
}
INT_FORM(two_tests) {
  I L if (a != 0) J if (b != 0) c += a * b; // expected-remark {{kept}}
}
INT_FORM(by_the_result) {
  I J L if (c != 0) c += a * b; // expected-remark {{kept}}
}
