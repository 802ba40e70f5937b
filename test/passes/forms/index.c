// Unsigned indices, loops that count down, bf16 kept as bits.
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %verify -O1 %s
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=min-macs=0 %verify -O3 %s
// DONE: 49
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

__attribute__((noinline)) static void unsigned_product(unsigned M, unsigned N, unsigned K, unsigned lda,
                             int32_t *C, const int8_t *A, const int8_t *B) {
  for (unsigned i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (unsigned j = 0; j < N; j++)
      for (unsigned k = 0; k < K; k++)
        C[i * N + j] += A[i * lda + k] * B[k * N + j];
}
INT_FORM(unsigned_index) {
  if (M > 0 && N > 0 && K > 0)
    unsigned_product(M, N, K, K, C, A, B);
}
// i * lda wraps to zero for every even i: the guard must send this to the loop.
__attribute__((noinline)) static void wraps(unsigned M, unsigned N, unsigned K, unsigned lda, int32_t *C,
                  const int8_t *A, const int8_t *B) {
  for (unsigned i = 0; i < M; i += 2) // expected-remark {{mk,kn->mn}}
    for (unsigned j = 0; j < N; j++)
      for (unsigned k = 0; k < K; k++)
        C[i * N + j] += A[i * lda + k] * B[k * N + j];
}
INT_FORM(unsigned_wraps) {
  if (M > 0 && N > 0 && K > 0) {
    unsigned lda = 0x80000000u;
    __asm__("" : "+r"(lda));
    wraps(M, N, K, lda, C, A, B);
  }
}
INT_FORM(count_down) {
  for (int i = M - 1; i >= 0; i--) // expected-remark {{mk,kn->mn}}
    for (int j = N - 1; j >= 0; j--)
      for (int k = K - 1; k >= 0; k--)
        C[i * N + j] += AB;
}
INT_FORM(count_down_to_zero) {
  for (int i = M; i-- > 0;) // expected-remark {{mk,kn->mn}}
    for (int j = N; j-- > 0;) {
      int s = 0;
      for (int k = K; k-- > 0;)
        s += AB;
      C[i * N + j] = s;
    }
}
INT_FORM(rows_down) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += A[i * K + K - 1 - k] * B[(K - 1 - k) * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(one_tensor_down) { // as a reversed copy
  if (K > 0)
    I J // expected-remark {{mk,kn->mn}}
      L C[i * N + j] += A[i * K + k] * B[(K - 1 - k) * N + j];
}
INT_FORM(reversed_constant) {
  for (int i = 11; i >= 0; i--) // expected-remark {{m=12 n=10 k=9}}
    for (int j = 9; j >= 0; j--)
      for (int k = 8; k >= 0; k--)
        C[i * 10 + j] += A[i * 9 + k] * B[k * 10 + j];
}
static inline float wide(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
BF16_FORM(bits) {
  const uint16_t *a = (const uint16_t *)A, *b = (const uint16_t *)B;
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += wide(a[i * K + k]) * wide(b[k * N + j]);
    C[i * N + j] = s;
  }
}
BF16_FORM(bits_union) {
  const uint16_t *a = (const uint16_t *)A, *b = (const uint16_t *)B;
  I J L { // expected-remark {{mk,kn->mn}}
    union {
      uint32_t u;
      float f;
    } x, y;
    x.u = (uint32_t)a[i * K + k] << 16;
    y.u = (uint32_t)b[k * N + j] << 16;
    C[i * N + j] += x.f * y.f;
  }
}
BF16_FORM(bits_shifted_less) { // a near miss: not the bits of a bf16
  const uint16_t *a = (const uint16_t *)A, *b = (const uint16_t *)B;
  I J { // expected-remark {{code for the processor}}
    float s = 0; // exact: numbers without a sign are less than 16 * 2^-64
    L {
      uint32_t u = (uint32_t)(a[i * K + k] & 0x7fff) << 15, v = (uint32_t)b[k * N + j] << 16;
      float x, y;
      memcpy(&x, &u, 4);
      memcpy(&y, &v, 4);
      s += x * y;
    }
    C[i * N + j] = s;
  }
}
