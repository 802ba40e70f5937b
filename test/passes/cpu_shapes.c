/* cpu_shapes.c -- products of all shapes and layouts, computed by the same
 * source twice: with REFERENCE as functions ref_.., by plain loops.  Behind and
 * in front of each tensor lies memory that nothing may touch; the numbers are
 * small whole ones, so that sums are exact in every order, and of all sizes
 * where sums wrap.  IN and IN1 are the inputs' types, SUM is the result's. */
#include <stdint.h>

#ifndef IN1
#define IN1 IN
#endif

/* Quantised numbers less their zero points, which are Z0 and Z1. */
#ifdef Z0
#define LEFT(X) ((SUM)(X) - Z0)
#else
#define LEFT(X) (SUM)X
#endif
#ifdef Z1
#define RIGHT(X) ((SUM)(X) - Z1)
#else
#define RIGHT(X) (SUM)X
#endif

#ifdef REFERENCE
#define NAME(n) ref_##n
#else
#define NAME(n) n
#endif

typedef void product(long m, long n, long k, const IN *restrict a, long lda,
                     const IN1 *restrict b, long ldb, SUM *restrict c,
                     long ldc);
#define PRODUCT(name, A, B, C, start, end)                                     \
  void NAME(name)(long m, long n, long k, const IN *restrict a, long lda,      \
                  const IN1 *restrict b, long ldb, SUM *restrict c,            \
                  long ldc) {                                                  \
    for (long i = 0; i < m; i++)                                               \
      for (long j = 0; j < n; j++) {                                           \
        SUM s = 0;                                                             \
        for (long p = 0; p < k; p++)                                           \
          s += LEFT(A) * RIGHT(B);                                             \
        SUM *out = &C;                                                         \
        *out = end;                                                            \
      }                                                                        \
  }
PRODUCT(nn, a[i * lda + p], b[p * ldb + j], c[i * ldc + j], 0, s)
PRODUCT(tn, a[p * lda + i], b[p * ldb + j], c[i * ldc + j], 0, *out + s)
PRODUCT(nt, a[i * lda + p], b[j * ldb + p], c[i * ldc + j], 0, *out - s)
PRODUCT(tt, a[p * lda + i], b[j * ldb + p], c[i * ldc + j], 0, s > 0 ? s : 0)
PRODUCT(columns, a[i * lda + p], b[p * ldb + j], c[j * ldc + i], 0, *out + s)
PRODUCT(spread, a[i * lda + 2 * p], b[p * ldb + 3 * j], c[i * ldc + 2 * j], 0,
        3 * s + *out)

PRODUCT(scaled, a[i * lda + p], b[j * ldb + p], c[i * ldc + j], 0,
        2 * s - 3 * *out)
PRODUCT(scaled_nn, a[i * lda + p], b[p * ldb + j], c[i * ldc + j], 0,
        *out * 5 + -s)

/* A matrix and a vector; the sizes are those of products with one row or one
 * column. */
#define VECTOR(name, count, A, B, C, end)                                      \
  void NAME(name)(long m, long n, long k, const IN *restrict a, long lda,      \
                  const IN1 *restrict b, long ldb, SUM *restrict c,            \
                  long ldc) {                                                  \
    (void)m, (void)n, (void)lda, (void)ldb, (void)ldc;                         \
    for (long i = 0; i < count; i++) {                                         \
      SUM s = 0;                                                               \
      for (long p = 0; p < k; p++)                                             \
        s += LEFT(A) * RIGHT(B);                                               \
      SUM *out = &C;                                                           \
      *out = end;                                                              \
    }                                                                          \
  }
VECTOR(rows, m, a[i * lda + p], b[p], c[i * ldc], *out + s)
VECTOR(clamped, m, a[i * lda + p], b[p], c[i * ldc], s > 1 ? s : 1)
VECTOR(across, n, a[p], b[p * ldb + i], c[i], s)
VECTOR(across_less, n, a[p], b[p * ldb + i], c[i], *out - s)
VECTOR(fewer, m, a[p * lda + i], b[p], c[i], *out + s)

