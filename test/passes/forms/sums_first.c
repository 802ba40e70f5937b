// Other code in the nest uses the sums in ways that no tail can: they are formed
// first, and the code reads them from an array.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 101
#include "forms.h"

#include <math.h>
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(changed_in_a_loop) {
  I J { // expected-remark {{for its sums, which its other code reads: mk,kn->mn}}
    int32_t s = 0;
    L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
  }
}
INT_FORM(chosen_by_switch) {
  I J { // expected-remark {{for its sums}}
    int32_t s = 0;
    L s += AB;
    switch (s & 7) {
    case 0: C[i * N + j] = s; break;
    case 3: C[i * N + j] = s + 7; break;
    case 5: C[i * N + j] = -s; break;
    default: C[i * N + j] = 1;
    }
  }
}
INT_FORM(largest_of_row) {
  I { // expected-remark {{for its sums}}
    int32_t top = -1000000;
    J {
      int32_t s = 0;
      L s += AB;
      C[i * N + j] = s;
      if (s > top) top = s;
    }
    if (N > 0) C[i * N] = top;
  }
}
INT_FORM(used_after) {
  int32_t total = 0;
  I J { // expected-remark {{for its sums}}
    int32_t s = 0;
    L s += AB;
    C[i * N + j] = s;
    total = total * 31 + s;
  }
  C[64] = total;
}
INT_FORM(last_used_after) {
  int s = 0;
  I J { // expected-remark {{for its sums}}
    s = 0;
    L s += AB;
    C[i * N + j] = s;
  }
  C[64 * 63] = s;
}
INT_FORM(only_used_after) {
  int32_t total = 0;
  I J { // expected-remark {{for its sums}}
    int32_t s = 3;
    L s += AB;
    total = (total ^ s) * 31;
  }
  C[0] = total;
}
INT_FORM(stored_where_large) { // also on places that are not affine
  I J { // expected-remark {{for its sums}}
    int32_t s = 0;
    L s += AB;
    if (s > 0) C[i * N + j] = s;
  }
}
INT_FORM(two_results) {
  int32_t *D = C + 2048;
  I J { // expected-remark {{for its sums}}
    int32_t s = 0;
    L s += AB;
    C[i * N + j] = s;
    D[j * 33 + i] = s / 3;
  }
}
INT_FORM(row_is_scaled) {
  int32_t row[64];
  if (N > 64) return;
  I { // expected-remark {{for its sums}}
    int32_t top = 1;
    J {
      int32_t s = 0;
      L s += AB;
      row[j] = s;
      if (s > top) top = s;
    }
    J C[i * N + j] = row[j] / top;
  }
}
BF16_FORM(activated) {
  I J { // expected-remark {{for its sums}}
    float s = 0;
    L s += (float)A[i * K + k] * (float)B[k * N + j];
    C[i * N + j] = tanhf(s * 0.125f);
  }
}
BF16_FORM(two_gates) {
  I J { // expected-remark {{for its sums}}
    float s = 0, t = 0;
    L {
      s += (float)A[i * K + k] * (float)B[k * 2 * N + j];
      t += (float)A[i * K + k] * (float)B[k * 2 * N + N + j];
    }
    C[i * N + j] = fabsf(s) * tanhf(t * 0.125f);
  }
}
static int32_t (*volatile chosen)(int32_t);
static int32_t third(int32_t x) { return x / 3; }
__attribute__((noinline)) void
by_pointer(int M, int N, int K, int32_t *C, const int8_t *restrict A,
           const int8_t *restrict B, int32_t (*f)(int32_t)) {
  I J { // expected-remark {{for its sums}}
    int32_t s = 0;
    L s += AB;
    C[i * 64 + j] = f(s);
  }
}
INT_FORM(called_by_pointer) {
  static int8_t a[64 * 64], b[64 * 64];
  memcpy(a, A, sizeof a);
  memcpy(b, B, sizeof b);
  chosen = third;
  by_pointer(M, N, K, C, a, b, chosen);
}
INT_FORM(unrolled_over_columns) {
  I // expected-remark {{for its sums}}
    for (int j = 0; j + 3 < N; j += 4) {
      int32_t s = 0, t = 0, u = 0, v = 0;
      L {
        s += A[i * K + k] * B[k * N + j];
        t += A[i * K + k] * B[k * N + j + 1];
        u += A[i * K + k] * B[k * N + j + 2];
        v += A[i * K + k] * B[k * N + j + 3];
      }
      while (s > 100) s = s / 3 - 1;
      C[i * N + j] = s;
      C[i * N + j + 1] = s - t;
      C[i * N + j + 2] = u ^ v;
    }
}

// Members that are only read inside of an edge.
struct layer {
  int rows, depth, *marks;
  const __bf16 *in, *weights;
  float *out;
};
#define EDGE                                                                   \
  float s = 0;                                                                 \
  for (int t = 0; t < 3; t++)                                                  \
    if (i + t >= 1 && i + t - 1 < l->rows)                                     \
      for (int k = 0; k < l->depth; k++)                                       \
        s += (float)l->in[(i + t - 1) * l->depth + k] *                        \
             (float)l->weights[(j * 3 + t) * l->depth + k];
