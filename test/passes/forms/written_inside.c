// Results that are written only where a condition on the counters holds, which
// it does in the middle of the loops that sum, for each of them.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 28
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define T for (int t = 0; t < 3; t++)
#define FUNCTION(name)                                                         \
  __attribute__((noinline)) static void name(                                  \
      int M, int N, int K, int32_t *C, const int8_t *A, const int8_t *B,       \
      int margin)

FUNCTION(add) {
  I J { // expected-remark {{mlk,nkl->mn}}
    L T {
      int at = i + t - margin;
      if (at >= 0 && at < M)
        C[i * N + j] += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
  }
}
INT_FORM(adds) { add(M, N, K, C, A, B, 1); }
INT_FORM(adds_behind) { add(M, N, K, C, A, B, 0); } // not to the last row
// Not to the first row in the middle, but in the last iteration.
INT_FORM(adds_with_all_margins) { add(M, N, K, C, A, B, 2); }
// What is never written may lie where nothing can be.
INT_FORM(adds_nothing) {
  static const int32_t fixed[64 * 64] = {1};
  add(M, N, K, (int32_t *)fixed, A, B, -64);
}
INT_FORM(adds_by_rows) {
  if (M * N * K > 64 * 64)
    K = 1;
  T J { // expected-remark {{mkl,kln->mn}}
    I {
      int at = i + t - 1;
      if (at < 0 || at >= M)
        continue;
      L C[t * N + j] += A[at * K + k] * B[(i * K + k) * N + j];
    }
  }
}
INT_FORM(begins_late) {
  I J L // expected-remark {{mk,kn->mn}}
    if (k > 1)
      C[i * N + j] += A[i * K + k] * B[k * N + j];
}
FUNCTION(gradient) { // of an image of M x N by two filters of 3 x 3
  for (int o = 0; o < 2; o++) // expected-remark {{->}}
    I J
      for (int c = 0; c < 2; c++)
        for (int v = 0; v < 3; v++)
          for (int u = 0; u < 3; u++) {
            int y = i + v - margin, x = j + u - margin;
            if (y >= 0 && y < M && x >= 0 && x < N)
              C[((o * 2 + c) * 3 + v) * 3 + u] +=
                  A[(c * M + y) * N + x] * B[(o * M + i) * N + j];
          }
}
INT_FORM(gradients) { gradient(M, N, K, C, A, B, 1); }
INT_FORM(gradients_of_more) { gradient(M, N, K, C, A, B, 3); }
FUNCTION(gradient_without) { // what lies outside of the image
  for (int o = 0; o < 2; o++) // expected-remark {{->}}
    I J
      for (int c = 0; c < 2; c++)
        for (int v = 0; v < 3; v++)
          for (int u = 0; u < 3; u++) {
            int y = i + v - margin, x = j + u - margin;
            if (y < 0 || y >= M || x < 0 || x >= N)
              continue;
            C[((o * 2 + c) * 3 + v) * 3 + u] +=
                A[(c * M + y) * N + x] * B[(o * M + i) * N + j];
          }
}
INT_FORM(gradients_without) { gradient_without(M, N, K, C, A, B, 1); }
INT_FORM(gradients_without_more) { gradient_without(M, N, K, C, A, B, 3); }

// Near misses: some places are not written, or by more than one loop.
INT_FORM(triangle) {
  I J // expected-remark {{kept}}
    L if (j <= i)
      C[i * N + j] += A[i * K + k] * B[j * K + k];
}
INT_FORM(assigns) { // which is no sum
  I J {
    L T {
      int at = i + t - 1;
      if (at >= 0 && at < M)
        C[i * N + j] = A[at * K + k] * B[(j * K + k) * 3 + t];
    }
  }
}
INT_FORM(scatters) {
  I J { // expected-remark {{kept}}
    L T {
      int at = i + t - 1;
      if (at >= 0 && at < M)
        C[at * N + j] += A[i * K + k] * B[(j * K + k) * 3 + t];
    }
  }
}
INT_FORM(on_data) {
  I J { // expected-remark {{kept}}
    L T {
      int at = i + t - 1;
      if (at >= 0 && at < M && A[at] > 3)
        C[i * N + j] += A[at * K + k] * B[(j * K + k) * 3 + t];
    }
  }
}
INT_FORM(of_two_stores_one) { // each is written by one of them
  I J L { // expected-remark {{kept}}
    if (k > 1)
      C[i * N + j] += A[i * K + k] * B[k * N + j];
    else
      C[i * N + j] = 3;
  }
}
INT_FORM(one_of_two_sides) {
  I J { // expected-remark {{kept}}
    L T {
      int at = i + t - 1;
      if (at < 0 || at >= M)
        C[i * N + j] += A[k] * B[(j * K + k) * 3 + t];
    }
  }
}
