// Nests that go backwards through one of their tensors and forwards through
// another: they read a reversed copy.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 29
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

INT_FORM(second_factor) {
  I J L // expected-remark {{mk,kn->mn}}
    C[i * N + j] += A[i * K + k] * B[(K - 1 - k) * N + j];
}
INT_FORM(first_factor) {
  I J { // expected-remark {{mk,kn->mn}}
    int s = 1;
    L s += A[i * K + K - 1 - k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
INT_FORM(result) { // is written backwards
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += A[i * K + k] * B[k * N + j];
    C[i * N + N - 1 - j] = s;
  }
}
INT_FORM(both_factors) { // each along a loop of its own
  I J { // expected-remark {{mk,kn->mn}}
    int s = 0;
    L s += A[(M - 1 - i) * K + k] * B[(K - 1 - k) * N + j];
    C[(M - 1 - i) * N + j] = s;
  }
}
INT_FORM(by_pointers) {
  I J { // expected-remark {{mk,kn->mn}}
    const int8_t *a = A + i * K, *b = B + K * N + j;
    int s = 0;
    L s += *a++ * *(b -= N);
    C[i * N + j] = s;
  }
}
INT_FORM(flipped_kernel) {
  I J { // expected-remark {{mklu,kplnu->mpn}}
    for (int y = 0; y < 3; y++) {
      int s = 0;
      L for (int p = 0; p < 3; p++) for (int q = 0; q < 2; q++)
        s += A[(k * 7 + y + p) * 8 + i + q] * B[((j * K + k) * 3 + 2 - p) * 2 + 1 - q];
      C[(j * 3 + y) * M + i] = s;
    }
  }
}
INT_FORM(gradient) { // of a convolution's input, within its margins
  I J { // expected-remark {{->}}
    int s = 0;
    for (int p = 0; p < 3; p++)
      L {
        int at = i + 1 - p;
        if (at >= 0 && at < M)
          s += A[at * K + k] * B[(p * N + j) * K + k];
      }
    C[i * N + j] = s;
  }
}
INT_FORM(causal) {
  I J { // expected-remark {{->}}
    int s = 0;
    for (int p = 0; p < 3; p++) {
      if (i - 2 * p < 0)
        continue;
      L s += A[(i - 2 * p) * K + k] * B[(p * N + j) * K + k];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(longer_than_image) { // some of the kernel is never read
  I J { // expected-remark {{->}}
    int s = 0;
    for (int p = 0; p < 9; p++) {
      int at = i - p;
      if (at >= 0)
        L s += A[at * K + k] * B[(p * N + j) * K + k];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(short_image) { // others than the middle or the last row read the kernel
  I J { // expected-remark {{->}}
    int s = 0;
    for (int p = 0; p < 9; p++) {
      int at = i - p;
      if (at >= 0 && at < 4)
        L s += A[at * K + k] * B[(p * N + j) * K + k];
    }
    C[i * N + j] = s;
  }
}
INT_FORM(where_told) { // by an element
  I J L // expected-remark {{mk,kn->mn}}
    if (A[k] > 0)
      C[i * N + j] += A[i * K + k] * B[(K - 1 - k) * N + j];
}

// A near miss: the copy would be of what the nest writes.
INT_FORM(of_result) {
  I J L // expected-remark {{OppositeDirections}}
    C[i * N + j] += A[i * K + k] * (int8_t)C[(N - 1 - j) + 64 * (K - 1 - k)];
}
