// Rows that are found through an array of addresses: whether they lie evenly
// spaced is asked at run time.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 84
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

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

static __attribute__((noinline)) void
product(int M, int N, int K, int32_t **C, const int8_t **A, const int8_t **B) {
  I J L C[i][j] += A[i][k] * B[k][j]; // expected-remark {{mk,kn->mn}}
}
static __attribute__((noinline)) void
sums(int M, int N, int K, int32_t *C, const int8_t **A, const int8_t **B) {
  I J { // expected-remark {{mk,nk->mn}}
    int s = 0;
    L s += A[i][k] * B[j][k];
    C[i * 40 + j] = s;
  }
}
INT_FORM(evenly_spaced) {
  struct rows r;
  even(&r, C, A, B);
  product(M, N, K, r.c, r.a, r.b);
}
static __attribute__((noinline)) void
two_products(int M, int N, int K, int32_t **C, const int8_t **A,
             const int8_t **B, int times) {
  for (int t = 0; t < times; t++) {
    I J L C[i][j] += A[i][k] * B[k][j]; // expected-remark {{mk,kn->mn}}
    C[0][0]++;
    I J L C[i][j] -= A[i][k] * B[j][k]; // expected-remark {{mk,nk->mn}}
  }
}
INT_FORM(twice) {
  struct rows r;
  even(&r, C, A, B);
  two_products(M, N, K, r.c, r.a, r.b, 3);
}
INT_FORM(inputs_only) {
  struct rows r;
  even(&r, C, A, B);
  sums(M, N, K, C, r.a, r.b);
}
INT_FORM(one_row_elsewhere) {
  struct rows r;
  even(&r, C, A, B);
  r.a[M > 4 ? M - 1 : 2] = A;
  product(M, N, K, r.c, r.a, r.b);
}
INT_FORM(one_row_of_c_elsewhere) {
  struct rows r;
  even(&r, C, A, B);
  r.c[2] = C + 3000;
  product(M, N, K, r.c, r.a, r.b);
}
INT_FORM(upside_down) {
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    r.c[i] = C + (63 - i) * 40;
  product(M, N, K, r.c, r.a, r.b);
}
INT_FORM(all_rows_are_one) {
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    r.c[i] = C, r.b[i] = B;
  product(M, N, K, r.c, r.a, r.b);
}
INT_FORM(no_rows_behind_the_last) { // which are not looked at
  const int8_t *a[2] = {A, A + 64}, *b[2] = {B, B + 64};
  int32_t *c[2] = {C, C + 64};
  product(M < 2 ? M : 2, N, K < 2 ? K : 2, c, a, b);
}
struct row {
  int length;
  int32_t *at;
};
static __attribute__((noinline)) void
structs(int M, int N, int K, struct row *C, const int8_t *A, const int8_t *B) {
  I J L C[i].at[j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(in_structs) {
  struct row c[64];
  for (int i = 0; i < 64; i++)
    c[i] = (struct row){i, C + i * 50};
  structs(M, N, K, c, A, B);
}
static __attribute__((noinline)) void
bytes(int M, int N, int K, int8_t **C, const int8_t **A, const int8_t **B) {
  I J L C[i][j] += A[i][k] * B[k][j]; // expected-remark {{kept}}
}
INT_FORM(may_write_the_rows) { // bytes may be part of an address
  int8_t *c[64];
  struct rows r;
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    c[i] = (int8_t *)r.c[i];
  bytes(M, N, K, c, r.a, r.b);
}
static __attribute__((noinline)) void
through(int M, int N, int K, int32_t *C, const int8_t **A, const int *at,
        const int8_t *B) {
  I J L C[i * N + j] += A[at[i]][k] * B[k * N + j]; // expected-remark {{kept}}
}
INT_FORM(rows_by_number) {
  struct rows r;
  int at[64];
  even(&r, C, A, B);
  for (int i = 0; i < 64; i++)
    at[i] = i % 5;
  through(M, N, K, C, r.a, at, B);
}

// Arrays of arrays of rows: a batch of products, and images with many channels.
static __attribute__((noinline)) void
batch(int M, int N, int K, int32_t ***C, const int8_t ***A, const int8_t **B) {
  for (int t = 0; t < 3; t++)
    I J L C[t][i][j] += A[t][i][k] * B[k][j]; // expected-remark@-1 {{mxk,kn->mxn}}
}
INT_FORM(rows_of_rows) {
  struct rows r;
  even(&r, C, A, B);
  int32_t **c[3];
  const int8_t **a[3];
  for (int t = 0; t < 3; t++)
    c[t] = r.c + t * 16, a[t] = r.a + (2 - t) * 16;
  batch(M, N, K, c, a, r.b);
}
INT_FORM(rows_of_rows_that_are_one) {
  struct rows r;
  even(&r, C, A, B);
  int32_t **c[3] = {r.c, r.c + 16, r.c};
  const int8_t **a[3] = {r.a, r.a, r.a};
  batch(M, N, K, c, a, r.b);
}
static __attribute__((noinline)) void
image(int M, int N, int K, int step, int32_t **C, const int8_t ***A,
      const int8_t **B) {
  I J for (int c = 0; c < 3; c++) // expected-remark {{replaced by a call}}
    for (int y = 0; y < 2; y++)
      L C[i][j] += A[c][i * step + y][k] * B[j][(c * 2 + y) * K + k];
}
static void images(int M, int N, int K, int step, int32_t *C, const int8_t *A,
                   const int8_t *B) {
  struct rows r;
  even(&r, C, A, B);
  const int8_t *in[3][64] = {{0}}, **a[3];
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < M; i++) // other rows are not there
      for (int y = 0; y < 2; y++)
        in[c][i * step + y] = r.a[(i * 7 + y * 5 + c) % 50];
    a[c] = in[c];
  }
  image(M, N, K < 8 ? K : 8, step, r.c, a, r.b);
}
INT_FORM(rows_of_images) { images(M < 20 ? M : 20, N, K, 2, C, A, B); }
INT_FORM(rows_of_images_that_are_left_out) {
  images(M < 20 ? M : 20, N, K, 3, C, A, B);
}
