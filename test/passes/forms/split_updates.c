// Several products that are added to an element of an array are as many nests.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 278
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < M; j++)
#define L for (int k = 0; k < K; k++)
#define LOWER for (int j = 0; j <= i; j++)
#define UPPER for (int j = i; j < M; j++)
#define C_IJ C[i * 64 + j]
#define AB A[j * 64 + k] * B[i * 64 + k]
#define BA B[j * 64 + k] * A[i * 64 + k]

INT_FORM(full) {
  I J L C_IJ += AB + BA; // expected-remark 2 {{replaced by a call: mk,nk->mn}}
}
INT_FORM(difference) {
  I J L C_IJ += AB - BA; // expected-remark 2 {{replaced by a call: mk,nk->mn}}
}
INT_FORM(three) {
  I J L // expected-remark 3 {{replaced by a call}}
    C_IJ += AB - BA + A[i * 64 + k] * B[k * 64 + j];
}
INT_FORM(common_factor) {
  int f = N;
  I J L C_IJ += (AB + BA) * f; // expected-remark 2 {{replaced by a call: mk,nk->mn}}
}
INT_FORM(scaled_before) {
  I { // expected-remark 2 {{replaced by a call}}
    J C_IJ *= 5;
    L J C_IJ += AB + BA;
  }
}
INT_FORM(products_outermost) { // as GSL writes syr2k
  L I { // expected-remark 2 {{replaced by a call: km,kn->mn}}
    int32_t f = 3 * A[k * 64 + i], g = 3 * B[k * 64 + i];
    UPPER C_IJ += f * B[k * 64 + j] + g * A[k * 64 + j];
  }
}
INT_FORM(zeroed_before) {
  I J { // expected-remark 2 {{replaced by a call: mk,nk->mn}}
    C_IJ = 0;
    L C_IJ += AB + BA;
  }
}
INT_FORM(rows_may_meet) { // they do for M = 33, N = 31
  I { // expected-remark 2 {{replaced by a call}}
    J C[i * N + j] *= 5;
    L J C[i * N + j] += AB + BA;
  }
}
INT_FORM(sums_meet) { // which may be formed in any order
  I J L C[i + j] += AB + BA; // expected-remark {{kept}}
}
INT_FORM(syr2k) { // as PolyBench writes it
  I { // expected-remark 2 {{replaced by a call}}
    LOWER C_IJ *= 5;
    L LOWER C_IJ += A[j * 64 + k] * 3 * B[i * 64 + k] +
                    B[j * 64 + k] * 3 * A[i * 64 + k];
  }
}
INT_FORM(syr2k_upper) {
  I UPPER L C_IJ += AB + BA; // expected-remark 2 {{replaced by a call: mk,nk->mn}}
}
INT_FORM(syr2k_sum) {
  I LOWER { // expected-remark 2 {{replaced by a call}}
    int32_t s = 0;
    L s += AB + BA;
    C_IJ = 5 * C_IJ + 3 * s;
  }
}
BF16_FORM(syr2k_floats) {
  I { // expected-remark 2 {{replaced by a call}}
    LOWER C_IJ *= 3;
    L LOWER C_IJ += (float)A[j * 64 + k] * 2.0f * (float)B[i * 64 + k] +
                    (float)B[j * 64 + k] * 2.0f * (float)A[i * 64 + k];
  }
}

INT_FORM(scaled_behind) {
  I { // expected-remark 2 {{replaced by a call}}
    L J C_IJ += AB + BA;
    J C_IJ *= 5;
  }
}
INT_FORM(written_beside) {
  I { // expected-remark 2 {{replaced by a call}}
    L J C_IJ += AB + BA;
    C[4000] = i;
  }
}

// ---- near misses ----

