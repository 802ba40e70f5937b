// Products of a triangular matrix in place, as GSL writes trmm:
// what they read of the result was not changed yet, and is read in a copy.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 18
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define I_DOWN for (int i = M; i > 0 && i--;)
#define J for (int j = 0; j < N; j++)
#define BEFORE for (int k = 0; k < i; k++)
#define BEHIND for (int k = i + 1; k < M; k++)
#define C_IJ C[i * 64 + j]
#define C_JI C[j * 64 + i]
#define DIAGONAL(to, c)                                                        \
  if (K > 3)                                                                   \
    to A[i * 64 + i] * c;                                                      \
  else                                                                         \
    to c;

INT_FORM(left_upper) {
  I J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s;
    DIAGONAL(s =, C_IJ)
    BEHIND s += A[i * 64 + k] * C[k * 64 + j];
    C_IJ = 3 * s;
  }
}
INT_FORM(left_lower) {
  I_DOWN J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = 0;
    BEFORE s += A[i * 64 + k] * C[k * 64 + j];
    DIAGONAL(s +=, C_IJ)
    C_IJ = 3 * s;
  }
}
INT_FORM(right_upper) {
  J I_DOWN { // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t s = 0;
    BEFORE s += A[k * 64 + i] * C[j * 64 + k];
    DIAGONAL(s +=, C_JI)
    C_JI = 3 * s;
  }
}
INT_FORM(right_lower) {
  J I { // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t s;
    DIAGONAL(s =, C_JI)
    BEHIND s += A[k * 64 + i] * C[j * 64 + k];
    C_JI = 3 * s;
  }
}
INT_FORM(strides) { // known when running, as indices of 32 bits
  const int lda = M + 1, ldc = N < 64 ? N : 64;
  I J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = A[i * lda + i] * C[i * ldc + j];
    BEHIND s += A[i * lda + k] * C[k * ldc + j];
    C[i * ldc + j] = 3 * s;
  }
}
INT_FORM(rows_may_meet) { // they do where N is more than 2
  I J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = A[i * 64 + i] * C[i * 2 + j];
    BEHIND s += A[i * 64 + k] * C[k * 2 + j];
    C[i * 2 + j] = s;
  }
}
INT_FORM(rows_further_behind) { // which row is asked when running
  const int32_t *X = K == 7 ? C + 64 : C;
  I J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = C_IJ;
    BEHIND s += A[i * 64 + k] * X[k * 64 + j];
    C_IJ = 3 * s;
  }
}

INT_FORM(changed_before_upwards) { // a system
  I_DOWN J { // expected-remark {{replaced by a call: km,nk->nm}}
    int32_t s = 0;
    BEHIND s += A[i * 64 + k] * C[k * 64 + j];
    C_IJ = s;
  }
}
// ---- near misses ----

INT_FORM(changed_before) { // rows in front of the present one
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    BEFORE s += A[i * 64 + k] * C[k * 64 + j];
    DIAGONAL(s +=, C_IJ)
    C_IJ = 3 * s;
  }
}
INT_FORM(next_column) {
  I J { // expected-remark {{kept}}
    int32_t s = C_IJ;
    BEHIND s += A[i * 64 + k] * C[k * 64 + j + 1];
    C_IJ = 3 * s;
  }
}
INT_FORM(next_element) { // has not been changed, but is not the sum's own
  I J { // expected-remark {{kept}}
    int32_t s = C[i * 64 + j + 1];
    BEHIND s += A[i * 64 + k] * C[k * 64 + j];
    C_IJ = 3 * s;
  }
}
INT_FORM(changed_row) { // in front of its sums
  I { // expected-remark {{kept}}
    J C_IJ *= 5;
    J {
      int32_t s = 0;
      BEFORE s += A[i * 64 + k] * C[k * 64 + j];
      DIAGONAL(s +=, C_IJ)
      C_IJ = 3 * s;
    }
  }
}
