// The first or the last iteration of a sum's loop does something else: it sets
// the place, or stores it.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 123
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]
#define SUM C[i * N + j]

INT_FORM(zero) {
  I J L { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(zero_outside) {
  L I J { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(bias) {
  I J L { // expected-remark {{mk,kn->mn}}
    if (!k)
      SUM = B[j];
    SUM += AB;
  }
}
INT_FORM(bias_that_moves) {
  I J L { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = B[k * 3 + j];
    SUM += AB;
  }
}
INT_FORM(scale) {
  I J L { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = 3 * SUM + B[j];
    SUM -= AB;
  }
}
INT_FORM(chooses) {
  I J L SUM = (k == 0 ? 0 : SUM) + AB; // expected-remark {{mk,kn->mn}}
}
INT_FORM(sets_or_adds) {
  I L J { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = AB;
    else
      SUM += AB;
  }
}
INT_FORM(adds_or_sets) {
  I J L { // expected-remark {{mk,kn->mn}}
    if (k)
      SUM += AB;
    else
      SUM = AB;
  }
}
INT_FORM(loops_under_it) {
  L { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      I J SUM = B[j];
    I J SUM += AB;
  }
}
INT_FORM(from_one) {
  I J for (int k = 1; k <= K; k++) { // expected-remark {{mk,kn->mn}}
    if (k == 1)
      SUM = 7;
    SUM += A[i * K + k - 1] * B[(k - 1) * N + j];
  }
}
INT_FORM(in_scalar) {
  I J { // expected-remark {{mk,kn->mn}}
    int s;
    L {
      if (k == 0)
        s = B[j];
      s += AB;
      if (k == K - 1)
        SUM = s > 0 ? s : 0;
    }
  }
}
INT_FORM(tiles) {
  for (int p = 0; p < K; p += 4)
    I J { // expected-remark@-1 {{mk,kn->mn}}
      int s = p == 0 ? B[j] : SUM;
      for (int k = p; k < p + 4 && k < K; k++)
        s += AB;
      SUM = s;
    }
}
INT_FORM(tiles_to_the_last) {
  for (int p = 0; p < 16; p += 4) // expected-remark {{mkl,kln->mn}}
    I J {
      int s = p == 0 ? 0 : C[i * 64 + j];
      for (int k = p; k < p + 4; k++)
        s += A[i * 64 + k] * B[k * 64 + j];
      if (p == 12)
        s = s > 0 ? s : 0;
      C[i * 64 + j] = s;
    }
}
INT_FORM(stores_last) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L {
      s += AB;
      if (k == K - 1)
        SUM = s;
    }
  }
}
INT_FORM(adds_last) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L {
      s += AB;
      if (k + 1 >= K)
        SUM += s;
    }
  }
}
INT_FORM(clamps_last) {
  L I J { // expected-remark {{mk,kn->mn}}
    SUM += AB;
    if (k == K - 1 && SUM < 0)
      SUM = 0;
  }
}
INT_FORM(both_in_memory) {
  L I J { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = 0;
    SUM += AB;
    if (k == K - 1)
      SUM += A[i];
  }
}
INT_FORM(sizes_of_64_bits) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    for (long k = 0; k < K; k++) {
      s += AB;
      if (k == K - 1)
        SUM = s;
    }
  }
}
INT_FORM(downwards) {
  I J // expected-remark {{mk,kn->mn}}
    for (int k = K - 1; k >= 0; k--) {
      if (k == K - 1)
        SUM = 0;
      SUM += AB;
    }
}
BF16_FORM(floats) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L {
      if (k == 0)
        s = (float)B[j];
      s += (float)A[i * K + k] * (float)B[k * N + j];
      if (k == K - 1)
        SUM = s > 0 ? s : 0;
    }
  }
}
BF16_FORM(float_zero) {
  I L J { // expected-remark {{mk,kn->mn}}
    if (k == 0)
      SUM = 0;
    SUM += (float)A[i * K + k] * (float)B[k * N + j];
  }
}

// ---- near misses ----

INT_FORM(second) {
  I J L { // expected-remark {{GuardedBody}}
    if (k == 1)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(diagonal) {
  I J L { // expected-remark {{GuardedBody}}
    if (k == j)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(two_iterations) {
  I J L { // expected-remark {{GuardedBody}}
    if (k < 2)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(row_too) {
  I J L { // expected-remark {{GuardedBody}}
    if (k == 0 && i > 2)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(other_product) {
  I J L { // expected-remark {{GuardedBody}}
    if (k == 0)
      SUM = A[i] * B[j];
    else
      SUM += AB;
  }
}
INT_FORM(other_sign) {
  I J L { // expected-remark {{GuardedBody}}
    if (k == 0)
      SUM = -AB;
    else
      SUM += AB;
  }
}
INT_FORM(other_place) {
  I J L { // expected-remark {{kept}}
    if (k == 0)
      SUM = C[i * N + j + 1];
    SUM += AB;
  }
}
INT_FORM(on_data) {
  I J L { // expected-remark {{kept}}
    if (A[k] == 0)
      SUM = 0;
    SUM += AB;
  }
}
INT_FORM(every_but_the_last) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L {
      s += AB;
      if (k != K - 1)
        SUM = s;
    }
  }
}
INT_FORM(last_but_one) { // what is written is not the whole sum
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L {
      s += AB;
      if (k == K - 2)
        SUM = s;
    }
  }
}
INT_FORM(other_size) { // nothing is written if K is less than M
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L {
      s += AB;
      if (k == M - 1)
        SUM = s;
    }
  }
}
INT_FORM(size_that_changes) {
  int n = K;
  I { // expected-remark {{GuardedBody}}
    J {
      int s = 0;
      L {
        s += AB;
        if (k == n - 1)
          SUM = s;
      }
    }
    n ^= 1;
  }
}
INT_FORM(size_in_the_result) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L {
      s += AB;
      if (k == C[0])
        SUM = s;
    }
  }
}
INT_FORM(before_the_last) { // the last product is not in it
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L {
      if (k == K - 1)
        SUM = s;
      s += AB;
    }
  }
}
INT_FORM(last_element) {
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    L {
      s += AB;
      if (k == K - 1)
        SUM = s + B[k];
    }
  }
}
INT_FORM(first_and_last) { // downwards, zero is the last one
  I J // expected-remark {{GuardedBody}}
    for (int k = K - 1; k >= 0; k--) {
      if (k == 0)
        SUM = 0;
      SUM += AB;
    }
}
INT_FORM(last_and_first) { // .. and the first one has only one product
  I J { // expected-remark {{GuardedBody}}
    int s = 0;
    for (int k = K - 1; k >= 0; k--) {
      s += AB;
      if (k == K - 1)
        SUM = s;
    }
  }
}
