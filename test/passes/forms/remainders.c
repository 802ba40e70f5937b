// Loops along the sum that were unrolled by hand, and loops over what is left,
// whose length only the program knows: both are one axis.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 234
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define AB(k) A[i * K + (k)] * B[(k) * N + j]
#define AB4(k) AB(k) + AB(k + 1) + AB(k + 2) + AB(k + 3)
#define SUM(four, one)                                                         \
  int s = 0, k = 0;                                                            \
  four s += AB4(k);                                                            \
  one s += AB(k);                                                              \
  C[i * N + j] = s;

// ---- counters ----

INT_FORM(one_sum) {
  I J { SUM(for (; k + 3 < K; k += 4), for (; k < K; k++)) } // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_l}}
}
INT_FORM(four_sums) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0, t = 0, u = 0, v = 0, k;
    for (k = 0; k < K - 3; k += 4) {
      s += AB(k);
      t += AB(k + 1);
      u += AB(k + 2);
      v += AB(k + 3);
    }
    s = s + t + u + v;
    for (; k < K; k++)
      s += AB(k);
    C[i * N + j] = s;
  }
}
INT_FORM(onto_c) {
  I J { // expected-remark {{mk,kn->mn}}
    int k = 0;
    for (; k + 3 < K; k += 4)
      C[i * N + j] += AB4(k);
    for (; k < K; k++)
      C[i * N + j] += AB(k);
  }
}
INT_FORM(up_to_a_quotient) {
  int end = K / 4 * 4;
  I J { SUM(for (k = 0; k < end; k += 4), for (k = end; k < K; k++)) } // expected-remark {{mk,kn->mn}}
}
INT_FORM(up_to_a_mask) {
  I J { SUM(for (k = 0; k < (K & ~3); k += 4), for (k = K & ~3; k < K; k++)) } // expected-remark {{mk,kn->mn}}
}
INT_FORM(up_to_a_remainder) {
  I J { SUM(for (; k < K - K % 4; k += 4), for (; k < K; k++)) } // expected-remark {{mk,kn->mn}}
}
INT_FORM(wide_counters) {
  if (M < 1 || N < 1 || K < 1)
    return;
  size_t m = (size_t)M, n = (size_t)N, l = (size_t)K;
  for (size_t i = 0; i < m; i++) // expected-remark {{mk,kn->mn}}
    for (size_t j = 0; j < n; j++) {
      int s = 0;
      size_t k = 0;
      for (; k + 2 <= l; k += 2)
        s += A[i * l + k] * B[k * n + j] + A[i * l + k + 1] * B[(k + 1) * n + j];
      for (; k < l; k++)
        s += A[i * l + k] * B[k * n + j];
      C[i * n + j] = s;
    }
}
INT_FORM(unsigned_counters) {
  if (M < 1 || N < 1 || K < 1)
    return;
  unsigned m = (unsigned)M, n = (unsigned)N, l = (unsigned)K;
  for (unsigned i = 0; i < m; i++) // expected-remark {{mk,kn->mn}}
    for (unsigned j = 0; j < n; j++) {
      int s = 0;
      unsigned k = 0;
      for (; k + 1 < l; k += 2)
        s += A[i * l + k] * B[k * n + j] + A[i * l + k + 1] * B[(k + 1) * n + j];
      for (; k < l; k++)
        s += A[i * l + k] * B[k * n + j];
      C[i * n + j] = s;
    }
}
INT_FORM(counted_down) {
  I J { // expected-remark {{mk,nk->mn}}
    int s = 0, k = K;
    const int8_t *a = A + i * K, *b = B + j * K;
    for (; k >= 4; k -= 4, a += 4, b += 4)
      s += a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    for (; k > 0; k--)
      s += *a++ * *b++;
    C[i * N + j] = s;
  }
}

// ---- loops ----

