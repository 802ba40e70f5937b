// Products beside other statements, and sums that are finished in place, where
// rows are found through arrays of addresses, as in float **: that these lie
// evenly, where one array's are compared with each other, and apart is asked
// before the nest is split.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 8
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define CPU __attribute__((annotate("nputeir:device=cpu")))

static int32_t *c[64];
static const int8_t *a[64], *b[64];

// Rows one behind the other, with gaps, from the last to the first, in any
// order, all the same, overlapping, every other one the same, and one in a
// factor.
__attribute__((noinline)) static void place(int32_t *C, const int8_t *A,
                                            const int8_t *B) {
  static int turn;
  int how = turn++ % 9; // of 8 forms, each gets all
  for (int i = 0; i < 64; i++) {
    int at = how == 2   ? 63 - i
             : how == 3 ? i * 37 % 64
             : how == 4 ? 7
             : how == 6 ? i % 2
                        : i;
    int width = how == 1 ? 64 : how == 5 ? 3 : 60;
    c[i] = C + at * width;
    a[i] = A + (how == 3 ? i : at) * 61;
    b[i] = B + i * 63;
  }
  if (how == 7)
    a[2] = (const int8_t *)c[1];
}
static int32_t bent(int32_t x) {
  return x / 2 + __builtin_popcount((unsigned)x);
}

INT_FORM(sums_finished) {
  place(C, A, B);
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    c[i][j] = 0;
    L c[i][j] += a[i][k] * b[k][j];
    c[i][j] = bent(c[i][j] + A[j]);
  }
}
__attribute__((noinline)) static void *table(void *rows, int isThere) {
  return isThere ? rows : NULL;
}
INT_FORM(tables_of_nothing) { // are not read
  place(C, A, B);
  int32_t **to = table(c, M > 0 && N > 0);
  const int8_t **x = table(a, N > 0 && K > 0), **y = table(b, N > 0 && K > 0);
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    to[i][j] = A[j];
    L to[i][j] += x[i][k] * y[k][j];
    to[i][j] = bent(to[i][j]);
  }
}
INT_FORM(rows_beside) {
  place(C, A, B);
  I L { // expected-remark {{replaced by a call: mk,kn->mn}}
    side[i] += a[i][k];
    J c[i][j] += a[i][k] * b[k][j];
  }
  look(C);
}
CPU INT_FORM(neurons) {
  place(C, A, B);
  I { // expected-remark {{code for the processor: k,nk->n}}
    side[i] = 0;
    J side[i] += a[i][j] * B[j];
    side[i] = bent(side[i]);
  }
  look(C);
}
CPU INT_FORM(errors_and_weights) { // the same element, in one iteration
  place(C, A, B);
  I J { // expected-remark {{code for the processor: km,k->m}}
    side[j] += c[i][j] * B[i];
    c[i][j] -= B[i] * A[j];
  }
  look(C);
}

// Near misses.
INT_FORM(next_row_is_read) {
  place(C, A, B);
  I J { // expected-remark {{kept}}
    if (i < 62)
      c[i][j] = c[i + 1][j];
    L c[i][j] += a[i][k] * b[k][j];
    c[i][j] = bent(c[i][j]);
  }
}
INT_FORM(rows_are_moved) {
  place(C, A, B);
  I J { // expected-remark {{kept}}
    L c[i][j] += a[i][k] * b[k][j];
    c[i][j] = bent(c[i][j]);
    if (i < 63)
      c[i + 1] = c[i];
  }
}
INT_FORM(rows_by_element) {
  place(C, A, B);
  I J { // expected-remark {{kept}}
    L c[B[i] & 63][j] += a[i][k] * b[k][j];
    c[B[i] & 63][j] = bent(c[B[i] & 63][j]);
  }
}
