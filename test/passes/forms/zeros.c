// Zero points: what is multiplied is made of an element of up to 16 bits.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 121
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define a A[i * K + k]
#define b B[k * N + j]
#define UNSIGNED const uint8_t *U = (const uint8_t *)A, *V = (const uint8_t *)B

INT_FORM(constants) {
  I J L C[i * N + j] += (a - 3) * (b + 100); // expected-remark {{mk,kn->mn}}
}
INT_FORM(one_side) { // as in convolutions: weights have none
  I J L C[i * N + j] += (a + M) * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(other_side) {
  UNSIGNED;
  I J L C[i * N + j] += U[i * K + k] * (b - N); // expected-remark {{mk,kn->mn}}
}
INT_FORM(centred) { // eight bits are enough
  UNSIGNED;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += ((int)U[i * K + k] - 128) * ((int)V[k * N + j] - 128);
    C[i * N + j] = s;
  }
}
INT_FORM(by_row_and_column) {
  UNSIGNED;
  I J { // expected-remark {{mk,kn->mn}}
    int s = B[j];
    L s += (U[i * K + k] - B[i]) * (V[k * N + j] - U[j]);
    C[i * N + j] = s;
  }
}
INT_FORM(then_requantised) {
  UNSIGNED;
  int8_t *c = (int8_t *)C;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 1 << 6;
    L s += (U[i * K + k] - 110) * (b + 2);
    s = (s >> 7) + 5;
    c[i * N + j] = s < -128 ? -128 : s > 127 ? 127 : s;
  }
}
INT_FORM(unsigned_numbers) { // modulo 2^32
  UNSIGNED;
  uint32_t *c = (uint32_t *)C, z = (uint32_t)M;
  I J L c[i * N + j] += (U[i * K + k] - z) * (V[k * N + j] - z); // expected-remark {{mk,kn->mn}}
}
INT_FORM(long_numbers) { // cut to 32 bits when they are added
  long z = M - 5;
  I J L C[i * N + j] += (int)((a - z) * (b + z)); // expected-remark {{mk,kn->mn}}
}
INT_FORM(short_numbers) { // cut to 16 bits before they are multiplied
  I J L // expected-remark {{mk,kn->mn}}
    C[i * N + j] += (int16_t)(a - 400 * M) * (int16_t)(b * 300);
}
INT_FORM(wild) { // numbers of more than 16 bits: declined when they are there
  I J L C[i * N + j] += (a - 4000 * M) * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(shorts) {
  const int16_t *s = (const int16_t *)A;
  I J L C[i * N + j] += (s[i * K + k] / 16 - 7) * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(scaled_by_row) {
  I J L C[i * N + j] += (A[i] + 1) * (a - 3) * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(alpha_and_zero_points) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += (a - 3) * (b - 4);
    C[i * N + j] = M * s - 2 * C[i * N + j];
  }
}
INT_FORM(four_at_a_time) {
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0;
    const int8_t *x = A + i * 4 * K, *y = B + j * 4 * K;
    for (int k = 0; k < K / 4; k++)
      s += (x[4 * k] - 3) * (y[4 * k] + N) +
           (x[4 * k + 1] - 3) * (y[4 * k + 1] + N) +
           (x[4 * k + 2] - 3) * (y[4 * k + 2] + N) +
           (x[4 * k + 3] - 3) * (y[4 * k + 3] + N);
    C[i * N + j] = s;
  }
}
INT_FORM(batched) {
  for (int c = 0; c < 3; c++) // expected-remark {{cmk,ckn->cmn}}
    for (int i = 0; i < M; i++)
      J L C[(c * M + i) * N + j] += (A[(c * M + i) * K + k] - 9) *
                                    (B[(c * K + k) * N + j] - A[c]);
}
struct zero_points {
  int of_a, of_b;
};
INT_FORM(in_a_struct) {
  struct zero_points z = {M, -N};
  __asm__("" : : "r"(&z) : "memory");
  const struct zero_points *p = &z;
  I J L C[i * N + j] += (a - p->of_a) * (b - p->of_b); // expected-remark {{mk,kn->mn}}
}
INT_FORM(of_the_result) { // near misses: what is written is subtracted
  I J L // expected-remark 0-1 {{kept}}
    C[i * N + j] += (a - C[i * N + j + 1]) * b;
}
INT_FORM(of_the_result_itself) {
  I J L C[i * N + j] += (a - C[i * N + j]) * b; // expected-remark {{NotProductSum}}
}
INT_FORM(may_be_the_result) { // which only run time knows
  int32_t *z = C + (M == 8);
  I J L C[i * N + j] += (a - (z[i] & 15)) * b; // expected-remark {{mk,kn->mn}}
}
INT_FORM(of_two_elements) {
  I J L C[i * N + j] += (a - B[i * K + k]) * b; // expected-remark {{kept}}
}
INT_FORM(by_depth) {
  I J L C[i * N + j] += (a - B[k]) * b; // expected-remark {{SeveralProducts}}
}
INT_FORM(last_one_different) { // two sums
  I J { // expected-remark 2 {{mk,nk->mn}}
    int s = 0;
    const int8_t *x = A + i * 2 * K, *y = B + j * 2 * K;
    for (int k = 0; k < K / 2; k++)
      s += (x[2 * k] - 3) * y[2 * k] + (x[2 * k + 1] - 4) * y[2 * k + 1];
    C[i * N + j] = s;
  }
}
INT_FORM(three_factors) {
  I J L C[i * N + j] += (a - 3) * b * A[j * K + k]; // expected-remark {{ThreeFactors}}
}
INT_FORM(elements_alone) {
  I J L C[i * N + j] += a - 3; // expected-remark 0-1 {{kept}}
}
INT_FORM(by_counter) {
  I J L C[i * N + j] += (a - k) * b; // expected-remark {{kept}}
}
INT_FORM(int_elements) {
  const int32_t *x = (const int32_t *)A;
  for (int i = 0; i < 8; i++) // expected-remark {{formed with a division}}
    for (int j = 0; j < 8; j++)
      for (int k = 0; k < 8; k++)
        C[i * 8 + j] += (x[i * 8 + k] / 65536 - 3) * B[k * 8 + j];
}
#ifndef RUNS
BF16_FORM(floats) {
  I J L // expected-remark {{kept}}
    C[i * N + j] += ((float)a - 3) * ((float)b - 4);
}
#endif

// At the edges of an image, as in quantised convolutions: what is made counts
// as zero there, not the element.
#define T for (int t = 0; t < 3; t++)
INT_FORM(padded) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = i + t - 1;
      if (at >= 0 && at < M)
        s += (A[at * K + k] + 128) * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(padded_both) {
  UNSIGNED;
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0;
    T {
      int at = i + t - 1;
      if (at < 0 || at >= M)
        continue;
      L s += (U[at * K + k] - M) * (V[(j * 3 + t) * K + k] - N);
    }
    C[i * N + j] = s;
  }
}
INT_FORM(padded_choice) {
  I J { // expected-remark {{mlk,nkl->mn}}
    int s = 0;
    L T {
      int at = i + t - 1;
      s += (at >= 0 && at < M ? A[at * K + k] - 3 : 0) * B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(element_is_zero_outside) { // a near miss: what is made is not
  I J { // expected-remark {{kept}}
    int s = 0;
    L T {
      int at = i + t - 1;
      s += ((at >= 0 && at < M ? A[at * K + k] : 0) - 3) *
           B[(j * K + k) * 3 + t];
    }
    C[i * N + j] = s;
  }
}
