// Integers that are multiplied as floats, and floats that are made of one
// element, such as quantised numbers less a zero point.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 55
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define a A[i * K + k]
#define b B[k * N + j]
#define ROUNDED __attribute__((annotate("nputeir:f32=bf16x3")))

ROUNDED BF16_FORM(beside_float) {
  const int8_t *w = (const int8_t *)B;
  const float *x = C + 2048;
  I J { // expected-remark {{mk,nk->mn}}
    float s = 0;
    L s += w[j * K + k] * x[i * K + k];
    C[i * N + j] = s;
  }
}
ROUNDED INT_FORM(both) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += (float)a * (float)b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(unsigned_bytes) {
  const uint8_t *u = (const uint8_t *)A;
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += (float)u[i * K + k] * (float)b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(shorts_in_double) {
  const int16_t *x = (const int16_t *)A;
  I J { // expected-remark {{mk,kn->mn}}
    double s = 0;
    L s += (double)(x[i * K + k] / 256) * b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(zero_points) {
  float of_a = (float)M, of_b = (float)-N;
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += ((float)a - of_a) * 0.5f * (((float)b - of_b) * 2);
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(zero_points_by_row) {
  I J { // expected-remark {{mk,nk->mn}}
    float s = 0;
    L s += (float)(a - B[i]) * (float)(B[j * K + k] - A[j]);
    C[i * N + j] += (int)s;
  }
}
ROUNDED INT_FORM(words) { // which the source itself rounds
  const int32_t *x = C + 2048;
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += (float)x[i * K + k] * (float)b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED BF16_FORM(beside_bf16) {
  const int8_t *w = (const int8_t *)B;
  I J { // expected-remark {{mk,nk->mn}}
    float s = 0;
    L s += w[j * K + k] * (float)a;
    C[i * N + j] = s;
  }
}
__attribute__((annotate("nputeir:device=host"))) INT_FORM(on_the_host) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += (float)a * (float)b;
    C[i * N + j] = (int)s;
  }
}

// Which is made in front of the nest.
ROUNDED INT_FORM(of_two_elements) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += (float)(a - B[i * K + k]) * (float)b;
    C[i * N + j] = (int)s;
  }
}

// Near misses.
INT_FORM(not_rounded) { // the NPU's floats have fewer digits
  I J {             // expected-remark {{FloatInputs}}
    float s = 0;
    L s += (float)a * (float)b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(in_order) {
#pragma clang fp reassociate(off)
  I J { // expected-remark {{NeedsReassoc}}
    float s = 0;
    L s += (float)a * (float)b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(of_the_result) {
  I J { // expected-remark {{kept}}
    float s = 0;
    L s += (float)(a - C[i * N + j + 1]) * (float)b;
    C[i * N + j] = (int)s;
  }
}
ROUNDED INT_FORM(rounded_products) {
  I J { // expected-remark {{kept}}
    float s = 0;
    L s += (float)(a * 65536 * b);
    C[i * N + j] = (int)(s / 65536);
  }
}
ROUNDED INT_FORM(integer_sum) { // each product is cut
  I J {                     // expected-remark {{kept}}
    int s = 0;
    L s += (int)((float)a * 0.5f * (float)b);
    C[i * N + j] = s;
  }
}
