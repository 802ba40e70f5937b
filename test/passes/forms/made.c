// Factors that are made of elements, in front of the nest, where a loop around
// the product does not move them.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 68
#include "forms.h"
#include <math.h>
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define X (float)A[i * K + k]
#define Y (float)B[k * N + j]
#define FORM(name) __attribute__((annotate("nputeir:f32=bf16x3"))) BF16_FORM(name)

FORM(positive) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += (X > 0 ? X : 0) * Y;
    C[i * N + j] = s;
  }
}
FORM(absolute) {
  I J L C[i * N + j] += fabsf(X) * Y; // expected-remark {{mk,kn->mn}}
}
FORM(largest) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 1;
    L s += fmaxf(fminf(X, 3), (float)A[k]) * Y;
    C[i * N + j] = s;
  }
}
FORM(less_mean) {
  I J L C[i * N + j] += (X - (float)A[k]) * (float)B[j * K + k]; // expected-remark {{mk,nk->mn}}
}
FORM(slope) { // of an activation
  I J L C[i * N + j] -= X * (1 - X) * Y; // expected-remark {{mk,kn->mn}}
}
FORM(slope_behind) { // of three factors in any order
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += Y * X * (1 - X);
    C[i * N + j] = s;
  }
}
FORM(step) { // which the compiler takes for a choice between the product and 0
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += X * Y * ((float)A[k * M + i] > 0);
    C[i * N + j] = s;
  }
}
FORM(chosen_product) {
  I J L C[i * N + j] -= (float)B[j * K + k] < 0 ? 0 : X * Y; // expected-remark {{mk,nk->mn}}
}
FORM(both) {
  I J L C[i * N + j] += fabsf(X) * (Y > 2 ? 2 : Y); // expected-remark {{mk,kn->mn}}
}
FORM(around) { // of a loop
  I L { // expected-remark {{mk,kn->mn}}
    float g = X > 0 ? X : -1;
    J C[i * N + j] += g * Y;
  }
}
FORM(downwards) {
  for (int i = M - 1; i >= 0; i--) // expected-remark {{->mn}}
    J for (int k = K; k-- > 0;)
      C[i * N + j] += fabsf(X) * Y;
}
FORM(tests_behind) {
  if (M < 1 || N < 1 || K < 1)
    return;
  int i = 0;
  do { // expected-remark {{mk,kn->mn}}
    int j = 0;
    do {
      int k = 0;
      float s = 0;
      do
        s += fabsf(X) * Y;
      while (++k < K);
      C[i * N + j] = s;
    } while (++j < N);
  } while (++i < M);
}
FORM(walks) { // from element to element
  const __bf16 *a = A;
  I { // expected-remark {{mk,kn->mn}}
    J {
      const __bf16 *b = B + j, *at = a;
      float s = 0;
      for (int k = K; k > 0; k--, b += N)
        s += fabsf((float)*at++) * (float)*b;
      C[i * N + j] = s;
    }
    a += K;
  }
}
FORM(with_bias) { // which may be computed as often as it is
  I { // expected-remark {{mk,kn->mn}}
    J C[i * N + j] = fabsf((float)B[j]);
    L J C[i * N + j] += fabsf(X) * Y;
  }
}
FORM(within_margins) { // where there are elements
  I J { // expected-remark {{mkl,nkl->mn}}
    float s = 0;
    for (int p = 0; p < 3; p++)
      if (i + p >= 1 && i + p <= M)
        L s += fmaxf((float)A[(i + p - 1) * K + k], 0) * (float)B[(p * N + j) * K + k];
    C[i * N + j] = s;
  }
}

FORM(under_condition) { // on an element: zero elsewhere
  I J L // expected-remark {{mk,kn->mn}}
    if ((float)A[k * M + i] > 1)
      C[i * N + j] += fabsf(X) * Y;
}

// Near misses: factors of what the nest writes, of no loop less than the
// product, and from what an iteration before has left.
FORM(step_of_both) { // the other factor may be no number where there is none
  I J { // expected-remark {{kept}}
    float s = 0;
    L s += X * Y * ((float)A[k] > 0);
    C[i * N + j] = s;
  }
}
FORM(of_result) {
  I J L // expected-remark {{kept}}
    C[i * N + j] += fmaxf(fminf(C[i * K + k], 3), -3) * Y;
}
FORM(moved_by_all) {
  I J L // expected-remark {{kept}}
    C[i * N + j] += fabsf((float)A[(i * N + j) % 64 * K + k]) * (float)B[k];
}
FORM(chosen_by_all) {
  I J { // expected-remark {{kept}}
    float s = 0;
    L s += (float)A[(i * N + j) % 64 * K + k] < 0 ? 0 : X * Y;
    C[i * N + j] = s;
  }
}
FORM(carried) {
  I J { // expected-remark {{kept}}
    float s = 0, last = 0;
    L {
      last = fabsf(last - X);
      s += last * Y;
    }
    C[i * N + j] = s;
  }
}

// Rows that are found one by one, and need not lie evenly.
__attribute__((noinline, annotate("nputeir:f32=bf16x3"))) static void
made_of_rows(int M, int N, int K, float **C, const __bf16 **A, const __bf16 *B) {
  I J { // expected-remark {{mk,kn->mn}}
    float s = 0;
    L s += fabsf((float)A[i][k]) * Y;
    C[i][j] = s;
  }
}
static void of_rows(int M, int N, int K, int step, float *C, const __bf16 *A,
                    const __bf16 *B) {
  float *c[64];
  const __bf16 *a[64];
  for (int i = 0; i < 64; i++)
    c[i] = C + (i * step & 63) * 43, a[i] = A + (i * step & 63) * 37;
  made_of_rows(M, N, K, c, a, B);
}
FORM(rows_of_pointers) { of_rows(M, N, K, 1, C, A, B); }
FORM(rows_that_lie_anywhere) { of_rows(M, N, K, 37, C, A, B); }
FORM(rows_among_each_other) { // a near miss
  float *c[64];
  const __bf16 *a[64];
  for (int i = 0; i < 64; i++)
    c[i] = C + i * 43, a[i] = (const __bf16 *)(i & 1 ? C : C + 60 * 43);
  for (int i = 0; i < 64 * 43; i++)
    C[i] = (float)(i % 3);
  made_of_rows(M, N, K, c, a, B);
}
