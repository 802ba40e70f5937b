// Loops that the source has unrolled by hand, over rows whose length only the
// program knows.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 63
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define A_AT(i, k) A[(i) * K + (k)]
#define B_AT(k, j) B[(k) * N + (j)]
#define C_AT(i, j) C[(i) * N + (j)]

INT_FORM(two_rows_at_a_time) {
  I J { // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k.all}}
    int s = 0;
    for (int k = 0; k + 1 < K; k += 2)
      s += A_AT(i, k) * B_AT(k, j) + A_AT(i, k + 1) * B_AT(k + 1, j);
    C_AT(i, j) = s;
  }
}
INT_FORM(stored_from_the_second) {
  I for (int j = 0; j + 1 < N; j += 2) { // expected-remark {{mk,kn->mn with m=n_i n=n_j.all k=n_k}}
    int s = 0, t = 0;
    for (int k = 0; k < K; k++) {
      s += A_AT(i, k) * B_AT(k, j);
      t += A_AT(i, k) * B_AT(k, j + 1);
    }
    C_AT(i, j + 1) = t;
    C_AT(i, j) = s;
  }
}
INT_FORM(four_rows_in_two_sums) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0, t = 0;
    for (int k = 0; k + 3 < K; k += 4) {
      s += A_AT(i, k) * B_AT(k, j) + A_AT(i, k + 1) * B_AT(k + 1, j);
      t += A_AT(i, k + 2) * B_AT(k + 2, j) + A_AT(i, k + 3) * B_AT(k + 3, j);
    }
    C_AT(i, j) = s + t;
  }
}
INT_FORM(rows_of_the_other_term) { // a near miss
  I J { // expected-remark {{IrregularUnrolling}}
    int s = 0;
    for (int k = 0; k + 1 < K; k += 2)
      s += A_AT(i, k + 1) * B_AT(k, j) + A_AT(i, k) * B_AT(k + 1, j);
    C_AT(i, j) = s;
  }
}
INT_FORM(rows_unevenly_apart) { // a near miss
  I J { // expected-remark {{IrregularUnrolling}}
    int s = 0;
    for (int k = 0; k + 3 < K; k += 3)
      s += A_AT(i, k) * B_AT(k, j) + A_AT(i, k + 1) * B_AT(k + 1, j) +
           A_AT(i, k + 2) * B_AT(k + 3, j);
    C_AT(i, j) = s;
  }
}
INT_FORM(rows_of_another_length) {
  I J { // expected-remark {{mkl,kln->mn}}
    int s = 0;
    for (int k = 0; k + 1 < K; k += 2)
      s += A_AT(i, k) * B[k * N + j] + A_AT(i, k + 1) * B[k * N + M + j];
    C_AT(i, j) = s;
  }
}

#define TILE(row)                                                              \
  for (int i = 0; i + 1 < M; i += 2)                                           \
    for (int j = 0; j + 1 < N; j += 2) {                                       \
      int s = 0, t = 0, u = 0, v = 0;                                          \
      for (int k = 0; k < K; k++) {                                            \
        s += A_AT(i, k) * B_AT(k, j);                                          \
        t += A_AT(i, k) * B_AT(k, j + 1);                                      \
        u += A_AT(i + 1, k) * B_AT(k, j);                                      \
        v += A_AT(i + 1, k) * B_AT(k, j + 1);                                  \
      }                                                                        \
      C[i * (row) + j] = s;                                                    \
      C[i * (row) + j + 1] = t;                                                \
      C[(i + 1) * (row) + j] = u;                                              \
      C[(i + 1) * (row) + j + 1] = v;                                          \
    }
