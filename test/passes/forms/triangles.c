// Nests over a triangle are split into rectangles, which are taken, and what
// they leave along the diagonal.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 186
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define L for (int k = 0; k < K; k++)
#define LOWER for (int j = 0; j <= i; j++)
#define UPPER for (int j = i; j < M; j++)
#define C_IJ C[i * 64 + j]
#define AA A[i * 64 + k] * A[j * 64 + k]

static int32_t other[64 * 64];
static int counter;
static void tick(void) { __asm__ volatile("" : "+m"(counter)); }
__attribute__((noinline)) void count(void) { tick(); }

INT_FORM(lower) {
  I LOWER L C_IJ += AA; // expected-remark {{replaced by a call: mk,nk->mn}}
}
INT_FORM(below_diagonal) {
  I // expected-remark {{replaced by a call: mk,nk->mn}}
    for (int j = 0; j < i; j++) L C_IJ += AA;
}
INT_FORM(upper) {
  I UPPER L C_IJ += AA; // expected-remark {{replaced by a call: mk,nk->mn}}
}
INT_FORM(above_diagonal) {
  for (long i = 0; i < M; i++) // expected-remark {{replaced by a call: mk,nk->mn}}
    for (long j = i + 1; j < M; j++) L C_IJ += AA;
}
INT_FORM(by_columns) { // of the result
  I LOWER L C[j * 64 + i] += AA; // expected-remark {{replaced by a call}}
}
INT_FORM(upper_by_columns) {
  I UPPER L C[j * 64 + i] += AA; // expected-remark {{replaced by a call}}
}
INT_FORM(sum_and_scale) {
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = 0;
    L s += AA;
    C_IJ = 3 * s - C_IJ;
  }
}
INT_FORM(scaled_before) { // as PolyBench writes syrk
  I { // expected-remark {{replaced by a call: mk,nk->mn}}
    LOWER C_IJ *= 5;
    L LOWER C_IJ += AA;
  }
}
// As f2c passes it: each row has an element on the diagonal, so that its sum's
// length is read if there are rows.
__attribute__((noinline)) const int64_t *in_memory(int64_t k) {
  static int64_t length;
  const int64_t *at = &length;
  length = k;
  __asm__ volatile("" : "+r"(at));
  return at;
}
INT_FORM(length_in_memory) {
  const int64_t *length = in_memory(K);
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = 0;
    for (int k = 0; k < *length; k++)
      s += AA;
    C_IJ = 3 * s - C_IJ;
  }
}
INT_FORM(length_in_memory_of_upper) {
  const int64_t *length = in_memory(K);
  I UPPER { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = 0;
    for (int k = 0; k < *length; k++)
      s += AA;
    C_IJ = s;
  }
}
INT_FORM(products_outermost) { // the triangle is in each
  L I UPPER // expected-remark {{replaced by a call: km,kn->mn}}
    C_IJ += A[k * 64 + i] * A[k * 64 + j];
}
INT_FORM(zeroed_above) {
  I { // expected-remark {{replaced by a call}}
    UPPER C_IJ = 0;
    L UPPER C_IJ += AA;
  }
}
INT_FORM(two_inputs) { // scores of causal attention
  I // expected-remark {{replaced by a call: mk,nk->mn}}
    for (int j = 0; j <= i; j++) {
      int32_t s = 0;
      L s += A[i * 64 + k] * B[j * 64 + k];
      C_IJ = s;
    }
}
INT_FORM(with_a_past) {
  I // expected-remark {{replaced by a call: mk,nk->mn}}
    for (int j = 0; j < i + 20; j++) L C_IJ += AA;
}
INT_FORM(from_a_row_on) {
  for (int i = 1; i < M; i++) // expected-remark {{replaced by a call: mk,nk->mn}}
    LOWER L C_IJ += AA;
}
INT_FORM(backwards) {
  I // expected-remark {{replaced by a call}}
    for (int j = i; j >= 0; j--) L C_IJ += AA;
}
INT_FORM(other_corner) {
  I // expected-remark {{replaced by a call: mk,nk->mn}}
    for (int j = 0; j < M - i; j++) L C_IJ += AA;
}
INT_FORM(other_corner_at_end) {
  for (long i = 0; i < M; i++) // expected-remark {{replaced by a call: mk,nk->mn}}
    for (long j = M - i; j < M; j++) L C_IJ += AA;
}
INT_FORM(pointers) {
  int32_t *c = C;
  I { // expected-remark {{replaced by a call}}
    int32_t *row = c;
    for (int j = 0; j <= i; j++) {
      L *row += AA;
      row++;
    }
    c += 64;
  }
}
INT_FORM(row_factor) { // is read once for each row, in both parts
  I { // expected-remark {{replaced by a call}}
    int32_t f = B[i];
    LOWER {
      int32_t s = 0;
      L s += AA;
      C_IJ += f * s;
    }
  }
}
INT_FORM(may_meet_the_result) { // the input is part of the result for K = 7
  const int8_t *X = K == 7 ? (const int8_t *)(C + 64 * 20) : A;
  I LOWER L C_IJ += X[i * 64 + k] * X[j * 64 + k]; // expected-remark {{replaced}}
}
INT_FORM(rows_may_meet) { // they do for M = 33, N = 31
  I LOWER L C[i * N + j] += AA; // expected-remark {{replaced}}
}
INT_FORM(rows_touch) { // the last one ends where the matrix does
  I LOWER L C[i * M + j] += AA; // expected-remark {{replaced by a call: mk,nk->mn}}
}
INT_FORM(beside_the_triangle) { // is not read: the diagonal keeps its code
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = 0;
    L s += AA;
    C_IJ = s + B[i * 64 + j];
  }
}
INT_FORM(some_columns) { // the diagonal keeps its code
  I LOWER { // expected-remark {{replaced by a call}}
    int32_t s = 0;
    L s += AA;
    if (B[j] > 0) C_IJ = s;
  }
}

