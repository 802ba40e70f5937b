// Pointers that an iteration computes for the next one, from how many are left,
// as in CMSIS-DSP.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 16
#include "forms.h"
#define NONE (M < 1 || N < 1 || K < 1)

struct matrix {
  uint16_t rows, columns;
  const int8_t *at;
};
#define MATRICES                                                               \
  struct matrix a = {(uint16_t)M, (uint16_t)K, A},                             \
                b = {(uint16_t)K, (uint16_t)N, B}

// START is the first column in each row, NEXT the column behind one.
#define PRODUCT(name, START, NEXT)                                             \
  static __attribute__((noinline)) void name(const struct matrix *a,           \
                                             const struct matrix *b,           \
                                             const int8_t *B, int32_t *c) {    \
    const int8_t *row = a->at, *column, *first = b->at;                        \
    uint32_t n = b->columns, length = a->columns, i = 0, rows = a->rows;       \
    do {                                                                       \
      int32_t *next = c + i;                                                   \
      uint32_t left = n;                                                       \
      column = START;                                                          \
      do {                                                                     \
        const int8_t *x = row;                                                 \
        int32_t s = 0;                                                         \
        for (uint32_t k = length; k > 0; k--, column += n)                     \
          s += *x++ * *column;                                                 \
        *next++ = s;                                                           \
        left--;                                                                \
        column = NEXT;                                                         \
      } while (left > 0);                                                      \
      i += n;                                                                  \
      row += length;                                                           \
    } while (--rows > 0);                                                      \
  }

// expected-remark@+1 {{mk,kn->mn}}
PRODUCT(read_again, b->at, first + (n - left))
INT_FORM(start_is_read_again) {
  MATRICES;
  if (!NONE)
    read_again(&a, &b, B, C);
}
// expected-remark@+1 {{mk,kn->mn}}
PRODUCT(another, B, first + (n - left))
INT_FORM(start_is_another_variable) {
  MATRICES;
  if (!NONE)
    another(&a, &b, B, C);
}
INT_FORM(start_is_elsewhere) { // declined when it runs
  MATRICES;
  if (!NONE)
    another(&a, &b, B + 1, C);
}
// expected-remark@+1 {{mk,kn->mn}}
PRODUCT(far, B, B + (n - left) * 2)
INT_FORM(every_other_column) {
  MATRICES;
  if (!NONE && N <= 8 && K <= 8)
    far(&a, &b, B, C);
}
// expected-remark@+1 {{NonAffineIndex}}
PRODUCT(behind, B, B + (n - left) + 1)
INT_FORM(one_column_further) { // a near miss
  MATRICES;
  if (!NONE)
    behind(&a, &b, B, C);
}
// expected-remark@+1 {{NonAffineIndex}}
PRODUCT(squares, B, B + (n - left) * (n - left))
INT_FORM(squares_of_columns) { // a near miss
  MATRICES;
  if (!NONE && N <= 8 && K <= 8)
    squares(&a, &b, B, C);
}
// expected-remark@+1 {{NonAffineIndex}}
PRODUCT(by_element, B, first + (row[n - left - 1] & 3))
INT_FORM(column_by_an_element) { // a near miss
  MATRICES;
  if (!NONE)
    by_element(&a, &b, B, C);
}
