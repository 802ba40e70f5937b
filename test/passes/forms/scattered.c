// Nests of which iterations of several loops add to the same elements, as of a
// transposed convolution and of the gradient of a convolution's input: loops of
// the kernel go outside, and each of their iterations is a product.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 170
#include "forms.h"

#define ROWS for (int i = 0; i < M; i++)
#define COLUMNS for (int j = 0; j < N; j++)
#define IN for (int c = 0; c < 4; c++)
#define OUT for (int o = 0; o < 3; o++)
#define KERNEL                                                                 \
  for (int y = 0; y < 3; y++)                                                  \
    for (int x = 0; x < 3; x++)

INT_FORM(transposed) {
  ROWS COLUMNS IN KERNEL OUT // expected-remark {{call: mxk,kn->mxn with m=}}
    C[((i + y) * (N + 2) + j + x) * 3 + o] +=
      A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
}
INT_FORM(channels_first) { // as PyTorch has them
  IN ROWS COLUMNS OUT KERNEL // expected-remark {{call: km,knp->nmp with k=4 }}
    C[(o * (M + 2) + i + y) * (N + 2) + j + x] +=
      A[(c * M + i) * N + j] * B[((c * 3 + o) * 3 + y) * 3 + x];
}
INT_FORM(steps) { // of a size that only the program knows
  int step = K & 3, rows = M > 4 ? 4 : M;
  for (int i = 0; i < rows; i++) // expected-remark {{call: mxk,kn->mxn with m=}}
    COLUMNS for (int c = 0; c < 16; c++) KERNEL OUT
      C[((i * step + y) * (N * step + 2) + j * step + x) * 3 + o] +=
        A[(i * N + j) * 16 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
}
INT_FORM(wide_steps) { // as one product, if the kernel's pixels are apart
  int step = K > 9 ? 9 : K, rows = M > 4 ? 4 : M, columns = N > 4 ? 4 : N;
  for (int i = 0; i < rows; i++) // expected-remark {{replaced by a call: }}
    for (int j = 0; j < columns; j++)
      for (int c = 0; c < 64; c++) KERNEL
        for (int o = 0; o < 4; o++)
          C[((i * step + y) * 30 + j * step + x) * 4 + o] +=
            A[(i * 4 + j) * 64 + c] * B[((c * 3 + y) * 3 + x) * 4 + o];
}
INT_FORM(along_a_line) {
  for (int i = 0; i < 30 * M; i++) // expected-remark {{call: mk,kn->mn with m=}}
    IN for (int x = 0; x < 5; x++) OUT
      C[(i + x) * 3 + o] += A[i * 4 + c] * B[(c * 5 + x) * 3 + o];
}
INT_FORM(sum_in_a_register) {
  ROWS COLUMNS KERNEL OUT { // expected-remark {{call: mxk,kn->mxn with m=}}
    int s = 0;
    IN s += A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
    C[((i + y) * (N + 2) + j + x) * 3 + o] += s;
  }
}
INT_FORM(by_pointers) {
  ROWS COLUMNS { // expected-remark {{replaced by a call: }}
    const int8_t *in = A + (i * N + j) * 4;
    for (int y = 0; y < 3; y++) {
      int32_t *out = C + ((i + y) * (N + 2) + j) * 3;
      for (int x = 0; x < 3; x++, out += 3)
        IN OUT out[o] += in[c] * B[((y * 3 + x) * 4 + c) * 3 + o];
    }
  }
}
INT_FORM(kernel_outside) { // it is there already
  KERNEL ROWS // expected-remark {{call: mxk,kn->mxn with m=}}
    COLUMNS IN OUT
      C[((i + y) * (N + 2) + j + x) * 3 + o] +=
        A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
}
static int32_t gradient[4 * 9 * 3], bias[4];
static void lookAtGradients(int32_t *C) {
  for (int i = 0; i < 4 * 9 * 3; i++)
    C[i] = C[i] * 31 + gradient[i];
  for (int i = 0; i < 4; i++)
    C[i] += bias[i];
  memset(gradient, 0, sizeof gradient);
  memset(bias, 0, sizeof bias);
}
INT_FORM(both_gradients) { // that of the kernel comes first
  ROWS COLUMNS IN { // expected-remark 2 {{replaced by a call: }}
    int e = A[(i * N + j) * 4 + c];
    KERNEL OUT {
      gradient[((c * 3 + y) * 3 + x) * 3 + o] +=
          e * B[((i + y) * (N + 2) + j + x) * 3 + o];
      C[((i + y) * (N + 2) + j + x) * 3 + o] +=
          e * B[((c * 3 + y) * 3 + x) * 3 + o];
    }
  }
  lookAtGradients(C);
}
INT_FORM(three_gradients) {
  ROWS COLUMNS IN { // expected-remark {{replaced by a call: }} expected-remark {{kept}}
    int e = A[(i * N + j) * 4 + c];
    bias[c] += e;
    KERNEL OUT {
      gradient[((c * 3 + y) * 3 + x) * 3 + o] +=
          e * B[((i + y) * (N + 2) + j + x) * 3 + o];
      C[((i + y) * (N + 2) + j + x) * 3 + o] +=
          e * B[((c * 3 + y) * 3 + x) * 3 + o];
    }
  }
  lookAtGradients(C);
}
INT_FORM(reads_what_it_scatters) { // a sum that is half made
  ROWS COLUMNS IN { // expected-remark {{kept}}
    int e = A[(i * N + j) * 4 + c];
    KERNEL OUT {
      gradient[((c * 3 + y) * 3 + x) * 3 + o] +=
          e * C[((i + y) * (N + 2) + j + x) * 3 + o];
      C[((i + y) * (N + 2) + j + x) * 3 + o] +=
          e * B[((c * 3 + y) * 3 + x) * 3 + o];
    }
  }
  lookAtGradients(C);
}
INT_FORM(images) {
  for (int b = 0; b < 2; b++) // expected-remark {{mxky,kn->mxyn with m=2 x=8 }}
    for (int i = 0; i < 8; i++)
      COLUMNS for (int c = 0; c < 8; c++) KERNEL OUT
        C[((b * 10 + i + y) * (N + 2) + j + x) * 3 + o] +=
          A[((b * 8 + c) * 8 + i) * N + j] * B[((c * 3 + y) * 3 + x) * 3 + o];
}
BF16_FORM(floats) {
  ROWS COLUMNS IN KERNEL OUT // expected-remark {{call: mxk,kn->mxn with m=}}
    C[((i + y) * (N + 2) + j + x) * 3 + o] +=
      (float)A[(i * N + j) * 4 + c] * (float)B[((c * 3 + y) * 3 + x) * 3 + o];
}

// Near misses.
BF16_FORM(ordered_floats) {
#pragma clang fp reassociate(off)
  ROWS COLUMNS IN KERNEL OUT // expected-remark {{kept}}
    C[((i + y) * (N + 2) + j + x) * 3 + o] +=
      (float)A[(i * N + j) * 4 + c] * (float)B[((c * 3 + y) * 3 + x) * 3 + o];
}
INT_FORM(assigned) { // the last product stays
  ROWS COLUMNS IN KERNEL OUT // expected-remark 0-1 {{kept}}
    C[((i + y) * (N + 2) + j + x) * 3 + o] =
      A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
}
INT_FORM(subtracted_from) {
  ROWS COLUMNS IN KERNEL OUT { // expected-remark {{kept}}
    int32_t *to = C + ((i + y) * (N + 2) + j + x) * 3 + o;
    *to = A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o] - *to;
  }
}
INT_FORM(doubled) {
  ROWS COLUMNS IN KERNEL OUT { // expected-remark {{kept}}
    int32_t *to = C + ((i + y) * (N + 2) + j + x) * 3 + o;
    *to += *to + A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
  }
}
INT_FORM(clipped) {
  ROWS COLUMNS IN KERNEL OUT { // expected-remark {{kept}}
    int32_t *to = C + ((i + y) * (N + 2) + j + x) * 3 + o;
    if (*to < 900)
      *to += A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
  }
}
INT_FORM(neighbour) { // another element is read
  ROWS COLUMNS IN KERNEL OUT { // expected-remark {{kept}}
    int32_t *to = C + ((i + y) * (N + 2) + j + x) * 3 + o;
    to[0] = to[3] + A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o];
  }
}
INT_FORM(counted) { // how many products there were before
  int n = 0;
  ROWS COLUMNS IN KERNEL OUT // expected-remark {{kept}}
    C[((i + y) * (N + 2) + j + x) * 3 + o] +=
      A[(i * N + j) * 4 + c] * B[((c * 3 + y) * 3 + x) * 3 + o] * (n++ & 3);
}
INT_FORM(no_sum) { // a round would be an outer product
  ROWS COLUMNS KERNEL OUT // expected-remark {{kept}}
    C[((i + y) * (N + 2) + j + x) * 3 + o] +=
      A[i * N + j] * B[(y * 3 + x) * 3 + o];
}
INT_FORM(filter) { // a round would be a vector
  for (int i = 0; i < M * N; i++) // expected-remark {{kept}}
    IN for (int x = 0; x < K; x++)
      C[i + x] += A[i * 4 + c] * B[x * 4 + c];
}
