// More than a sum is stored: a start value before it, arithmetic behind it.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 92
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(biased_start) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 7;
    L s += AB;
    C[i * N + j] = s;
  }
}
INT_FORM(bias_vector) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = B[j];
    L s += AB;
    C[i * N + j] = s;
  }
}
INT_FORM(biased_end) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += AB;
    C[i * N + j] = s + 3;
  }
}
INT_FORM(set_to_one) {
  I J { // expected-remark {{mk,kn->mn}}
    C[i * N + j] = 1;
    L C[i * N + j] += AB;
  }
}
INT_FORM(old_kept_aside) { // the old content is read before the zeroing
  I J { // expected-remark {{mk,kn->mn}}
    int old = C[i * N + j];
    C[i * N + j] = 0;
    L C[i * N + j] += AB;
    C[i * N + j] += old;
  }
}
INT_FORM(subtracted) {
  I J L C[i * N + j] -= AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(bias_in_a_loop_of_its_own) {
  I { // expected-remark {{mk,kn->mn}}
    J C[i * N + j] = B[j];
    L J C[i * N + j] += AB;
  }
}
INT_FORM(bias_of_another_row) { // a near miss: one place too far
  I { // expected-remark {{ExtraStore}}
    J C[i * N + j + 1] = B[j];
    L J C[i * N + j] += AB;
  }
}
INT_FORM(scaled) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += AB;
    C[i * N + j] = 3 * s - 2 * C[i * N + j];
  }
}
INT_FORM(scaled_in_the_sum) {
  I J L C[i * N + j] += M * AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(scaled_by_row) {
  I J L C[i * N + j] += AB * A[i]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(scaled_old_in_every_step) { // a near miss
  I J L C[i * N + j] = 3 * C[i * N + j] + AB; // expected-remark {{kept}}
}
INT_FORM(tail_of_the_neighbour) { // a near miss
  I J { // expected-remark {{for its sums}}
    int s = 0;
    L s += AB;
    C[i * N + j] = s + C[i * N + j + 1];
  }
}
INT_FORM(four_at_a_time) {
  I J { // expected-remark {{mkl,nkl->mn}}
    int s = 0, t = 0, u = 0, v = 0;
    for (int k = 0; k < K / 4; k++) {
      s += A[i * 4 * K + 4 * k] * B[j * 4 * K + 4 * k];
      t += A[i * 4 * K + 4 * k + 1] * B[j * 4 * K + 4 * k + 1];
      u += A[i * 4 * K + 4 * k + 2] * B[j * 4 * K + 4 * k + 2];
      v += A[i * 4 * K + 4 * k + 3] * B[j * 4 * K + 4 * k + 3];
    }
    C[i * N + j] = s + t + u + v;
  }
}
INT_FORM(four_at_a_time_one_astray) { // a near miss
  I J { // expected-remark 3 {{replaced by a call}}
    int s = 0, t = 0, u = 0, v = 0;
    for (int k = 0; k < K / 4; k++) {
      s += A[i * 4 * K + 4 * k] * B[j * 4 * K + 4 * k];
      t += A[i * 4 * K + 4 * k + 1] * B[j * 4 * K + 4 * k + 1];
      u += A[i * 4 * K + 4 * k + 2] * B[j * 4 * K + 4 * k + 2];
      v += A[i * 4 * K + 4 * k + 3] * B[j * 4 * K + 4 * k + 4];
    }
    C[i * N + j] = s + t + u + v;
  }
}
INT_FORM(fused) { // rounds once: 1.0009766^2 has 24 bits, 3.5 more before them
#pragma clang fp reassociate(off)
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += A[i * K + k] * B[k * N + j];
    float f = __builtin_fmaf((float)s, 1.0009766f, 3.5f);
    memcpy(&C[i * N + j], &f, 4);
  }
}
