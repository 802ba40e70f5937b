// Products of a symmetric matrix of which one half is stored are split in two
// nests of sums as long as their row, of which the rectangles are taken.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 46
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define BELOW for (int k = 0; k < i; k++)
#define BEHIND for (int k = i + 1; k < M; k++)
#define C_IJ C[i * 64 + j]
#define C_KJ C[k * 64 + j]
#define B_IJ B[i * 64 + j]
#define B_KJ B[k * 64 + j]
#define A_IK A[i * 64 + k]
#define SUMS                                                                   \
  {                                                                            \
    C_KJ += B_IJ * A_IK;                                                       \
    t += B_KJ * A_IK;                                                          \
  }

INT_FORM(lower) { // as PolyBench writes symm
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t t = 0;
    BELOW {
      C_KJ += 3 * B_IJ * A_IK;
      t += B_KJ * A_IK;
    }
    C_IJ = 5 * C_IJ + 3 * B_IJ * A[i * 64 + i] + 3 * t;
  }
}
INT_FORM(upper) { // as the reference BLAS does, row by row
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t f = 3 * B_IJ, t = 0;
    C_IJ += f * A[i * 64 + i];
    BEHIND {
      C_KJ += f * A_IK;
      t += B_KJ * A_IK;
    }
    C_IJ += 3 * t;
  }
}
INT_FORM(right_upper) { // from the right: the outer loop is over columns
  J I { // expected-remark 2 {{replaced by a call}}
    int32_t f = 3 * B[j * 64 + i], t = 0;
    C[j * 64 + i] += f * A[i * 64 + i];
    BEHIND {
      C[j * 64 + k] += f * A_IK;
      t += B[j * 64 + k] * A_IK;
    }
    C[j * 64 + i] += 3 * t;
  }
}
INT_FORM(right_lower) {
  J I { // expected-remark 2 {{replaced by a call}}
    int32_t f = 3 * B[j * 64 + i], t = 0;
    BELOW {
      C[j * 64 + k] += f * A_IK;
      t += B[j * 64 + k] * A_IK;
    }
    C[j * 64 + i] += f * A[i * 64 + i] + 3 * t;
  }
}
INT_FORM(subtracted) {
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t t = 7;
    BELOW {
      C_KJ -= B_IJ * A_IK;
      t += B_KJ * A_IK;
    }
    C_IJ = (t + B_IJ) * 3;
  }
}
INT_FORM(scattered) {
  I J BELOW C_KJ += B_IJ * A_IK; // expected-remark {{replaced by a call}}
}
INT_FORM(may_meet_the_result) { // what is read is part of it for K = 7
  const int8_t *X = K == 7 ? (const int8_t *)(C + 64 * 20) : B;
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t t = 0;
    BELOW {
      C_KJ += X[i * 64 + j] * A_IK;
      t += X[k * 64 + j] * A_IK;
    }
    C_IJ += t;
  }
}
INT_FORM(strides) { // known when running, as indices of 32 bits
  const int lda = M + 1, ldb = N < 64 ? N : 64;
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t f = 3 * B[i * ldb + j], t = 0;
    C[i * ldb + j] += f * A[i * lda + i];
    BEHIND {
      C[k * ldb + j] += f * A[i * lda + k];
      t += B[k * ldb + j] * A[i * lda + k];
    }
    C[i * ldb + j] += 3 * t;
  }
}

INT_FORM(rows_may_meet) { // they do where N is more than 2
  I J { // expected-remark 2 {{replaced by a call}}
    int32_t t = 0;
    BELOW {
      C[k * 2 + j] += B_IJ * A_IK;
      t += B_KJ * A_IK;
    }
    C[i * 2 + j] += t;
  }
}

// ---- near misses ----

INT_FORM(own_row_too) {
  I J { // expected-remark {{kept}}
    int32_t t = 0;
    for (int k = 0; k <= i; k++) SUMS
    C_IJ = 3 * C_IJ + t;
  }
}
INT_FORM(next_row) {
  I J { // expected-remark {{kept}}
    int32_t t = 0;
    BELOW {
      C[(k + 1) * 64 + j] += B_IJ * A_IK;
      t += B_KJ * A_IK;
    }
    C_IJ = 3 * C_IJ + t;
  }
}
INT_FORM(from_the_result) { // what was added to a row is multiplied
  I J { // expected-remark {{kept}}
    int32_t t = 0;
    BELOW {
      C_KJ += C_IJ * A_IK;
      t += B_KJ * A_IK;
    }
    C_IJ += t;
  }
}
INT_FORM(of_the_result) {
  I J { // expected-remark {{kept}}
    int32_t t = 0;
    BELOW {
      C_KJ += B_IJ * A_IK;
      t += C_KJ * A_IK;
    }
    C_IJ += t;
  }
}
INT_FORM(from_the_result_right) {
  J I { // expected-remark {{kept}}
    int32_t t = 0;
    BELOW {
      C[j * 64 + k] += C[j * 64 + i] * A_IK;
      t += B[j * 64 + k] * A_IK;
    }
    C[j * 64 + i] += t;
  }
}
INT_FORM(used_after) {
  int32_t last = 0;
  I J { // expected-remark {{kept}}
    int32_t t = 0;
    BELOW SUMS
    C_IJ += t;
    last = last * 3 + t;
  }
  C[0] += last;
}
INT_FORM(not_linear) {
  I J { // expected-remark {{kept}}
    int32_t t = 0;
    BELOW SUMS
    C_IJ += t * t;
  }
}
