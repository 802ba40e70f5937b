// The loops do not run a number of times that is known before the nest.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 32
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(breaks) {
  I J L { // expected-remark {{EarlyExit}}
    if (A[i * K + k] == 3)
      break;
    C[i * N + j] += AB;
  }
}
INT_FORM(returns) {
  I J L { // expected-remark {{EarlyExit}}
    if (A[i * K + k] == 3)
      return;
    C[i * N + j] += AB;
  }
}
// Only the outer loops are left so; the inner one alone is no nest.
INT_FORM(breaks_behind_sums) {
  I J { // expected-remark {{EarlyExit}}
    int s = 0;
    L s += AB;
    if (C[i * N + j] == 3)
      break;
    C[i * N + j] = s;
  }
}
// Sums that become addresses and choices.
INT_FORM(counts_products) {
  I J L C[(AB + A[k]) & 63]++; // expected-remark {{NoProduct}}
}
INT_FORM(looks_at_products) {
  I J L if (AB + A[k] > 5) C[i * N + j] = 3; // expected-remark {{NoProduct}}
}
INT_FORM(skips) { // a factor that is zero in a copy
  I J L { // expected-remark {{mk,kn->mn}}
    if (A[i * K + k] == 3)
      continue;
    C[i * N + j] += AB;
  }
}
// The sum of the loops inside is used after them, which is not the reason.
INT_FORM(padded_by_ones) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L for (int t = 0; t < 3; t++) {
      int at = k + t - 1;
      s += (at >= 0 && at < K ? A[i * K + at] : 1) * B[k * N + j];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(guarded_by_input) { // a factor: taken
  I J L // expected-remark {{mk,kn->mn}}
    if (B[k * N + j])
      C[i * N + j] += AB;
}
INT_FORM(switched) {
  I J L { // expected-remark {{a switch inside the nest}}
    switch (A[k]) {
    case 3: C[i * N + j] += AB; break;
    case 4: C[i * N + j] -= AB; break;
    case 5: C[i * N + j] = 0; break;
    }
  }
}
INT_FORM(above_the_diagonal) {
  I J { // expected-remark {{for its sums}}
    int s = 0;
    L s += AB;
    C[i * N + j] = j > i ? -9 : s;
  }
}
INT_FORM(guarded_row) {
  I // expected-remark {{kept}}
    if (i & 1)
      J L C[i * N + j] += AB;
}
INT_FORM(triangle_k) {
  I J // expected-remark {{VariantExtent}}
    for (int k = i; k < K; k++)
      C[i * N + j] += AB;
}
INT_FORM(size_changes) {
  int n = N;
  I { // expected-remark {{kept}}
    for (int j = 0; j < n; j++)
      L C[i * N + j] += AB;
    n = n > 1 ? n - 1 : n;
  }
}
INT_FORM(computed_goto) {
  static void *const to[] = {&&product, &&product, &&done};
  goto *to[M > 0];
product:
  I J L C[i * N + j] += AB; // expected-remark {{EarlyExit}}
done:;
}
INT_FORM(labels_elsewhere) {
  static void *const to[] = {&&none, &&product};
  goto *to[M > 0];
none:
  M = 0;
product:
  if (K > 0)
    I J L C[i * N + j] += AB; // expected-remark {{labels by their addresses}}
}
INT_FORM(size_from_memory) {
  I J // expected-remark {{kept}}
    for (int k = 0; k < (A[i] & 3); k++)
      C[i * N + j] += AB;
}
INT_FORM(list) {
  I J // expected-remark {{kept}}
    for (int k = 0; A[k] != 5 && k < K; k++)
      C[i * N + j] += AB;
}
INT_FORM(doubling) {
  I J // expected-remark {{kept}}
    for (int k = 1; k < K; k *= 2)
      C[i * N + j] += AB;
}
INT_FORM(vector) {
  I L C[i] += A[i * K + k] * B[k]; // expected-remark {{TooFewAxes}}
}
INT_FORM(outer_product) {
  I J C[i * N + j] += A[i] * B[j]; // expected-remark {{TooFewAxes}}
}
INT_FORM(repeated) { // the outer loop repeats the product of the inner ones
  for (int r = 0; r < 3; r++)
    I J L C[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
