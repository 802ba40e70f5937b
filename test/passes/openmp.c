/* openmp.c -- products in OpenMP's loops, of all schedules: prints what they
 * leave behind, which does not depend on who computes it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PARAMETERS                                                             \
  int M, int N, int K, const int8_t *restrict A, const int8_t *restrict B,    \
      int32_t *restrict C
#define SUM                                                                    \
  {                                                                            \
    int32_t s = 0;                                                             \
    for (int k = 0; k < K; k++)                                                \
      s += A[i * K + k] * B[k * N + j];                                        \
    C[i * N + j] = s;                                                          \
  }
#define LOOPS                                                                  \
  for (int i = 0; i < M; i++)                                                  \
    for (int j = 0; j < N; j++)
#define FORM(name, pragma)                                                     \
  static void name(PARAMETERS) {                                               \
    _Pragma(pragma) LOOPS SUM                                                  \
  }

FORM(plain, "omp parallel for")
FORM(chunks, "omp parallel for schedule(static, 3)")
FORM(dynamic, "omp parallel for schedule(dynamic, 2)")
FORM(guided, "omp parallel for schedule(guided)")
FORM(at_run_time, "omp parallel for schedule(runtime)")
FORM(simd, "omp parallel for simd")
FORM(collapsed, "omp parallel for collapse(2)")
FORM(collapsed_chunks, "omp parallel for collapse(2) schedule(static, 7)")
FORM(collapsed_dynamic, "omp parallel for collapse(2) schedule(dynamic, 50)")
FORM(collapsed_simd, "omp parallel for simd collapse(2)")
FORM(only_simd, "omp simd")
FORM(ivdep, "GCC ivdep")
FORM(hinted, "clang loop vectorize(enable) interleave(enable)")

static void nested(PARAMETERS) {
#pragma omp parallel
  {
#pragma omp for nowait
    LOOPS SUM
  }
}
static void nested_collapsed(PARAMETERS) {
#pragma omp parallel
#pragma omp for collapse(2)
  LOOPS SUM
}
static void reduced(PARAMETERS) {
#pragma omp parallel for
  LOOPS {
    int32_t s = 0;
#pragma omp simd reduction(+ : s)
    for (int k = 0; k < K; k++)
      s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
  }
}
static void constant(PARAMETERS) {
  (void)M, (void)N, (void)K;
#pragma omp parallel for collapse(2)
  for (int i = 0; i < 32; i++)
    for (int j = 0; j < 24; j++) {
      int32_t s = 0;
      for (int k = 0; k < 16; k++)
        s += A[i * 16 + k] * B[k * 24 + j];
      C[i * 24 + j] = s;
    }
}
static void collapsed_rows(PARAMETERS) {
  const int8_t *a[64], *b[64];
  int32_t *c[64];
  for (int i = 0; i < 64; i++)
    a[i] = A + i * K, b[i] = B + i * N, c[i] = C + i * N;
#pragma omp parallel for collapse(2)
  LOOPS {
    int32_t s = 0;
    for (int k = 0; k < K; k++)
      s += a[i][k] * b[k][j];
    c[i][j] = s;
  }
}
static void batched(PARAMETERS) {
#pragma omp parallel for collapse(3)
  for (int n = 0; n < 2; n++)
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        int32_t s = 0;
        for (int k = 0; k < K; k++)
          s += A[(n * M + i) * K + k] * B[k * N + j];
        C[(n * M + i) * N + j] = s;
      }
}


// What threads share: counters, of one thread that they are no race; a size
// that one thread sets; rows that all count.

static void shared_counters(PARAMETERS) {
  int i, j, k;
#pragma omp parallel for num_threads(1)
  for (i = 0; i < M; i++)
    for (k = 0; k < K; k++)
      for (j = 0; j < N; j++)
        C[i * N + j] += A[i * K + k] * B[k * N + j];
}
static void shared_counters_of_sums(PARAMETERS) {
  int i, j = -1, k = -1;
#pragma omp parallel for num_threads(1)
  for (i = 0; i < M; i++)
    for (j = 0; j < N; j++) {
      int32_t s = 0;
      for (k = 0; k < K; k++)
        s += A[i * K + k] * B[k * N + j];
      C[i * N + j] = s;
    }
  C[M * N] += j * 100 + k; /* what they end at */
}
static void set_by_one(PARAMETERS) {
  int size = 0, j, k;
#pragma omp parallel private(j, k)
  {
#pragma omp single
    size = K;
#pragma omp for
    for (int i = 0; i < M; i++)
      for (j = 0; j < N; j++) {
        int32_t s = 0;
        for (k = 0; k < size; k++)
          s += A[i * K + k] * B[k * N + j];
        C[i * N + j] = s;
      }
#pragma omp single
    size = N;
#pragma omp for
    for (int i = 0; i < M; i++)
      for (j = 0; j < size; j++)
        for (k = 0; k < K; k++)
          C[i * N + j] += A[i * K + k] * B[k * N + j];
  }
}
static void counted_rows(PARAMETERS) {
  int rows = 0, terms = 0;
#pragma omp parallel for
  for (int i = 0; i < M; i++) {
    for (int j = 0; j < N; j++) {
      int32_t s = 0;
      for (int k = 0; k < K; k++)
        s += A[i * K + k] * B[k * N + j];
      C[i * N + j] = s;
    }
#pragma omp critical
    {
      rows++;
      for (int j = 0; j < N; j++)
        for (int k = 0; k < K; k++)
          terms += A[i * K + k] * B[k * N + j];
    }
  }
  C[M * N] += rows + 31 * terms;
}
static int *where; /* also a way to the size, which it changes */
static void known_elsewhere(PARAMETERS) {
  int size = K;
  where = &size;
#pragma omp parallel num_threads(1)
  {
#pragma omp for
    LOOPS SUM
#pragma omp for
    for (int i = 0; i < M; i++)
      for (int k = 0; k < size; k++) {
        C[i] += A[i * K + k] * B[k];
        *where = k > 3 ? k : size;
      }
  }
}

