// Functions that do a row, a column or a block of a product for their caller.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 30
#include "forms.h"
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define I for (int i = 0; i < M; i++)

static void row(int n, int k, const int8_t *a, const int8_t *b, int32_t *c) {
  for (int j = 0; j < n; j++) {
    int s = 0;
    for (int l = 0; l < k; l++)
      s += a[l] * b[l * n + j];
    c[j] += s;
  }
}
INT_FORM(rows) {
  I row(N, K, A + i * K, B, C + i * N); // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k}}
}
static void block(int m, int n, int k, int lda, int ldb, int32_t *c, const int8_t *a, const int8_t *b) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      for (int l = 0; l < k; l++)
        c[i * ldb + j] += a[i * lda + l] * b[l * ldb + j];
}
INT_FORM(blocks) {
  for (int i = 0; i < M; i += 8) // expected-remark {{mk,kn->mn with m=n_l n=n_m k=n_n}}
    for (int j = 0; j < N; j += 8)
      for (int k = 0; k < K; k += 8)
        block(MIN(8, M - i), MIN(8, N - j), MIN(8, K - k), K, N, C + i * N + j, A + i * K + k, B + k * N + j);
}
void dot(int k, const int8_t *a, const int8_t *b, int32_t *c) { // others may call it, too
  int s = 0;
  for (int l = 0; l < k; l++)
    s += a[l] * b[l];
  *c += s;
}
INT_FORM(elements) {
  I for (int j = 0; j < N; j++) // expected-remark {{mk,nk->mn}}
    dot(K, A + i * K, B + j * K, C + i * N + j);
}
INT_FORM(elements_elsewhere) {
  I for (int j = 0; j < N; j++) // expected-remark {{mk,nk->mn}}
    dot(K, A + i * K, B + j * K, C + j * M + i);
}
struct captured { // as a lambda does by reference
  const int8_t **a, **b;
  const int *n, *k;
};
static int element(const struct captured *x, int i, int j) {
  int s = 0;
  for (int l = 0; l < *x->k; l++)
    s += (*x->a)[i * *x->k + l] * (*x->b)[l * *x->n + j];
  return s;
}
INT_FORM(elements_of_captured) {
  struct captured x = {&A, &B, &N, &K};
  I for (int j = 0; j < N; j++) // expected-remark {{mk,kn->mn}}
    C[i * N + j] = element(&x, i, j);
}
static void much_stack(int n, int k, const int8_t *a, const int8_t *b, int32_t *c) {
  int sums[512] = {0}; // for each time that its caller is called
  for (int l = 0; l < k; l++) // expected-remark {{nest}}
    for (int j = 0; j < n; j++)
      sums[j] += a[l] * b[l * n + j];
  for (int j = 0; j < n; j++)
    c[j] += sums[j];
}
static __attribute__((noinline)) int deep(int depth, int M, int N, int K, int32_t *C, const int8_t *A, const int8_t *B) {
  if (depth > 0)
    return deep(depth - 1, M, N, K, C, A, B) + 1;
  I much_stack(N, K, A + i * K, B, C + i * N);
  return 0;
}
INT_FORM(rows_of_a_caller_that_calls_itself) { // a near miss
  deep(3, M, N, K, C, A, B);
}
#if __x86_64__ // a near miss: not every processor that runs the caller has them
__attribute__((target("avx512f,avx512vl")))
#endif
static void longer_vectors(int n, int k, const int8_t *a, const int8_t *b, int32_t *c) {
  for (int j = 0; j < n; j++) // expected-remark {{nest kept}}
    for (int l = 0; l < k; l++)
      c[j] += a[l] * b[l * n + j];
}
INT_FORM(rows_where_vectors_are_long) {
  if (C[0] > 2000) // in no form
    I longer_vectors(N, K, A + i * K, B, C + i * N);
}
static __attribute__((noinline)) void alone(int n, int k, const int8_t *a, const int8_t *b, int32_t *c) {
  for (int j = 0; j < n; j++) // expected-remark {{nest kept}}
    for (int l = 0; l < k; l++)
      c[j] += a[l] * b[l * n + j];
}
INT_FORM(rows_by_themselves) { // a near miss
  I alone(N, K, A + i * K, B, C + i * N);
}