/* Sizes that are known when compiling. */
#define FIXED(name, M, N, K, B)                                                \
  void NAME(name)(long m, long n, long k, const IN *restrict a, long lda,      \
                  const IN1 *restrict b, long ldb, SUM *restrict c,            \
                  long ldc) {                                                  \
    (void)m, (void)n, (void)k, (void)lda, (void)ldb, (void)ldc;                \
    for (long i = 0; i < M; i++)                                               \
      for (long j = 0; j < N; j++)                                             \
        for (long p = 0; p < K; p++)                                           \
          c[i * N + j] += LEFT(a[i * K + p]) * RIGHT(B);                       \
  }
FIXED(eight, 8, 8, 8, b[p * 8 + j])
FIXED(odd, 5, 7, 9, b[p * 7 + j])
FIXED(low, 3, 50, 13, b[p * 50 + j])
FIXED(wide, 17, 63, 12, b[p * 63 + j])
FIXED(cube, 64, 64, 64, b[p * 64 + j])
FIXED(tall, 40, 10, 20, b[p * 10 + j])
FIXED(turned, 18, 45, 13, b[j * 13 + p])
FIXED(turned_tall, 30, 3, 20, b[j * 20 + p])

/* Axes: m is x, y; n is z, w; k is p, q; a is [x][p][y][q], b [q][z][p][w],
 * out [x][z][y][w]. */
#define Y 3
#define W 5
#define Q 2
void NAME(axes)(long m, long n, long k, const IN *restrict a, long lda,
                const IN1 *restrict b, long ldb, SUM *restrict c, long ldc) {
  (void)lda, (void)ldb, (void)ldc;
  for (long x = 0; x < m; x++)
    for (long z = 0; z < n; z++)
      for (long y = 0; y < Y; y++)
        for (long w = 0; w < W; w++)
          for (long p = 0; p < k; p++)
            for (long q = 0; q < Q; q++)
              c[((x * n + z) * Y + y) * W + w] +=
                  LEFT(a[((x * k + p) * Y + y) * Q + q]) *
                  RIGHT(b[((q * n + z) * k + p) * W + w]);
}

/* A sum for each group of a row's elements, as where groups have scales: of
 * groups that lie in the row, and of groups far apart. */
#define GROUPS(name, A, C)                                                     \
  void NAME(name)(long m, long n, long k, const IN *restrict a, long lda,      \
                  const IN1 *restrict b, long ldb, SUM *restrict c,            \
                  long ldc) {                                                  \
    (void)n, (void)lda, (void)ldb, (void)ldc;                                  \
    for (long x = 0; x < m; x++)                                               \
      for (long g = 0; g < Y * Q; g++)                                         \
        for (long p = 0; p < k; p++)                                           \
          C += LEFT(A) * RIGHT(b[g * k + p]);                                  \
  }
GROUPS(groups, a[(x * Y * Q + g) * k + p], c[x * Y * Q + g])
GROUPS(groups_apart, a[(g * m + x) * k + p], c[g * m + x])

#ifndef REFERENCE
#ifndef EACH
#define EACH 1 /* of so many shapes, where the processor is emulated */
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

product ref_nn, ref_tn, ref_nt, ref_tt, ref_columns, ref_spread, ref_scaled,
    ref_scaled_nn, ref_axes, ref_groups, ref_groups_apart, ref_rows,
    ref_clamped, ref_across, ref_across_less, ref_fewer, ref_eight, ref_odd,
    ref_low, ref_wide, ref_cube, ref_tall, ref_turned, ref_turned_tall;

enum { ROOM = 1 << 22, PAGE = 4096, NOTHING = 4 * PAGE };

static const struct {
  product *tested, *reference;
  long m, n, k;
} fixed[] = {{eight, ref_eight, 8, 8, 8},
             {odd, ref_odd, 5, 7, 9},
             {low, ref_low, 3, 50, 13},
             {wide, ref_wide, 17, 63, 12},
             {cube, ref_cube, 64, 64, 64},
             {tall, ref_tall, 40, 10, 20},
             {turned, ref_turned, 18, 45, 13},
             {turned_tall, ref_turned_tall, 30, 3, 20}};

