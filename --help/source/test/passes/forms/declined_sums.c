// What is formed is no sum of products, or not one that may be reordered.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 0
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(max_plus) {
  I J L { // expected-remark {{NoProduct}}
    int v = A[i * K + k] + B[k * N + j];
    if (v > C[i * N + j])
      C[i * N + j] = v;
  }
}
INT_FORM(max_times) {
  I J L { // expected-remark 0-1 {{kept}}
    int v = AB;
    C[i * N + j] = v > C[i * N + j] ? v : C[i * N + j];
  }
}
INT_FORM(absolute_differences) {
  I J L { // expected-remark {{another way than by summing products}}
    int d = A[i * K + k] - B[k * N + j];
    C[i * N + j] += d < 0 ? -d : d;
  }
}
INT_FORM(powers_of_three) {
  I J { // expected-remark {{NoProduct}}
    int s = 0;
    L s = 3 * s + AB;
    C[i * N + j] = s;
  }
}
INT_FORM(saturating_sum) {
  I J { // expected-remark {{NoProduct}}
    int s = 0;
    L {
      s += AB;
      s = s > 32767 ? 32767 : s < -32768 ? -32768 : s;
    }
    C[i * N + j] = s;
  }
}
INT_FORM(product_plus_one) {
  I J L C[i * N + j] += AB + 1; // expected-remark {{NotProductSum}}
}
INT_FORM(offset_by_counter) {
  I J L C[i * N + j] += (A[i * K + k] - k) * B[k * N + j]; // expected-remark {{kept}}
}
INT_FORM(shifted_long_input) {
  const int32_t *a = (const int32_t *)A;
  I J L C[i * N + j] += (a[i * K + k] >> 1) * B[k * N + j]; // expected-remark {{formed with a shift}}
}
INT_FORM(shifted_products) { // fixed point, cut after every product
  I J L C[i * N + j] += AB >> 1; // expected-remark {{formed with a shift}}
}
INT_FORM(divided_products) {
  I J L C[i * N + j] += AB / 3; // expected-remark {{formed with a division}}
}
INT_FORM(scaled_old) {
  I J L C[i * N + j] = 2 * C[i * N + j] + AB; // expected-remark {{kept}}
}
INT_FORM(overwritten) {
  I J L C[i * N + j] = AB; // expected-remark 0-1 {{kept}}
}
INT_FORM(narrowed_product) {
  I J L C[i * N + j] += (int8_t)(AB); // expected-remark {{NotProductSum}}
}
INT_FORM(other_old_value) {
  I J { // expected-remark {{ResultOverlapsItself}}
    int s = C[i * N];
    L s += AB;
    C[i * N + j] = s;
  }
}
INT_FORM(sum_goes_on) { // the scalar is not reset
  int s = 0;
  I J { // expected-remark {{NotProductSum}}
    L s += AB;
    C[i * N + j] = s;
  }
}
INT_FORM(sum_reset_per_row) {
  I { // expected-remark {{NotProductSum}}
    int s = 0;
    J {
      L s += AB;
      C[i * N + j] = s;
    }
  }
}
INT_FORM(last_term_missing) {
  I J { // expected-remark {{kept}}
    int s = 0, t = 0;
    L {
      t = s;
      s += AB;
    }
    C[i * N + j] = t;
  }
}
INT_FORM(two_sums) {
  I J { // expected-remark {{NotProductSum}}
    int s = 0, t = 0;
    L {
      s += AB;
      t += s;
    }
    C[i * N + j] = t;
  }
}
INT_FORM(shifted_every_step) {
  I J { // expected-remark {{NotProductSum}}
    int s = 0;
    L s = (s + AB) << 1;
    C[i * N + j] = s;
  }
}
INT_FORM(index_times) {
  I J L C[i * N + j] += A[i * K + k] * (int8_t)k; // expected-remark 0-1 {{kept}}
}
#ifndef RUNS // the product's rounding is a library call in plain clang
BF16_FORM(rounded_product) {
  I J L C[i * N + j] += AB; // expected-remark {{RoundedProduct}}
}
#endif
