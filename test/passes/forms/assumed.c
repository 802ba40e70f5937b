// Sizes and addresses in memory that the nest's own stores may change, for all
// that the compiler knows: whether they lie where it writes is asked at run
// time, and if they do, the loops run as they are.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// RUN: %verify -O2 -fno-strict-aliasing %s
// DONE: 92
#include "forms.h"

struct inputs {
  int rows, columns;
  const int8_t *data;
};
struct sums {
  int rows, columns;
  int32_t *data;
};
#define PRODUCT(name)                                                          \
  __attribute__((noinline)) static void name(                                 \
      struct sums *c, const struct inputs *a, const struct inputs *b)
#define CALL(name)                                                             \
  struct sums c = {M, N, C};                                                   \
  struct inputs a = {M, K, A}, b = {K, N, B};                                  \
  name(&c, &a, &b)

PRODUCT(product) {
  for (int i = 0; i < c->rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < c->columns; j++) {
      int s = 0;
      for (int k = 0; k < a->columns; k++)
        s += a->data[i * a->columns + k] * b->data[k * b->columns + j];
      c->data[i * c->columns + j] = s;
    }
}
INT_FORM(in_structs) { CALL(product); }
INT_FORM(never_loaded) { // where there is no work, there may be no matrices
  struct sums c = {M, N, N > 0 ? C : NULL};
  struct inputs a = {M, K, A}, b = {K, N, B};
  product(&c, M > 0 && N > 0 ? &a : NULL, M > 0 && N > 0 && K > 0 ? &b : NULL);
}
PRODUCT(added) {
  for (int i = 0; i < c->rows; i++) // expected-remark {{mk,kn->mn}}
    for (int k = 0; k < a->columns; k++)
      for (int j = 0; j < c->columns; j++)
        c->data[i * c->columns + j] +=
            a->data[i * a->columns + k] * b->data[k * b->columns + j];
}
INT_FORM(add_in_structs) { CALL(added); }

// Behind the first store, another size decides whether there are matrices.
PRODUCT(zeroed) {
  for (int i = 0; i < c->rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < c->columns; j++) {
      c->data[i * c->columns + j] = 0;
      for (int k = 0; k < a->columns; k++)
        c->data[i * c->columns + j] +=
            a->data[i * a->columns + k] * b->data[k * b->columns + j];
    }
}
INT_FORM(zero_in_structs) { CALL(zeroed); }
PRODUCT(zeroed_rows) {
  for (int i = 0; i < c->rows; i++) { // expected-remark {{mk,kn->mn}}
    memset(c->data + i * c->columns, 0, (size_t)c->columns * sizeof *c->data);
    for (int k = 0; k < a->columns; k++)
      for (int j = 0; j < c->columns; j++)
        c->data[i * c->columns + j] +=
            a->data[i * a->columns + k] * b->data[k * b->columns + j];
  }
}
INT_FORM(zero_rows_in_structs) {
  if (N > 0) {
    CALL(zeroed_rows);
  }
}
// The first zero is the size that keeps the loop from an address out of reach.
struct weights {
  int32_t first[4], depth;
  const struct inputs *b;
};
__attribute__((noinline)) static void
not_reached(int M, int N, int32_t *C, const int8_t *A, struct weights *w) {
  for (int i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N; j++) {
      C[i * 64 + j] = 0;
      for (int k = 0; k < w->depth; k++)
        C[i * 64 + j] += A[i * 64 + k] * w->b->data[k * 64 + j];
    }
}
INT_FORM(depth_is_result) {
  struct weights *w = (struct weights *)C;
  w->depth = 4;
  w->b = (const struct inputs *)16;
  not_reached(M, N, &w->depth, A, w);
}
INT_FORM(depth_is_none) {
  struct inputs b = {0, 0, B};
  struct weights w = {{0}, K, &b};
  not_reached(M, N, C, A, &w);
}
// Near miss: what a store may change decides where others go.
__attribute__((noinline)) static void
wherever(int M, int N, int32_t *C, const int8_t *A, struct weights *w) {
  for (int i = 0; i < M; i++) { // expected-remark {{SizesMayChange}}
    for (int j = 0; j < N; j++)
      C[i * 64 + j] = 0;
    for (int k = 0; k < w->depth; k++)
      for (int j = 0; j < w->b->columns; j++)
        C[i * 64 + j] += A[i * 64 + k] * w->b->data[k * 64 + j];
  }
}
INT_FORM(width_may_change) {
  struct inputs b = {K, N, B};
  struct weights w = {{0}, K, &b};
  wherever(M, N, C, A, &w);
}

