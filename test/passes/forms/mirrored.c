// Nests over a triangle that store each element on both sides of the diagonal.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 86
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define L for (int k = 0; k < K; k++)
#define LOWER for (int j = 0; j <= i; j++)
#define UPPER for (int j = i; j < M; j++)
#define C_IJ C[i * 64 + j]
#define C_JI C[j * 64 + i]
#define AA A[i * 64 + k] * A[j * 64 + k]

static int32_t other[64 * 64];

INT_FORM(covariance) { // as PolyBench writes it
  I UPPER { // expected-remark {{replaced by a call: km,kn->mn}}
    C_IJ = 0;
    L C_IJ += A[k * 64 + i] * A[k * 64 + j];
    C_IJ /= 7;
    C_JI = C_IJ;
  }
}
INT_FORM(correlation) {
  for (int i = 0; i < M - 1; i++) { // expected-remark {{replaced by a call: km,kn->mn}}
    C[i * 64 + i] = 1;
    for (int j = i + 1; j < M; j++) {
      C_IJ = 0;
      L C_IJ += A[k * 64 + i] * A[k * 64 + j];
      C_JI = C_IJ;
    }
  }
}
INT_FORM(sum) {
  I UPPER { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = 0;
    L s += AA;
    C_JI = C_IJ = s;
  }
}
INT_FORM(lower) {
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    C_IJ = 0;
    L C_IJ += AA;
    C_JI = C_IJ;
  }
}
INT_FORM(below_diagonal) {
  for (int i = 1; i < M; i++) { // expected-remark {{replaced by a call: mk,nk->mn}}
    C[i * 64 + i] = N;
    for (int j = 0; j < i; j++) {
      C_IJ = 0;
      L C_IJ += AA;
      C_JI = C_IJ;
    }
  }
}
INT_FORM(added_to) {
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    L C_IJ += AA;
    C_JI = C_IJ;
  }
}
INT_FORM(two_products) {
  I LOWER { // expected-remark 2 {{replaced by a call: mk,nk->mn}}
    L C_IJ += AA + B[i * 64 + k] * B[j * 64 + k];
    C_JI = C_IJ;
  }
}
INT_FORM(rows_may_meet) { // they do for M = 33, N = 31
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    L C[i * N + j] += AA;
    C[j * N + i] = C[i * N + j];
  }
}
INT_FORM(may_meet_the_result) { // above the diagonal, for K = 7
  const int8_t *X = K == 7 ? (const int8_t *)(C + 32) : A;
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    L C_IJ += X[i * 64 + k] * X[j * 64 + k];
    C_JI = C_IJ;
  }
}
INT_FORM(elsewhere) { // in another matrix
  I LOWER { // expected-remark {{replaced by a call: mk,nk->mn}}
    L C_IJ += AA;
    other[j * 64 + i] = C_IJ;
  }
}
BF16_FORM(floats) {
  I UPPER { // expected-remark {{replaced by a call: km,kn->mn}}
    C_IJ = 0;
    L C_IJ += (float)A[k * 64 + i] * (float)A[k * 64 + j];
    C_IJ *= 0.5f;
    C_JI = C_IJ;
  }
}

// ---- near misses ----

INT_FORM(next_column) { // the mirror of (i, j) is another iteration's element
  I LOWER { // expected-remark {{kept}}
    L C_IJ += AA;
    C[j * 64 + i + 1] = C_IJ;
  }
}
INT_FORM(over_the_diagonal) {
  I
    for (int j = 0; j < i + 20; j++) { // expected-remark {{kept}}
      L C_IJ += AA;
      C_JI = C_IJ;
    }
}
INT_FORM(changed_behind) {
  I LOWER { // expected-remark {{kept}}
    L C_IJ += AA;
    C_JI = C_IJ;
    C_IJ = C_IJ * 3;
  }
}
INT_FORM(another_value) {
  I LOWER { // expected-remark {{kept}}
    L C_IJ += AA;
    C_JI = -C_IJ;
  }
}
INT_FORM(sometimes) {
  I LOWER { // expected-remark {{kept}}
    L C_IJ += AA;
    if (C_IJ > 100)
      C_JI = C_IJ;
  }
}
INT_FORM(diagonal_reached) { // set, and added to
  I {
    C[i * 64 + i] = 1;
    LOWER { // expected-remark {{kept}}
      L C_IJ += AA;
      C_JI = C_IJ;
    }
  }
}
INT_FORM(all_columns) { // no triangle
  I for (int j = 0; j < M; j++) { // expected-remark {{kept}}
    L C_IJ += AA;
    C_JI = C_IJ;
  }
}
INT_FORM(reads_a_mirror) {
  I LOWER { // expected-remark {{kept}}
    int32_t s = C_JI;
    L s += AA;
    C_IJ = s;
    C_JI = C_IJ;
  }
}
