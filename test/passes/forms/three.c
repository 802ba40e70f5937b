// Three factors: two of them make an intermediate.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 86
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define THREE for (int l = 0; l < 3; l++)
typedef int16_t __attribute__((may_alias)) i16;
typedef int64_t __attribute__((may_alias)) i64;
#define SPLIT __attribute__((annotate("nputeir:f32=bf16x3")))

// A tensor of M x N x 3, matrices of N x K and 3 x K.
#define X A[(i * N + j) * 3 + l]
#define U B[j * K + k]
#define V B[l * K + k]
INT_FORM(mttkrp) {
  I J THREE L C[i * K + k] += X * U * V; // expected-remark {{lm,km,nkl->nm}}
}
INT_FORM(mttkrp_scalar) {
  I L { // expected-remark {{km,lm,nkl->nm}}
    int s = 5;
    J THREE s += X * U * V;
    C[i * K + k] = s;
  }
}
INT_FORM(mttkrp_factored) {
  I L { // expected-remark {{km,lm,nkl->nm}}
    int s = 0;
    J {
      int t = 0;
      THREE t += X * V;
      s += t * U;
    }
    C[i * K + k] = s > 0 ? s : 0;
  }
}
INT_FORM(weighted_sum) {
  I J L C[i * N + j] += A[i * K + k] * B[k * N + j] * A[k]; // expected-remark {{k,km,nk->nm}}
}
INT_FORM(squared) {
  I J L C[i * N + j] += A[i * K + k] * B[k * N + j] * A[i * K + k]; // expected-remark {{mk,mk,kn->mn}}
}
INT_FORM(same_tensor_twice) { // along other axes
  I J L C[i * N + j] += A[i * K + k] * A[j * K + k] * B[k]; // expected-remark {{k,mk,nk->nm}}
}
INT_FORM(downwards) { // a loop that all tensors see from its end
  I J for (int k = K - 1; k >= 0; k--) // expected-remark {{k,km,nk->nm}}
    C[i * N + j] += A[i * K + k] * B[k * N + j] * A[k];
}
SPLIT BF16_FORM(ttmc) {
  I J THREE L for (int m = 0; m < 5; m++) // expected-remark {{mlk,lx,kn->mxn}}
    C[(i * K + k) * 5 + m] += (float)X * (float)U * (float)B[l * 5 + m];
}
SPLIT BF16_FORM(mttkrp_bf16) {
  I J THREE L C[i * K + k] += (float)X * (float)U * (float)V; // expected-remark {{->mn}}
}
INT_FORM(ttmc_i8) { // by way of an intermediate of 32 bits
  I J THREE L for (int m = 0; m < 5; m++) // expected-remark {{mlk,lx,kn->mxn}}
    C[(i * K + k) * 5 + m] += X * U * B[l * 5 + m];
}

// Near misses.
INT_FORM(one_stands_still) { // a factor that is taken out of the sum
  I J L C[i * N + j] += A[i * K + k] * B[k * N + j] * A[j]; // expected-remark {{mk,kn->mn}}
}
INT_FORM(ttmc_i16) { // by way of products of 32 bits
  const i16 *a = (const i16 *)A, *b = (const i16 *)B;
  for (int i = 0; i < 9; i++) // expected-remark {{km,lx,nkl->nmx}}
    for (int j = 0; j < 8; j++) THREE for (int k = 0; k < 6; k++)
      for (int m = 0; m < 5; m++)
        C[(i * 6 + k) * 5 + m] += a[(i * 8 + j) * 3 + l] * b[j * 6 + k] * b[l * 5 + m];
}
BF16_FORM(mttkrp_kept) { // the product of two bf16 is no bf16
  I J THREE L C[i * K + k] += (float)X * (float)U * (float)V; // expected-remark {{FloatInputs}}
}
INT_FORM(four_factors) {
  I J L C[i * N + j] += A[i * K + k] * B[k * N + j] * A[k] * B[k]; // expected-remark {{ThreeFactors}}
}
INT_FORM(cut_between) { // the first product is cut to 8 bits
  I J L C[i * N + j] += (int8_t)(A[i * K + k] * B[k * N + j]) * A[k]; // expected-remark {{NotProductSum}}
}
INT_FORM(wide_between) { // a product of 32 bits wraps where one of 64 does not
  const i16 *a = (const i16 *)A, *b = (const i16 *)B;
  i64 *c = (i64 *)C;
  for (int i = 0; i < 9; i++) // expected-remark 0-1 {{kept}}
    for (int j = 0; j < 8; j++)
      for (int k = 0; k < 7; k++)
        c[i * 8 + j] += (int)((unsigned)a[i * 7 + k] * (unsigned)b[k * 8 + j] * (unsigned)a[k]);
}
INT_FORM(written_out) { // two products of three factors
  I J for (int k = 0; k + 1 < K; k += 2) // expected-remark 2 {{k,km,nk->nm}}
    C[i * N + j] += A[i * K + k] * B[k * N + j] * A[k] +
                    A[i * K + k + 1] * B[(k + 1) * N + j] * A[k + 1];
}
INT_FORM(small_and_known) { // not worth an intermediate
  for (int i = 0; i < 2; i++) // expected-remark {{BelowThreshold}}
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 8; k++)
        C[i * 2 + j] += A[i * 8 + k] * B[k * 2 + j] * A[k];
}
INT_FORM(no_loop_of_its_own) { // one factor alone is summed
  I J L THREE C[i * N + j] += A[i * K + k] * B[k * N + j] * A[l]; // expected-remark {{ThreeFactors}}
}
