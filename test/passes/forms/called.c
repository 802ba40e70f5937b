// Calls beside a sum that write only what the products do not read: the sums are
// formed first, and the calls are made as ever, one by one.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 84
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]
#define SUM                                                                    \
  int32_t s = 0;                                                               \
  L s += AB;
#define ALONE __attribute__((noinline)) static

// C's library.
INT_FORM(drawn) {
  srand(1);
  I J { // expected-remark {{for its sums, which its other code reads: mk,kn->mn}}
    SUM
    C[i * N + j] = s > rand() % 64 ? s : -1;
  }
}
INT_FORM(drawn_for_some) {
  srandom(2);
  I J { // expected-remark {{for its sums}}
    SUM
    C[i * N + j] = s & 1 ? (int32_t)random() : s;
  }
}
INT_FORM(drawn_by_each) { // of whole rows, and of columns
  srand48(3);
  I { // expected-remark {{for its sums}}
    int32_t low = (int32_t)(lrand48() & 15);
    J {
      SUM
      C[i * N + j] = s + low + (drand48() < 0.25);
    }
    if (N > 0) C[i * N] ^= (int32_t)mrand48();
  }
}
INT_FORM(dropped) { // the mask is drawn before the sum
  int32_t mask[64];
  if (N > 64) return;
  srand(4);
  I J { // expected-remark {{for its sums}}
    mask[j] = rand() & 1;
    SUM
    C[i * N + j] = mask[j] * s;
  }
}
INT_FORM(own_state) {
  unsigned state = 5;
  I J { // expected-remark {{for its sums}}
    SUM
    C[i * N + j] = s ^ rand_r(&state);
  }
}
INT_FORM(printed) {
  I { // expected-remark {{for its sums}}
    J {
      SUM
      printf("%d ", s);
      C[i * N + j] = s;
    }
    putchar('\n');
  }
}
INT_FORM(printed_to_stream) {
  I J { // expected-remark {{for its sums}}
    SUM
    C[i * N + j] = fprintf(stdout, "%5d%%", s) + fputc('+', stdout) + fflush(stdout);
  }
}
INT_FORM(written_as_text) {
  char text[16];
  I J { // expected-remark {{for its sums}}
    SUM
    snprintf(text, sizeof text, "%d", s);
    C[i * N + j] = text[0];
  }
}
INT_FORM(timed) {
  struct timespec now;
  I J { // expected-remark {{for its sums}}
    SUM
    clock_gettime(CLOCK_MONOTONIC, &now);
    C[i * N + j] = s + (now.tv_nsec < 0) + (clock() == 77);
  }
}

// Functions of the program's.
ALONE int32_t binomial(int32_t n, int32_t limit) {
  int32_t hits = 0;
  for (int32_t i = 0; i < n; i++)
    hits += rand() % 64 < limit;
  return hits;
}
INT_FORM(drawn_by_helper) {
  srand(6);
  I J { // expected-remark {{for its sums}}
    SUM
    C[i * N + j] = binomial(3, s);
  }
}
static uint32_t seed = 7, seeds[4];
ALONE uint32_t xorshift(void) {
  seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
  return seeds[seed & 3]++ ^ seed;
}
INT_FORM(static_state) {
  I J { // expected-remark {{for its sums}}
    SUM
    C[i * N + j] = (int32_t)(xorshift() & 63) > s;
  }
}
ALONE uint32_t step(uint32_t *state) { return *state = *state * 1664525 + 1013904223; }
ALONE uint32_t twice(uint32_t *state) { return step(state) ^ step(state + 1); }
INT_FORM(state_is_passed) {
  uint32_t state[2] = {8, 9};
  I J { // expected-remark {{for its sums}}
    SUM
    C[i * N + j] = s ^ (int32_t)twice(state);
  }
}
INT_FORM(rows) {
  const int8_t *row[64];
  if (M > 64 || N > 64 || K > 64 || M < 0 || K < 0) return;
  for (int i = 0; i < 64; i++) row[i] = A + i * K % (64 * 63);
  srand(10);
  I J { // expected-remark {{for its sums}}
    int32_t s = 0;
    L s += row[i][k] * B[k * N + j];
    C[i * N + j] = s + (rand() & 3) + (int32_t)(xorshift() & 1);
  }
}
struct sizes {
  int rows, depth, more[2];
  int32_t *out;
  const int8_t *in;
};
ALONE void in_struct(struct sizes *l, int N, const int8_t *B) {
  for (int i = 0; i < l->rows; i++) J { // expected-remark {{for its sums}}
      int32_t s = 0;
      for (int k = 0; k < l->depth; k++)
        s += l->in[i * l->depth + k] * B[k * N + j];
      l->out[i * N + j] = (s & 7) + (rand() & 7);
    }
}
INT_FORM(sizes_in_struct) {
  struct sizes l = {M, K, {0}, C, A};
  srand(11);
  in_struct(&l, N, B);
}
INT_FORM(sizes_are_written) { // as is asked
  struct sizes l = {1, K, {0}, NULL, A};
  srand(12);
  l.out = &l.depth;
  if (M > 0 && N > 0 && K > 0) in_struct(&l, 2, B);
  C[0] = l.depth, C[1] = l.more[0];
}

