// The six orders of the loops, with int and size_t, and the places of the sum.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 145
#include "forms.h"
#define I(T) for (T i = 0; i < (T)M; i++)
#define J(T) for (T j = 0; j < (T)N; j++)
#define L(T) for (T k = 0; k < (T)K; k++)

INT_FORM(ijk) {
  I(int) J(int) L(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(ikj) {
  I(int) L(int) J(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(jik) {
  J(int) I(int) L(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(jki) {
  J(int) L(int) I(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(kij) {
  L(int) I(int) J(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(kji) {
  L(int) J(int) I(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
BF16_FORM(ijk_bf16) {
  I(int) J(int) L(int) C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
BF16_FORM(kji_bf16) {
  L(int) J(int) I(int) C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(size_ijk) {
  if (M < 0 || N < 0 || K < 0)
    return;
  I(size_t) J(size_t) L(size_t) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(size_kij) {
  if (M < 0 || N < 0 || K < 0)
    return;
  L(size_t) I(size_t) J(size_t) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}

// The sum in a register, from zero, onto C, added to C.
INT_FORM(from_zero) {
  I(int) J(int) { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L(int) s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
BF16_FORM(onto_c) {
  I(int) J(int) { // expected-remark {{mk,kn->mn}}
    float s = C[i * N + j];
    L(int) s += (float)A[i * K + k] * (float)B[k * N + j];
    C[i * N + j] = s;
  }
}
BF16_FORM(added_to_c) {
  I(int) J(int) { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L(int) s += (float)A[i * K + k] * (float)B[k * N + j];
    C[i * N + j] += s;
  }
}
// C set to zero in the nest: before the sum, or in a loop of its own.
INT_FORM(zero_inside) {
  I(int) J(int) { // expected-remark {{mk,kn->mn}}
    C[i * N + j] = 0;
    L(int) C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(zero_row) {
  I(int) { // expected-remark {{mk,kn->mn}}
    J(int) C[i * N + j] = 0;
    L(int) J(int) C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(zero_before) {
  I(int) J(int) C[i * N + j] = 0;
  I(int) J(int) L(int) C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(hoisted) {
  I(int) L(int) { // expected-remark {{mk,kn->mn}}
    int a = A[i * K + k];
    J(int) C[i * N + j] += a * B[k * N + j];
  }
}
BF16_FORM(loaded_outside) { // what does not move in the two inner loops
  I(int) L(int) // expected-remark {{mk,kn->mn}}
    J(int)
      for (int p = 0; p < 2; p++)
        C[(i * N + j) * 2 + p] += (float)A[i * K + k] * (float)B[(k * N + j) * 2 + p];
}
// Arrays of arrays, of run-time and of constant size.
INT_FORM(rows) {
  if (M < 1 || N < 1 || K < 1)
    return;
  int32_t(*c)[N] = (int32_t(*)[N])C;
  const int8_t(*a)[K] = (const int8_t(*)[K])A;
  const int8_t(*b)[N] = (const int8_t(*)[N])B;
  I(int) J(int) L(int) c[i][j] += a[i][k] * b[k][j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(constant) {
  int32_t(*c)[40] = (int32_t(*)[40])C;
  const int8_t(*a)[24] = (const int8_t(*)[24])A;
  const int8_t(*b)[40] = (const int8_t(*)[40])B;
  for (int i = 0; i < 32; i++) // expected-remark {{mk,kn->mn with m=32 n=40 k=24}}
    for (int j = 0; j < 40; j++) {
      c[i][j] = 0;
      for (int k = 0; k < 24; k++)
        c[i][j] += a[i][k] * b[k][j];
    }
}
// Parts of larger arrays, and transposes.
INT_FORM(lda) {
  I(int) J(int) L(int) C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(transposed_a) {
  I(int) J(int) L(int) C[i * N + j] += A[k * M + i] * B[k * N + j]; // expected-remark {{km,kn->mn}}
}
INT_FORM(transposed_b) {
  I(int) J(int) L(int) C[i * N + j] += A[i * K + k] * B[j * K + k]; // expected-remark {{mk,nk->mn}}
}
INT_FORM(transposed_c) {
  I(int) J(int) L(int) C[j * M + i] += A[i * K + k] * B[k * N + j]; // expected-remark {{->mn}}
}
