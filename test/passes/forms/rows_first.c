// Rows that are found through an array of addresses, where other code uses the
// sums, or a loop over the rest of a row goes on where another one ended.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 50
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define PARAMETERS int M, int N, int K, int32_t **C, const int8_t **A, const int8_t **B
#define NEST static __attribute__((noinline)) void

struct rows {
  int32_t *c[64];
  const int8_t *a[64], *b[64];
};
static void even(struct rows *r, int32_t *C, const int8_t *A, const int8_t *B) {
  for (int i = 0; i < 64; i++) {
    r->c[i] = C + i * 40;
    r->a[i] = A + i * 33;
    r->b[i] = B + i * 64;
  }
}
#define FORM(name)                                                             \
  INT_FORM(of_##name) {                                                        \
    struct rows r;                                                             \
    even(&r, C, A, B);                                                         \
    name(M, N, K, r.c, r.a, r.b);                                              \
  }
static inline int digits(int s) {
  while (s > 100) s = s / 3 - 1;
  return s;
}

NEST counted(PARAMETERS) {
  I J { // expected-remark {{for its sums, which its other code reads: mk,nk->mn}}
    int s = 0;
    L s += A[i][k] * B[j][k];
    C[i][j] = digits(s);
  }
}
FORM(counted)
INT_FORM(one_row_elsewhere) {
  struct rows r;
  even(&r, C, A, B);
  r.a[M > 4 ? M - 1 : 2] = A;
  counted(M, N, K, r.c, r.a, r.b);
}
INT_FORM(one_row_of_c_elsewhere) {
  struct rows r;
  even(&r, C, A, B);
  r.c[2] = C + 3000;
  counted(M, N, K, r.c, r.a, r.b);
}
INT_FORM(all_rows_of_c_are_one) {
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    r.c[i] = C;
  counted(M, N, K, r.c, r.a, r.b);
}
INT_FORM(upside_down) {
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    r.b[i] = B + (63 - i) * 64;
  counted(M, N, K, r.c, r.a, r.b);
}
INT_FORM(rows_of_c_among_those_of_a) {
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    r.a[i] = (const int8_t *)(C + i * 40 + 20);
  counted(M < 20 ? M : 20, N < 16 ? N : 16, K < 20 ? K : 20, r.c, r.a, r.b);
}
INT_FORM(no_rows_behind_the_last) { // which are not looked at
  const int8_t *a[2] = {A, A + 64}, *b[2] = {B, B + 64};
  int32_t *c[2] = {C, C + 64};
  counted(M < 2 ? M : 2, N < 2 ? N : 2, K, c, a, b);
}
NEST to_one_array(int M, int N, int K, int32_t *C, const int8_t **A,
                  const int8_t *B) {
  I J { // expected-remark {{for its sums}}
    int s = 7;
    L s += A[i][k] * B[k * N + j];
    switch (s & 3) {
    case 0: C[i * N + j] = s; break;
    case 2: C[i * N + j] += s; break;
    default: C[i * N + j] = -1;
    }
  }
}
INT_FORM(of_one_array) {
  struct rows r;
  even(&r, C, A, B);
  to_one_array(M, N, K, C, r.a, B);
}
NEST from_arrays(int M, int N, int K, int32_t **C, const int8_t *A,
                 const int8_t *B) {
  I J { // expected-remark {{for its sums}}
    int s = 0;
    L s += A[i * K + k] * B[k * N + j];
    C[i][j] = digits(s);
  }
}
INT_FORM(of_arrays) {
  struct rows r;
  even(&r, C, A, B);
  from_arrays(M, N, K, r.c, A, B);
}

// ---- remainder loops ----

static inline int dot(int n, const int8_t *x, const int8_t *y) {
  int s = 0, t = 0, k = 0;
  for (; k + 1 < n; k += 2) {
    s += x[k] * y[k];
    t += x[k + 1] * y[k + 1];
  }
  for (; k < n; k++)
    s += x[k] * y[k];
  return s + t;
}
NEST with_rest(PARAMETERS) {
  I J C[i][j] = dot(K, A[i], B[j]); // expected-remark {{replaced by a call}}
}
FORM(with_rest)
INT_FORM(one_row_of_b_elsewhere) {
  struct rows r;
  even(&r, C, A, B);
  r.b[2] = B + 1;
  with_rest(M, N, K, r.c, r.a, r.b);
}
NEST over_rows(PARAMETERS) { // each of which may be there or not
  I {
    int j = 0;
    for (; j + 1 < N; j += 2) { // expected-remark {{kept}}
      int s = 0, t = 0;
      L {
        s += A[i][k] * B[j][k];
        t += A[i][k] * B[j + 1][k];
      }
      C[i][j] = s;
      C[i][j + 1] = t;
    }
    for (; j < N; j++) { // expected-remark {{kept}}
      int s = 0;
      L s += A[i][k] * B[j][k];
      C[i][j] = s;
    }
  }
}
FORM(over_rows)
NEST row_in_rest(PARAMETERS) { // which may have no work
  I J { // expected-remark 1-2 {{nest}}
    int s = 0, k = 0;
    for (; k + 1 < K; k += 2)
      s += A[i][k] * B[k][j] + A[i][k + 1] * B[k + 1][j];
    for (; k < K; k++)
      s += A[i][k] * B[k][j];
    C[i][j] = s;
  }
}
FORM(row_in_rest)

// ---- near misses ----

NEST bytes(int M, int N, int K, int8_t **C, const int8_t **A, const int8_t **B) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i][k] * B[j][k];
    C[i][j] = (int8_t)digits(s);
  }
}
INT_FORM(may_write_the_rows) { // bytes may be part of an address
  int8_t *c[64];
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    c[i] = (int8_t *)r.c[i];
  bytes(M, N, K, c, r.a, r.b);
}
NEST moves_rows(PARAMETERS) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i][k] * B[j][k];
    C[i][j] = digits(s);
    if (s == 5) A[i]++;
  }
}
FORM(moves_rows)
NEST some_rows(PARAMETERS, int rows) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i][k] * B[j][k];
    if (i < rows) C[i][j] = digits(s);
  }
}
INT_FORM(only_some_rows_are_there) {
  struct rows r;
  even(&r, C, A, B);
  for (int i = 2; i < 64; i++)
    r.c[i] = 0;
  some_rows(M, N, K, r.c, r.a, r.b, 2);
}
NEST next_row(PARAMETERS) { // is read where it may have been written
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i][k] * B[j][k] + C[i + 1][k] * C[j][k];
    C[i][j] = digits(s);
  }
}
INT_FORM(of_next_row) {
  struct rows r;
  even(&r, C, A, B);
  next_row(M < 30 ? M : 30, N < 30 ? N : 30, K < 30 ? K : 30, r.c, r.a, r.b);
}
