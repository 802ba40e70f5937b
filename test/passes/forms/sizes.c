// Sizes and addresses that stand in memory, and pointers that are stepped.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 85
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

struct matrix {
  int rows, columns;
  float *data;
};
struct matrix16 {
  int rows, columns;
  const __bf16 *data;
};
__attribute__((noinline)) static void struct_product(struct matrix *c, const struct matrix16 *a,
                           const struct matrix16 *b) {
  for (int i = 0; i < c->rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < c->columns; j++) {
      float s = 0;
      for (int k = 0; k < a->columns; k++)
        s += (float)a->data[i * a->columns + k] *
             (float)b->data[k * b->columns + j];
      c->data[i * c->columns + j] = s;
    }
}
BF16_FORM(structs) {
  struct matrix c = {M, N, C};
  struct matrix16 a = {M, K, A}, b = {K, N, B};
  struct_product(&c, &a, &b);
}
static int rows, columns, depth;
static void set_sizes(int M, int N, int K) { rows = M, columns = N, depth = K; }
BF16_FORM(global_sizes) {
  set_sizes(M, N, K);
  for (int i = 0; i < rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < columns; j++)
      for (int k = 0; k < depth; k++)
        C[i * columns + j] += (float)A[i * depth + k] * (float)B[k * columns + j];
}
BF16_FORM(divided_sizes) {
  for (int i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N / M; j++) // M is zero only where this is not reached
      for (int k = 0; k < K; k++)
        C[i * 64 + j] += (float)A[i * 64 + k] * (float)B[k * 64 + j];
}
BF16_FORM(divided_unsigned_sizes) {
  size_t rows = M & 31, tile = N & 3;
  if (tile == 0)
    return;
  for (size_t i = 0; i < rows / tile; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N; j++)
      for (int k = 0; k < K; k++)
        C[i * 64 + j] += (float)A[i * 64 + k] * (float)B[k * 64 + j];
}
BF16_FORM(divided_by_what_changes) { // a near miss
  for (int i = 0; i < M; i++) // expected-remark {{kept}}
    for (int j = 0; j < N / (i + 1); j++)
      for (int k = 0; k < K; k++)
        C[i * 64 + j] += (float)A[i * 64 + k] * (float)B[k * 64 + j];
}
// An int C may be the sizes themselves: that is asked at run time.
int shared_rows, shared_columns, shared_depth;
INT_FORM(int_sizes) {
  shared_rows = M, shared_columns = N, shared_depth = K;
  for (int i = 0; i < shared_rows; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < shared_columns; j++)
      for (int k = 0; k < shared_depth; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
}
__attribute__((noinline)) static void sizes_in_c(int32_t *C, const int8_t *A, const int8_t *B, const int *size) {
  for (int i = 0; i < size[0]; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < size[1]; j++)
      for (int k = 0; k < size[2]; k++)
        C[i * 64 + j] += A[i * 64 + k] * B[k * 64 + j];
}
INT_FORM(sizes_are_results) {
  C[0] = 3, C[1] = 4, C[2] = 2;
  sizes_in_c(C, A, B, C);
}
BF16_FORM(size_shrinks) {
  set_sizes(M, N, K);
  for (int i = 0; i < rows; i++) // expected-remark {{kept}}
    for (int j = 0; j < columns; j++) {
      for (int k = 0; k < depth; k++)
        C[i * 64 + j] += (float)A[i * 64 + k] * (float)B[k * 64 + j];
      if (depth > 2)
        depth--;
    }
}
INT_FORM(bumped) {
  I J { // expected-remark {{mk,kn->mn}}
    const int8_t *a = A + i * K, *b = B + j;
    int s = 0;
    L {
      s += *a++ * *b;
      b += N;
    }
    *C++ = s;
  }
}
INT_FORM(bumped_rows) {
  I { // expected-remark {{mk,kn->mn}}
    J {
      const int8_t *a = A, *b = B + j;
      int s = 0;
      for (int k = 0; k < K; k++, b += N)
        s += *a++ * *b;
      *C++ = s;
    }
    A += K;
  }
}
INT_FORM(set_back) { // behind a loop that it went through
  I { // expected-remark {{mk,kn->mn}}
    J {
      const int8_t *b = B + j;
      int s = 0;
      for (int k = 0; k < K; k++, b += N)
        s += *A++ * *b;
      A -= K;
      *C++ = s;
    }
    A += K;
  }
}
INT_FORM(set_back_behind_two) {
  I { // expected-remark {{mk,nk->mn}}
    J {
      int s = 0;
      L s += A[k] * *B++;
      *C++ = s;
    }
    A += K;
    B -= (ptrdiff_t)N * K;
  }
}
INT_FORM(set_back_by_less) { // a near miss: each element has a row of its own
  I { // expected-remark {{kept}}
    J {
      int s = 0;
      for (int k = 0; k < K; k++)
        s += *A++ * B[k * N + j];
      A -= K - 1;
      *C++ = s;
    }
    A += K;
  }
}
INT_FORM(bumped_sometimes) {
  I J { // expected-remark {{kept}}
    int s = 0;
    L s += A[i * K + k] * B[k * N + j];
    *C = s;
    if (s > 0)
      C++;
  }
}
INT_FORM(bumped_to_end) { // the pointer's last value is used
  const int8_t *a = A;
  I { // expected-remark {{mk,kn->mn}}
    J L C[i * N + j] += a[k] * B[k * N + j];
    a += K;
  }
  C[64 * 63] = (int)(a - A);
}
static int32_t result[64 * 64];
static int8_t left[64 * 64], right[64 * 64];
INT_FORM(static_arrays) { // what the call writes must be seen behind it
  memcpy(left, A, sizeof left);
  memcpy(right, B, sizeof right);
  result[3] = 7;
  result[65] = 0;
  for (int i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N; j++) {
      int s = 0;
      for (int k = 0; k < K; k++)
        s += left[i * 64 + k] * right[k * 64 + j];
      result[i * 64 + j] = s;
    }
  C[0] = result[3];
  C[1] = result[65];
  left[0]++;
  for (int i = 0; i < 64; i++)
    C[i + 2] = result[i] + left[i];
}
INT_FORM(local_arrays) {
  int32_t c[16][16];
  int8_t a[16][16], b[16][16];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      a[i][j] = A[i * 16 + j], b[i][j] = B[i * 16 + j], c[i][j] = i - j;
  for (int i = 0; i < 16; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < 16; j++)
      for (int k = 0; k < 16; k++)
        c[i][j] += a[i][k] * b[k][j];
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      C[i * 16 + j] = c[j][i];
}
// Members of one struct lie at known distances from each other.
static struct {
  int8_t left[16][16], right[16][16];
  int32_t out[16][16];
} layer;
static void fill_layer(const int8_t *A, const int8_t *B) {
  memcpy(layer.left, A, sizeof layer.left);
  memcpy(layer.right, B, sizeof layer.right);
  for (int i = 0; i < 256; i++)
    layer.out[i / 16][i % 16] = i;
}
static int smaller(int x, int y) { return x < y ? x : y; }
INT_FORM(inline_arrays) {
  fill_layer(A, B);
  int rows = smaller(M, 16), sum = smaller(K, 16);
  for (int i = 0; i < rows; i++) // expected-remark {{mk,nk->mn}}
    for (int j = 0; j < 16; j++)
      for (int k = 0; k < sum; k++)
        layer.out[i][j] += layer.left[i][k] * layer.right[j][k];
  memcpy(C, layer.out, sizeof layer.out);
}
INT_FORM(inline_array_itself) { // near miss: rows of the result are read
  fill_layer(A, B);
  int rows = smaller(M, 8), sum = smaller(K, 16);
  for (int i = 0; i < rows; i++) // expected-remark {{ResultOverlapsItself}}
    for (int j = 0; j < 16; j++)
      for (int k = 0; k < sum; k++)
        layer.out[i + 1][j] += layer.out[i][k] * layer.right[j][k];
  memcpy(C, layer.out, sizeof layer.out);
}
INT_FORM(inline_array_too_long) { // near miss: its rows reach the result
  fill_layer(A, B);
  int rows = smaller(M, 16), sum = smaller(K, 33);
  for (int i = 0; i < rows; i++) // expected-remark {{ResultOverlapsItself}}
    for (int j = 0; j < 16; j++)
      for (int k = 0; k < sum; k++)
        layer.out[i][j] += layer.left[i][k] * (&layer.right[0][0])[j * 17 + k];
  memcpy(C, layer.out, sizeof layer.out);
}
INT_FORM(quotients) { // of sizes, the divisor one that is not known
  unsigned d = B[0] & 3, n = d ? (unsigned)K / d : 0;
  if (M < 0)
    return;
  for (unsigned i = 0; i < (unsigned)M / (d + 1); i++) // expected-remark {{mk,kn->mn}}
    J
      for (unsigned k = 0; k < n; k++)
        C[i * 64ul + j] += A[i * 64ul + k] * B[k * 64ul + j];
}