INT_FORM(columns_innermost) {
  I { // expected-remark {{mk,kn->mn}}
    int k = 0;
    J C[i * N + j] = 0;
    for (; k + 3 < K; k += 4)
      J C[i * N + j] += AB4(k);
    for (; k < K; k++)
      J C[i * N + j] += AB(k);
  }
}
INT_FORM(eight_four_one) {
  I J { // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_m}}
    int s = 0, k = 0;
    for (; k + 7 < K; k += 8)
      s += AB4(k) + AB4(k + 4);
    for (; k + 3 < K; k += 4)
      s += AB4(k);
    for (; k < K; k++)
      s += AB(k);
    C[i * N + j] = s;
  }
}
INT_FORM(two_halves) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0, k = 0;
    for (; k < K / 2; k++)
      s += AB(k);
    for (; k < K; k++)
      s += AB(k);
    C[i * N + j] = s;
  }
}
#define TAP(k, t) A[i * 60 + (k) * 3 + (t)] * B[(k) * 60 + (t) * 20 + j]
#define TAPS(k) TAP(k, 0) + TAP(k, 1) + TAP(k, 2)
INT_FORM(three_taps) {
  I J { // expected-remark {{mkl,kln->mn with m=n_i n=n_j k=n_l l=3}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += TAPS(k) + TAPS(k + 1);
    for (; k < K; k++)
      s += TAPS(k);
    C[i * N + j] = s;
  }
}
BF16_FORM(floats) {
  I J { // expected-remark {{mk,nk->mn}}
    float s = 0, t = 0;
    int k = 0;
    for (; k + 1 < K; k += 2) {
      s += (float)A[i * K + k] * (float)B[j * K + k];
      t += (float)A[i * K + k + 1] * (float)B[j * K + k + 1];
    }
    for (; k < K; k++)
      s += (float)A[i * K + k] * (float)B[j * K + k];
    C[i * N + j] = s + t;
  }
}

// ---- near misses ----

