// Sums that are added up in memory, where a function of each takes its place,
// as in a layer of neurons: whatever the function is, the products come first.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 48
#include "beside.h"
#include "forms.h"

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define CIJ C[i * N + j]
#define AB A[i * K + k] * B[k * N + j]
#define CPU __attribute__((annotate("nputeir:device=cpu")))

static int32_t bent(int32_t x) {
  return x / 2 + __builtin_popcount((unsigned)x);
}

INT_FORM(function_of_sum) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    CIJ = 0;
    L CIJ += AB;
    CIJ = bent(CIJ + A[i]);
  }
}
INT_FORM(onto_old_content) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    L CIJ += AB;
    CIJ = bent(CIJ);
  }
}
INT_FORM(some_elements) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    CIJ = B[j];
    L CIJ += AB;
    if (CIJ % 3 > A[i])
      CIJ = bent(CIJ);
  }
}
INT_FORM(rows_behind) { // each when its row is done
  I {                   // expected-remark {{replaced by a call: mk,kn->mn}}
    J CIJ = 0;
    L J CIJ += AB;
    J CIJ = bent(CIJ - 1);
  }
}
INT_FORM(several_steps) {
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    CIJ = 0;
    L CIJ += AB;
    CIJ = bent(CIJ);
    for (int t = 0; t < 3; t++)
      CIJ ^= CIJ % (7 + t);
    other[i * N + j] = CIJ;
  }
  look(C);
}
INT_FORM(row_is_scaled) { // by its own elements, as in a softmax
  I {                     // expected-remark {{replaced by a call: mk,kn->mn}}
    int32_t most = 1;
    J {
      CIJ = 0;
      L CIJ += AB;
      if (CIJ > most)
        most = CIJ;
    }
    J CIJ = CIJ * 64 / most;
  }
}
INT_FORM(zero_after) {
  I { // expected-remark {{replaced by a call: mk,kn->mn}}
    J L CIJ += AB;
    J CIJ = 0;
  }
}
INT_FORM(function_is_in_a_table) {
  static const int32_t of[8] = {3, -1, 4, 1, -5, 9, 2, 6};
  I J { // expected-remark {{replaced by a call: mk,kn->mn}}
    CIJ = 0;
    L CIJ += AB;
    CIJ = of[CIJ & 7];
  }
}
CPU INT_FORM(neurons) {
  I { // expected-remark {{code for the processor: k,nk->n}}
    side[i] = 0;
    J side[i] += A[i * N + j] * B[j];
    side[i] = bent(side[i] + A[i]);
  }
  look(C);
}
CPU INT_FORM(neurons_by_pointer) {
  I { // expected-remark {{code for the processor: k,nk->n}}
    C[i] = 0;
    J C[i] += A[i * N + j] * B[j];
    C[i] = bent(C[i] + A[i]);
  }
}
CPU INT_FORM(neurons_by_column) {
  J { // expected-remark {{code for the processor: k,kn->n}}
    I side[j] += A[i * N + j] * B[i];
    side[j] = bent(side[j]);
  }
  look(C);
}

// Near misses.
INT_FORM(next_is_read) {
  I J { // expected-remark {{kept}}
    L CIJ += AB;
    CIJ = bent(C[i * N + j + 1]);
  }
}
INT_FORM(next_is_bent) {
  I J { // expected-remark {{kept}}
    L CIJ += AB;
    C[i * N + j + 1] = bent(C[i * N + j + 1]);
  }
}
INT_FORM(bent_in_front) {
  I J { // expected-remark {{kept}}
    CIJ = bent(CIJ);
    if (i > 0)
      C[i * N + j - N] = bent(CIJ);
    L CIJ += AB;
  }
}
INT_FORM(bent_in_each_step) {
  I J { // expected-remark {{kept}}
    L {
      CIJ += AB;
      CIJ = bent(CIJ);
    }
  }
}
CPU INT_FORM(fed_back) { // a factor of the next sum
  I {                    // expected-remark {{kept}}
    J side[i] += A[i * N + j] * side[j];
    side[i] = bent(side[i]);
  }
  look(C);
}
CPU INT_FORM(factor_is_bent) {
  I { // expected-remark {{kept}}
    J side[i] += A[i * N + j] * bytes[j];
    side[i] = bent(side[i]);
    bytes[i] = (int8_t)(side[i] & 15);
  }
  look(C);
}
