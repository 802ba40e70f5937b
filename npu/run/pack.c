/* pack.c -- copies a matrix from one layout to another, or adds it.
 *
 * Each side gives one byte offset per row and one per column, which covers
 * strided, blocked and fused axes alike.  Where both sides run on contiguously
 * along one direction, whole runs are copied; where they do not, small squares
 * are, so that neither side leaves the caches.
 */
#include "parts.h"

#include <string.h>

enum { SQUARE = 32 };

static int64_t divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* The length of the runs that are contiguous in both, as a divisor of
 * `count`: all breaks lie at its multiples. */
static int64_t run_length(const int64_t *a, const int64_t *b, int64_t count,
                          int bytes) {
  int64_t run = count;
  for (int64_t i = 1; i < count && run > 1; i++)
    if (a[i] - a[i - 1] != bytes || b[i] - b[i - 1] != bytes)
      run = divisor(run, i);
  return run;
}

/* Sizes that memcpy turns into single moves. */
static void copy_run(char *to, const char *from, size_t bytes) {
  switch (bytes) {
  case 1:
    *to = *from;
    return;
  case 2:
    memcpy(to, from, 2);
    return;
  case 4:
    memcpy(to, from, 4);
    return;
  case 8:
    memcpy(to, from, 8);
    return;
  case 16:
    memcpy(to, from, 16);
    return;
  case 32:
    memcpy(to, from, 32);
    return;
  case 64:
    memcpy(to, from, 64);
    return;
  default:
    memcpy(to, from, bytes);
  }
}

static void add_f32(char *to, const char *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    float a, b;
    memcpy(&a, to + 4 * i, 4);
    memcpy(&b, from + 4 * i, 4);
    a += b;
    memcpy(to + 4 * i, &a, 4);
  }
}

static void add_i32(char *to, const char *from, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t a, b;
    memcpy(&a, to + 4 * i, 4);
    memcpy(&b, from + 4 * i, 4);
    a += b;
    memcpy(to + 4 * i, &a, 4);
  }
}

static struct pack_matrix turned(const struct pack_matrix *m) {
  return (struct pack_matrix){m->base, m->column, m->row};
}

static void copy_rows(const struct pack_matrix *to,
                      const struct pack_matrix *from, int64_t rows,
                      int64_t columns, int64_t run, size_t bytes) {
  for (int64_t i = 0; i < rows; i++) {
    char *t = to->base + to->row[i];
    const char *f = from->base + from->row[i];
    for (int64_t k = 0; k < columns; k += run)
      copy_run(t + to->column[k], f + from->column[k], bytes);
  }
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Element by element, a square at a time. */
static void copy_squares(const struct pack_matrix *to,
                         const struct pack_matrix *from, int64_t rows,
                         int64_t columns, size_t bytes) {
  for (int64_t i = 0; i < rows; i += SQUARE)
    for (int64_t k = 0; k < columns; k += SQUARE) {
      struct pack_matrix t = {to->base, to->row + i, to->column + k};
      struct pack_matrix f = {from->base, from->row + i, from->column + k};
      copy_rows(&t, &f, smaller(SQUARE, rows - i), smaller(SQUARE, columns - k),
                1, bytes);
    }
}

void pack_copy(const struct pack_matrix *to, const struct pack_matrix *from,
               int64_t rows, int64_t columns, int bytes) {
  int64_t along = run_length(to->column, from->column, columns, bytes);
  int64_t across = run_length(to->row, from->row, rows, bytes);
  if (along == 1 && across == 1) {
    copy_squares(to, from, rows, columns, (size_t)bytes);
  } else if (along >= across) {
    copy_rows(to, from, rows, columns, along, (size_t)(along * bytes));
  } else {
    struct pack_matrix t = turned(to), f = turned(from);
    copy_rows(&t, &f, columns, rows, across, (size_t)(across * bytes));
  }
}

void pack_add(const struct pack_matrix *to, const struct pack_matrix *from,
              int64_t rows, int64_t columns, enum dtype type) {
  int bytes = dtype_bytes(type);
  void (*add)(char *, const char *, int64_t) =
      type == DTYPE_F32 ? add_f32 : add_i32;
  int64_t run = run_length(to->column, from->column, columns, bytes);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k += run)
      add(to->base + to->row[i] + to->column[k],
          from->base + from->row[i] + from->column[k], run);
}
