// Bounds checks inside a nest, which end the program or are jumped out of.  Some
// sizes pass them, others fail: what was written before must be there.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 78
#include "forms.h"

#include <setjmp.h>

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

static jmp_buf back;
__attribute__((noreturn, noinline)) static void fail(int32_t *C, int at) {
  C[0] = at;
  longjmp(back, 1);
}
#define CHECK(holds, at) ((holds) ? (void)0 : fail(C, (int)(at)))
// A function that may fail, and the form that calls it.
#define CHECKED(name, ...)                                                     \
  __attribute__((noinline)) static void name##_checked(                        \
      int M, int N, int K, int32_t *C, const int8_t *A, const int8_t *B,       \
      __VA_ARGS__)
#define FORM(name, ...)                                                        \
  INT_FORM(name) {                                                             \
    if (!setjmp(back))                                                         \
      name##_checked(M, N, K, C, A, B, __VA_ARGS__);                           \
  }

CHECKED(indices, size_t a, size_t b, size_t c) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L {
      CHECK((size_t)(i * K + k) < a, k);
      CHECK((size_t)(k * N + j) < b, k);
      s += A[i * K + k] * B[k * N + j];
    }
    CHECK((size_t)(i * N + j) < c, j);
    C[i * N + j] = s;
  }
}
FORM(indices, 4096, 4096, 600)
INT_FORM(index_of_input) {
  if (!setjmp(back))
    indices_checked(M, N, K, C, A, B, 4096, 200, 4096);
}
INT_FORM(no_index) {
  if (!setjmp(back))
    indices_checked(M, N, K, C, A, B, 0, 0, 0);
}
INT_FORM(huge_size) {
  if (!setjmp(back))
    indices_checked(M, N, K, C, A, B, (size_t)-1, (size_t)1 << 62, 4096);
}
CHECKED(accumulated, int size) {
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK(i * N + j >= 0 && i * N + j < size, 3);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(accumulated, 500)
CHECKED(trap, int size) {
  I J L { // expected-remark {{mk,kn->mn}}
    if (i * N + j > size)
      __builtin_trap();
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(trap, 4000)
CHECKED(row, int rows) {
  I { // expected-remark {{mk,kn->mn}}
    CHECK(i < rows, i);
    J L C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(row, 20)
CHECKED(down, unsigned rows) {
  for (int i = M - 1; i >= 0; i--) // expected-remark {{mk,kn->mn}}
    J L {
      CHECK((unsigned)i < rows, i);
      C[i * N + j] += A[i * K + k] * B[k * N + j];
    }
}
FORM(down, 20)
struct array {
  size_t size;
  const int8_t *at;
};
CHECKED(in_memory, const struct array a[static 1], const struct array b[static 1]) {
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK((size_t)(i * K + k) < a->size, k);
    CHECK((size_t)(k * N + j) < b->size, k);
    C[i * N + j] += a->at[i * K + k] * b->at[k * N + j];
  }
}
INT_FORM(in_memory) {
  struct array a = {200, A}, b = {4096, B};
  if (!setjmp(back))
    in_memory_checked(M, N, K, C, A, B, &a, &b);
}
// The size of a may be read early, for it is read first; that of b if the first
// element of a is within its size.
CHECKED(first_size, const struct array *a, size_t b) {
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK((size_t)(i * K + k) < a->size, k);
    CHECK((size_t)(k * N + j) < b, k);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(first_size) {
  struct array a = {200, A};
  if (!setjmp(back))
    first_size_checked(M, N, K, C, A, B, &a, 4096);
}
CHECKED(second_size, size_t a, const struct array *b) {
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK((size_t)(i * K + k) < a, k);
    CHECK((size_t)(k * N + j) < b->size, k);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
static volatile size_t none;
INT_FORM(second_size) {
  if (!setjmp(back))
    second_size_checked(M, N, K, C, A, B, none, M > 2 ? NULL : (void *)A);
}
// Elements by functions that check, of matrices whose sizes may only be read
// where all checks in front are passed: B's where A's are in the first iteration,
// and C's where all checks of the first sum are.
struct sized {
  int rows, columns;
  union {
    const int8_t *at;
    int32_t *to;
  };
};
#define ELEMENT(X, m, i, j)                                                    \
  (CHECK((i) >= 0 && (i) < (X)->rows && (j) >= 0 && (j) < (X)->columns, 7),    \
   (X)->m + (i) * (X)->columns + (j))
CHECKED(elements, const struct sized *a, const struct sized *b, const struct sized *c) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += *ELEMENT(a, at, i, k) * *ELEMENT(b, at, k, j);
    *ELEMENT(c, to, i, j) = s;
  }
}
static void elements_of(int M, int N, int K, int32_t *C, const int8_t *A,
                        const int8_t *B, int rows, int columns, int terms) {
  struct sized a = {rows, terms, {A}}, b = {K, columns, {B}},
               c = {M, N, {.to = C}};
  if (!setjmp(back))
    elements_checked(M, N, K, C, A, B, &a, rows > 0 && terms > 0 ? &b : NULL,
                     terms < K && K > 0 ? NULL : &c);
}
INT_FORM(elements) { elements_of(M, N, K, C, A, B, 64, N, K); }
INT_FORM(elements_none) { elements_of(M, N, K, C, A, B, 0, N, K); }
INT_FORM(elements_few) { elements_of(M, N, K, C, A, B, 5, N, K); }
INT_FORM(elements_short) { elements_of(M, N, K, C, A, B, 64, N, K - 1); }
INT_FORM(elements_narrow) { elements_of(M, N, K, C, A, B, 64, N - 1, K); }
// What each iteration is compared with may be met between the first and the
// last one, after which what is behind the loop is not read.
CHECKED(unequal, int odd, const struct sized *c) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L {
      CHECK(k != odd, 7);
      s += A[i * K + k] * B[k * N + j];
    }
    c->to[i * c->columns + j] = s;
  }
}
INT_FORM(unequal) {
  struct sized c = {M, N, {.to = C}};
  if (!setjmp(back))
    unequal_checked(M, N, K, C, A, B, 3, K > 3 ? NULL : &c);
}
// An index of 32 bits may wrap before it is compared.
CHECKED(wraps, unsigned first, unsigned size) {
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK(first + (unsigned)(i * K + k) < size, k);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(wraps, 0u - 100, 600)
INT_FORM(wraps_not) {
  if (!setjmp(back))
    wraps_checked(M, N, K, C, A, B, 100, 600);
}
CHECKED(overflows, int first) {
  I J L { // expected-remark {{mk,kn->mn}}
    int at;
    CHECK(!__builtin_add_overflow(first, k, &at), 1);
    CHECK(!__builtin_sub_overflow(at, first, &at), 2);
    C[i * N + j] += A[i * K + at] * B[at * N + j];
  }
}
FORM(overflows, INT32_MAX - 8)
CHECKED(overflows_times, long first) {
  for (long i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    J L {
      long at;
      CHECK(!__builtin_mul_overflow(i, first, &at), 1);
      CHECK(at < 1000000000000000000, 1);
      C[i * N + j] += A[i * K + k] * B[k * N + j];
    }
}
FORM(overflows_times, 5)
INT_FORM(overflows_times_much) {
  if (!setjmp(back))
    overflows_times_checked(M, N, K, C, A, B, (long)1 << 59);
}
// Rows whose addresses may only be read if the check passes.
CHECKED(rows, const int8_t **a) {
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK(i < 5, i);
    C[i * N + j] += a[i][k] * B[k * N + j];
  }
}
INT_FORM(rows) {
  const int8_t *a[5] = {A, A + 100, A + 200, A + 300, A + 400};
  if (!setjmp(back))
    rows_checked(M, N, K, C, A, B, a);
}
CHECKED(two_nests, int size) { // that fail in one place
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK(i * N + j < size, 3);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
  I J L { // expected-remark {{mk,nk->mn}}
    CHECK(j < size, 3);
    C[i * N + j] += A[i * K + k] * B[j * K + k];
  }
  CHECK(C[0] != size, 3);
}
FORM(two_nests, 24)

// Near misses.
CHECKED(on_input, int size) {
  I J L { // expected-remark {{BoundsCheck}}
    CHECK(A[i * K + k] < size, k);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(on_input, 120)
CHECKED(on_sum, int size) {
  I J { // expected-remark {{BoundsCheck}}
    int s = 0;
    L s += A[i * K + k] * B[k * N + j];
    CHECK(s < size, j);
    C[i * N + j] = s;
  }
}
FORM(on_sum, 10000)
CHECKED(not_affine, int size) {
  I J L { // expected-remark {{BoundsCheck}}
    CHECK(i * j < size, k);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(not_affine, 300)
CHECKED(size_in_result, const int32_t *size) { // where it is, nothing is taken
  I J L { // expected-remark {{mk,kn->mn}}
    CHECK(i < *size, k);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
INT_FORM(size_in_result) {
  if (!setjmp(back))
    size_in_result_checked(M, N, K, C, A, B, C + 5);
}
CHECKED(size_shrinks, int size) {
  I { // expected-remark {{BoundsCheck}}
    J L {
      CHECK(j < size, k);
      C[i * N + j] += A[i * K + k] * B[k * N + j];
    }
    size -= i;
  }
}
FORM(size_shrinks, 40)
CHECKED(comes_back, int size) {
  I J L { // expected-remark {{EarlyExit}}
    if (i >= size) {
      C[0] = 0;
      return;
    }
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(comes_back, 10)
__attribute__((noinline)) static void warn(int32_t *C) { C[0] += 9; }
CHECKED(goes_on, int size) {
  I J L { // expected-remark {{kept}}
    if (i >= size)
      warn(C);
    C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
FORM(goes_on, 10)
// The nest is the last that the program does, so that its end is a way out that
// does not return either.
__attribute__((noreturn, noinline)) static void
finish(int M, int N, int K, int32_t *C, const int8_t *A, const int8_t *B) {
  I J L C[i * N + j] += A[i * K + k] * B[k * N + j]; // expected-remark {{mk,kn->mn}}
  fail(C, C[1]);
}
INT_FORM(last) {
  if (!setjmp(back))
    finish(M, N, K, C, A, B);
}
