// Sums that are as long as the row of their element says are split into
// rectangles, which are taken, and the terms that these leave.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 31
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define UP_TO for (int k = 0; k <= i; k++)
#define FROM for (int k = i; k < M; k++)
#define BEHIND for (int k = i + 1; k < M; k++)
#define C_IJ C[i * 64 + j]
#define AB A[i * 64 + k] * B[k * 64 + j]

INT_FORM(second_product) { // of causal attention
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t s = 0;
    UP_TO s += AB;
    C_IJ = s;
  }
}
INT_FORM(accumulated) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t s = C_IJ;
    UP_TO s += AB;
    C_IJ = s;
  }
}
INT_FORM(scaled) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t s = 0;
    UP_TO s += AB;
    C_IJ = 3 * s;
  }
}
INT_FORM(in_elements) {
  I J UP_TO C_IJ += AB; // expected-remark {{replaced by a call: mk,kn->mn}}
}
INT_FORM(columns_last) {
  I UP_TO J C_IJ += AB; // expected-remark {{replaced by a call: mk,kn->mn}}
}
INT_FORM(zeroed_and_scaled) {
  I { // expected-remark {{replaced by a call: mk,kn->mn}}
    J C_IJ = 0;
    UP_TO J C_IJ += AB;
    J C_IJ *= 3;
  }
}
INT_FORM(from_the_row_on) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t s = 0;
    FROM s += AB;
    C_IJ = 3 * s;
  }
}
INT_FORM(in_place) { // as PolyBench writes trmm
  I J { // expected-remark {{replaced by a call: km,kn->nm}}
    BEHIND C_IJ += A[k * 64 + i] * C[k * 64 + j];
    C_IJ = 3 * C_IJ;
  }
}

// Not as long as the row says, or not in an order that may be changed.
INT_FORM(twice_the_row) {
  I J { // expected-remark {{VariantExtent}}
    int32_t s = 0;
    for (int k = 0; k < 2 * i; k++)
      s += A[i * 64 + k] * B[k + j];
    C_IJ = s;
  }
}
INT_FORM(square_of_the_row) {
  I J { // expected-remark {{nest kept}}
    int32_t s = 0;
    for (int k = 0; k < i * i; k++)
      s += A[i * 64 + k % 64] * B[j];
    C_IJ = s;
  }
}
INT_FORM(behind_the_rows_read) { // which have been changed before
  I J { // expected-remark {{nest kept}}
    UP_TO C_IJ += A[k * 64 + i] * C[k * 64 + j];
  }
}
INT_FORM(next_element_read) { // in place, but not of the column
  I J { // expected-remark {{nest kept}}
    BEHIND C_IJ += A[k * 64 + i] * C[k * 64 + j + 1];
  }
}
