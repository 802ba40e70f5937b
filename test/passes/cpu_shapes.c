/* cpu_shapes.c -- products of all shapes and layouts, computed by the same
 * source twice: with REFERENCE as functions ref_.., by plain loops.  Behind and
 * in front of each tensor lies memory that nothing may touch; the numbers are
 * small whole ones, so that sums are exact in every order. */
#include <stdint.h>

#ifdef REFERENCE
#define NAME(n) ref_##n
#else
#define NAME(n) n
#endif

typedef void product(long m, long n, long k, const IN *restrict a, long lda,
                     const IN *restrict b, long ldb, SUM *restrict c, long ldc);
#define PRODUCT(name, A, B, C, start, end)                                     \
  void NAME(name)(long m, long n, long k, const IN *restrict a, long lda,      \
                  const IN *restrict b, long ldb, SUM *restrict c, long ldc) { \
    for (long i = 0; i < m; i++)                                               \
      for (long j = 0; j < n; j++) {                                           \
        SUM s = 0;                                                             \
        for (long p = 0; p < k; p++)                                           \
          s += (SUM)A * (SUM)B;                                                \
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

/* Axes: m is x, y; n is z, w; k is p, q; a is [x][p][y][q], b [q][z][p][w],
 * out [x][z][y][w]. */
#define Y 3
#define W 5
#define Q 2
void NAME(axes)(long m, long n, long k, const IN *restrict a, long lda,
                const IN *restrict b, long ldb, SUM *restrict c, long ldc) {
  (void)lda, (void)ldb, (void)ldc;
  for (long x = 0; x < m; x++)
    for (long z = 0; z < n; z++)
      for (long y = 0; y < Y; y++)
        for (long w = 0; w < W; w++)
          for (long p = 0; p < k; p++)
            for (long q = 0; q < Q; q++)
              c[((x * n + z) * Y + y) * W + w] +=
                  (SUM)a[((x * k + p) * Y + y) * Q + q] *
                  (SUM)b[((q * n + z) * k + p) * W + w];
}

#ifndef REFERENCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

product ref_nn, ref_tn, ref_nt, ref_tt, ref_columns, ref_spread, ref_axes;

enum { ROOM = 1 << 22, PAGE = 4096, NOTHING = 4 * PAGE };

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
              {"axes", axes, ref_axes, 'x', 'x', 'x'}};

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

static int try(const struct shape *s, long m, long n, long k, long pad) {
  long lda = leading(s->a, m, k, pad), ldb = leading(s->b, k, n, pad),
       ldc = leading(s->c, m, n, pad);
  long as = elements(s->a, m, k, lda, Y * Q);
  long bs = elements(s->b, k, n, ldb, Q * W);
  long cs = elements(s->c, m, n, ldc, Y * W);
  int begin = (int)(pad & 1);
  IN *a = guarded(0, (size_t)as * sizeof *a, begin);
  IN *b = guarded(1, (size_t)bs * sizeof *b, begin);
  SUM *c = guarded(2, (size_t)cs * sizeof *c, begin);
  SUM *want = malloc((size_t)cs * sizeof *want);
  if (!want)
    abort();
  for (long i = 0; i < as; i++)
    a[i] = (IN)(rand() % 9 - 4);
  for (long i = 0; i < bs; i++)
    b[i] = (IN)(rand() % 9 - 4);
  for (long i = 0; i < cs; i++)
    want[i] = c[i] = (SUM)(rand() % 5);
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
      if (m * n * k > 100000 && i % 7)
        continue;
      if (shapes[s].a == 'x' && m * n * k > 20000)
        continue;
      tries++;
      wrong += !try(&shapes[s], m, n, k, i % 3);
    }
  for (size_t s = 0; s < 4; s++) { /* packed, several blocks of K */
    wrong += !try(&shapes[s], 40, 70, 1500, 0);
    wrong += !try(&shapes[s], 63, 330, 900, 1);
  }
  wrong += !try(&shapes[3], 300, 20, 700, 1);
  wrong += !try(&shapes[1], 5, 300, 900, 2);
  printf("%d shapes, %d wrong\n", tries, wrong);
  return wrong != 0;
}
#endif
