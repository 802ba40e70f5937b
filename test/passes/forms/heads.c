// Loops over heads of attention, or a batch, stand between the rows and columns
// of a triangle.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 76
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define L for (int k = 0; k < K; k++)
#define HEADS for (int h = 0; h < 2; h++)
#define CAUSAL for (int t = 0; t <= i; t++)

INT_FORM(scores) {
  I HEADS CAUSAL L // expected-remark {{replaced by a call: mk,nk->mn}}
    C[h * 2000 + i * 40 + t] += A[i * 64 + h * K + k] * B[t * 64 + h * K + k];
}
INT_FORM(values) {
  I HEADS CAUSAL L // expected-remark {{replaced by a call}}
    C[i * 64 + h * K + k] += A[(h * M + i) * 33 + t] * B[t * 64 + h * K + k];
}
INT_FORM(gradients_of_values) {
  I HEADS CAUSAL L // expected-remark {{replaced by a call}}
    C[t * 64 + h * K + k] += A[(h * M + i) * 33 + t] * B[i * 64 + h * K + k];
}
INT_FORM(of_a_batch) {
  for (int b = 0; b < 2; b++)
    I HEADS CAUSAL L // expected-remark {{replaced by a call}}
      C[(b * 2 + h) * 1024 + i * 31 + t] +=
          A[(b * M + i) * 61 + h * K + k] * B[(b * M + t) * 61 + h * K + k];
}
static int32_t third[64 * 64];
INT_FORM(gradients_of_attention) { // as llm.c forms them
  const int8_t *q = A, *w = B;
  I HEADS { // expected-remark 4 {{replaced by a call}}
    CAUSAL L {
      other[h * 2000 + i * 40 + t] += q[t * 42 + 28 + h * K + k] *
                                      w[i * 14 + h * K + k];
      C[t * 42 + 28 + h * K + k] += w[i * 33 + t] * q[i * 14 + h * K + k];
    }
    CAUSAL for (int u = 0; u <= i; u++)
      third[i * 33 + t] ^= other[h * 2000 + i * 40 + u] + w[t];
    CAUSAL L {
      C[i * 42 + h * K + k] += q[t * 42 + 14 + h * K + k] *
                               (int8_t)w[(h * M + i) * 33 + t];
      C[t * 42 + 14 + h * K + k] += q[i * 42 + h * K + k] *
                               (int8_t)w[(h * M + i) * 33 + t];
    }
  }
  for (int i = 0; i < 64 * 64; i++)
    other[i] = other[i] * 7 + third[i];
  memset(third, 0, sizeof third);
  look(C);
}

INT_FORM(heads_may_meet_an_input) { // they do for K = 7
  const int8_t *X = K == 7 ? (const int8_t *)(C + 700) : A;
  I HEADS CAUSAL L // expected-remark {{replaced by a call: mk,nk->mn}}
    C[h * 2000 + i * 40 + t] += X[i * 64 + h * K + k] * B[t * 64 + h * K + k];
}

// ---- near misses ----

INT_FORM(pointer_goes_on) { // from one head to the next row
  const int8_t *a = A;
  I HEADS { // expected-remark {{kept}}
    CAUSAL L C[h * 2000 + i * 40 + t] += a[k] * B[t * 64 + h * K + k];
    a += (i & 3) + 5;
  }
}
INT_FORM(heads_of_odd_sizes) {
  I for (int h = 0; h < i % 3; h++) // expected-remark {{kept}}
    CAUSAL L C[h * 2000 + i * 40 + t] += A[h * K + k] * B[t * 64 + h * K + k];
}
