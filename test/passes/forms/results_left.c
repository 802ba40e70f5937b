// Loops over results that were unrolled by hand, and loops over the results that
// are left, whose number only the program knows: both are one axis.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 75
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define L for (int k = 0; k < K; k++)
#define FOURS for (; j + 3 < N; j += 4)
#define REST for (; j < N; j++)
#define AB(i, j) A[(i) * K + k] * B[k * N + (j)]
#define PLACE(i, j) C[(i) * N + (j)]
#define ADD(i, j) PLACE(i, j) += AB(i, j);
#define ADD4 ADD(i, j) ADD(i, j + 1) ADD(i, j + 2) ADD(i, j + 3)
typedef int8_t b4 __attribute__((vector_size(4), aligned(1), may_alias));
typedef int32_t i4 __attribute__((vector_size(16), aligned(4), may_alias));
#define FOUR(p) __builtin_convertvector(*(const b4 *)(p), i4)

// ---- onto the result ----

INT_FORM(in_memory) {
  I L { // expected-remark {{mk,kn->mn with m=n_i k=n_j n=n_l}}
    int j = 0;
    FOURS { ADD4 }
    REST ADD(i, j)
  }
}
INT_FORM(sums_outermost) {
  L I { // expected-remark {{mk,kn->mn}}
    int j = 0;
    FOURS { ADD(i, j + 3) ADD(i, j + 1) ADD(i, j) ADD(i, j + 2) }
    REST C[i * N + j] = B[k * N + j] * A[i * K + k] + C[i * N + j];
  }
}
INT_FORM(eight_four_one) {
  I L { // expected-remark {{mk,kn->mn}}
    int j = 0;
    for (; j + 7 < N; j += 8) {
      ADD4
      ADD(i, j + 4) ADD(i, j + 5) ADD(i, j + 6) ADD(i, j + 7)
    }
    FOURS { ADD4 }
    REST ADD(i, j)
  }
}
INT_FORM(vectors) {
  I L { // expected-remark {{mk,kn->mn}}
    int j = 0;
    FOURS *(i4 *)(C + i * N + j) += A[i * K + k] * FOUR(B + k * N + j);
    REST ADD(i, j)
  }
}
static inline void axpy(int n, int a, const int8_t *x, int32_t *y) {
  int i, n4 = n >> 2 << 2;
  for (i = 0; i < n4; i += 4) {
    y[i] += a * x[i];
    y[i + 1] += a * x[i + 1];
    y[i + 2] += a * x[i + 2];
    y[i + 3] += a * x[i + 3];
  }
  for (; i < n; i++)
    y[i] += a * x[i];
}
INT_FORM(in_a_function) {
  I L axpy(N, A[i * K + k], B + k * N, C + i * N); // expected-remark 1-2 {{replaced by a call}}
}
INT_FORM(rows_of_the_result) {
  int i = 0;
  for (; i + 1 < M; i += 2) // expected-remark {{nest}}
    L for (int j = 0; j < N; j++) { ADD(i, j) ADD(i + 1, j) }
  for (; i < M; i++) // expected-remark {{replaced by a call}}
    L for (int j = 0; j < N; j++) ADD(i, j)
}
INT_FORM(rows_in_a_loop) {
  L { // expected-remark {{replaced by a call}}
    int i = 0;
    for (; i + 1 < M; i += 2)
      for (int j = 0; j < N; j++) { ADD(i, j) ADD(i + 1, j) }
    for (; i < M; i++)
      for (int j = 0; j < N; j++) ADD(i, j)
  }
}
INT_FORM(blocks) {
  L { // expected-remark {{replaced by a call}}
    int i = 0;
    for (; i + 1 < M; i += 2) {
      int j = 0;
      for (; j + 1 < N; j += 2) {
        ADD(i, j) ADD(i, j + 1)
        ADD(i + 1, j) ADD(i + 1, j + 1)
      }
      REST { ADD(i, j) ADD(i + 1, j) }
    }
    for (; i < M; i++) {
      int j = 0;
      for (; j + 1 < N; j += 2) { ADD(i, j) ADD(i, j + 1) }
      REST ADD(i, j)
    }
  }
}
BF16_FORM(floats) {
  I L { // expected-remark {{mk,kn->mn}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j];
      C[i * N + j + 1] += (float)A[i * K + k] * (float)B[k * N + j + 1];
    }
    REST C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j];
  }
}

