// Parts of one array that lie beside each other do not overlap, though their
// ranges of bytes do.  The function that tells them apart is asked about all
// small strides, extents and distances: never yes where a byte is shared, and
// yes for parts of a matrix that share rows or columns.  Products of random
// parts of an array, apart or not, are what they are without us.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -DNEST=update -S -emit-llvm %s -o %t.ll
// RUN: FileCheck %s <%t.ll
// RUN: sed 's/nputeir\.beside\.[0-9a-f]*/beside/g' %t.ll >%t.beside.ll
// RUN: %plain -O1 -DNEST=reference -c %s -o %t.reference.o
// RUN: %plain -Wno-override-module -O2 %s %t.beside.ll %t.reference.o -o %t && %t
// CHECK: define linkonce_odr hidden i1 @nputeir.beside.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void update(int *c, const int *a, const int *b, long m, long n, long k,
            long row);
void reference(int *c, const int *a, const int *b, long m, long n, long k,
               long row);
#ifdef NEST
void NEST(int *c, const int *a, const int *b, long m, long n, long k,
          long row) {
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long l = 0; l < k; l++)
        c[i * row + j] -= a[i * row + l] * b[l * row + j];
}
#else
struct axis {
  int64_t extent, stride[2];
};
unsigned char beside(const struct axis *, int64_t count, int64_t record,
                     int64_t out_at, int64_t in_at, int64_t distance,
                     int64_t out_bytes, int64_t in_bytes); /* i1 */

enum { AXES = 3, BYTES = 256 };

/* The bytes of a tensor, of which the first lies at `low`. */
static void cover(const struct axis *x, int count, int t, int64_t bytes,
                  int64_t low, bool used[BYTES]) {
  memset(used, 0, BYTES * sizeof *used);
  for (int a = 0; a < count; a++)
    if (x[a].stride[t] < 0)
      low -= (x[a].extent - 1) * x[a].stride[t];
  int64_t i[AXES] = {0};
  for (int a = 0; a < count;) {
    int64_t at = low;
    for (int b = 0; b < count; b++)
      at += i[b] * x[b].stride[t];
    memset(used + at, 1, (size_t)bytes);
    for (a = 0; a < count && ++i[a] == x[a].extent; a++)
      i[a] = 0;
  }
}

static bool share(const struct axis *x, int count, int64_t distance,
                  int64_t out_bytes, int64_t in_bytes) {
  bool out[BYTES], in[BYTES];
  cover(x, count, 0, out_bytes, BYTES / 3, out);
  cover(x, count, 1, in_bytes, BYTES / 3 + distance, in);
  for (int i = 0; i < BYTES; i++)
    if (out[i] && in[i])
      return true;
  return false;
}

static bool asked(const struct axis *x, int64_t count, int64_t distance,
                  int64_t out_bytes, int64_t in_bytes) {
  return beside(x, count, 3, 1, 2, distance, out_bytes, in_bytes) & 1;
}

static int64_t yes, apart;

static bool is_right(const struct axis *x, int count, int64_t distance,
                     int64_t out_bytes, int64_t in_bytes) {
  bool shared = share(x, count, distance, out_bytes, in_bytes);
  bool is = asked(x, count, distance, out_bytes, in_bytes);
  yes += is;
  apart += !shared;
  if (!is || !shared)
    return true;
  for (int a = 0; a < count; a++)
    printf("extent %ld, strides %ld %ld\n", (long)x[a].extent,
           (long)x[a].stride[0], (long)x[a].stride[1]);
  return printf("%ld bytes apart, of %ld and %ld\n", (long)distance,
                (long)out_bytes, (long)in_bytes) < 0;
}

static bool all_small(void) {
  static const int64_t stride[] = {-6, -1, 0, 1, 2, 3, 4, 6};
  enum { STRIDES = sizeof stride / sizeof *stride, EXTENTS = 3 };
  for (int s = 0; s < STRIDES * STRIDES * STRIDES * STRIDES; s++)
    for (int e = 0; e < EXTENTS * EXTENTS; e++)
      for (int64_t distance = -9; distance <= 9; distance++)
        for (int64_t b = 0; b < 4; b++) {
          struct axis x[] = {
              {1 + e % EXTENTS,
               {stride[s % STRIDES], stride[s / STRIDES % STRIDES]}},
              {1 + e / EXTENTS,
               {stride[s / STRIDES / STRIDES % STRIDES],
                stride[s / STRIDES / STRIDES / STRIDES]}}};
          if (!is_right(x, 2, distance, 1 + b % 2, 1 + b / 2))
            return false;
        }
  return true;
}

static bool random_ones(void) {
  for (int r = 0; r < 300000; r++) {
    struct axis x[AXES];
    for (int a = 0; a < AXES; a++)
      x[a] =
          (struct axis){1 + rand() % 4, {rand() % 25 - 12, rand() % 25 - 12}};
    if (!is_right(x, AXES, rand() % 49 - 24, 1 + rand() % 4, 1 + rand() % 4))
      return false;
  }
  return true;
}

/* Columns of a matrix of rows of `row` bytes, out from `o` on, in from `i`. */
static bool columns_are_beside(int64_t row) {
  for (int64_t o = 0; o < row; o++)
    for (int64_t n = 1; o + n <= row; n++)
      for (int64_t i = o + n; i < row; i++)
        for (int64_t k = 1; i + k <= row; k++) {
          struct axis x[] = {{5, {row, row}}, {n, {1, 0}}, {k, {0, 1}}};
          struct axis back[] = {{5, {row, row}}, {n, {0, 1}}, {k, {1, 0}}};
          if (!asked(x, 3, i - o, 1, 1) || !asked(back, 3, o - i, 1, 1))
            return printf("columns %ld and %ld of %ld are apart\n", (long)o,
                          (long)i, (long)row) < 0;
        }
  return true;
}

static bool products_agree(void) {
  enum { ELEMENTS = 4000, ROW = 40 };
  static int mine[ELEMENTS], other[ELEMENTS];
  for (int r = 0; r < 20000; r++) {
    for (int i = 0; i < ELEMENTS; i++)
      mine[i] = other[i] = rand() % 7;
    long c = rand() % 400, a = rand() % 400, b = rand() % 400;
    long m = 1 + rand() % 9, n = 1 + rand() % 30, k = 1 + rand() % 9;
    long row = ROW - rand() % 20;
    update(mine + c, mine + a, mine + b, m, n, k, row);
    reference(other + c, other + a, other + b, m, n, k, row);
    if (memcmp(mine, other, sizeof mine))
      return printf("%ld x %ld x %ld at %ld %ld %ld, rows of %ld\n", m, n, k, c,
                    a, b, row) < 0;
  }
  return true;
}

int main(void) {
  bool right =
      all_small() && random_ones() && columns_are_beside(9) && products_agree();
  printf("%ld beside, %ld apart\n", (long)yes, (long)apart);
  return !right || yes == 0;
}
#endif
