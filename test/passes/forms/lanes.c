// Code that is written with vectors is what it would be with numbers.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 31
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define FOURS(x, X) for (int x = 0; x + 4 <= X; x += 4)
typedef int8_t b4 __attribute__((vector_size(4), aligned(1), may_alias));
typedef int32_t i4 __attribute__((vector_size(16), aligned(4), may_alias));
#define FOUR(p) __builtin_convertvector(*(const b4 *)(p), i4)
#define ALL(v) (v[0] + v[1] + v[2] + v[3])

static inline int dot(int n, const int8_t *x, const int8_t *y) {
  i4 v = {0};
  int k, whole = n / 4 * 4, s = 0;
  for (k = 0; k < whole; k += 4)
    v += FOUR(x + k) * FOUR(y + k);
  for (; k < n; k++)
    s += x[k] * y[k];
  return s + ALL(v);
}
INT_FORM(along_the_sum) { // the rest of a row is in a loop of its own, if any
  I J C[i * N + j] = dot(K, A + i * K, B + j * K); // expected-remark 1-2 {{replaced by a call}}
}
INT_FORM(without_rest) {
  I J { // expected-remark {{mk,nk->mn}}
    i4 v = {0};
    FOURS(k, K) v += FOUR(A + i * K + k) * FOUR(B + j * K + k);
    C[i * N + j] = ALL(v);
  }
}
INT_FORM(along_columns) {
  I FOURS(j, N) { // expected-remark {{mk,kn->mn}}
    i4 s = {1, 1, 1, 1};
    L s += A[i * K + k] * FOUR(B + k * N + j);
    *(i4 *)(C + i * N + j) = s;
  }
}
INT_FORM(in_memory) {
  I L FOURS(j, N) // expected-remark {{mk,kn->mn}}
    *(i4 *)(C + i * N + j) += A[i * K + k] * FOUR(B + k * N + j);
}
INT_FORM(with_relu) {
  I FOURS(j, N) { // expected-remark {{mk,kn->mn}}
    i4 s = {0};
    L s += A[i * K + k] * FOUR(B + k * N + j);
    *(i4 *)(C + i * N + j) = s & (s > 0);
  }
}
INT_FORM(three_lanes) {
  I J { // expected-remark {{mkl,nkl->mn}}
    i4 v = {0};
    FOURS(k, K) v += FOUR(A + i * K + k) * FOUR(B + j * K + k);
    C[i * N + j] = v[0] + v[1] + v[2];
  }
}

// Near misses.

INT_FORM(backwards) { // of one factor
  I J { // expected-remark {{kept}}
    i4 v = {0};
    FOURS(k, K) {
      i4 y = FOUR(B + j * K + k);
      v += FOUR(A + i * K + k) * __builtin_shufflevector(y, y, 3, 2, 1, 0);
    }
    C[i * N + j] = ALL(v);
  }
}
INT_FORM(a_lane_less) {
  I J { // expected-remark {{kept}}
    i4 v = {0};
    FOURS(k, K) v += FOUR(A + i * K + k) * FOUR(B + j * K + k);
    C[i * N + j] = v[0] + v[1] + v[2] - v[3];
  }
}
INT_FORM(some_lane) {
  I J { // expected-remark {{kept}}
    i4 v = {0};
    FOURS(k, K) v += FOUR(A + i * K + k) * FOUR(B + j * K + k);
    C[i * N + j] = v[j & 3];
  }
}
INT_FORM(lanes_change_places) {
  I FOURS(j, N) { // expected-remark {{kept}}
    i4 s = {0};
    L s += A[i * K + k] * FOUR(B + k * N + j);
    *(i4 *)(C + i * N + j) = __builtin_shufflevector(s, s, 1, 2, 3, 0);
  }
}
INT_FORM(twice) { // one column of each four, also by the next one
  I for (int j = 0; j + 4 <= N; j += 3) { // expected-remark {{kept}}
    L *(i4 *)(C + i * N + j) += A[i * K + k] * FOUR(B + k * N + j);
  }
}
INT_FORM(where_positive) {
  I FOURS(j, N) if (A[i] > 0) { // expected-remark {{kept}}
    i4 s = {0};
    L s += A[i * K + k] * FOUR(B + k * N + j);
    *(i4 *)(C + i * N + j) = s;
  }
}
INT_FORM(filled_first) { // by bytes, for vectors
  I { // expected-remark {{kept}}
    memset(C + i * N, 0, (size_t)(N > 0 ? N / 4 * 16 : 0));
    FOURS(j, N) L *(i4 *)(C + i * N + j) += A[i * K + k] * FOUR(B + k * N + j);
  }
}