/* `bytes` that end (or, with `begin`, begin) where a page is that nothing may
 * touch. */
static void *guarded(int which, size_t bytes, int begin) {
  static char *area[3];
  if (!area[which]) {
    char *p = mmap(NULL, ROOM + 2 * NOTHING, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + NOTHING, ROOM, PROT_READ | PROT_WRITE))
      abort();
    area[which] = p + NOTHING;
  }
  if (bytes > ROOM)
    abort();
  return begin ? area[which] : area[which] + ROOM - bytes;
}

static const struct shape {
  const char *name;
  product *tested, *reference;
  char a, b, c; /* n: as named, t: transposed, s: spread, x: axes */
} shapes[] = {{"nn", nn, ref_nn, 'n', 'n', 'n'},
              {"tn", tn, ref_tn, 't', 'n', 'n'},
              {"nt", nt, ref_nt, 'n', 't', 'n'},
              {"tt", tt, ref_tt, 't', 't', 'n'},
              {"columns", columns, ref_columns, 'n', 'n', 't'},
              {"spread", spread, ref_spread, 's', 'S', 's'},
              {"axes", axes, ref_axes, 'x', 'x', 'x'},
              {"groups", groups, ref_groups, 'x', 'x', 'x'},
              {"groups_apart", groups_apart, ref_groups_apart, 'x', 'x', 'x'}};
static const struct shape scales[] = {
    {"scaled", scaled, ref_scaled, 'n', 't', 'n'},
    {"scaled_nn", scaled_nn, ref_scaled_nn, 'n', 'n', 'n'}};
static const struct shape vectors[] = {
    {"rows", rows, ref_rows, 'n', 'n', 'n'},
    {"clamped", clamped, ref_clamped, 'n', 'n', 'n'},
    {"across", across, ref_across, 'n', 'n', 'n'},
    {"across_less", across_less, ref_across_less, 'n', 'n', 'n'},
    {"fewer", fewer, ref_fewer, 't', 'n', 't'}};

static long leading(char how, long rows, long columns, long pad) {
  long dense = how == 't' ? rows : columns;
  return (how == 's' ? 2 : how == 'S' ? 3 : 1) * dense + pad;
}

static long elements(char how, long rows, long columns, long ld, long inner) {
  if (how == 'x')
    return rows * columns * inner;
  long step = how == 's' ? 2 : how == 'S' ? 3 : 1;
  return how == 't' ? (columns - 1) * ld + rows
                    : (rows - 1) * ld + (columns - 1) * step + 1;
}

/* As random as these tests need; rand() took six sevenths of their time. */
static unsigned next(void) {
  static unsigned seed = 1;
  return (seed = seed * 1664525 + 1013904223) >> 16;
}

/* Any number of a small type; a bf16 is the upper half of a float. */
#define SET(type, place) set(place, sizeof(type), (type)1 / 2 != (type)0)
static void set(void *place, size_t bytes, int is_float) {
  unsigned any = next();
  int32_t small = (int32_t)(any % 9) - 4;
  int16_t shorter = (int16_t)any;
  int8_t byte = (int8_t)any;
  float f = (float)small;
  double d = (double)small;
  const void *from = bytes == 8   ? (const void *)&d
                     : bytes == 2 ? (const void *)&shorter
                     : bytes == 1 ? (const void *)&byte
                     : is_float   ? (const void *)&f
                                  : (const void *)&small;
  if (bytes == 2 && is_float)
    from = (const char *)&f + 2;
  memcpy(place, from, bytes);
}