__attribute__((noinline)) static void activate(const struct layer *l, int M, int N) {
  I J { // expected-remark {{for its sums}}
    EDGE
    l->out[i * N + j] = tanhf(s * 0.125f);
  }
}
BF16_FORM(activated_inside_edges) {
  struct layer l = {M, K, NULL, A, B, C};
  activate(&l, M, N);
}
// A mark may change the number of rows, for all that is known: it is asked.
__attribute__((noinline)) static void mark(const struct layer *l, int M, int N) {
  I J { // expected-remark {{for its sums}}
    EDGE
    l->out[i * N + j] = tanhf(s * 0.125f);
    l->marks[i * N + j] = s > 0;
  }
}
BF16_FORM(marked_inside_edges) {
  static int marks[64 * 64];
  struct layer l = {M, K, marks, A, B, C};
  mark(&l, M, N);
}
BF16_FORM(marked_over_rows) { // of which the second iteration reads another one
  struct layer l = {M, K, NULL, A, B, C};
  if (M < 1 || N < 1 || N > 2) return;
  l.marks = &l.rows;
  mark(&l, 1, N);
  C[0] += l.rows + l.depth;
}

// Near misses.
INT_FORM(writes_an_input) {
  int8_t *W = (int8_t *)A;
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
    if (s == 77) W[i * K] = 1;
  }
}
INT_FORM(may_write_an_input) { // a call that nothing is known of
  chosen = third;
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    L s += AB;
    C[i * N + j] = chosen(s);
  }
}
INT_FORM(ends_early) {
  I J { // expected-remark {{EarlyExit}}
    int32_t s = 0;
    L s += AB;
    if (s == 1234567) return;
    C[i * N + j] = s;
  }
}
INT_FORM(not_always_formed) {
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    if (A[i] > B[j])
      L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
  }
}
INT_FORM(volatile_input) {
  volatile const int8_t *V = A;
  I J { // expected-remark {{VolatileOrAtomic}}
    int32_t s = 0;
    L s += V[i * K + k] * B[k * N + j];
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
  }
}
INT_FORM(volatile_start) {
  volatile int32_t start = 4;
  I J { // expected-remark {{kept}}
    int32_t s = start;
    L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
  }
}
INT_FORM(begins_where_it_ended) {
  int32_t s = 0;
  I J { // expected-remark {{kept}}
    L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
  }
}
// A dot product in four sums, and what is left of it in a way of its own.
#define FOUR(type, a, b)                                                       \
  type s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                         \
  int k = 0;                                                                   \
  for (; k <= K - 4; k += 4) {                                                 \
    s0 += (type)(a)[k] * (b)[k];                                               \
    s1 += (type)(a)[k + 1] * (b)[k + 1];                                       \
    s2 += (type)(a)[k + 2] * (b)[k + 2];                                       \
    s3 += (type)(a)[k + 3] * (b)[k + 3];                                       \
  }
INT_FORM(four_sums) {
  I J { // expected-remark {{for its sums, which its other code reads: mk,nk->mn}}
    const int8_t *a = A + i * K, *b = B + j * K;
    FOUR(int32_t, a, b)
    int32_t s = (s0 + s2) + (s1 + s3);
    if (K - k == 3)
      s += a[k] * b[k] + a[k + 1] * b[k + 1] + a[k + 2] * b[k + 2];
    else if (K - k == 2)
      s += a[k] * b[k] + a[k + 1] * b[k + 1];
    else if (K - k == 1)
      s += a[k] * b[k];
    C[i * N + j] = s;
  }
}
BF16_FORM(four_sums_of_floats) {
  I J { // expected-remark {{for its sums, which its other code reads: mk,nk->mn}}
    FOUR(float, A + i * K, B + j * K)
    C[i * N + j] = fminf(fabsf(s0 + s1 + s2 + s3), 60) > 30 ? j : sqrtf(i);
  }
}
INT_FORM(one_of_four_sums) { // is used by itself, too
  I J { // expected-remark {{for its sums, which its other code reads: mkc,nkc->mnc}}
    FOUR(int32_t, A + i * K, B + j * K)
    int32_t s = s0 + s1 + s2 + s3;
    while (s > 100) s = s / 3 - (s1 & 1);
    C[i * N + j] = s;
  }
}
INT_FORM(other_element_read) { // which the nest has written
  I J { // expected-remark {{kept}}
    int32_t s = i > 0 && M > 0 ? C[(i - 1) * N + j] : 0;
    L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
  }
}
INT_FORM(longer_rows) {
  I // expected-remark {{kept}}
    for (int j = 0; j <= i; j++) {
      int32_t s = 0;
      L s += AB;
      while (s > 100) s = s / 3 - 1;
      C[i * N + j] = s;
    }
}
_Atomic int32_t done;
INT_FORM(ordered) {
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    L s += AB;
    while (s > 100) s = s / 3 - 1;
    C[i * N + j] = s;
    done = i;
  }
}
