// Counters that lie in memory, as those of the whole file do.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 25
#include "forms.h"

int i, j, k;
static int own_i, own_j, own_k;
struct counters {
  int row, column, depth;
};

// What they hold behind the nest belongs to what the form leaves.
#define LEAVES(C, x, y, z)                                                     \
  __asm__ volatile("" ::: "memory");                                           \
  C[64 * 64 - 1] += (x) + 100 * (y) + 10000 * (z)

BF16_FORM(local_sum) {
  for (i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (j = 0; j < N; j++) {
      float s = 0;
      for (k = 0; k < K; k++)
        s += (float)A[i * K + k] * (float)B[k * N + j];
      C[i * N + j] = s;
    }
  LEAVES(C, i, j, k);
}
BF16_FORM(of_the_file) {
  for (own_i = 0; own_i < M; own_i++) // expected-remark {{mk,kn->mn}}
    for (own_j = 0; own_j < N; own_j++) {
      float s = 0;
      for (own_k = 0; own_k < K; own_k++)
        s += (float)A[own_i * K + own_k] * (float)B[own_k * N + own_j];
      C[own_i * N + own_j] += s;
    }
  LEAVES(C, own_i, own_j, own_k);
}
BF16_FORM(the_innermost) {
  for (int i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (k = 0; k < K; k++)
        s += (float)A[i * K + k] * (float)B[k * N + j];
      C[i * N + j] = s;
    }
  LEAVES(C, 0, 0, k);
}
BF16_FORM(while_loops) {
  i = 0;
  while (i < M) { // expected-remark {{mk,kn->mn}}
    j = 0;
    while (j < N) {
      float s = 0;
      k = 0;
      while (k < K) {
        s += (float)A[i * K + k] * (float)B[k * N + j];
        k++;
      }
      C[i * N + j] = s;
      j++;
    }
    i++;
  }
  LEAVES(C, i, j, k);
}
__attribute__((noinline)) static void product_by(struct counters *x, int M, int N, int K,
                                                 float *C, const __bf16 *A, const __bf16 *B) {
  for (x->row = 0; x->row < M; x->row++) // expected-remark {{mk,kn->mn}}
    for (x->column = 0; x->column < N; x->column++) {
      float s = 0;
      for (x->depth = 0; x->depth < K; x->depth++)
        s += (float)A[x->row * K + x->depth] * (float)B[x->depth * N + x->column];
      C[x->row * N + x->column] = s;
    }
}
BF16_FORM(members) {
  struct counters x = {-1, -1, -1};
  __asm__ volatile("" : : "r"(&x) : "memory");
  product_by(&x, M, N, K, C, A, B);
  LEAVES(C, x.row, x.column, x.depth);
}

// ---- near misses ----

// The result may lie where a counter does.
INT_FORM(result_of_the_counters_type) {
  for (i = 0; i < M; i++) // expected-remark {{counter lies in memory}}
    for (j = 0; j < N; j++) {
      int s = 0;
      for (k = 0; k < K; k++)
        s += A[i * K + k] * B[k * N + j];
      C[i * N + j] = s;
    }
  LEAVES(C, i, j, k);
}
// Each may be the other.
__attribute__((noinline)) static void product_with(int *row, int *column, int *depth, int M,
                                                   int N, int K, float *C, const __bf16 *A,
                                                   const __bf16 *B) {
  for (*row = 0; *row < M; ++*row) // expected-remark {{counter lies in memory}}
    for (*column = 0; *column < N; ++*column) {
      float s = 0;
      for (*depth = 0; *depth < K; ++*depth)
        s += (float)A[*row * K + *depth] * (float)B[*depth * N + *column];
      C[*row * N + *column] = s;
    }
}
BF16_FORM(one_may_be_another) {
  int row = -1, column = -1, depth = -1;
  product_with(&row, &column, &depth, M, N, K, C, A, B);
  LEAVES(C, row, column, depth);
}
// The loop within moves the row on.
BF16_FORM(moved_within) {
  for (i = 0; i < M; i++)
    for (j = 0; j < N; j++) { // expected-remark {{kept}}
      float s = 0;
      for (k = 0; k < K; k++) {
        s += (float)A[i * K + k] * (float)B[k * N + j];
        if (k == 5 && i < M - 1)
          i++;
      }
      C[i * N + j] = s;
    }
  LEAVES(C, i, j, k);
}
// What the loop within leaves ends the one around it, too.
BF16_FORM(one_counter_for_two) {
  for (i = 0; i < M; i++) // expected-remark {{kept}}
    for (j = 0; j < N; j++) {
      float s = 0;
      for (j = 0; j < N; j++)
        s += (float)A[i * N + j] * (float)B[j * N + i];
      C[i * N + j % N] = s;
    }
  LEAVES(C, i, j, 0);
}
// Who is called sees them.
static void look(float *C) { __asm__ volatile("" : : "r"(C) : "memory"); }
BF16_FORM(seen_by_a_call) {
  for (i = 0; i < M; i++) // expected-remark {{kept}}
    for (j = 0; j < N; j++) {
      float s = 0;
      for (k = 0; k < K; k++)
        s += (float)A[i * K + k] * (float)B[k * N + j];
      C[i * N + j] = s;
      look(C);
    }
  LEAVES(C, i, j, k);
}
