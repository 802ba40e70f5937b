// Rows that say each for itself where they end, as vectors of vectors do: where
// they turn out to have one size the nest is a product.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 25
#include "forms.h"

#include <setjmp.h>

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define CPU __attribute__((annotate("nputeir:device=cpu")))

static struct row {
  const int8_t *begin, *end;
} a[64], b[64];
static struct sums {
  int32_t *begin, *end;
} c[64];

// Rows of N or K elements, all alike, or one of them shorter: the first, the
// last or one between; one longer, and none with any.
__attribute__((noinline)) static void place(int M, int N, int K, int32_t *C,
                                            const int8_t *A, const int8_t *B) {
  static int turn;
  int how = turn++ % 7; // of 11 forms, each gets all
  N = N < 0 ? 0 : N > 63 ? 63 : N;
  K = K < 0 ? 0 : K > 63 ? 63 : K;
  for (int i = 0; i < 64; i++) {
    int odd = how == 1   ? i == 0
              : how == 2 ? i == M - 1
              : how == 3 ? i == M / 2
              : how == 4 ? -(i == 1)
                         : 0;
    int n = how == 5 ? 0 : N - odd, k = how == 6 ? 0 : K - odd;
    a[i] = (struct row){A + i * 63, A + i * 63 + (k < 0 ? 0 : k)};
    b[i] = (struct row){B + i * 63, B + i * 63 + (n < 0 ? 0 : n)};
    c[i] = (struct sums){C + i * 60, C + i * 60 + (n < 0 ? 0 : n)};
  }
}

INT_FORM(lengths_of_sums) {
  place(M, N, K, C, A, B);
  I J // expected-remark {{replaced by a call: mk,kn->mn}}
    for (long k = 0; k < a[i].end - a[i].begin; k++)
      c[i].begin[j] += a[i].begin[k] * b[k].begin[j];
}
INT_FORM(lengths_of_results) {
  place(M, N, K, C, A, B);
  // expected-remark@+1 {{replaced by a call: mk,kn->mn}}
  I for (long j = 0; j < c[i].end - c[i].begin; j++) {
    int s = 0;
    for (int k = 0; k < K; k++)
      s += a[i].begin[k] * b[k].begin[j];
    c[i].begin[j] = s;
  }
}
INT_FORM(lengths_of_all) {
  place(M, N, K, C, A, B);
  // expected-remark@+1 {{replaced by a call: mk,kn->mn}}
  I for (long k = 0; k < a[i].end - a[i].begin; k++)
    for (long j = 0; j < b[k].end - b[k].begin; j++)
      c[i].begin[j] += a[i].begin[k] * b[k].begin[j];
}
INT_FORM(ends_of_rows) {
  place(M, N, K, C, A, B);
  I J { // expected-remark {{replaced by a call: mk,nk->mn}}
    int s = 0;
    const int8_t *y = b[j].begin;
    for (const int8_t *x = a[i].begin; x != a[i].end; x++)
      s += *x * *y++;
    c[i].begin[j] = s;
  }
}
CPU INT_FORM(vectors_of_rows) {
  place(M, N, K, C, A, B);
  I { // expected-remark {{code for the processor: k,nk->n}}
    int s = 0;
    for (long k = 0; k < a[i].end - a[i].begin; k++)
      s += a[i].begin[k] * B[k];
    C[i] = s;
  }
}

static jmp_buf back;
__attribute__((noreturn, noinline)) static void fail(int32_t *C, long at) {
  C[0] = (int32_t)at;
  longjmp(back, 1);
}
static const int8_t *at(const struct row *x, unsigned long i, int32_t *C) {
  if (i >= (unsigned long)(x->end - x->begin))
    fail(C, (long)i);
  return x->begin + i;
}
__attribute__((noinline)) static void checked(int M, int N, int K, int32_t *C) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    int s = 0;
    for (int k = 0; k < K; k++)
      s += *at(&a[i], k, C) * *at(&b[k], j, C);
    if (j >= c[i].end - c[i].begin)
      fail(C, j);
    c[i].begin[j] = s;
  }
}
INT_FORM(lengths_are_checked) {
  place(M, N, K, C, A, B);
  if (!setjmp(back))
    checked(M, N, K, C);
}

// Near misses.
INT_FORM(lengths_change) {
  place(M, N, K, C, A, B);
  I { // expected-remark {{kept}}
    J for (long k = 0; k < a[i].end - a[i].begin; k++)
      c[i].begin[j] += a[i].begin[k] * b[k].begin[j];
    if (i < 63 && a[i + 1].end > a[i + 1].begin)
      a[i + 1].end--;
  }
}
INT_FORM(lengths_of_bytes) { // for all that is known, results are such
  place(M, N, K, C, A, B);
  int8_t *to = (int8_t *)C;
  I J { // expected-remark {{kept}}
    int s = 0;
    for (long k = 0; k < a[i].end - a[i].begin; k++)
      s += A[i * 63 + k] * B[k * 63 + j];
    to[i * 64 + j] = (int8_t)s;
  }
}
INT_FORM(lengths_of_matrices) { // each of which is a product by itself
  place(M, N, K, C, A, B);
  for (int x = 0; x < 3; x++)
    for (long i = 0; i < a[x].end - a[x].begin; i++)
      J { // expected-remark@-1 {{replaced by a call}}
        int s = 0;
        for (int k = 0; k < K; k++)
          s += A[x * 64 + i * 8 + k] * B[k * 8 + j];
        C[x * 64 + i * 8 + j] = s;
      }
}
INT_FORM(lengths_by_element) {
  place(M, N, K, C, A, B);
  I J // expected-remark {{kept}}
    for (long k = 0; k < a[B[i] & 63].end - a[B[i] & 63].begin; k++)
      c[i].begin[j] += a[i].begin[k] * b[k].begin[j];
}
// Not known before the nest.
__attribute__((noinline)) static void placed(int M, int N, int K, int32_t *C,
                                             const int8_t *B) {
  I J { // expected-remark {{kept}}
    int s = 0;
    for (int k = 0; k < K; k++) {
      if (b[k].begin - B > 8 * 63)
        fail(C, k);
      s += a[i].begin[k] * b[k].begin[j];
    }
    c[i].begin[j] = s;
  }
}
INT_FORM(places_of_rows) {
  place(M, N, K, C, A, B);
  if (!setjmp(back))
    placed(M, N, K, C, B);
}
