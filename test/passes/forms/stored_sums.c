// Sums that lie in memory, as those of the whole file do.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 15
#include "forms.h"

static float own, open;
static int row, depth;

// What they hold behind the nest belongs to what the form leaves.
#define LEAVES(C, s)                                                           \
  __asm__ volatile("" ::: "memory");                                           \
  C[64 * 64 - 1] += (float)(s);                                                \
  s = 0

#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB (float)A[i * K + k] * (float)B[k * N + j]

BF16_FORM(of_the_file) {
  I J { // expected-remark {{mk,kn->mn}}
    own = 0;
    L own += AB;
    C[i * N + j] = own;
  }
  LEAVES(C, own);
}
BF16_FORM(with_a_tail) {
  I J { // expected-remark {{mk,kn->mn}}
    own = 1;
    L own += AB;
    C[i * N + j] = own > 0 ? own : 0;
  }
  LEAVES(C, own);
}
BF16_FORM(counters_too) {
  I for (row = 0; row < N; row++) { // expected-remark {{mk,kn->mn}}
    own = 0;
    for (depth = 0; depth < K; depth++)
      own += (float)A[i * K + depth] * (float)B[depth * N + row];
    C[i * N + row] = own;
  }
  LEAVES(C, own);
}

// Near misses.
BF16_FORM(of_all_rows) { // it goes on from element to element
  own = 0;
  I J { // expected-remark {{kept}}
    L own += AB;
    C[i * N + j] = own;
  }
  LEAVES(C, own);
}
BF16_FORM(behind_a_pointer) { // which may point to what is multiplied
  float *s = C + 64 * 64 - 2;
  const float *x = C + 2048;
  __asm__("" : "+r"(s));
  I J { // expected-remark {{kept}}
    *s = 0;
    L *s += x[i * K + k] * (float)B[k * N + j];
    C[i * N + j] = *s;
  }
}
static void look(float *p) { __asm__ volatile("" : : "r"(p) : "memory"); }
BF16_FORM(seen_by_others) {
  look(&open);
  I J { // expected-remark {{kept}}
    open = 0;
    L {
      open += AB;
      look(C);
    }
    C[i * N + j] = open;
  }
  LEAVES(C, open);
}
BF16_FORM(is_volatile) {
  static volatile float s;
  I J { // expected-remark {{kept}}
    s = 0;
    L s += AB;
    C[i * N + j] = s;
  }
}