INT_FORM(two_statements) { // the first may store to what the second reads
  I J L { // expected-remark {{kept}}
    C_IJ += AB;
    C_IJ += BA;
  }
}
INT_FORM(scaled_each_time) {
  I L { // expected-remark {{kept}}
    J C_IJ *= 5;
    J C_IJ += AB + BA;
  }
}
INT_FORM(start_is_a_factor) {
  I J { // expected-remark {{kept}}
    int32_t t = C_IJ;
    L C_IJ += t * A[i * 64 + k] + AB;
  }
}
INT_FORM(result_is_a_factor) {
  I J L C_IJ += C[k * 64 + i] * A[i * 64 + k] + AB; // expected-remark {{kept}}
}
INT_FORM(subtracted_from) {
  I J L C_IJ = AB + BA - C_IJ; // expected-remark {{kept}}
}
INT_FORM(other_columns_before) {
  I { // expected-remark {{kept}}
    J C[i * 64 + j + 1] *= 5;
    L J C_IJ += AB + BA;
  }
}
INT_FORM(volatile_beside) {
  I L J // expected-remark {{kept}}
    C_IJ += *(volatile const int8_t *)&A[j * 64 + k] * B[i * 64 + k] + BA;
}
BF16_FORM(in_order) { // floats may not be added in another order
#pragma clang fp reassociate(off)
  I J L C_IJ += (float)AB + (float)BA; // expected-remark {{kept}}
}

// Members of the elements of one array are as arrays of their own.
#define RE(X, at) X[2 * (at)]
#define IM(X, at) X[2 * (at) + 1]
INT_FORM(complex_elements) { // both parts of k rank-one updates
  L for (int i = 0; i < M; i++) // expected-remark 4 {{replaced by a call: km,kn->mn}}
    for (int j = 0; j < N; j++) {
      RE(C, i * N + j) += RE(A, k * M + i) * RE(B, k * N + j) -
                          IM(A, k * M + i) * IM(B, k * N + j);
      IM(C, i * N + j) += RE(A, k * M + i) * IM(B, k * N + j) +
                          IM(A, k * M + i) * RE(B, k * N + j);
    }
}
INT_FORM(conjugate_in_rows) {
  I for (int j = 0; j < N; j++) { // expected-remark 4 {{replaced by a call: mk,nk->mn}}
    IM(C, i * 40 + j) = 0;
    RE(C, i * 40 + j) *= 3;
    L {
      IM(C, i * 40 + j) += IM(A, i * K + k) * RE(B, j * K + k) -
                           RE(A, i * K + k) * IM(B, j * K + k);
      RE(C, i * 40 + j) += RE(A, i * K + k) * RE(B, j * K + k) +
                           IM(A, i * K + k) * IM(B, j * K + k);
    }
  }
}
INT_FORM(complex_sums_meet) {
  L for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++) {
      RE(C, i + j) += RE(A, k * M + i) * RE(B, k * N + j) -
                      IM(A, k * M + i) * IM(B, k * N + j);
      IM(C, i + j) += RE(A, k * M + i) * IM(B, k * N + j) +
                      IM(A, k * M + i) * RE(B, k * N + j);
    }
}
INT_FORM(other_part_is_a_factor) { // a near miss
  L for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++) {
      RE(C, i * N + j) += RE(A, k * M + i) * RE(B, k * N + j) -
                          IM(A, k * M + i) * IM(C, i * N + j);
      IM(C, i * N + j) += RE(A, k * M + i) * IM(B, k * N + j) +
                          IM(A, k * M + i) * RE(B, k * N + j);
    }
}
INT_FORM(parts_meet) { // a near miss: the second is the next element's first
  L for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++) {
      C[i * 64 + j] = 3 * C[i * 64 + j] +
                      RE(A, k * M + i) * RE(B, k * N + j) -
                      IM(A, k * M + i) * IM(B, k * N + j);
      C[i * 64 + j + 1] += RE(A, k * M + i) * IM(B, k * N + j) +
                           IM(A, k * M + i) * RE(B, k * N + j);
    }
}
INT_FORM(rows_by_odd_numbers) { // a near miss: a row ends within an element
  L for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++) {
      C[i * 41 + 2 * j] = 3 * C[i * 41 + 2 * j] +
                          RE(A, k * M + i) * RE(B, k * N + j) -
                          IM(A, k * M + i) * IM(B, k * N + j);
      C[i * 41 + 2 * j + 1] += RE(A, k * M + i) * IM(B, k * N + j) +
                               IM(A, k * M + i) * RE(B, k * N + j);
    }
}
INT_FORM(three_members) { // a near miss: 12 bytes need not divide an address
  L for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++) {
      C[3 * (i * 20 + j)] += A[k * M + i] * B[k * N + j];
      C[3 * (i * 20 + j) + 1] += A[k * M + i] * B[j * K + k];
    }
}