INT_FORM(register_tile) {
  TILE(N) // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all k=n_k}}
}
// Rows of the result lie over each other: the guard must send this to the loop.
INT_FORM(register_tile_overlaps) {
  TILE(M) // expected-remark {{mk,kn->mn}}
}
INT_FORM(register_tile_changed_round) { // a near miss
  for (int i = 0; i + 1 < M; i += 2) // expected-remark {{for its sums}}
    for (int j = 0; j + 1 < N; j += 2) {
      int s = 0, t = 0, u = 0, v = 0;
      for (int k = 0; k < K; k++) {
        s += A_AT(i, k) * B_AT(k, j);
        t += A_AT(i, k) * B_AT(k, j + 1);
        u += A_AT(i + 1, k) * B_AT(k, j);
        v += A_AT(i + 1, k) * B_AT(k, j + 1);
      }
      C_AT(i, j) = s;
      C_AT(i, j + 1) = t;
      C_AT(i + 1, j) = v;
      C_AT(i + 1, j + 1) = u;
    }
}
// A filter's nine products written out, planes of K * P elements apart.
#define FILTER(third)                                                          \
  int P = N + 2;                                                               \
  I for (int k = 0; k < K; k++)                                                \
    J C_AT(i, j) += W(0) * B[k * P + j] + W(1) * B[k * P + j + 1] +            \
                    W(2) * B[k * P + j + 2] + W(3) * B[K * P + k * P + j] +    \
                    W(4) * B[K * P + k * P + j + 1] +                          \
                    W(5) * B[K * P + k * P + j + 2] +                          \
                    W(6) * B[(third) + k * P + j] +                            \
                    W(7) * B[(third) + k * P + j + 1] +                        \
                    W(8) * B[(third) + k * P + j + 2];
#define W(t) A[(i * K + k) * 9 + (t)]
INT_FORM(filter_over_planes) {
  FILTER(2 * K * P) // expected-remark {{mklu,klnu->mn}}
}
INT_FORM(filter_over_planes_unevenly_apart) { // a near miss
  FILTER(2 * K * P + 3) // expected-remark {{SeveralProducts}}
}
INT_FORM(filter_over_planes_of_another_size) { // a near miss
  FILTER(2 * K * N) // expected-remark {{SeveralProducts}}
}
// The distance wraps to zero where K is odd: the guard must send that to the
// loop.
INT_FORM(rows_by_double_wrap) {
  unsigned half = K & 1 ? 0x80000000u : 1;
  __asm__("" : "+r"(half));
  const int8_t *last = B + (int)(2u * half * (unsigned)K);
  I J { // expected-remark {{mkl,kln->mn}}
    int s = 0;
    for (int k = 0; k < K; k++)
      s += A[(i * K + k) * 2] * B_AT(k, j) + A[(i * K + k) * 2 + 1] * last[k * N + j];
    C_AT(i, j) = s;
  }
}
// A row further on, in one buffer, is another matrix.
INT_FORM(parts_of_one_buffer) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = C[M * N + i * N + j];
    for (int k = 0; k < K; k++)
      s += A_AT(i, k) * A[M * K + k * N + j];
    C_AT(i, j) = s;
  }
}
// The loop counts blocks of rows.
INT_FORM(blocks_of_columns) {
  I for (int j = 0; j < N / 4; j++) { // expected-remark {{mk,nk->mn with m=n_i n=n_j.all k=n_k}}
    int s[4] = {0, 0, 0, 0};
    const int8_t *b = B + 4 * j * K;
    for (int k = 0; k < K; k++) {
      s[0] += A_AT(i, k) * b[k];
      s[1] += A_AT(i, k) * b[K + k];
      s[2] += A_AT(i, k) * b[2 * K + k];
      s[3] += A_AT(i, k) * b[3 * K + k];
    }
    C_AT(i, 4 * j) = s[0];
    C_AT(i, 4 * j + 1) = s[1];
    C_AT(i, 4 * j + 2) = s[2];
    C_AT(i, 4 * j + 3) = s[3];
  }
}
INT_FORM(blocks_of_steps) {
  I J { // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k.all}}
    int s = 0;
    for (int k = 0; k < K / 2; k++)
      s += A_AT(i, 2 * k) * B_AT(2 * k, j) + A_AT(i, 2 * k + 1) * B_AT(2 * k + 1, j);
    C_AT(i, j) = s;
  }
}
INT_FORM(blocks_with_gaps) { // a near miss: rows between are not read
  I J { // expected-remark {{mkl,kln->mn}}
    int s = 0;
    for (int k = 0; k < K / 4; k++)
      s += A_AT(i, 4 * k) * B_AT(4 * k, j) + A_AT(i, 4 * k + 1) * B_AT(4 * k + 1, j);
    C_AT(i, j) = s;
  }
}