// The sizes lie in the result, just behind it, and just before it.
struct sizes {
  int rows, columns, depth;
};
__attribute__((noinline)) static void
by_sizes(const struct sizes *s, int32_t *C, const int8_t *A, const int8_t *B) {
  for (int i = 0; i < s->rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < s->columns; j++)
      for (int k = 0; k < s->depth; k++)
        C[i * 48 + j] += A[i * 64 + k] * B[k * 64 + j];
}
static struct sizes *set(int32_t *Where, int M, int N, int K) {
  struct sizes *s = (struct sizes *)Where;
  s->rows = M, s->columns = N, s->depth = K;
  return s;
}
static const int8_t *all(int value) { // so that sizes only shrink
  static int8_t elements[2][64 * 64];
  return memset(elements[value > 0], value, sizeof *elements);
}
static void count_down(const struct sizes *s, int32_t *C) {
  by_sizes(s, C, all(-1), all(1));
}
INT_FORM(sizes_behind) {
  if (M > 0 && N > 0)
    count_down(set(C + (M - 1) * 48 + N, M, N, K), C);
}
INT_FORM(sizes_are_last) {
  if (M > 0 && N > 0)
    count_down(set(C + (M - 1) * 48 + N - 1, M, N, K), C);
}
INT_FORM(sizes_before) { count_down(set(C - 3, M, N, K), C); }
INT_FORM(depth_is_first) { count_down(set(C - 2, M, N, K), C); }
INT_FORM(sizes_are_first) { count_down(set(C, M, N, K), C); }
INT_FORM(sizes_between) { // rows, though nothing is written there
  count_down(set(C + 44, M, N < 40 ? N : 40, K), C);
}

// What a char is written through may be anything, an address too.
struct job {
  int rows, columns, depth;
  int8_t *c;
  const int8_t *a, **b;
};
__attribute__((noinline)) static void narrow(struct job *p) {
  for (int i = 0; i < p->rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < p->columns; j++) {
      int s = 0;
      for (int k = 0; k < p->depth; k++)
        s += p->a[i * p->depth + k] * (*p->b)[k * p->columns + j];
      s >>= 4;
      p->c[i * p->columns + j] = (int8_t)(s < -128 ? -128 : s > 127 ? 127 : s);
    }
}
INT_FORM(chars) {
  struct job p = {M, N, K, (int8_t *)C, A, &B};
  narrow(&p);
}
INT_FORM(chars_are_depth) {
  const int8_t *ones = all(1);
  struct job p = {1, 2, M, (int8_t *)&p.depth, all(-1), &ones};
  narrow(&p);
  C[0] = p.depth;
}

// Sizes that are computed from what is loaded, and a flag.
struct layer {
  int bytes, both, relu;
};
__attribute__((noinline)) static void
computed(const struct layer *l, int32_t *C, const int8_t *A, const int8_t *B) {
  for (int i = 0; i < l->both / 64; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < l->both % 64; j++) {
      int s = 0;
      for (int k = 0; k < l->bytes / 4; k++)
        s += A[i * 64 + k] * B[k * 64 + j];
      if (l->relu && s < 0)
        s = 0;
      C[i * 48 + j] = s;
    }
}
INT_FORM(computed_sizes) {
  struct layer l = {K * 4, M * 64 + N, N & 1};
  computed(&l, C, A, B);
}

