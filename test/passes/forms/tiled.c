// Loops that the source has cut into tiles: each pair of a loop over tiles and
// a loop in a tile is one axis again.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 547
#include "forms.h"
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)
#define II for (int ii = 0; ii < M; ii += 8)
#define JJ for (int jj = 0; jj < N; jj += 5)
#define KK for (int kk = 0; kk < K; kk += 4)
#define IN_I for (int i = ii; i < MIN(ii + 8, M); i++)
#define IN_J for (int j = jj; j < MIN(jj + 5, N); j++)
#define IN_K for (int k = kk; k < MIN(kk + 4, K); k++)
#define ADD C[i * N + j] += A[i * K + k] * B[k * N + j]
#define SUM s += A[i * K + k] * B[k * N + j]

INT_FORM(all_three) {
  II JJ KK IN_I IN_J IN_K ADD; // expected-remark {{mk,kn->mn with m=n_l n=n_m k=n_n}}
}
INT_FORM(rows_only) {
  II IN_I J L ADD; // expected-remark {{mk,kn->mn}}
}
INT_FORM(rows_by_a_pointer) { // which starts elsewhere and is stepped on
  II JJ IN_I { // expected-remark {{mk,nk->mn}}
    const int8_t *b = B + jj * K;
    for (int j = jj; j < MIN(jj + 5, N); j++, b += K) {
      int s = 0;
      L s += A[i * K + k] * b[k];
      C[i * N + j] += s;
    }
  }
}
INT_FORM(rows_by_a_pointer_too_short) { // each tile has rows of its own
  II JJ IN_I { // expected-remark {{mk,nk->mn with m=n_i n=n_j k=n_k}}
    const int8_t *b = B + jj * K;
    for (int j = jj; j < MIN(jj + 5, N); j++, b += K - 1) {
      int s = 0;
      L s += A[i * K + k] * b[k];
      C[i * N + j] += s;
    }
  }
}
BF16_FORM(floats) {
  KK JJ I IN_K IN_J // expected-remark {{mk,kn->mn}}
    C[i * N + j] += (float)A[i * K + k] * (float)B[k * N + j];
}
INT_FORM(partial_sums) {
  KK I J { // expected-remark {{mk,kn->mn}}
    int s = C[i * N + j];
    IN_K SUM;
    C[i * N + j] = s;
  }
}
INT_FORM(zeroed_in_the_tile) {
  II JJ { // expected-remark {{mk,kn->mn}}
    IN_I IN_J C[i * N + j] = 0;
    KK IN_K IN_I IN_J ADD;
  }
}
INT_FORM(zeroed_tile_of_rows_as_a_whole) {
  II { // expected-remark {{mk,kn->mn}}
    IN_I J C[i * N + j] = 0;
    L IN_I J ADD;
  }
}
INT_FORM(clamped_in_the_tile) {
  II JJ { // expected-remark {{mk,kn->mn}}
    KK IN_K IN_I IN_J ADD;
    IN_I IN_J C[i * N + j] = C[i * N + j] < 0 ? 0 : C[i * N + j];
  }
}
// Whether a tile reads a pointer is not known in front of all tiles.
static const int8_t *FirstFactor, *SecondFactor;
static __attribute__((noinline)) void keep(const int8_t *A, const int8_t *B) {
  FirstFactor = A;
  SecondFactor = B;
}
INT_FORM(pointers_in_memory) {
  keep(A, B);
  II JJ KK IN_I IN_J IN_K // expected-remark {{mk,kn->mn with m=n_l n=n_m k=n_n}}
    C[i * N + j] += FirstFactor[i * K + k] * SecondFactor[k * N + j];
}
INT_FORM(zeroed_for_each_tile_of_the_sum) { // a near miss
  KK {
    I J C[i * N + j] = 0;
    IN_K I J ADD; // expected-remark {{mk,kn->mn with k=n_i}}
  }
}
// All rows are set again before each tile of rows: what is left of the others?
INT_FORM(zeroed_for_each_tile_of_rows) { // a near miss
  II {
    for (int y = 0; y < M; y++)
      J C[y * N + j] = 0;
    IN_I J L ADD; // expected-remark {{mk,kn->mn}}
  }
}

// ---- bounds ----