INT_FORM(starts_one_later) {
  I J { SUM(for (; k + 3 < K; k += 4), for (k++; k < K; k++)) } // expected-remark 2 {{replaced by a call}}
}
INT_FORM(starts_one_earlier) {
  I J { SUM(for (; k + 3 < K; k += 4), for (k = k ? k - 1 : 0; k < K; k++)) } // expected-remark 2 {{replaced by a call}}
}
INT_FORM(starts_anew) {
  I J { SUM(for (; k + 3 < K; k += 4), for (k = 0; k < K % 4; k++)) } // expected-remark 2 {{replaced by a call}}
}
// The first loop takes one round too many: asked before the nest.
INT_FORM(goes_too_far) {
  int end = K / 4 * 4;
  I J { SUM(for (k = 0; k <= end; k += 4), for (k = end; k < K; k++)) } // expected-remark {{mk,kn->mn}}
}
INT_FORM(leaves_a_gap) {
  int end = (K + 1) / 4 * 4;
  I J { SUM(for (k = 0; k + 3 < K; k += 4), for (k = end; k < K; k++)) } // expected-remark 2 {{replaced by a call}}
}
INT_FORM(ends_early) {
  I J { SUM(for (; k + 3 < K; k += 4), for (; k < K - 1; k++)) } // expected-remark {{mk,kn->mn}}
}
INT_FORM(one_element_twice) {
  I J { // expected-remark {{nest kept}}
    int s = 0, k = 0;
    for (; k + 2 < K; k += 3)
      s += AB(k) + AB(k + 1) + AB(k + 1);
    for (; k < K; k++)
      s += AB(k);
    C[i * N + j] = s;
  }
}
INT_FORM(one_element_missing) {
  I J { // expected-remark 2 {{replaced by a call}}
    int s = 0, k = 0;
    for (; k + 2 < K; k += 3)
      s += AB(k) + AB(k + 1);
    for (; k < K; k++)
      s += AB(k);
    C[i * N + j] = s;
  }
}
INT_FORM(of_another_array) {
  I J { // expected-remark 2 {{replaced by a call}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += AB(k) + AB(k + 1);
    for (; k < K; k++)
      s += A[i * K + k] * A[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(of_another_row) {
  I J { // expected-remark 2 {{replaced by a call}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += AB(k) + AB(k + 1);
    for (; k < K; k++)
      s += A[k * K + i] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(in_the_other_direction) {
  I J { // expected-remark 2 {{replaced by a call}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += AB(k) + AB(k + 1);
    for (int l = K - 1; l >= k; l--)
      s += AB(l);
    C[i * N + j] = s;
  }
}
INT_FORM(subtracted) {
  I J { // expected-remark 2 {{replaced by a call}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += AB(k) + AB(k + 1);
    for (; k < K; k++)
      s -= AB(k);
    C[i * N + j] = s;
  }
}
INT_FORM(of_two_columns) {
  I J { // expected-remark 2 {{replaced by a call}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += AB(k) + AB(k + 1);
    for (; k < K; k++)
      s += A[i * K + k] * B[k * N + j + 1];
    C[i * N + j] = s;
  }
}
INT_FORM(counter_used_after) {
  int k = 0;
  I J { // expected-remark 2 {{for its sums}}
    int s = 0;
    for (k = 0; k + 1 < K; k += 2)
      s += AB(k) + AB(k + 1);
    for (; k < K; k++)
      s += AB(k);
    C[i * N + j] = s;
  }
  if (M > 0 && N > 0)
    C[0] += k;
}

// Loops of a function that is inlined, which are not entered where they have no
// work: with the first and the second, or with the first alone.
static inline int dot(int n, const int8_t *x, const int8_t *y) {
  int k, s = 0, t = 0, whole = n >> 1 << 1;
  for (k = 0; k < whole; k += 2) {
    s += x[k] * y[k];
    t += x[k + 1] * y[k + 1];
  }
  for (; k < n; k++)
    s += x[k] * y[k];
  return s + t;
}
INT_FORM(in_a_function) {
  I J C[i * N + j] = dot(K, A + i * K, B + j * K); // expected-remark {{replaced by a call}}
}
static inline int one_less(int n, const int8_t *x, const int8_t *y) {
  int k, s = 0, t = 0, whole = n >> 1 << 1;
  for (k = 0; k < whole; k += 2) {
    s += x[k] * y[k];
    t += x[k + 1] * y[k + 1];
  }
  for (k++; k < n; k++)
    s += x[k] * y[k];
  return s + t;
}
INT_FORM(in_a_function_with_a_gap) {
  I J C[i * N + j] = one_less(K, A + i * K, B + j * K); // expected-remark 1-2 {{nest}}
}

// Loops that count blocks, and what they leave.
#define A_B(k) A[i * K + (k)] * B[j * K + (k)]
INT_FORM(blocks_counted) {
  I J { // expected-remark {{mk,nk->mn with m=n_i n=n_j k=n_l}}
    int s = 0;
    for (int k = 0; k < K / 4; k++)
      s += A_B(4 * k) + A_B(4 * k + 1) + A_B(4 * k + 2) + A_B(4 * k + 3);
    for (int k = 0; k < K % 4; k++)
      s += A_B(K / 4 * 4 + k);
    C[i * N + j] = s;
  }
}
INT_FORM(blocks_of_pointers) { // as in CMSIS
  if (K < 0)
    return;
  I J { // expected-remark {{mk,nk->mn with m=n_i n=n_j k=n_l}}
    const int8_t *a = A + i * K, *b = B + j * K;
    int s = 0, n = K >> 2;
    while (n > 0) {
      s += *a++ * *b++;
      s += *a++ * *b++;
      s += *a++ * *b++;
      s += *a++ * *b++;
      n--;
    }
    n = K & 3;
    while (n > 0) {
      s += *a++ * *b++;
      n--;
    }
    C[i * N + j] = s;
  }
}
INT_FORM(pairs_counted) { // the loop behind them runs once at most
  if (K < 0)
    return;
  I J { // expected-remark {{mk,nk->mn with m=n_i n=n_j k=n_l}}
    const int8_t *a = A + i * K, *b = B + j * K;
    int s = 0, n = K >> 1;
    while (n) {
      s += *a++ * *b++;
      s += *a++ * *b++;
      n--;
    }
    n = K & 1;
    while (n) {
      s += *a++ * *b++;
      n--;
    }
    C[i * N + j] = s;
  }
}
INT_FORM(pairs_of_columns) { // .. which is behind the nest of pairs then
  int32_t *c = C;
  I { // expected-remark {{mk,nk->mn with m=n_i n=n_j.all k=n_k}}
    const int8_t *b = B;
    for (int j = 0; j < N / 2; j++) {
      int s = 0, t = 0;
      for (int k = 0; k < K; k++) {
        s += A[i * K + k] * b[k];
        t += A[i * K + k] * b[K + k];
      }
      *c++ = s;
      *c++ = t;
      b += 2 * K;
    }
    for (int j = 0; j < N % 2; j++) {
      int s = 0;
      for (int k = 0; k < K; k++)
        s += A[i * K + k] * *b++;
      *c++ = s;
    }
  }
}
INT_FORM(one_block_further) { // near miss at run time
  I J { // expected-remark {{mk,nk->mn with m=n_i n=n_j k=n_l}}
    int s = 0;
    for (int k = 0; k < K / 4; k++)
      s += A_B(4 * k) + A_B(4 * k + 1) + A_B(4 * k + 2) + A_B(4 * k + 3);
    for (int k = 0; k < K % 4; k++)
      s += A_B(K / 4 * 4 + k + (N & 1));
    C[i * N + j] = s;
  }
}
INT_FORM(three_of_four) { // near miss: two sums
  I J { // expected-remark 2 {{n=n_j k=n_k}}
    int s = 0;
    for (int k = 0; k < K / 4; k++)
      s += A_B(4 * k) + A_B(4 * k + 1) + A_B(4 * k + 2);
    for (int k = 0; k < K % 4; k++)
      s += A_B(K / 4 * 4 + k);
    C[i * N + j] = s;
  }
}
INT_FORM(twice_at_most) { // near miss: once, or with what InstCombine kept
  if (K < 0)
    return;
  I J { // expected-remark 1-2 {{nest}}
    int s = 0, n = K & 2;
    while (n) {
      s += A_B(n);
      n = n == 2 ? 1 : 0;
    }
    C[i * N + j] = s;
  }
}
