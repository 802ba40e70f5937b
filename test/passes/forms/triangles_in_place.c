// Rows of a matrix that sum over other rows of it or add to those, as in
// triangular systems and products (trsm, trmm).  Reference BLAS has all of
// these with columns that lie in memory as they are here.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 47
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define I_DOWN for (int i = M - 1; i >= 0; i--)
#define J for (int j = 0; j < N; j++)
#define BEFORE for (int k = 0; k < i; k++)
#define BACK for (int k = i - 1; k >= 0; k--)
#define BEHIND for (int k = i + 1; k < M; k++)
#define A_IK A[i * 64 + k]
#define A_KI A[k * 64 + i]
#define A_II A[i * 64 + i]
#define C_IJ C[i * 64 + j]
#define C_KJ C[k * 64 + j]
#define COLUMN_I C[j * 64 + i]
#define COLUMN_K C[j * 64 + k]

// ---- a row sums over those before it ----

INT_FORM(lower) {
  J I { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C_KJ;
    C_IJ = s * A_II;
  }
}
INT_FORM(rows_outside) {
  I J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C_KJ;
    C_IJ = s * A_II;
  }
}
INT_FORM(upper) {
  J I_DOWN { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = C_IJ;
    BEHIND s -= A_IK * C_KJ;
    C_IJ = s * A_II;
  }
}
INT_FORM(lower_from_the_end) {
  J I { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = C_IJ;
    BACK s -= A_IK * C_KJ;
    C_IJ = s * A_II;
  }
}
INT_FORM(unit) {
  J I { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C_KJ;
    C_IJ = s;
  }
}
INT_FORM(transposed) {
  J I { // expected-remark {{replaced by a call: km,kn->nm}}
    int32_t s = C_IJ;
    BEFORE s -= A_KI * C_KJ;
    C_IJ = s * A_II;
  }
}
INT_FORM(in_elements) {
  J I { // expected-remark {{replaced by a call: km,nk->nm}}
    BEFORE C_IJ -= A_IK * C_KJ;
    C_IJ *= A_II;
  }
}
INT_FORM(scaled_in_front) { // as reference BLAS, with a condition or two
  J I { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = K * COLUMN_I;
    BEFORE s -= A_IK * COLUMN_K;
    if (K > 3)
      s *= A_II;
    COLUMN_I = s;
  }
}
INT_FORM(from_the_first_row) {
  J // expected-remark {{replaced by a call: km,nk->nm}}
  for (int i = 1; i < M; i++) {
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C_KJ;
    C_IJ = s;
  }
}
INT_FORM(of_another_matrix) {
  J I { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = B[i * 64 + j];
    BEFORE s -= A_IK * C_KJ;
    C_IJ = s * A_II;
  }
}
INT_FORM(unless_zero) { // from the right, if columns were rows
  I { // expected-remark {{replaced by a call: km,nk->nm}}
    if (K != 5)
      J C_IJ *= K;
    BEFORE if (A_IK) J C_IJ -= A_IK * C_KJ;
    if (K > 3)
      J C_IJ *= A_II;
  }
}

// ---- adds to those before it ----

INT_FORM(adds_before) {
  I { // expected-remark {{replaced by a call}}
    BEFORE J C_KJ += A_KI * C_IJ;
    J C_IJ *= A_II;
  }
}
INT_FORM(adds_before_unless_zero) {
  J I { // expected-remark {{replaced by a call}}
    if (COLUMN_I != 0) {
      int32_t x = K * COLUMN_I;
      BEFORE COLUMN_K += x * A_IK;
      if (K > 3)
        x *= A_II;
      COLUMN_I = x;
    }
  }
}
INT_FORM(adds_behind_before) { // from the last row on
  J I_DOWN { // expected-remark {{replaced by a call}}
    if (COLUMN_I != 0) {
      int32_t x = K * COLUMN_I;
      COLUMN_I = x;
      if (K > 3)
        COLUMN_I *= A_II;
      BEHIND COLUMN_K += x * A_IK;
    }
  }
}

// ---- sums over those behind it ----

INT_FORM(product) {
  J I { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = COLUMN_I;
    if (K > 3)
      s *= A_II;
    BEHIND s += A_IK * COLUMN_K;
    COLUMN_I = K * s;
  }
}
INT_FORM(product_down) {
  J I_DOWN { // expected-remark {{replaced by a call: mk,nk->mn}}
    int32_t s = COLUMN_I;
    if (K > 3)
      s *= A_II;
    BEFORE s += A_IK * COLUMN_K;
    COLUMN_I = K * s;
  }
}
INT_FORM(product_of_rows) {
  I_DOWN { // expected-remark {{replaced by a call: km,nk->nm}}
    J C_IJ *= A_II;
    BEFORE if (A_IK) J C_IJ += A_IK * C_KJ;
  }
}

// ---- adds to those behind it ----

INT_FORM(scaled_ahead) { // as reference BLAS
  J { // expected-remark {{replaced by a call: mk,kn->mn}}
    if (K != 5)
      I COLUMN_I *= K;
    for (int k = 0; k < M; k++)
      if (COLUMN_K) {
        if (K > 3)
          COLUMN_K *= A[k * 64 + k];
        for (int i = k + 1; i < M; i++)
          COLUMN_I -= COLUMN_K * A_KI;
      }
  }
}
INT_FORM(scaled_ahead_down) {
  J { // expected-remark {{replaced by a call: mk,kn->mn}}
    if (K != 5)
      I COLUMN_I *= K;
    for (int k = M - 1; k >= 0; k--)
      if (COLUMN_K) {
        if (K > 3)
          COLUMN_K *= A[k * 64 + k];
        for (int i = 0; i < k; i++)
          COLUMN_I -= COLUMN_K * A_KI;
      }
  }
}

// ---- near misses ----

INT_FORM(own_row_too) { // is read while it changes
  J I { // expected-remark {{kept}}
    for (int k = 0; k <= i; k++)
      C_IJ -= A_IK * C_KJ;
  }
}
INT_FORM(next_column) {
  J I { // expected-remark {{kept}}
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C[k * 64 + j + 1];
    C_IJ = s;
  }
}
INT_FORM(every_second_row) {
  J I { // expected-remark {{kept}}
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C[2 * k * 64 % 4096 + j];
    C_IJ = s;
  }
}
INT_FORM(not_a_sum) { // its order counts
  J I_DOWN { // expected-remark {{kept}}
    int32_t s = C_IJ;
    BEHIND s = 3 * s - A_IK * C_KJ;
    C_IJ = s;
  }
}
INT_FORM(clamped) {
  J I_DOWN { // expected-remark {{kept}}
    int32_t s = C_IJ;
    BEHIND {
      s -= A_IK * C_KJ;
      s = s > 9999 ? 9999 : s;
    }
    C_IJ = s;
  }
}
INT_FORM(element_as_it_was) { // behind the sum
  J I { // expected-remark {{kept}}
    int32_t s = 0;
    BEFORE s += A_IK * C_KJ;
    C_IJ = C_IJ * C_IJ - s;
  }
}
INT_FORM(row_below_first) { // which the rows before it are not
  J I { // expected-remark {{kept}}
    int32_t s = C_IJ;
    BEFORE s -= A_IK * C[(k + 1) * 64 + j];
    C_IJ = s;
  }
}
