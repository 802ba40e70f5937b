/* rows.c -- products of matrices whose rows are allocated one by one, and lie
 * anywhere; of which some are one row, or a row of another matrix.
 *
 *   rows [M N K]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t seed = 1;
static int next(void) {
  return (int)((seed = seed * 1664525 + 1013904223) >> 16);
}

/* In blocks of other sizes, so that no two distances are alike. */
static int32_t **rows(int m, int n) {
  int32_t **a = malloc((size_t)m * sizeof(*a));
  for (int i = 0; i < m; i++) {
    a[i] = malloc(((size_t)n + (size_t)(next() % 30)) * sizeof(**a));
    for (int j = 0; j < n; j++)
      a[i][j] = next() % 2001 - 1000;
  }
  return a;
}

static void drop(int32_t **a, int m) {
  for (int i = 0; i < m; i++)
    free(a[i]);
  free(a);
}

static void print(const char *what, int m, int n, int32_t **c) {
  uint32_t h = 1;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      h = h * 31 + (uint32_t)c[i][j];
  printf("%s %u\n", what, h);
}

#define NEST __attribute__((noinline)) static void
NEST add(int m, int n, int k, int32_t **c, int32_t **a, int32_t **b) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      for (int p = 0; p < k; p++)
        c[i][j] += a[i][p] * b[p][j];
}

/* Columns from the third one on. */
NEST part(int m, int n, int k, int32_t *c, int32_t **a, int32_t **b) {
  for (int i = 0; i < m; i++)
    for (int j = 2; j < n; j++) {
      int32_t s = 0;
      for (int p = 0; p < k; p++)
        s += a[p][i] * b[j][p];
      c[i * n + j] = s;
    }
}

/* Each row is used from another column on. */
NEST slant(int m, int n, int k, int32_t **c, int32_t **a, int32_t **b) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int32_t s = 0;
      for (int p = 0; p < k; p++)
        s += a[i][i + p] * b[p][j];
      c[i][2 * i + j] = s;
    }
}

static int32_t half(int32_t x) { return x / 2; }
NEST apply(int m, int n, int k, int32_t **c, int32_t **a, int32_t **b,
           int32_t (*f)(int32_t)) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      int32_t s = 0;
      for (int p = 0; p < k; p++)
        s += a[i][p] * b[p][j];
      c[i][j] = f(s);
    }
}

int main(int argc, char **argv) {
  int m = argc > 1 ? atoi(argv[1]) : 40, n = argc > 2 ? atoi(argv[2]) : 33,
      k = argc > 3 ? atoi(argv[3]) : 40;
  int32_t **a = rows(m, k), **b = rows(k, n), **c = rows(m, n);
  add(m, n, k, c, a, b);
  print("once", m, n, c);
  add(m, n, k, c, a, b);
  print("twice", m, n, c);

  int32_t **t = rows(k, m), **u = rows(n, k);
  int32_t *flat = calloc((size_t)(m * n), sizeof(*flat)), **of = rows(m, 0);
  for (int i = 0; i < m; i++) {
    free(of[i]);
    of[i] = flat + i * n;
  }
  part(m, n, k, flat, t, u);
  print("part", m, n, of);

  apply(m, n, k, c, a, b, half);
  print("applied", m, n, c);

  int32_t **wide = rows(m, m + k), **to = rows(m, 2 * m + n);
  slant(m, n, k, to, wide, b);
  print("from another column", m, 2 * m + n, to);
  drop(wide, m);
  drop(to, m);

  /* What follows is for the loops. */
  int32_t *row = c[m / 2];
  c[m / 2] = c[m / 3];
  add(m, n, k, c, a, b);
  print("a row twice", m, n, c);
  c[m / 2] = a[m / 3]; /* and behind its end another row's, if n > k */
  if (n <= k)
    add(m, n, k, c, a, b);
  print("a row of both", m, n, c);
  c[m / 2] = row;
  row = c[1];
  c[1] = c[0] + 1;
  add(m, n - 1, k, c, a, b);
  print("rows that share", m, n - 1, c);
  c[1] = row;

  free(flat);
  free(of);
  drop(a, m);
  drop(b, k);
  drop(c, m);
  drop(t, k);
  drop(u, n);
  return 0;
}