/* Less than no padding: none, in front of memory that nothing may touch. */
static int try(const struct shape *s, long m, long n, long k, long pad) {
  int begin = (int)(pad & 1);
  pad = pad < 0 ? 0 : pad;
  long lda = leading(s->a, m, k, pad), ldb = leading(s->b, k, n, pad),
       ldc = leading(s->c, m, n, pad);
  long as = elements(s->a, m, k, lda, Y * Q);
  long bs = elements(s->b, k, n, ldb, Q * W);
  long cs = elements(s->c, m, n, ldc, Y * W);
  IN *a = guarded(0, (size_t)as * sizeof *a, begin);
  IN1 *b = guarded(1, (size_t)bs * sizeof *b, begin);
  SUM *c = guarded(2, (size_t)cs * sizeof *c, begin);
  SUM *want = malloc((size_t)cs * sizeof *want);
  if (!want)
    abort();
  for (long i = 0; i < as; i++)
    SET(IN, &a[i]);
  for (long i = 0; i < bs; i++)
    SET(IN1, &b[i]);
  for (long i = 0; i < cs; i++)
    want[i] = c[i] = (SUM)(next() % 5);
  s->tested(m, n, k, a, lda, b, ldb, c, ldc);
  s->reference(m, n, k, a, lda, b, ldb, want, ldc);
  int same = 1;
  for (long i = 0; i < cs; i++)
    same &= want[i] == c[i];
  free(want);
  if (!same)
    printf("%s %ld %ld %ld, padded by %ld: wrong\n", s->name, m, n, k, pad);
  return same;
}

int main(void) {
  static const long size[] = {1, 2, 3, 7, 14, 17, 31, 33, 65, 130};
  enum { SIZES = sizeof size / sizeof *size };
  int tries = 0, wrong = 0;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int i = 0; i < SIZES * SIZES * SIZES; i++) {
      long m = size[i % SIZES], n = size[i / SIZES % SIZES],
           k = size[i / SIZES / SIZES];
      if ((m * n * k > 100000 && i % 7) || i % EACH)
        continue;
      if (shapes[s].a == 'x' && m * n * k > 20000)
        continue;
      tries++;
      wrong += !try(&shapes[s], m, n, k, i % 3);
    }
  static const long length[] = {1,  2,  5,   8,   9,    16,
                                23, 64, 100, 257, 1100, 2500};
  enum { LENGTHS = sizeof length / sizeof *length };
  for (size_t s = 0; s < sizeof vectors / sizeof *vectors; s++)
    for (int i = 0; i < LENGTHS * LENGTHS; i++) {
      long k = length[i / LENGTHS], many = length[i % LENGTHS];
      if (k * many > 300000 || (EACH > 1 && i % 5))
        continue;
      int is_row =
          vectors[s].tested == across || vectors[s].tested == across_less;
      tries++;
      wrong +=
          !try(&vectors[s], is_row ? 1 : many, is_row ? many : 1, k, i % 3);
    }
  for (size_t s = 0; s < sizeof fixed / sizeof *fixed; s++)
    for (int i = 0; i < 2; i++) {
      struct shape x = {"fixed", fixed[s].tested, fixed[s].reference, 'n', 'n',
                        'n'};
      tries++;
      wrong += !try(&x, fixed[s].m, fixed[s].n, fixed[s].k, -i);
    }
  for (size_t s = 0; s < 4; s++) { /* packed, several blocks of K */
    wrong += !try(&shapes[s], 40, 70, 1500, 0);
    wrong += !try(&shapes[s], 63, 330, 900, 1);
  }
  for (size_t s = 0; s < 4; s++) /* few columns, of more rows than are kept */
    wrong += !try(&shapes[s], 1100, 5, 40, 1);
  for (size_t s = 0; s < 4; s++) { /* vectors, in parts of so many steps */
    wrong += !try(&shapes[s], 65, 2, 2100, 1);
    wrong += !try(&shapes[s], 2, 70, 1100, 0);
  }
  static const long scaled_size[][3] = {
      {5, 7, 0},   {3, 9, 2},     {16, 16, 16},   {7, 5, 130},
      {1, 40, 30}, {65, 33, 70},  {100, 60, 300}, {300, 20, 700},
      {9, 3, 400}, {70, 400, 257}};
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < (int)(sizeof scaled_size / sizeof *scaled_size); i++) {
      const long *x = scaled_size[i];
      tries++;
      wrong += !try(&scales[s], x[0], x[1], x[2], i % 3);
    }
  wrong += !try(&shapes[3], 300, 20, 700, 1);
  wrong += !try(&shapes[1], 5, 300, 900, 2);
  printf("%d shapes, %d wrong\n", tries, wrong);
  return wrong != 0;
}
#endif