#define TILE(i, ii, size, end) for (int i = ii; i < (ii + size < end ? ii + size : end); i++)
#define IN_TILES                                                               \
  for (int ii = 0; ii < M; ii += 8)                                            \
    for (int jj = 0; jj < N; jj += 4)                                          \
      for (int kk = 0; kk < K; kk += 5)                                        \
        TILE(i, ii, 8, M) TILE(k, kk, 5, K) TILE(j, jj, 4, N)                  \
          C[i * N + j] += A[i * K + k] * B[k * N + j];
static void tiled(PARAMETERS) {
  _Pragma("omp parallel for") IN_TILES
}
static void tiled_collapsed(PARAMETERS) {
  _Pragma("omp parallel for collapse(2)") IN_TILES
}
static void tiled_dynamic(PARAMETERS) {
  _Pragma("omp parallel for collapse(2) schedule(dynamic, 3)") IN_TILES
}

static const struct {
  const char *name;
  void (*run)(PARAMETERS);
} form[] = {
#define NAMED(name) {#name, name}
    NAMED(plain),     NAMED(chunks),
    NAMED(dynamic),   NAMED(guided),
    NAMED(simd),      NAMED(at_run_time),
    NAMED(collapsed), NAMED(collapsed_chunks),
    NAMED(hinted),    NAMED(collapsed_dynamic),
    NAMED(only_simd), NAMED(collapsed_simd),
    NAMED(ivdep),     NAMED(nested),
    NAMED(reduced),   NAMED(nested_collapsed),
    NAMED(constant),  NAMED(batched),
    NAMED(collapsed_rows),
    NAMED(shared_counters), NAMED(shared_counters_of_sums),
    NAMED(set_by_one), NAMED(counted_rows),
    NAMED(known_elsewhere), NAMED(tiled),
    NAMED(tiled_collapsed), NAMED(tiled_dynamic)};

int main(void) {
  static const int size[][3] = {{1, 1, 1},   {3, 4, 5},   {8, 8, 8},
                                {17, 9, 13}, {33, 31, 7}, {0, 3, 3},
                                {3, 0, 3},   {3, 3, 0},   {29, 1, 2}};
  static int8_t a[1 << 12], b[1 << 12];
  static int32_t c[1 << 12];
  for (int i = 0; i < 1 << 12; i++)
    a[i] = (int8_t)(i * 7 % 251), b[i] = (int8_t)(i * 11 % 241);
  for (size_t f = 0; f < sizeof form / sizeof *form; f++)
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
      memset(c, 99, sizeof c);
      form[f].run(size[s][0], size[s][1], size[s][2], a, b, c);
      uint64_t hash = 14695981039346656037u;
      for (int i = 0; i < 1 << 12; i++)
        hash = (hash ^ (uint32_t)c[i]) * 1099511628211u;
      printf("%s %d %d %d %016llx\n", form[f].name, size[s][0], size[s][1],
             size[s][2], (unsigned long long)hash);
    }
}