// Near misses.
INT_FORM(state_is_an_input) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls rand_r}}
    SUM
    C[i * N + j] = s ^ rand_r((unsigned *)A);
  }
}
INT_FORM(text_is_an_input) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls snprintf}}
    SUM
    C[i * N + j] = s + snprintf((char *)A, 8, "%d", s & 3);
  }
}
INT_FORM(counts_into_an_input) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls}}
    SUM
    C[i * N + j] = s + printf("%d%n", s & 3, (int *)A);
  }
}
static int32_t open_seed = 13;
const int32_t *volatile seen = &open_seed;
ALONE int32_t draw_openly(void) { return open_seed = open_seed * 5 + 3; }
INT_FORM(seed_is_an_input) {
  const int8_t *X = (const int8_t *)seen;
  if (M > 1 || K > 4) return;
  I J { // expected-remark {{kept [SideEffect]: the nest calls draw_openly}}
    int32_t s = 0;
    L s += X[i * K + k] * B[k * N + j];
    C[i * N + j] = s + (draw_openly() & 1);
  }
}
ALONE int32_t spoil(int8_t *X, int32_t s) { return *X = (int8_t)(s & 3); }
INT_FORM(helper_writes_input) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls spoil}}
    SUM
    C[i * N + j] = s + spoil((int8_t *)A + j, s);
  }
}
INT_FORM(helper_writes_row) {
  int8_t *row[64];
  if (M > 64 || N > 64 || K > 64 || M < 0 || K < 0) return;
  for (int i = 0; i < 64; i++) row[i] = (int8_t *)A + i * K % (64 * 63);
  I J { // expected-remark {{kept [SideEffect]: the nest calls spoil}}
    int32_t s = 0;
    L s += row[i][k] * B[k * N + j];
    C[i * N + j] = s + spoil(row[i], s);
  }
}
INT_FORM(helper_writes_what_rows_have) {
  const int8_t *row[64];
  if (M > 64 || N > 64 || K > 64 || M < 0 || K < 0) return;
  for (int i = 0; i < 64; i++) row[i] = A + i * K % (64 * 63);
  I J { // expected-remark {{kept [SideEffect]: the nest calls spoil}}
    int32_t s = 0;
    L s += row[i][k] * B[k * N + j];
    C[i * N + j] = s + spoil((int8_t *)A, s);
  }
}
ALONE int32_t shorten(struct sizes *l) { return l->depth > 1 ? l->depth-- : 0; }
ALONE void in_shorter_struct(struct sizes *l, int N, const int8_t *B) {
  for (int i = 0; i < l->rows; i++) J { // expected-remark {{kept [SideEffect]: the nest calls shorten}}
      int32_t s = 0;
      for (int k = 0; k < l->depth; k++)
        s += l->in[i * l->depth + k] * B[k * N + j];
      l->out[i * N + j] = s + shorten(l);
    }
}
INT_FORM(helper_writes_sizes) {
  struct sizes l = {M, K, {0}, C, A};
  in_shorter_struct(&l, N, B);
}
struct extents {
  int32_t rows, depth;
};
ALONE float shorten_alone(struct extents *l) { return l->depth > 1 ? (float)l->depth-- : 0; }
ALONE void in_shorter_rows(struct extents *l, int N, float *C, const __bf16 *A,
                           const __bf16 *B) {
  for (int i = 0; i < l->rows; i++) J { // expected-remark {{kept}}
      float s = 0;
      for (int k = 0; k < l->depth; k++)
        s += (float)A[i * 8 + k] * (float)B[k * N + j];
      C[i * N + j] = s + shorten_alone(l);
    }
}
BF16_FORM(helper_writes_sizes_alone) { // which are of another type than all else
  struct extents l = {M, K > 8 ? 8 : K};
  in_shorter_rows(&l, N, C, A, B);
}
static int8_t *spoiled;
ALONE int32_t spoil_unseen(int32_t s) { return *spoiled = (int8_t)(s & 3); }
INT_FORM(helper_writes_anywhere) {
  spoiled = (int8_t *)A;
  I J { // expected-remark {{kept [SideEffect]: the nest calls spoil_unseen}}
    SUM
    C[i * N + j] = s + spoil_unseen(s);
  }
}
ALONE int32_t falls(int8_t *X, int32_t n) { return n > 0 ? falls(X, n - 1) : (*X = 1); }
INT_FORM(helper_calls_itself) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls falls}}
    SUM
    C[i * N + j] = s + falls((int8_t *)A, j);
  }
}
__attribute__((weak)) int32_t unknown(int32_t s) { return s + 1; }
INT_FORM(anyone_may_define_it) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls unknown}}
    SUM
    C[i * N + j] = unknown(s);
  }
}
static volatile int32_t port;
ALONE int32_t send(int32_t s) { return port = s; }
INT_FORM(helper_is_volatile) {
  I J { // expected-remark {{kept [SideEffect]: the nest calls send}}
    SUM
    C[i * N + j] = send(s);
  }
}
INT_FORM(may_be_anything) {
  int32_t (*volatile chosen)(int32_t) = unknown;
  int32_t (*f)(int32_t) = chosen;
  I J { // expected-remark {{kept [SideEffect]: the nest calls a function through a pointer}}
    SUM
    C[i * N + j] = f(s);
  }
}