INT_FORM(bound_by_and) {
  II for (int i = ii; i < ii + 8 && i < M; i++) J L ADD; // expected-remark {{mk,kn->mn}}
}
INT_FORM(bound_in_a_variable) {
  II { // expected-remark {{mk,kn->mn}}
    int end = ii + 8 > M ? M : ii + 8;
    for (int i = ii; i < end; i++) J L ADD;
  }
}
INT_FORM(length_of_the_tile) {
  II { // expected-remark {{mk,kn->mn}}
    int rows = M - ii < 8 ? M - ii : 8;
    for (int y = 0; y < rows; y++)
      J L C[(ii + y) * N + j] += A[(ii + y) * K + k] * B[k * N + j];
  }
}
INT_FORM(last_index) {
  II for (int i = ii; i <= MIN(ii + 7, M - 1); i++) J L ADD; // expected-remark {{mk,kn->mn}}
}
INT_FORM(wide_indices) {
  if (M < 1 || N < 1 || K < 1)
    return;
  size_t m = (size_t)M, n = (size_t)N, l = (size_t)K;
  for (size_t ii = 0; ii < m; ii += 8) // expected-remark {{mk,kn->mn}}
    for (size_t i = ii; i < MIN(ii + 8, m); i++)
      for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < l; k++)
          C[i * n + j] += A[i * l + k] * B[k * n + j];
}
INT_FORM(unsigned_indices) {
  if (M < 1 || N < 1 || K < 1)
    return;
  unsigned m = (unsigned)M, n = (unsigned)N, l = (unsigned)K;
  for (unsigned ii = 0; ii < m; ii += 8) // expected-remark {{mk,kn->mn}}
    for (unsigned i = ii; i < MIN(ii + 8, m); i++)
      for (unsigned j = 0; j < n; j++)
        for (unsigned k = 0; k < l; k++)
          C[i * n + j] += A[i * l + k] * B[k * n + j];
}
INT_FORM(size_of_tiles_at_run_time) {
  int size = N;
  if (N < 1 && K > 0) // for ever
    return;
  for (int kk = 0; kk < K; kk += size) // expected-remark {{mk,kn->mn}}
    I for (int k = kk; k < MIN(kk + size, K); k++) J ADD;
}
INT_FORM(wide_indices_by_and) {
  if (M < 1 || N < 1 || K < 1)
    return;
  size_t m = (size_t)M, n = (size_t)N, l = (size_t)K;
  for (size_t ii = 0; ii < m; ii += 8) // expected-remark {{mk,kn->mn}}
    for (size_t jj = 0; jj < n; jj += 5)
      for (size_t k = 0; k < l; k++)
        for (size_t i = ii; i < m && i < ii + 8; i++)
          for (size_t j = jj; j < jj + 5 && j < n; j++)
            C[i * n + j] += A[i * l + k] * B[k * n + j];
}
INT_FORM(size_of_tiles_by_and) {
  int size = N;
  if (N < 1 && K > 0) // for ever
    return;
  for (int kk = 0; kk < K; kk += size) // expected-remark {{mk,kn->mn}}
    I for (int k = kk; k < kk + size && k < K; k++) J ADD;
}
INT_FORM(size_of_tiles_by_and_of_known_sizes) {
  if (N < 1)
    return;
  for (int kk = 0; kk < 20; kk += N) // expected-remark {{mk,kn->mn with m=n_j k=20 n=n_l}}
    I for (int k = kk; k < kk + N && k < 20; k++) J C[i * N + j] += A[i * 20 + k] * B[k * N + j];
}
INT_FORM(gaps_by_and) { // a near miss
  if (N < 1 && K > 0)
    return;
  for (int kk = 0; kk < K; kk += N)
    I for (int k = kk; k < kk + N - 1 && k < K; k++) J ADD; // expected-remark {{mk,kn->mn with m=n_i k=n_j n=n_k}}
}
INT_FORM(bound_of_another_loop_by_and) { // which may be further out
  if (M < 1 || N < 1 || K < 1)
    return;
  size_t m = (size_t)M, n = (size_t)N, l = (size_t)K;
  for (size_t ii = 0; ii < m; ii += 8) // expected-remark {{mk,kn->mn with m=n_j n=n_j k=n_l}}
    for (size_t i = ii; i < n && i < ii + 8; i++)
      for (size_t j = 0; j < n; j++)
        for (size_t k = 0; k < l; k++)
          C[i * n + j] += A[i * l + k] * B[k * n + j];
}
// Without tiles, a size may be anything.
INT_FORM(size_of_tiles_may_be_negative) {
  if (M - N <= 0 && K > 0)
    return;
  for (int kk = 0; kk < K; kk += M - N) // expected-remark {{mk,kn->mn}}
    I for (int k = kk; k < MIN(kk + M - N, K); k++) J ADD;
}
// The tiles end where another size says, which may be further out.
INT_FORM(bound_of_another_loop) {
  II for (int i = ii; i < MIN(ii + 8, N); i++) J L ADD; // expected-remark {{mk,kn->mn}}
}
INT_FORM(length_to_another_bound) {
  if (M < 1 || N < 1)
    return;
  for (unsigned ii = 0; ii < (unsigned)M; ii += 8) { // expected-remark {{mk,kn->mn}}
    unsigned rows = MIN((unsigned)N - ii, 8u);
    for (unsigned y = 0; y < rows; y++)
      J L C[(ii + y) * (unsigned)N + (unsigned)j] += A[(ii + y) * (unsigned)K + (unsigned)k] * B[k * N + j];
  }
}
INT_FORM(gaps) { // a near miss: each tile for itself
  II for (int i = ii; i < MIN(ii + 6, M); i++) J L ADD; // expected-remark {{mk,kn->mn}}
}
INT_FORM(overlap) { // a near miss: some rows twice, each tile for itself
  II for (int i = ii; i < MIN(ii + 10, M); i++) J L ADD; // expected-remark {{mk,kn->mn}}
}
INT_FORM(block_diagonal) { // a near miss
  II IN_I for (int j = ii; j < MIN(ii + 8, N); j++) L ADD; // expected-remark {{mk,kn->mn}}
}

