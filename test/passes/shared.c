// Counters in front of a parallel region are shared by its threads, and so are
// sizes: clang passes their addresses, of which it is known that nothing else
// leads there, not even where the result has their type.
// RUN: %verify -O1 -fopenmp %s
// RUN: %verify -O2 -fopenmp %s

#define PARAMETERS                                                             \
  int m, int n, int extent, const signed char *a, const signed char *b, int *c
#define ROW(i, j, k)                                                           \
  for (k = 0; k < extent; k++)                                                 \
    for (j = 0; j < n; j++)                                                    \
      c[i * n + j] += a[i * extent + k] * b[k * n + j];

void rows(PARAMETERS) {
  int i, j, k;
#pragma omp parallel for // expected-remark {{nest replaced by a call}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
}
void sums(PARAMETERS) {
  int i, j, k;
#pragma omp parallel for // expected-remark {{nest replaced by a call}}
  for (i = 0; i < m; i++)
    for (j = 0; j < n; j++) {
      int s = 0;
      for (k = 0; k < extent; k++)
        s += a[i * extent + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}
// Whether a tile reads sizes and addresses is not known in front of all tiles.
#define TILE(i, from, size, end) \
  for (int i = from; i < (from + size < end ? from + size : end); i++)
void tiles(PARAMETERS) {
#pragma omp parallel for collapse(2) // expected-remark {{mk,kn->mn with m=n_l k=n_m n=n_n}}
  for (int ii = 0; ii < m; ii += 8)
    for (int jj = 0; jj < n; jj += 8)
      for (int kk = 0; kk < extent; kk += 8)
        TILE(i, ii, 8, m)
          TILE(k, kk, 8, extent)
            TILE(j, jj, 8, n)
              c[i * n + j] += a[i * extent + k] * b[k * n + j];
}
// The row of an element that a thread counts is one of 32 bits.
void row_pointers(int m, int n, int extent, signed char **a, signed char **b,
                  int **c) {
#pragma omp parallel for collapse(2) // expected-remark {{mk,kn->mn with m=n_i n=n_j k=n_k}}
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int s = 0;
      for (int k = 0; k < extent; k++)
        s += a[i][k] * b[k][j];
      c[i][j] = s;
    }
}
// Two regions have the addresses.
int twice(PARAMETERS) {
  int i, j, k;
#pragma omp parallel for // expected-remark {{nest replaced by a call}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
  m = j;
#pragma omp parallel for // expected-remark {{nest replaced by a call}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
  return j + k;
}

// ---- near misses ----

// Others have the address: the result may lie there.
int *known;
void known_elsewhere(PARAMETERS) {
  int i, j, k;
  known = &j;
#pragma omp parallel for // expected-remark {{counter lies in memory}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
}
void known_to_a_function(PARAMETERS, void (*see)(int *)) {
  int i, j, k;
#pragma omp parallel for // expected-remark {{counter lies in memory}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
  see(&k);
}
// The region itself gives it away.
void known_to_the_region(PARAMETERS) {
  int i, j, k;
#pragma omp parallel
  {
    known = &k;
#pragma omp for // expected-remark {{counter lies in memory}}
    for (i = 0; i < m; i++)
      ROW(i, j, k)
  }
}
// So does another one.
void known_to_another_region(PARAMETERS) {
  int i, j, k;
#pragma omp parallel
  known = &k;
#pragma omp parallel for // expected-remark {{counter lies in memory}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
}
// An element of what may be accessed elsewhere, too.
void elements(PARAMETERS) {
  int i, at[2];
#pragma omp parallel for // expected-remark {{counter lies in memory}}
  for (i = 0; i < m; i++)
    ROW(i, at[0], at[1])
}
// Any thread may count on.
void counted_by_all(PARAMETERS) {
  int i, j;
  _Atomic int k;
#pragma omp parallel for // expected-remark {{[VolatileOrAtomic]}}
  for (i = 0; i < m; i++)
    ROW(i, j, k)
}
