// Loops that end at an address, or at a number that their steps may miss.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 76
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(ends) {
  const int8_t *end = A + M * K;
  if (M < 0 || N < 0 || K <= 0)
    return; // the loops would not end
  for (; A != end; A += K, C += N) { // expected-remark {{mk,kn->mn}}
    const int8_t *b = B;
    for (const int8_t *a = A; a != A + K; a++)
      for (int32_t *c = C; c < C + N; c++)
        *c += *a * *b++;
  }
}
INT_FORM(result_ends) {
  if (N <= 0)
    return;
  for (int32_t *end = C + M * N; C < end; A += K) { // expected-remark {{mk,kn->mn}}
    const int8_t *column = B;
    for (int32_t *row = C + N; C < row; C++, column++)
      for (int k = 0; k < K; k++)
        *C += A[k] * column[k * N];
  }
}
INT_FORM(whiles) {
  const int8_t *end = A + M * K;
  while (A < end) { // expected-remark {{mk,kn->mn}}
    const int8_t *row = A + K;
    const int8_t *b = B;
    while (A < row) {
      J C[j] += *A * b[j];
      A++;
      b += N;
    }
    C += N;
  }
}
INT_FORM(down) {
  C += M * N;
  for (const int8_t *a = A + M * K; a > A;) { // expected-remark {{mk,kn->mn}}
    a -= K;
    C -= N;
    J L C[j] += a[k] * B[k * N + j];
  }
}
static inline int dot(const int8_t *first, const int8_t *last, const int8_t *b) {
  int s = 0;
  for (; first != last; ++first, ++b)
    s += *first * *b;
  return s;
}
INT_FORM(inner_product) {
  if (K < 0)
    return;
  I J // expected-remark {{mk,nk->mn}}
    C[i * N + j] = dot(A + i * K, A + (i + 1) * K, B + j * K);
}
static inline int dot_below(const int8_t *first, const int8_t *last, const int8_t *b) {
  int s = 0;
  while (first < last)
    s += *first++ * *b++;
  return s;
}
INT_FORM(inner_product_below) {
  I J // expected-remark {{mk,nk->mn}}
    C[i * N + j] = dot_below(A + i * K, A + (i + 1) * K, B + j * K);
}
INT_FORM(up_to_the_last) {
  if (K < 1)
    return;
  for (const int8_t *a = A, *last = A + M * K - K; a <= last; a += K, C += N) { // expected-remark {{mk,kn->mn}}
    J L C[j] += a[k] * B[k * N + j];
  }
}
// The steps miss the end unless K is even: what would run on is stopped.
__attribute__((noinline)) static void stop_at(int M, int N, int K, int32_t *C, const int8_t *A, const int8_t *B) {
  I J // expected-remark {{mk,kn->mn}}
    for (unsigned long k = 0; k != (unsigned)K; k += 2)
      C[i * N + j] += A[i * K + k] * B[k * N + j];
}
INT_FORM(every_other) {
  if (K >= 0)
    stop_at(M, N, K & ~1, C, A, B);
}
__attribute__((noinline)) static void
columns(int M, int N, int K, long step, int32_t *C, const int8_t *A, const int8_t *B) {
  I J // expected-remark {{mk,kn->mn}}
    for (long k = 0; k < K; k += step)
      C[i * N + j] += A[i * K + k] * B[k * N + j];
}
INT_FORM(run_time_step) { columns(M, N, K, 3, C, A, B), columns(M, N, K, 4096, C, A, B); }
// An end that the caller knows: both ends below one another.
__attribute__((noinline)) static void
until(int N, int K, int32_t *C, const int8_t *A, const int8_t *end, const int8_t *B) {
  for (; A < end; A += K, C += N) // expected-remark {{mk,kn->mn}}
    J L C[j] += A[k] * B[k * N + j];
}
INT_FORM(end_of_caller) {
  if (K > 0)
    until(N, K, C, A, A + M * K, B);
}
INT_FORM(end_below_start) {
  if (K > 0)
    until(N, K, C, A + M * K, A, B);
}
INT_FORM(uneven_end) {
  if (K > 0)
    until(N, K, C, A, A + M * K - (M > 0), B);
}
INT_FORM(flag_in_bound) { // of which one side moves
  int whole = B[0] > -2 || N > 3;
  I J { // expected-remark {{mk,kn->mn}}
    int n = whole ? K : K - i;
    for (int k = 0; k < n; k++)
      C[i * N + j] += AB;
  }
}
// Near misses.
INT_FORM(triangle) {
  for (int i = 0; i < M; i++) // expected-remark {{VariantExtent}}
    for (int j = 0; j < N; j++)
      for (const int8_t *a = A + i * K, *end = a + i; a < end; a++)
        C[i * N + j] += *a * B[(a - A - i * K) * N + j];
}
INT_FORM(until_zero) {
  for (int i = 0; i < M; i++) // expected-remark {{EarlyExit}}
    for (int j = 0; j < N; j++)
      for (const int8_t *a = A + i * K; a < A + i * K + K && *a != 0; a++)
        C[i * N + j] += *a * B[(a - A - i * K) * N + j];
}
INT_FORM(doubling_end) {
  for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++)
      for (long k = 1; k < K; k += k)
        C[i * N + j] += AB;
}
