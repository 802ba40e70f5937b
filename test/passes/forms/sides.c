// Conditions that do not change in a nest, with a product on either side: a
// call for each.
// RUN: env NPUTEIR_OPTIONS=cpu=off,min-macs=0 %verify -O1 %s
// RUN: env NPUTEIR_OPTIONS=cpu=off,min-macs=0 %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=cpu=off,min-macs=0 %verify -O3 %s
// DONE: 113
#include "forms.h"
#include <math.h>
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

static int one(const int8_t *B) { return B[7] > 0; }

INT_FORM(transposed_index) {
  int t = K & 1;
  I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}}
    int s = 0;
    L s += A[i * K + k] * B[t ? j * K + k : k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(transposed_product) { // as in Tengine
  int t = K & 1;
  I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}}
    int s = 0;
    L
      if (t)
        s += A[i * K + k] * B[j * K + k];
      else
        s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(transposed_loop) {
  int t = K & 1;
  I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}}
    int s = 0;
    if (t)
      L s += A[i * K + k] * B[j * K + k];
    else
      L s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(transposed_both) {
  int t = K & 1, u = N & 1;
  I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}} expected-remark {{km,kn->mn}} expected-remark {{km,nk->mn}}
    int s = 0;
    L s += A[u ? i * K + k : k * M + i] * B[t ? j * K + k : k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(with_bias) {
  const int32_t *bias = K & 1 ? C + 64 * 64 : 0;
  I J { // expected-remark 2 {{mk,kn->mn}}
    int s = bias ? bias[j] : 0;
    L s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(either_input) { // which is known before
  int t = K & 1;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += A[i * K + k] * (t ? A[k * N + j] : B[k * N + j]);
    C[i * N + j] = s;
  }
}
INT_FORM(one_condition_twice) { // two calls, not four
  int t = K & 1;
  I J { // expected-remark {{km,kn->mn}} expected-remark {{mk,nk->mn}}
    int s = 0;
    L s += A[t ? i * K + k : k * M + i] * B[t ? j * K + k : k * N + j];
    C[i * N + j] = s;
  }
}
struct layout {
  int transposed, m, n, k;
};
INT_FORM(flag_in_memory) { // which the result may be, for all that is known
  struct layout l = {K & 1, M, N, K};
  struct layout *volatile where = &l;
  struct layout *p = where;
  int32_t *out = C;
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) { // expected-remark@-1 {{mk,kn->mn}} expected-remark@-1 {{mk,nk->mn}}
      int s = 0;
      for (int k = 0; k < p->k; k++)
        if (p->transposed)
          s += A[i * p->k + k] * B[j * p->k + k];
        else
          s += A[i * p->k + k] * B[k * p->n + j];
      out[i * p->n + j] = s;
    }
}
INT_FORM(flag_in_the_result) { // near miss at run time: the nest changes it
  int *flag = C + 3;
  *flag = K & 1;
  I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}}
    int s = 0;
    L
      if (*flag)
        s += A[i * K + k] * B[j * K + k];
      else
        s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(half_of_it) { // one side is no product of matrices
  int t = K & 1;
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    if (t)
      L s += A[i * K + k] * B[k * N + j];
    else
      L s += A[i * K + k] * A[(k * k) % 60];
    C[i * N + j] = s;
  }
}
#define ACTIVATE                                                               \
  if (act >= 0) {                                                              \
    if (x < 0 && act != 1)                                                     \
      x = 0;                                                                   \
    if (x > 1 && act == 1)                                                     \
      x = 1;                                                                   \
    if (x > 6 && act == 6)                                                     \
      x = 6;                                                                   \
    if (x < -1 && act == 1)                                                    \
      x = -1;                                                                  \
  }
