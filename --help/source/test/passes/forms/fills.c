// memset and memcpy inside the nest, as the loops that they stand for.
// RUN: env NPUTEIR_OPTIONS=cpu=off,min-macs=0 %verify -O1 %s
// RUN: env NPUTEIR_OPTIONS=cpu=off,min-macs=0 %verify -O2 %s
// RUN: env NPUTEIR_OPTIONS=cpu=off,min-macs=0 %verify -O3 %s
// DONE: 57
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define AB A[i * K + k] * B[k * N + j]

INT_FORM(row) {
  if (N < 0)
    return;
  I { // expected-remark {{mk,kn->mn}}
    memset(C + i * N, 0, N * sizeof *C);
    L J C[i * N + j] += AB;
  }
}
INT_FORM(fixed_row) {
  for (int i = 0; i < 16; i++) { // expected-remark {{m=16 k=12 n=20}}
    memset(C + i * 20, 0, 20 * sizeof *C);
    for (int k = 0; k < 12; k++)
      for (int j = 0; j < 20; j++)
        C[i * 20 + j] += A[i * 12 + k] * B[k * 20 + j];
  }
}
INT_FORM(matrix_of_a_batch) {
  if (M < 0 || N < 0)
    return;
  for (int b = 0; b < 2; b++) { // expected-remark {{cmk,ckn->cmn}}
    int32_t *c = C + b * M * N;
    memset(c, 0, sizeof *C * M * N);
    I L J c[i * N + j] += A[b * M * K + i * K + k] * B[b * K * N + k * N + j];
  }
}
INT_FORM(before_the_nest) {
  if (M < 1 || N < 1)
    return;
  memset(C, 0, sizeof *C * M * N);
  I L J C[i * N + j] += AB; // expected-remark {{mk,kn->mn}}
}
BF16_FORM(row_of_floats) {
  if (N < 0)
    return;
  I { // expected-remark {{mk,kn->mn}}
    memset(C + i * N, 0, N * sizeof *C);
    L J C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j];
  }
}
INT_FORM(too_short) { // near misses
  I { // expected-remark {{kept}}
    memset(C + i * 64, 0, 4 * sizeof *C);
    L for (int j = 0; j < 5; j++) C[i * 64 + j] += A[i * K + k] * B[k * 5 + j];
  }
}
INT_FORM(one_too_many) { // the guard fails
  I { // expected-remark {{mk,kn->mn}}
    memset(C + i * N, 0, (N > 0 ? N + 1 : 0) * sizeof *C);
    L J C[i * N + j] += AB;
  }
}
INT_FORM(other_bytes) {
  I { // expected-remark {{SideEffect}}
    memset(C + i * N, 1, (N > 0 ? N : 0) * sizeof *C);
    L J C[i * N + j] += AB;
  }
}
INT_FORM(other_place) {
  I { // expected-remark {{kept}}
    memset(C + i * N + 1, 0, (N > 0 ? N : 0) * sizeof *C);
    L J C[i * N + j] += AB;
  }
}
INT_FORM(only_sometimes) {
  I { // expected-remark {{kept}}
    if (A[i] > 0)
      memset(C + i * N, 0, (N > 0 ? N : 0) * sizeof *C);
    L J C[i * N + j] += AB;
  }
}
INT_FORM(in_every_step) {
  I // expected-remark {{kept}}
    L {
      memset(C + i * N, 0, (N > 0 ? N : 0) * sizeof *C);
      J C[i * N + j] += AB;
    }
}
INT_FORM(afterwards) {
  I { // expected-remark {{kept}}
    L J C[i * N + j] += AB;
    memset(C + i * N, 0, (N > 0 ? N : 0) * sizeof *C);
  }
}
INT_FORM(padding) { // rows are longer than what is summed
  for (int b = 0; b < 2; b++) {
    memset(C + b * 2000, 0, sizeof *C * 30 * 33);
    for (int i = 0; i < 30; i++) // expected-remark {{mk,kn->mn}}
      L for (int j = 0; j < 20; j++)
        C[b * 2000 + i * 33 + j] += A[i * 32 + k] * B[k + j];
  }
}
