// Types: what the NPU multiplies, and what looks alike.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 91
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB a[i * K + k] * b[k * N + j]

INT_FORM(u8_i8) {
  const uint8_t *a = (const uint8_t *)A;
  const int8_t *b = B;
  I J L C[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(i8_u8) {
  const int8_t *a = A;
  const uint8_t *b = (const uint8_t *)B;
  I J L C[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(u8_u8) {
  const uint8_t *a = (const uint8_t *)A, *b = (const uint8_t *)B;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += AB;
    C[i * N + j] = s;
  }
}
INT_FORM(u8_u8_unsigned) {
  const uint8_t *a = (const uint8_t *)A, *b = (const uint8_t *)B;
  uint32_t *c = (uint32_t *)C;
  I J L c[i * N + j] += (unsigned)AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(i16_i8) {
  const int16_t *a = (const int16_t *)A;
  const int8_t *b = B;
  for (int i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    J L C[i * N + j] += AB;
}
INT_FORM(long_sum) { // a near miss: may not fit in 32 bits
  const int8_t *a = A, *b = B;
  int64_t *c = (int64_t *)C;
  I J L c[i * N + j] += AB; // expected-remark {{WideSum}}
}
INT_FORM(word_sum) { // nor does one product of two words
  typedef int64_t __attribute__((may_alias)) i64;
  const uint32_t *a = (const uint32_t *)C, *b = a + 128;
  i64 *c = (i64 *)(C + 1024);
  I J for (int k = 0; k < 3; k++) // expected-remark {{WideSum}}
    c[i * N + j] += (uint64_t)a[i * 3 + k] * b[k * N + j];
}
INT_FORM(short_result) {
  const int8_t *a = A, *b = B;
  int16_t *c = (int16_t *)C;
  I J L c[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(byte_result) {
  const int8_t *a = A, *b = B;
  int8_t *c = (int8_t *)C;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += AB;
    c[i * N + j] = s;
  }
}
INT_FORM(rounded_sum) { // the sum is cut to 16 bits in every step
  const int8_t *a = A, *b = B;
  I J { // expected-remark {{mk,kn->mn}}
    int16_t s = 0;
    L s += AB;
    C[i * N + j] = s;
  }
}
INT_FORM(same_bits_other_sign) { // the same bytes read with two signs
  const uint8_t *a = (const uint8_t *)A;
  const int8_t *b = A;
  I J L C[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(shifted_operand) {
  const int8_t *a = A, *b = B;
  I J L C[i * N + j] += (a[i * K + k] >> 1) * b[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(int_operand) {
  const int32_t *a = (const int32_t *)A;
  const int8_t *b = B;
  for (int i = 0; i < 8; i++) // expected-remark {{BelowThreshold}}
    for (int j = 0; j < 8; j++)
      for (int k = 0; k < 8; k++)
        C[i * 8 + j] += (int)((unsigned)a[i * 8 + k] * (unsigned)b[k * 8 + j]);
}
#ifndef RUNS // what the bits of two bf16 mean as a float does not matter here
BF16_FORM(float_inputs) {
  const float *a = (const float *)A, *b = (const float *)B;
  I J L C[i * N + j] += AB; // expected-remark {{FloatInputs}}
}
#endif
// What only the host multiplies, modulo 2^32 and 2^64.
#define HOST __attribute__((annotate("nputeir:device=host")))
HOST INT_FORM(int_host) {
  I J for (int k = 0; k < 3; k++) // expected-remark {{mk,kn->mn}}
    C[2048 + i * N + j] += C[i * 3 + k] * C[128 + k * N + j];
}
HOST INT_FORM(long_sum_host) {
  typedef int64_t __attribute__((may_alias)) i64;
  i64 *c = (i64 *)C;
  I J L c[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
