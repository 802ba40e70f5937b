/* pack_test.c -- pack_add adds every element once and touches nothing else, for
 * runs of any length along rows or columns, at any word. */
#include "check.h"
#include "parts.h"

#include <string.h>

enum { ROWS = 3, MOST = 37, PITCH = MOST + 3, WORDS = ROWS * PITCH + 2 };

/* Whole numbers, which f32 adds exactly: both types have the same sums. */
static void put(uint32_t *word, int value, enum dtype t) {
  float f = (float)value;
  uint32_t i = (uint32_t)value;
  memcpy(word, t == DTYPE_F32 ? (const void *)&f : (const void *)&i, 4);
}

/* `columns` elements lie behind each other, from word `at` on; `split` columns
 * come behind a gap; turned: these are the rows of the matrix. */
static void test(enum dtype t, int64_t columns, int64_t split, int at,
                 bool turned) {
  uint32_t to[WORDS], from[WORDS], want[WORDS];
  int64_t row[ROWS], column[MOST];
  for (int i = 0; i < WORDS; i++) {
    put(&to[i], 5 * i - 300, t);
    put(&from[i], 7000 - 31 * i, t);
    want[i] = to[i];
  }
  for (int64_t i = 0; i < ROWS; i++)
    row[i] = 4 * PITCH * i;
  for (int64_t k = 0; k < columns; k++)
    column[k] = 4 * (k + 2 * (k >= split));
  for (int64_t i = 0; i < ROWS; i++)
    for (int64_t k = 0; k < columns; k++) {
      int64_t word = at + (row[i] + column[k]) / 4;
      put(&want[word], 6700 - 26 * (int)word, t);
    }
  struct pack_matrix a = {(char *)(to + at), row, column},
                     b = {(char *)(from + at), row, column};
  if (turned) {
    a.row = b.row = column;
    a.column = b.column = row;
    pack_add(&a, &b, columns, ROWS, t);
  } else {
    pack_add(&a, &b, ROWS, columns, t);
  }
  CHECK(memcmp(to, want, sizeof to) == 0);
}

int main(void) {
  for (int64_t columns = 1; columns <= MOST; columns++)
    for (int way = 0; way < 16; way++)
      test(way & 1 ? DTYPE_F32 : DTYPE_I32, columns,
           way & 2 ? columns / 2 : columns, way >> 2 & 1, way & 8);
  /* modulo 2^32 */
  uint32_t to[5] = {UINT32_MAX, 1u << 31, 7, UINT32_MAX, 3},
           from[5] = {1, 1u << 31, 8, UINT32_MAX, UINT32_MAX};
  const uint32_t want[5] = {0, 0, 15, UINT32_MAX - 1, 2};
  const int64_t row[1] = {0}, column[5] = {0, 4, 8, 12, 16};
  pack_add(&(struct pack_matrix){(char *)to, row, column},
           &(struct pack_matrix){(char *)from, row, column}, 1, 5, DTYPE_I32);
  CHECK(memcmp(to, want, sizeof to) == 0);
  return check_result();
}