// ---- near misses ----

INT_FORM(length_below_diagonal) { // of which the first row's is not read
  const int64_t *length = M == 1 ? NULL : in_memory(K);
  I { // expected-remark {{nest kept}}
    for (int j = 0; j < i; j++) {
      int32_t s = 0;
      for (int k = 0; k < *length; k++)
        s += AA;
      C_IJ = s;
    }
  }
}

INT_FORM(rows_meet) {
  I LOWER L C[i * 2 + j] += AA; // expected-remark {{VariantExtent}}
}
INT_FORM(in_place) {
  I LOWER L C_IJ -= C[i * 64 + k] * A[j * 64 + k]; // expected-remark {{kept}}
}
INT_FORM(next_row) { // reads what the row before has stored
  for (int i = 1; i < M; i++) // expected-remark {{VariantExtent}}
    LOWER {
      int32_t s = 0;
      L s += AA;
      C_IJ = s + C[(i - 1) * 64 + j];
    }
}
INT_FORM(neighbour) {
  I
    for (int j = 1; j <= i; j++) { // expected-remark {{kept}}
      int32_t s = 0;
      L s += AA;
      C_IJ = s + C[i * 64 + j - 1];
    }
}
INT_FORM(twice_as_long) {
  I // expected-remark {{VariantExtent}}
    for (int j = 0; j < 2 * i && j < 64; j++) L C[i * 128 + j] += AA;
}
INT_FORM(two_lengths) {
  I { // expected-remark {{VariantExtent}}
    for (int j = 0; j < i; j++) C_IJ = 1;
    LOWER L C_IJ += AA;
  }
}
INT_FORM(diagonal_set) { // outside the loop over columns
  I { // expected-remark {{VariantExtent}}
    C[i * 64 + i] = 1;
    LOWER L C_IJ += AA;
  }
}
INT_FORM(used_after) {
  int32_t last = 0;
  I LOWER { // expected-remark {{kept}}
    L C_IJ += AA;
    last = last * 3 + j;
  }
  C[0] += last;
}
INT_FORM(calls) {
  I LOWER { // expected-remark {{kept}}
    count();
    L C_IJ += AA;
  }
}
INT_FORM(products_of_the_result) { // a row that the next product has changed
  L I UPPER // expected-remark {{kept}}
    C_IJ += A[k * 64 + i] * C[k * 64 + j];
}
INT_FORM(volatile_result) {
  I LOWER L *(volatile int32_t *)&C_IJ += AA; // expected-remark {{VolatileOrAtomic}}
}