INT_FORM(layouts_and_activation) { // as in Tengine: one long expression
  int t = K & 1, act = (N & 7) - 1;
  const int32_t *bias = M & 1 ? C + 64 * 64 : 0;
  I J { // expected-remark 2 {{mk,kn->mn}} expected-remark 2 {{mk,nk->mn}}
    int s = 0, to = t ? j * M + i : i * N + j;
    L s += A[i * K + k] * B[t ? j * K + k : k * N + j];
    if (bias)
      s += bias[j];
    float x = s * 0.0625f;
    ACTIVATE
    int out = (int)round(x / 0.25f);
    C[to] = out > 127 ? 127 : out < -127 ? -127 : out;
  }
}
INT_FORM(activated_again) { // near miss: too long an expression
  int t = K & 1, act = (N & 7) - 1;
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i * K + k] * B[t ? j * K + k : k * N + j];
    float x = s * 0.0625f;
    ACTIVATE
    x = x * 8 - 3;
    ACTIVATE
    x = x * 8 - 3;
    ACTIVATE
    int out = (int)round(x / 0.25f);
    C[i * N + j] = out > 127 ? 127 : out < -127 ? -127 : out;
  }
}
INT_FORM(by_row) { // near miss: the condition changes in the nest
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i * K + k] * B[i & 1 ? j * K + k : k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(in_batches) { // which loop it changes in
  for (int b = 0; b < 3; b++) {
    int t = A[b] & 1;
    I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}}
      int s = one(B);
      L s += A[i * K + k] * B[t ? j * K + k : k * N + j];
      C[b * 1000 + i * N + j] = s;
    }
  }
}
INT_FORM(sums_first) { // near miss: the rest would be copied for each side
  int t = K & 1;
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i * K + k] * B[t ? j * K + k : k * N + j];
    C[i * N + j] = s % 7;
  }
}
// A switch is as branches.
INT_FORM(switched_layouts) { // as in RTKLIB
  int f = (K & 1) + (N & 1) * 2 + 1;
  I J { // expected-remark 2 {{mk,kn->mn}} expected-remark 2 {{mk,nk->mn}} expected-remark 2 {{km,kn->mn}} expected-remark 2 {{km,nk->mn}}
    int s = 0;
    switch (f) {
    case 1: L s += A[i * K + k] * B[k * N + j]; break;
    case 2: L s += A[i * K + k] * B[j * K + k]; break;
    case 3: L s += A[k * M + i] * B[k * N + j]; break;
    case 4: L s += A[k * M + i] * B[j * K + k]; break;
    default: __builtin_unreachable();
    }
    if (M & 1)
      C[i * N + j] = s;
    else
      C[i * N + j] += s;
  }
}
INT_FORM(switched_otherwise) { // what is no case, and two that are one
  I J { // expected-remark {{mk,kn->mn}} expected-remark {{mk,nk->mn}} expected-remark {{km,kn->mn}}
    int s = 0;
    switch (K & 7) {
    case 0:
    case 6: L s += A[i * K + k] * B[k * N + j]; break;
    case 3: L s += A[i * K + k] * B[j * K + k]; break;
    default: L s += A[k * M + i] * B[k * N + j]; break;
    }
    C[i * N + j] = s;
  }
}
INT_FORM(switched_sum) { // and what is no product
  I J L { // expected-remark 2 {{mk,kn->mn}}
    switch (M) {
    case 3: C[i * N + j] += A[i * K + k] * B[k * N + j]; break;
    case 4: C[i * N + j] -= A[i * K + k] * B[k * N + j]; break;
    case 5: C[i * N + j] = 0; break;
    }
  }
}
// Pointers that are stepped on under such a condition.
INT_FORM(bias_stepped_on) { // as in CMSIS-NN
  for (int i = 0; i < M; i++) { // expected-remark 2 {{mk,nk->mn}}
    const int32_t *bias = K & 1 ? C + 64 * 64 : 0;
    const int8_t *b = B;
    for (int j = 0; j < N; j++) {
      int s = 0;
      if (bias)
        s = *bias++;
      for (int k = 0; k < K; k++)
        s += A[i * K + k] * *b++;
      C[i * N + j] = s;
    }
  }
}
INT_FORM(bias_of_pairs) { // .. by several, with half as many iterations
  for (int i = 0; i < M; i++) { // expected-remark 2 {{mk,nk->mn}}
    const int32_t *bias = K & 1 ? C + 64 * 64 : 0;
    const int8_t *b = B;
    int32_t *c = C + i * (N / 2 * 2);
    for (int j = 0; j < N / 2; j++) {
      int s = 0, t = 0;
      if (bias)
        s = *bias++, t = *bias++;
      for (int k = 0; k < K; k++)
        s += A[i * K + k] * b[k], t += A[i * K + k] * b[K + k];
      *c++ = s;
      *c++ = t;
      b += 2 * K;
    }
  }
}
INT_FORM(scale_stepped_on) { // the condition is another one
  int scaled = N & 1;
  for (int i = 0; i < M; i++) { // expected-remark 2 {{mk,kn->mn}}
    const int8_t *scale = A;
    for (int j = 0; j < N; j++) {
      int s = 0;
      L s += A[i * K + k] * B[k * N + j];
      C[i * N + j] = scaled ? s * *scale : s;
      scale += scaled ? 3 : 1;
    }
  }
}
INT_FORM(bias_of_some) { // near miss: the condition changes in the nest
  const int32_t *bias = C + 64 * 64;
  I J { // expected-remark {{kept}}
    int s = 0;
    if (i & 1)
      s = *bias++;
    L s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(bias_that_ends) { // near miss: .. as the pointer becomes null
  const int32_t *bias = C + 64 * 64;
  I J { // expected-remark {{kept}}
    int s = 0;
    if (bias)
      s = *bias++;
    if (s > 1)
      bias = 0;
    L s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
