// Triangular systems, as GSL solves them (trsm): multiples of each
// row are subtracted from those behind it.  Rectangles of these are products.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 36
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define I_DOWN for (int i = M; i > 0 && i--;)
#define J for (int j = 0; j < N; j++)
#define BEFORE for (int k = 0; k < i; k++)
#define BEHIND for (int k = i + 1; k < M; k++)
#define C_IJ C[i * 64 + j]
#define C_KJ C[k * 64 + j]
#define OWN_ROW                                                                \
  if (K > 3) {                                                                 \
    const int32_t d = A[i * 64 + i];                                           \
    J C_IJ *= d;                                                               \
  }

INT_FORM(lower) {
  I { // expected-remark {{replaced by a call: km,nk->nm}}
    OWN_ROW
    BEHIND J C_KJ -= A[k * 64 + i] * C_IJ;
  }
}
INT_FORM(upper) {
  I_DOWN { // expected-remark {{replaced by a call: km,nk->nm}}
    OWN_ROW
    BEFORE {
      const int32_t a = A[k * 64 + i];
      J C_KJ -= a * C_IJ;
    }
  }
}
INT_FORM(transposed) {
  I { // expected-remark {{replaced by a call: km,kn->nm}}
    OWN_ROW
    BEHIND J C_KJ -= A[i * 64 + k] * C_IJ;
  }
}
INT_FORM(unit) { // nothing is done to a row itself
  I BEHIND J // expected-remark {{replaced by a call}}
    C_KJ -= A[k * 64 + i] * C_IJ;
}
INT_FORM(strides) { // known when running, as indices of 32 bits
  const int lda = M + 1, ldc = N < 64 ? N : 64;
  I { // expected-remark {{replaced by a call: km,nk->nm}}
    J C[i * ldc + j] *= A[i * lda + i];
    BEHIND J C[k * ldc + j] -= A[k * lda + i] * C[i * ldc + j];
  }
}
INT_FORM(rows_may_meet) { // they do where N is more than 2
  I BEHIND J // expected-remark {{replaced by a call}}
    C[k * 2 + j] -= A[k * 64 + i] * C[i * 2 + j];
}
INT_FORM(may_meet_the_matrix) { // it does for K = 7
  const int8_t *X = K == 7 ? (const int8_t *)(C + 64 * 20) : A;
  I BEHIND J // expected-remark {{replaced by a call}}
    C_KJ -= X[k * 64 + i] * C_IJ;
}

INT_FORM(changed_behind) { // as reference BLAS scales rows
  I { // expected-remark {{replaced by a call: km,nk->nm}}
    OWN_ROW
    BEHIND J C_KJ -= A[k * 64 + i] * C_IJ;
    J C_IJ *= 3;
  }
}
INT_FORM(unless_zero) {
  J I { // expected-remark {{replaced by a call: km,nk->nm}}
    if (C_IJ != 0) {
      C_IJ *= A[i * 64 + i];
      BEHIND C_KJ -= C_IJ * A[k * 64 + i];
    }
  }
}

// The runtime of these tests declines what has overlapping ranges of bytes.
INT_FORM(from_the_right) {
  J I { // expected-remark {{replaced by a call: mk,nk->mn}}
    const int32_t x = C[j * 64 + i];
    BEHIND C[j * 64 + k] -= A[k * 64 + i] * x;
  }
}
INT_FORM(from_the_right_down) { // as GSL writes it
  J I_DOWN { // expected-remark {{replaced by a call: mk,kn->mn}}
    if (K > 3)
      C[j * 64 + i] *= A[i * 64 + i];
    const int32_t x = C[j * 64 + i];
    BEFORE C[j * 64 + k] -= A[i * 64 + k] * x;
  }
}

// ---- near misses ----

INT_FORM(own_row_too) {
  I {
    for (int k = i; k < M; k++) // expected-remark {{kept}}
      J C_KJ -= A[k * 64 + i] * C_IJ;
  }
}
INT_FORM(next_column) {
  I { // expected-remark {{kept}}
    BEHIND J C_KJ -= A[k * 64 + i] * C[i * 64 + j + 1];
  }
}
INT_FORM(further_row) { // the first of them is not changed by the present one
  I { // expected-remark {{kept}}
    BEHIND J C[(k + 1) * 64 + j] -= A[k * 64 + i] * C_IJ;
  }
}
INT_FORM(of_the_row_behind) {
  I { // expected-remark {{kept}}
    BEHIND J C_KJ -= A[k * 64 + i] * C_IJ + C[i * 64 + 64 + j];
  }
}
INT_FORM(unless_something_else) { // what a row becomes says something else
  J I { // expected-remark {{kept}}
    if (C_IJ != 3) {
      C_IJ *= A[i * 64 + i];
      BEHIND C_KJ -= C_IJ * A[k * 64 + i];
    }
  }
}
INT_FORM(more_than_multiples) { // where the row has become zero, too
  J I { // expected-remark {{kept}}
    if (C_IJ != 0) {
      C_IJ *= A[i * 64 + i];
      BEHIND C_KJ -= C_IJ * A[k * 64 + i] + B[k];
    }
  }
}
INT_FORM(changed_if_zero) { // then it is not, behind the condition
  J I { // expected-remark {{kept}}
    const int x = C_IJ;
    C_IJ += 5;
    if (x != 0)
      BEHIND C_KJ -= C_IJ * A[k * 64 + i];
  }
}
INT_FORM(several_times) { // the second time with other rows
  for (int t = 0; t < 2; t++)
    I BEHIND J // expected-remark {{replaced by a call}}
        C_KJ -= A[k * 64 + i] * C_IJ;
}
INT_FORM(sum_in_front) { // of what is not solved yet
  J { // expected-remark {{kept}}
    int32_t s = 0;
    I s += C_IJ;
    I BEHIND C_KJ -= C_IJ * A[k * 64 + i] * s;
  }
}