// ---- sums ----

INT_FORM(sums) {
  I { // expected-remark {{mk,kn->mn}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      int s = 0, t = 0;
      L {
        s += AB(i, j);
        t += AB(i, j + 1);
      }
      C[i * N + j] = s > 0 ? s : 0;
      C[i * N + j + 1] = t > 0 ? t : 0;
    }
    REST {
      int s = 0;
      L s += AB(i, j);
      C[i * N + j] = s > 0 ? s : 0;
    }
  }
}
INT_FORM(sums_with_loops_of_their_own) {
  I { // expected-remark {{mk,kn->mn}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      int s = C[i * N + j], t = C[i * N + j + 1];
      L s += AB(i, j);
      L t += AB(i, j + 1);
      C[i * N + j] = s;
      C[i * N + j + 1] = t;
    }
    REST {
      int s = C[i * N + j];
      L s += AB(i, j);
      C[i * N + j] = s;
    }
  }
}

// ---- near misses ----

INT_FORM(starts_one_later) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 }
    for (j++; j < N; j++) ADD(i, j)
  }
}
INT_FORM(starts_anew) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 }
    for (j = 0; j < N; j++) ADD(i, j)
  }
}
INT_FORM(a_column_less) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD(i, j) ADD(i, j + 1) ADD(i, j + 2) }
    REST ADD(i, j)
  }
}
INT_FORM(a_column_twice) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD(i, j) ADD(i, j + 1) ADD(i, j + 2) ADD(i, j + 2) }
    REST ADD(i, j)
  }
}
INT_FORM(a_column_more) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 ADD(i, j + 3) }
    REST ADD(i, j)
  }
}
INT_FORM(subtracted) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 }
    REST C[i * N + j] -= AB(i, j);
  }
}
INT_FORM(of_another_row) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 }
    REST C[i * N + j] += AB(i + 1, j);
  }
}
INT_FORM(of_another_array) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 }
    REST C[i * N + j] += A[i * K + k] * A[k * N + j];
  }
}
INT_FORM(columns_change_places) {
  I L { // expected-remark 3 {{mk,kn->mn}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      PLACE(i, j) += AB(i, j + 1);
      PLACE(i, j + 1) += AB(i, j);
    }
    REST ADD(i, j)
  }
}
INT_FORM(reads_its_neighbour) {
  I L { // expected-remark {{kept}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      PLACE(i, j) = PLACE(i, j + 1) + AB(i, j);
      PLACE(i, j + 1) = PLACE(i, j + 2) + AB(i, j + 1);
    }
    REST PLACE(i, j) = PLACE(i, j + 1) + AB(i, j);
  }
}
INT_FORM(one_row_for_all) {
  I L { // expected-remark {{kept}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      C[j] += AB(i, j);
      C[j + 1] += AB(i, j + 1);
      C[0] = k;
    }
    REST C[j] += AB(i, j);
  }
}
INT_FORM(something_between) {
  I L { // expected-remark {{kept}}
    int j = 0;
    FOURS { ADD4 }
    C[i * N] = k;
    REST ADD(i, j)
  }
}
INT_FORM(sums_of_less) {
  I { // expected-remark 1-2 {{nest}}
    int j = 0;
    for (; j + 1 < N; j += 2) {
      int s = 0, t = 0;
      L {
        s += AB(i, j);
        t += AB(i, j + 1);
      }
      C[i * N + j] = s;
      C[i * N + j + 1] = t;
    }
    REST {
      int s = 0;
      for (int k = 0; k < K - 1; k++) s += AB(i, j);
      C[i * N + j] = s;
    }
  }
}
INT_FORM(a_sum_goes_on) {
  I { // expected-remark 1-2 {{nest}}
    int j = 0, s = 0;
    for (; j + 1 < N; j += 2) { // expected-remark {{kept}}
      int t = 0;
      L {
        s += AB(i, j);
        t += AB(i, j + 1);
      }
      C[i * N + j] = s;
      C[i * N + j + 1] = t;
    }
    REST { // expected-remark {{kept}}
      L s += AB(i, j);
      C[i * N + j] = s;
    }
  }
}