// ---- of sizes known when compiling, which the tiles do not divide ----

#define EACH(i, from, to) for (int i = from; i < (to); i++)
#define KNOWN_TILES(type) \
  for (type ii = 0; ii < 20; ii += 8) for (type kk = 0; kk < 18; kk += 4) for (type jj = 0; jj < 22; jj += 5)
#define KNOWN_ADD C[i * 22 + j] += A[i * 18 + k] * B[k * 22 + j]
INT_FORM(known_sizes) {
  KNOWN_TILES(int) // expected-remark {{mk,kn->mn with m=20 k=18 n=22}}
    EACH(i, ii, MIN(ii + 8, 20)) EACH(k, kk, MIN(kk + 4, 18)) EACH(j, jj, MIN(jj + 5, 22)) KNOWN_ADD;
}
INT_FORM(known_sizes_and_sums) {
  int32_t (*c)[22] = (int32_t (*)[22])C;
  const int8_t (*a)[18] = (const int8_t (*)[18])A, (*b)[22] = (const int8_t (*)[22])B;
  KNOWN_TILES(int) // expected-remark {{mk,kn->mn with m=20 n=22 k=18}}
    EACH(i, ii, MIN(ii + 8, 20)) EACH(j, jj, MIN(jj + 5, 22)) {
      int s = c[i][j];
      EACH(k, kk, MIN(kk + 4, 18)) s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
}
INT_FORM(known_sizes_by_and) {
  KNOWN_TILES(unsigned) // expected-remark {{mk,kn->mn with k=18 m=20 n=22}}
    for (unsigned k = kk; k < 18 && k < kk + 4; k++)
      for (unsigned i = ii; i < ii + 8 && i < 20; i++)
        for (unsigned j = jj; j < jj + 5 && j < 22; j++) KNOWN_ADD;
}
INT_FORM(known_sizes_in_variables) {
  KNOWN_TILES(size_t) { // expected-remark {{mk,kn->mn with m=20 n=22 k=18}}
    size_t m = ii + 8, n = jj + 5 > 22 ? 22 : jj + 5, l = kk + 4;
    if (m > 20)
      m = 20;
    if (l >= 18)
      l = 18;
    for (size_t i = ii; i < m; i++) for (size_t j = jj; j < n; j++) for (size_t k = kk; k < l; k++) KNOWN_ADD;
  }
}
INT_FORM(known_sizes_from_a_tile) {
  KNOWN_TILES(int) // expected-remark {{mk,kn->mn with m=20 k=18 n=22}}
    EACH(y, 0, MIN(8, 20 - ii)) EACH(z, 0, MIN(4, 18 - kk)) EACH(x, 0, MIN(5, 22 - jj))
      C[(ii + y) * 22 + jj + x] += A[(ii + y) * 18 + kk + z] * B[(kk + z) * 22 + jj + x];
}
INT_FORM(known_sizes_that_start_elsewhere) {
  for (int ii = 3; ii < 20; ii += 8) // expected-remark {{mk,kn->mn with m=17 n=n_k k=n_l}}
    EACH(i, ii, MIN(ii + 8, 20)) J L ADD;
}
INT_FORM(known_sizes_that_start_below_zero) {
  for (int ii = -5; ii < 20; ii += 8) // expected-remark {{mk,kn->mn with m=25 n=n_k k=n_l}}
    EACH(i, ii, MIN(ii + 8, 20)) J L C[(i + 5) * N + j] += A[(i + 5) * K + k] * B[k * N + j];
}
INT_FORM(known_sizes_of_two_long_tiles) { // a near miss: the last rows twice
  for (int ii = 0; ii < 20; ii += 7) {
    int end = ii > 5 ? 20 : ii + 7;
    EACH(i, ii, end) J L ADD; // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k}}
  }
}
INT_FORM(known_sizes_of_large_numbers) { // a near miss: the first tile has all rows
  for (long ii = -13; ii < 20; ii += 8)
    for (long i = ii; i < (long)MIN((unsigned long)ii + 8, 20ul); i++) // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k}}
      J L C[(i + 13) * N + j] += A[(i + 13) * K + k] * B[k * N + j];
}
INT_FORM(known_sizes_with_gaps) { // a near miss: each tile for itself
  for (int ii = 0; ii < 20; ii += 8) EACH(i, ii, MIN(ii + 6, 20)) J L ADD; // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k}}
}
INT_FORM(known_sizes_that_overlap) { // a near miss
  for (int ii = 0; ii < 20; ii += 8) EACH(i, ii, MIN(ii + 10, 20)) J L ADD; // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k}}
}
INT_FORM(known_sizes_that_end_in_a_tile) { // and what is compared is no start
  for (int ii = 0; ii < 20; ii += 8) EACH(i, ii, MIN(ii, 9) + 8) J L ADD; // expected-remark {{mk,kn->mn with m=17}}
}
// The same by hand: where there is no whole tile, the start of the last one is a
// large number.
INT_FORM(start_of_the_last_tile_may_wrap) {
  if (M < 1)
    return;
  size_t m = (size_t)M;
  for (size_t ii = 0; ii < m; ii += 8) // expected-remark {{mk,kn->mn with m=n_j n=n_k k=n_l}}
    for (size_t i = ii; i < MIN(ii, m - 8) + 8; i++)
      J L C[i * (size_t)N + (size_t)j] += A[i * (size_t)K + (size_t)k] * B[k * N + j];
}

// ---- tiles that fill their loop ----

INT_FORM(exact) {
  for (int ii = 0; ii < 40; ii += 8) // expected-remark {{mk,kn->mn with m=40 k=24 n=20}}
    for (int jj = 0; jj < 20; jj += 5)
      for (int kk = 0; kk < 6; kk++)
        for (int i = ii; i < ii + 8; i++)
          for (int k = 0; k < 4; k++)
            for (int j = 0; j < 5; j++)
              C[i * 20 + jj + j] += A[i * 24 + kk * 4 + k] * B[(kk * 4 + k) * 20 + jj + j];
}
INT_FORM(exact_rows_of_run_time_length) {
  for (int ii = 0; ii < M / 4 * 4; ii += 4) // expected-remark {{mk,kn->mn}}
    J for (int i = ii; i < ii + 4; i++) L ADD;
}
static inline __attribute__((always_inline)) void kernel(int N, int K, int32_t *C, const int8_t *A, const int8_t *B) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 2; j++) {
      int s = 0;
      L SUM;
      C[i * N + j] = s;
    }
}
INT_FORM(kernel_in_a_function) {
  for (int i = 0; i + 4 <= M; i += 4) // expected-remark {{mk,kn->mn with m=n_k n=n_l k=n_m}}
    for (int j = 0; j + 2 <= N; j += 2)
      kernel(N, K, C + i * N + j, A + i * K, B + j);
}
INT_FORM(exact_packed) { // the tiles of A lie apart
  for (int ii = 0; ii < 4; ii++) // expected-remark {{xmk,kn->mxn}}
    for (int i = 0; i < 4; i++)
      J L C[(ii * 4 + i) * N + j] += A[ii * 500 + i * K + k] * B[k * N + j];
}
INT_FORM(exact_overlap) { // a near miss: places of the result are shared
  for (int ii = 0; ii < 4; ii++)
    for (int i = 0; i < 4; i++) // expected-remark {{mk,kn->mn with m=4 n=4}}
      for (int j = 0; j < 4; j++)
        L C[(ii * 3 + i) * 4 + j] += A[(ii * 3 + i) * K + k] * B[k * 4 + j];
}
INT_FORM(overlapping_tiles) { // a near miss: rows are added to twice
  J for (int ii = 0; ii < M; ii += 4) for (int i = ii; i < MIN(ii + 8, M); i++) L ADD; // expected-remark {{VariantExtent}}
}
INT_FORM(tiles_with_gaps) { // a near miss: of eight rows, four
  J for (int ii = 0; ii < M; ii += 8) for (int i = ii; i < MIN(ii + 4, M); i++) L ADD; // expected-remark {{VariantExtent}}
}

