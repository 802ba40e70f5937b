// Several products that are added to an element of an array are as many nests.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 200
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

// ---- near misses ----

INT_FORM(two_statements) { // the first may store to what the second reads
  I J L { // expected-remark {{kept}}
    C_IJ += AB;
    C_IJ += BA;
  }
}
INT_FORM(scaled_behind) {
  I { // expected-remark {{kept}}
    L J C_IJ += AB + BA;
    J C_IJ *= 5;
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
INT_FORM(written_beside) {
  I {
    L J C_IJ += AB + BA; // expected-remark {{kept}}
    C[4000] = i;
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
