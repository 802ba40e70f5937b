// Counters that lie in memory, as those of the whole file do.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 66
#include "forms.h"

int i, j, k;
unsigned u, v, w;
static int own_i, own_j, own_k;
struct counters {
  int row, column, depth;
};

// What they hold behind the nest belongs to what the form leaves.
#define LEAVES(C, x, y, z)                                                     \
  __asm__ volatile("" ::: "memory");                                           \
  C[64 * 64 - 1] += (x) + 100 * (y) + 10000 * (z)

#define COLUMNS                                                                \
  for (j = 0; j < N; j++) {                                                    \
    float s = 0;                                                               \
    for (k = 0; k < K; k++)                                                    \
      s += (float)A[i * K + k] * (float)B[k * N + j];                          \
    C[i * N + j] = s;                                                          \
  }

BF16_FORM(local_sum) {
  for (i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    COLUMNS
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

BF16_FORM(unsigned_numbers) {
  unsigned m = M < 0 ? 0 : M, n = N < 0 ? 0 : N, l = K < 0 ? 0 : K;
  for (u = 0; u < m; u++) // expected-remark {{mk,kn->mn}}
    for (v = 0; v < n; v++) {
      float s = 0;
      for (w = 0; w < l; w++)
        s += (float)A[u * l + w] * (float)B[w * n + v];
      C[u * n + v] = s;
    }
  LEAVES(C, (int)u, (int)v, (int)w);
}
static float row[64][64];
BF16_FORM(stored_with_the_first) {
  float(*c)[64] = (float(*)[64])C;
  for (i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (j = 0; j < N; j++)
      for (k = 0, c[i][j] = 0; k < K; k++)
        c[i][j] += (float)A[i * K + k] * (float)B[k * N + j];
  LEAVES(C, i, j, k);
}
BF16_FORM(of_pointers_to_rows) {
  float *rows[64];
  for (int r = 0; r < 64; r++)
    rows[r] = row[r];
  __asm__ volatile("" : : "r"(rows) : "memory");
  for (i = 0; i < M; i++) // expected-remark {{mk,kn->mn}}
    for (j = 0; j < N; j++) {
      float s = 0;
      for (k = 0; k < K; k++)
        s += (float)A[i * K + k] * (float)B[k * N + j];
      rows[i][j] = s;
    }
  __asm__ volatile("" : : "r"(rows) : "memory");
  for (int r = 0; r < 64; r++)
    for (int c = 0; c < 63; c++)
      C[r * 64 + c] += row[r][c], row[r][c] = 0;
  LEAVES(C, i, j, k);
}
// Nobody has their addresses, so the result does not lie there.
INT_FORM(result_of_the_type_of_private_ones) {
  for (own_i = 0; own_i < M; own_i++) // expected-remark {{mk,kn->mn}}
    for (own_j = 0; own_j < N; own_j++) {
      C[own_i * N + own_j] = 0;
      for (own_k = 0; own_k < K; own_k++)
        C[own_i * N + own_j] += A[own_i * K + own_k] * B[own_k * N + own_j];
    }
  LEAVES(C, own_i, own_j, own_k);
}
BF16_FORM(at_the_end) {
  if (M <= 0 || N <= 0 || K <= 0)
    return;
  i = 0;
  do { // expected-remark {{mk,kn->mn}}
    j = 0;
    do {
      float s = 0;
      k = 0;
      do
        s += (float)A[i * K + k] * (float)B[k * N + j];
      while (++k < K);
      C[i * N + j] = s;
    } while (++j < N);
  } while (++i < M);
  LEAVES(C, i, j, k);
}
BF16_FORM(two_sums) {
  for (i = 0; i < M; i++) // expected-remark 1-2 {{mk,kn->mn}}
    for (j = 0; j < N; j++) {
      float s = 0, t = 0;
      for (k = 0; k < K; k++)
        s += (float)A[i * K + k] * (float)B[k * N + j];
      C[i * N + j] = s;
      for (k = 1; k < M; k++)
        t += (float)A[i * M + k] * (float)B[k * N + j];
      row[i & 63][j & 63] = t;
    }
  C[0] += row[1][1];
  LEAVES(C, i, j, k);
}

// What a condition stores is left to the code.
BF16_FORM(stored_at_times) {
  for (int i = 0; i < M; i++) // expected-remark {{for its sums}}
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (int k = 0; k < K; k++)
        s += (float)A[i * K + k] * (float)B[k * N + j];
      C[i * N + j] = s;
      if (s > 100)
        own_k = N;
    }
  LEAVES(C, 0, 0, own_k);
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
  for (i = 0; i < M; i++) // expected-remark {{kept}}
    for (j = 0; j < N; j++) {
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
// Without a row, nothing is stored.
BF16_FORM(goes_on_from_where_it_was) {
  i = N & 1;
  __asm__ volatile("" : "+m"(i));
  for (; i < M; i++) // expected-remark {{counter lies in memory}}
    COLUMNS
  LEAVES(C, i, j, k);
}
// It is read through a pointer, too.
__attribute__((noinline)) static void product_at(const int *row, int M, int N, int K, float *C,
                                                 const __bf16 *A, const __bf16 *B) {
  for (i = 0; i < M; i++) // expected-remark {{kept}}
    for (j = 0; j < N; j++) {
      float s = 0;
      for (k = 0; k < K; k++)
        s += (float)A[*row * K + k] * (float)B[k * N + j];
      C[i * N + j] = s;
    }
}
BF16_FORM(read_through_a_pointer) {
  const int *row = &i;
  __asm__ volatile("" : "+r"(row));
  product_at(row, M, N, K, C, A, B);
  LEAVES(C, i, j, k);
}
static int *volatile of_shared;
static int shared_i, shared_j, shared_k;
// Who knows where the result lies?
INT_FORM(result_may_be_a_counter) {
  of_shared = &shared_i;
  of_shared = &shared_j;
  of_shared = &shared_k;
  for (shared_i = 0; shared_i < M; shared_i++) // expected-remark {{counter lies in memory}}
    for (shared_j = 0; shared_j < N; shared_j++) {
      int s = 0;
      for (shared_k = 0; shared_k < K; shared_k++)
        s += A[shared_i * K + shared_k] * B[shared_k * N + shared_j];
      C[shared_i * N + shared_j] = s;
    }
  LEAVES(C, shared_i, shared_j, shared_k);
}
// The last number differs from row to row, and so does the number of products:
// rectangles of them are taken, and the counters are left to a nest behind.
BF16_FORM(below_the_diagonal) {
  for (i = 0; i < M; i++) // expected-remark {{replaced by a call: mk,kn->mn}}
    for (j = 0; j < N; j++) {
      float s = 0;
      for (k = 0; k < j; k++)
        s += (float)A[i * N + k] * (float)B[k * N + j];
      C[i * N + j] = s;
    }
  LEAVES(C, i, j, k);
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