// The sizes change around the nest, not in it.
int depth_now;
__attribute__((noinline)) static void next_depth(void) { depth_now--; }
INT_FORM(around) {
  depth_now = K;
  for (int t = 0; t < 2; t++) {
    for (int i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
      for (int j = 0; j < N; j++)
        for (int k = 0; k < depth_now; k++)
          C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
    next_depth();
  }
}

// Sizes of inner loops, which are read only where the loops around have work.
struct window {
  int32_t height;
  const int32_t *width;
};
__attribute__((noinline)) static void windows(const struct window *w, int M, int N, int K,
                                              int32_t *C, const int8_t *A, const int8_t *B) {
  for (int i = 0; i < M; i++) // expected-remark {{lmku,lnku->mn}}
    for (int j = 0; j < N; j++) {
      int s = 0;
      for (int k = 0; k < K; k++)
        for (int y = 0; y < w->height; y++)
          for (int x = 0; x < *w->width; x++)
            s += A[i * 16 + k * 3 + y * 64 + x] * B[j * 8 + k * 2 + y * 32 + x];
      C[i * N + j] = s;
    }
}
static int32_t width_of(int i) { return (i & 3) - (i > 8); }
INT_FORM(windows_apart) {
  int32_t width = width_of(N);
  struct window w = {width_of(M + 1), &width};
  windows(&w, M, N, K, C, A, B);
}
INT_FORM(windows_without_width) {
  struct window w = {0, NULL};
  windows(&w, M, N, K, C, A, B);
  w.height = -1;
  windows(&w, M, N, K, C, A, B);
}
INT_FORM(windows_never_read) {
  int32_t width = 2;
  struct window w = {3, &width};
  windows(M > 0 && N > 0 && K > 0 ? &w : NULL, M, N, K, C, A, B);
}
INT_FORM(window_behind) {
  if (M > 0 && N > 0) {
    struct window w = {2, C + M * N};
    C[M * N] = 3;
    windows(&w, M, N, K, C, A, B);
  }
}
INT_FORM(window_is_written) { // which makes it narrower
  struct window w = {2, C + 1};
  C[1] = 3;
  windows(&w, M, N, K, C, all(-1), all(1));
}
INT_FORM(window_is_last) {
  if (M > 0 && N > 0) {
    struct window w = {2, C + M * N - 1};
    C[M * N - 1] = 3;
    windows(&w, M, N, K, C, all(-1), all(1));
  }
}

// Near misses: they do change in the nest, or may not be read ahead.
INT_FORM(volatile_size) {
  volatile int depth = K;
  for (int i = 0; i < M; i++) // expected-remark {{VolatileOrAtomic}}
    for (int j = 0; j < N; j++)
      for (int k = 0; k < depth; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
}
INT_FORM(called) {
  depth_now = K;
  for (int i = 0; i < M; i++) // expected-remark {{SideEffect}}
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < depth_now; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
      next_depth();
    }
}
INT_FORM(shrinks) {
  depth_now = K;
  for (int i = 0; i < M; i++) // expected-remark {{UncountableLoop}}
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < depth_now; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
      depth_now = depth_now > 2 ? depth_now - 1 : 2;
    }
}
__attribute__((noinline)) static void
through(int M, int N, int32_t *C, const int8_t *A, const int8_t *B, int *depth,
        int *counter) {
  for (int i = 0; i < M; i++) // expected-remark {{ExtraStore}}
    for (int j = 0; j < N; j++) {
      for (int k = 0; k < *depth; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
      *counter = j;
    }
}
INT_FORM(counted_through) {
  int depth = K;
  through(M, N, C, A, B, &depth, M & 1 ? &depth : C + 64 * 60);
}
// Only in iterations that a condition selects is the size read at all.
__attribute__((noinline)) static void
sometimes(int M, int N, int32_t *C, const int8_t *A, const int8_t *B,
          const struct inputs *last) {
  for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N; j++)
      for (int k = 0; k < (i < 3 ? 3 : last->rows); k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
}
INT_FORM(sometimes_read) {
  struct inputs last = {K, 0, A};
  sometimes(M, N, C, A, B, M > 3 ? &last : NULL);
}