// ---- of sizes that are known at run time, in whole tiles ----

#define IN_TILE(i, ii, size) for (int i = ii; i < ii + (size); i++)
INT_FORM(whole_tiles) {
  II // expected-remark {{mk,kn->mn with m=n_l k=n_m n=n_n}}
    for (int jj = 0; jj < N; jj += 16)
      KK IN_TILE(i, ii, 8) IN_TILE(k, kk, 4) IN_TILE(j, jj, 16) ADD;
}
INT_FORM(whole_tiles_of_columns_outside) {
  for (int jj = 0; jj < N; jj += 8) // expected-remark {{mk,kn->mn with m=n_k n=n_l k=n_m}}
    II IN_TILE(i, ii, 8) IN_TILE(j, jj, 8) L ADD;
}
INT_FORM(tiles_that_are_counted) {
  for (int ii = 0; ii < M / 8; ii++) // expected-remark {{mk,kn->mn with m=n_k n=n_l k=n_m}}
    for (int jj = 0; jj < N / 16; jj++)
      for (int i = ii * 8; i < ii * 8 + 8; i++)
        IN_TILE(j, jj * 16, 16) L ADD;
}
INT_FORM(sums_of_a_tile) {
  II // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all k=n_k}}
    for (int jj = 0; jj < N; jj += 4) {
      int s[8][4] = {{0}};
      L for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++)
        s[i][j] += A[(ii + i) * K + k] * B[k * N + jj + j];
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++)
          C[(ii + i) * N + jj + j] = s[i][j];
    }
}
INT_FORM(sums_of_a_tile_set_one_by_one) {
  II // expected-remark {{mk,kn->mn with m=n_i.all n=n_j.all k=n_m}}
    for (int jj = 0; jj < N; jj += 4) {
      int s[8][4];
      for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++) s[i][j] = 0;
      L for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++)
        s[i][j] += A[(ii + i) * K + k] * B[k * N + jj + j];
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++)
          C[(ii + i) * N + jj + j] = s[i][j];
    }
}
INT_FORM(sums_of_a_tile_with_gaps) { // a near miss
  II // expected-remark {{mk,knp->mnp with m=n_i.all n=n_j k=n_k p=4}}
    for (int jj = 0; jj < N; jj += 5) {
      int s[8][4] = {{0}};
      L for (int i = 0; i < 8; i++) for (int j = 0; j < 4; j++)
        s[i][j] += A[(ii + i) * K + k] * B[k * N + jj + j];
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++)
          C[(ii + i) * N + jj + j] = s[i][j];
    }
}
