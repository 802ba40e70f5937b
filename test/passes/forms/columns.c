// Products whose results are columns of one array.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 24
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define CAUSAL for (int t = 0; t <= i; t++)

INT_FORM(queries_and_keys) {
  I CAUSAL J { // expected-remark 2 {{replaced by a call}}
    C[i * 64 + j] += A[t * 64 + j] * B[i * 64 + t];
    C[t * 64 + 31 + j] += B[i * 64 + j] * A[i * 64 + t];
  }
}
INT_FORM(of_as_many_columns_as_asked) { // which meet for N = 13 and 31
  I CAUSAL J { // expected-remark 2 {{replaced by a call}}
    C[i * 64 + j] += A[t * 64 + j] * B[i * 64 + t];
    C[t * 64 + 11 + j] += B[i * 64 + j] * A[i * 64 + t];
  }
}
INT_FORM(in_another_line) { // each ends where the other one begins
  I CAUSAL J { // expected-remark 2 {{replaced by a call}}
    C[62 + i * 62 + j] += A[t * 64 + j] * B[i * 64 + t];
    C[t * 62 + 31 + j] += B[i * 64 + j] * A[i * 64 + t];
  }
}
INT_FORM(rows_of_unknown_length) {
  int row = 2 * N;
  I CAUSAL J { // expected-remark 2 {{replaced by a call}}
    C[i * row + j] += A[t * 64 + j] * B[i * 64 + t];
    C[t * row + N + j] += B[i * 64 + j] * A[i * 64 + t];
  }
}
INT_FORM(two_columns_meet) { // for N = 31
  I CAUSAL J {               // expected-remark 2 {{replaced by a call}}
    C[64 + i * 62 + j] += A[t * 64 + j] * B[i * 64 + t];
    C[t * 62 + 31 + j] += B[i * 64 + j] * A[i * 64 + t];
  }
}

// ---- near misses ----

INT_FORM(in_one_column) {
  I CAUSAL J { // expected-remark {{kept}}
    C[i * 64 + j] += A[t * 64 + j] * B[i * 64 + t];
    C[t * 64 + j] ^= B[i * 64 + j] + A[i * 64 + t];
  }
}
INT_FORM(in_the_next_row) { // which is read before it is written
  I CAUSAL J {              // expected-remark {{kept}}
    C[i * 64 + j] += A[t * 64 + j] * B[i * 64 + t];
    other[t * 64 + j] += C[i * 64 + 64 + j] * A[t];
  }
  look(C);
}
