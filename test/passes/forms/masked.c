// Products that conditions on elements skip which are no factors of theirs, and
// factors that are chosen by a branch.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 18
#include "beside.h"
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define a A[i * K + k]
#define b B[k * N + j]
#define c C[i * N + j]
#define FORM(name) __attribute__((annotate("nputeir:f32=bf16x3"))) BF16_FORM(name)

INT_FORM(of_a_row) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L if (A[k * M + i] > 0) s += a * b;
    c = s;
  }
}
INT_FORM(along_the_sum) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L {
      if (B[k] == 1)
        continue;
      s -= a * b;
    }
    c = s;
  }
}
INT_FORM(around_a_loop) {
  L I // expected-remark {{km,kn->mn}}
    if (B[i * K + k] > -100)
      J c += a * b;
}
INT_FORM(several) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L if (B[i] != 5 && A[k * M + i] > 3) s += a * b;
    c = s;
  }
}
FORM(slope) { // of an activation
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L if ((float)A[k * M + i] > 0) s += (float)a * (float)b;
    c = s;
  }
}
FORM(chosen) {
  I L { // expected-remark {{mk,kn->mn}}
    float g = 0;
    if ((float)A[k * M + i] > 0)
      g = a;
    J c += g * (float)b;
  }
}
FORM(beside_bias) {
  I // expected-remark {{mk,kn->mn}}
    L {
      float g = (float)A[k * M + i] > 0 ? (float)a : 0;
      side[i] += (int32_t)g;
      J c += g * (float)b;
    }
  look((int32_t *)C);
}
FORM(two_gradients) { // of weights and of inputs
  static float inputs[1024];
  I L { // expected-remark 2 {{replaced by a call}}
    float g = 0;
    if ((float)A[k * M + i] > 0)
      g = a;
    J {
      c += g * (float)b;
      inputs[k * N + j] += g * (float)B[i * N + j];
    }
  }
  for (int i = 0; i < 1024; i++) {
    C[2048 + i] += inputs[i];
    inputs[i] = 0;
  }
}

// Near misses: the condition decides on something else, too, or moves with all
// loops, or asks what the nest writes; or a sum has margins, too.
INT_FORM(within_margins) {
  I J { // expected-remark {{kept}}
    int s = 0;
    for (int p = 0; p < 2; p++)
      if (i + p < M)
        L if (A[k] > 0) s += A[(i + p) * K + k] * B[(p * K + k) * N + j];
    c = s;
  }
}
INT_FORM(counts_too) {
  int count = 0;
  I J { // expected-remark {{kept}}
    int s = 0;
    L if (A[k * M + i] > 0) {
      s += a * b;
      count++;
    }
    c = s + count;
  }
}
INT_FORM(sets_a_flag) {
  I J { // expected-remark 0-1 {{kept}}
    int s = 0, any = 0;
    L if (A[k * M + i] > 0) {
      s += a * b;
      any = 7;
    }
    c = s + any;
  }
}
INT_FORM(remembers) {
  I J { // expected-remark 0-1 {{kept}}
    int s = 0, last = 0;
    L if (A[k * M + i] > 0) {
      s += a * b;
      last = k;
    }
    c = s + last;
  }
}
INT_FORM(another_value) {
  I J { // expected-remark 0-1 {{kept}}
    int s = 0;
    L if (A[k * M + i] > 0) s += a * b;
    else s += 1;
    c = s;
  }
}
INT_FORM(marks_others) { // once the products are split off
  I L // expected-remark {{mk,kn->mn}}
    if (B[k] > 0)
      J c += a * b;
    else
      other[i * 64 + k] = 7;
  look(C);
}
INT_FORM(adds_or_subtracts) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L {
      int x = a;
      if (A[k] > 0) {
        x *= b;
        if (B[k] > 0) s += x;
        else s -= x;
      }
    }
    c = s;
  }
}
FORM(another_beside) { // for which the first condition is enough
  static float inputs[1024];
  I L { // expected-remark 0-2 {{}}
    float x = a;
    if ((float)A[k] > 0) {
      J inputs[i * N + j] += x * (float)B[j * K + k];
      if ((float)B[k] > 0)
        J c += x * (float)b;
    }
  }
  for (int i = 0; i < 1024; i++) {
    C[2048 + i] += inputs[i];
    inputs[i] = 0;
  }
}
FORM(with_a_place) { // which the same condition chooses
  I J { // expected-remark {{kept}}
    float s = 0;
    L {
      float g = 1;
      int next = 0;
      if ((float)A[k * M + i] > 0) {
        g = a;
        next = 1;
      }
      s += g * (float)B[k * N + j + next];
    }
    c = s;
  }
}
FORM(valid_rows) { // others may have no numbers, which zeros do not skip
  I J { // expected-remark {{kept}}
    float s = 0;
    L if ((float)A[k] > 0) s += (float)a * (float)b;
    c = s;
  }
}
FORM(valid_rows_of_some) {
  I J { // expected-remark {{kept}}
    float s = 0;
    L if ((float)A[k] > 0 && (float)A[k * M + i] > 0) s += (float)a * (float)b;
    c = s;
  }
}
INT_FORM(of_all_loops) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L if (A[i * 64 + j + k] > 0) s += a * b;
    c = s;
  }
}
INT_FORM(of_the_result) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L if (C[i * N + k] > 0) s += a * b;
    c = s;
  }
}
