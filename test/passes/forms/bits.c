// bf16 kept as uint16_t: what becomes of a sum on its way there, and how the
// elements of the product come from there.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 80
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

static uint32_t bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}
static float number(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static float widened(uint16_t h) { return number((uint32_t)h << 16); }

typedef uint16_t half;
typedef uint16_t __attribute__((may_alias)) any_half;
#define BITS_FORM(name)                                                        \
  void name(int M, int N, int K, half *restrict C, const half *A,              \
            const half *B);                                                    \
  REGISTER(name, FORM_FLOAT)                                                   \
  void name(int M, int N, int K, half *restrict C, const half *A, const half *B)

// The results: a third of a sum, so that there is something to round.
#define SUM(store)                                                             \
  float s = 0;                                                                 \
  L s += widened(A[i * K + k]) * widened(B[k * N + j]);                        \
  s *= 0.333f;                                                                 \
  store

BITS_FORM(cut) {
  I J { SUM(C[i * N + j] = bits(s) >> 16); } // expected-remark {{mk,kn->mn}}
}
BITS_FORM(rounded) {
  I J { // expected-remark {{mk,kn->mn}}
    SUM(uint32_t u = bits(s));
    u += 0x7fff + ((u >> 16) & 1);
    C[i * N + j] = (half)(u >> 16);
  }
}
BITS_FORM(rounded_but_nan) {
  I J { // expected-remark {{mk,kn->mn}}
    SUM(uint32_t u = bits(s));
    if ((u & 0x7fffffff) > 0x7f800000)
      C[i * N + j] = (half)(u >> 16 | 64);
    else
      C[i * N + j] = (half)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
}
BITS_FORM(rounded_by_union) {
  I J { // expected-remark {{mk,kn->mn}}
    SUM(union { float f; uint32_t u; } x = {s});
    half nan = (half)(x.u >> 16 | 64);
    half all = (half)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
    C[i * N + j] = s != s ? nan : all;
  }
}
BITS_FORM(upper_half_of_a_union) {
  I J { // expected-remark {{mk,kn->mn}}
    SUM(union { float f; half h[2]; } x = {s});
    C[i * N + j] = x.h[1];
  }
}
BITS_FORM(upper_half_in_memory) {
  I J { SUM(memcpy(&C[i * N + j], (char *)&s + 2, 2)); } // expected-remark {{mk,kn->mn}}
}
BITS_FORM(sign_alone) { // no number, but what the source says
  I J { SUM(C[i * N + j] = bits(s) >> 31); } // expected-remark {{mk,kn->mn}}
}
BITS_FORM(onto_old) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = widened(C[i * N + j]);
    L s += widened(A[i * K + k]) * widened(B[k * N + j]);
    C[i * N + j] = bits(s) >> 16;
  }
}
BITS_FORM(bias_of_bits) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = widened(B[j]);
    L s += widened(A[i * K + k]) * widened(B[k * N + j]);
    C[i * N + j] = bits(s > 0 ? s : 0) >> 16;
  }
}
BITS_FORM(cut_in_every_step) { // near misses
  I J L // expected-remark 0-1 {{NotProductSum}}
    C[i * N + j] = bits(widened(C[i * N + j]) +
                        widened(A[i * K + k]) * widened(B[k * N + j])) >> 16;
}
BITS_FORM(cut_products) {
  I J { // expected-remark {{kept}}
    float s = 0;
    L s += number(bits(widened(A[i * K + k]) * widened(B[k * N + j])) & ~255u);
    C[i * N + j] = bits(s) >> 16;
  }
}
BITS_FORM(bits_of_the_neighbour) {
  I J { // expected-remark {{ResultOverlapsItself}}
    float s = widened(C[i * N + j + 1]);
    L s += widened(A[i * K + k]) * widened(B[k * N + j]);
    C[i * N + j] = bits(s) >> 16;
  }
}

// The elements.
#define ELEMENT(name, ...)                                                     \
  static float name##_element(half h) { __VA_ARGS__; }                         \
  BITS_FORM(name) {                                                            \
    float *c = (float *)C;                                                     \
    I J {                                                                      \
      float s = 0;                                                             \
      L s += name##_element(A[i * K + k]) * widened(B[k * N + j]);             \
      memcpy(&c[i * N + j], &s, 4);                                            \
    }                                                                          \
  }
// expected-remark@+1 {{mk,kn->mn}}
ELEMENT(signed_shift, return number((uint32_t)((int32_t)(int16_t)h * 65536)))
// expected-remark@+1 {{mk,kn->mn}}
ELEMENT(signed_element, return number((uint32_t)(int16_t)h << 16))
// expected-remark@+1 {{mk,kn->mn}}
ELEMENT(times, return number(h * 65536u))
// expected-remark@+1 {{mk,kn->mn}}
ELEMENT(two_halves, half x[2] = {0, h}; float f; memcpy(&f, x, 4); return f)
// expected-remark@+1 {{mk,kn->mn}}
ELEMENT(into_zero, float f = 0; memcpy((char *)&f + 2, &h, 2); return f)
// Near misses, other bits of the float, which is one made of an element:
// expected-remark@+1 {{FloatInputs}}
ELEMENT(fifteen, return number((uint32_t)h << 15))
#ifndef RUNS // a sum that fast-math rounds as it likes
// expected-remark@+1 {{FloatInputs}}
ELEMENT(one_below, return number((uint32_t)h << 16 | 1))
#endif
#if __clang_major__ >= 15
// expected-remark@+1 {{mk,kn->mn}}
ELEMENT(as_bf16, __bf16 b; memcpy(&b, &h, 2); return (float)b)

BITS_FORM(rounded_by_conversion) {
  I J { // expected-remark {{mk,kn->mn}}
    SUM(__bf16 b = (__bf16)s);
    memcpy(&C[i * N + j], &b, 2);
  }
}
#endif
