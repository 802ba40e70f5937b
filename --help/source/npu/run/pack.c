/* pack.c -- copies a matrix from one layout to another, or adds it.
 *
 * Each side gives one byte offset per row and one per column, which covers
 * strided, blocked and fused axes alike.  Where both sides run on contiguously
 * along one direction, whole runs are copied.  Where they do not, as in a
 * transposition, elements are copied in patches that touch few cache lines: a
 * power of two as the distance between rows, which is common, puts all the
 * lines of a column into the same few places of the first cache.
 */
#include "parts.h"

#include <string.h>

/* A patch has LONG elements along the direction with the smaller strides and
 * SHORT along the other. */
enum { LONG = 64, SHORT = 8 };
enum op { COPY, ADD_F32, ADD_I32 };

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

/* `bytes` and `op` are constants wherever this is inlined. */
static inline __attribute__((always_inline)) void
element(char *to, const char *from, size_t bytes, enum op op) {
  float f, g;
  uint32_t u, v;
  switch (op) {
  case COPY:
    memcpy(to, from, bytes);
    return;
  case ADD_F32:
    memcpy(&f, to, 4);
    memcpy(&g, from, 4);
    f += g;
    memcpy(to, &f, 4);
    return;
  case ADD_I32:
    memcpy(&u, to, 4);
    memcpy(&v, from, 4);
    u += v;
    memcpy(to, &u, 4);
    return;
  }
}

/* As many elements of 4 bytes as a vector holds.  They are loaded before any is
 * stored, for the compiler does not know that the two sides are apart. */
typedef float float_vector __attribute__((vector_size(16)));
typedef uint32_t word_vector __attribute__((vector_size(16)));
enum { VECTOR_BYTES = sizeof(float_vector) };

static inline __attribute__((always_inline)) void
add_vector(char *to, const char *from, enum op op) {
  float_vector f, g;
  word_vector u, v;
  if (op == ADD_F32) {
    memcpy(&f, to, sizeof f);
    memcpy(&g, from, sizeof g);
    f += g;
    memcpy(to, &f, sizeof f);
  } else {
    memcpy(&u, to, sizeof u);
    memcpy(&v, from, sizeof v);
    u += v;
    memcpy(to, &u, sizeof u);
  }
}

static inline __attribute__((always_inline)) void
add_all(char *to, const char *from, int64_t bytes, enum op op) {
  int64_t i = 0;
  for (; i + VECTOR_BYTES <= bytes; i += VECTOR_BYTES)
    add_vector(to + i, from + i, op);
  for (; i < bytes; i += 4)
    element(to + i, from + i, 4, op);
}

static void add_run(char *to, const char *from, int64_t count, enum dtype t) {
  if (t == DTYPE_F32)
    add_all(to, from, 4 * count, ADD_F32);
  else
    add_all(to, from, 4 * count, ADD_I32);
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

static inline __attribute__((always_inline)) void
patches(const struct pack_matrix *to, const struct pack_matrix *from,
        int64_t rows, int64_t columns, size_t bytes, enum op op) {
  for (int64_t i = 0; i < rows; i += LONG)
    for (int64_t k = 0; k < columns; k += SHORT) {
      int64_t i_end = smaller(i + LONG, rows);
      int64_t k_end = smaller(k + SHORT, columns);
      for (int64_t y = i; y < i_end; y++) {
        char *t = to->base + to->row[y];
        const char *f = from->base + from->row[y];
        for (int64_t x = k; x < k_end; x++)
          element(t + to->column[x], f + from->column[x], bytes, op);
      }
    }
}

static int64_t step(const int64_t *offset, int64_t count) {
  return count > 1 ? offset[1] - offset[0] : 0;
}

/* Whether the larger strides lie along the rows, so that they should be the
 * columns of the patches. */
static bool long_rows(const struct pack_matrix *a, const struct pack_matrix *b,
                      int64_t rows, int64_t columns) {
  int64_t row = step(a->row, rows), column = step(a->column, columns);
  if (row < step(b->row, rows))
    row = step(b->row, rows);
  if (column < step(b->column, columns))
    column = step(b->column, columns);
  return row > column;
}

static void by_element(const struct pack_matrix *to,
                       const struct pack_matrix *from, int64_t rows,
                       int64_t columns, int bytes, enum op op) {
  struct pack_matrix t = *to, f = *from;
  if (long_rows(to, from, rows, columns)) {
    int64_t swap = rows;
    t = turned(to), f = turned(from);
    rows = columns, columns = swap;
  }
  if (op == ADD_F32)
    patches(&t, &f, rows, columns, 4, ADD_F32);
  else if (op == ADD_I32)
    patches(&t, &f, rows, columns, 4, ADD_I32);
  else if (bytes == 1)
    patches(&t, &f, rows, columns, 1, COPY);
  else if (bytes == 2)
    patches(&t, &f, rows, columns, 2, COPY);
  else if (bytes == 4)
    patches(&t, &f, rows, columns, 4, COPY);
  else
    patches(&t, &f, rows, columns, (size_t)bytes, COPY);
}

void pack_copy(const struct pack_matrix *to, const struct pack_matrix *from,
               int64_t rows, int64_t columns, int bytes) {
  int64_t along = run_length(to->column, from->column, columns, bytes);
  int64_t across = run_length(to->row, from->row, rows, bytes);
  if (along == 1 && across == 1) {
    by_element(to, from, rows, columns, bytes, COPY);
  } else if (along >= across) {
    copy_rows(to, from, rows, columns, along, (size_t)(along * bytes));
  } else {
    struct pack_matrix t = turned(to), f = turned(from);
    copy_rows(&t, &f, columns, rows, across, (size_t)(across * bytes));
  }
}

static void add_rows(const struct pack_matrix *to,
                     const struct pack_matrix *from, int64_t rows,
                     int64_t columns, int64_t run, enum dtype type) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k += run)
      add_run(to->base + to->row[i] + to->column[k],
              from->base + from->row[i] + from->column[k], run, type);
}

void pack_add(const struct pack_matrix *to, const struct pack_matrix *from,
              int64_t rows, int64_t columns, enum dtype type) {
  int bytes = dtype_bytes(type);
  int64_t along = run_length(to->column, from->column, columns, bytes);
  int64_t across = run_length(to->row, from->row, rows, bytes);
  if (along == 1 && across == 1) {
    by_element(to, from, rows, columns, bytes,
               type == DTYPE_F32 ? ADD_F32 : ADD_I32);
  } else if (along >= across) {
    add_rows(to, from, rows, columns, along, type);
  } else {
    struct pack_matrix t = turned(to), f = turned(from);
    add_rows(&t, &f, columns, rows, across, type);
  }
}
