/* map.c -- an element-wise expression over matrices in any layouts.
 *
 * Elements are taken in rows along which every operand moves at one pace: a
 * whole row or column of the matrix where nothing is blocked or fused.
 */
#include "parts.h"

/* Runs of a row that are found once for all rows. */
enum { RUNS = 256 };

static void turn(struct map_operands *o) {
  for (int i = 0; i < o->count; i++) {
    const int64_t *row = o->x[i].row;
    o->x[i].row = o->x[i].column;
    o->x[i].column = row;
  }
}

/* The end of the run of columns from `from` on along which every operand
 * moves at one pace. */
static int64_t run_end(const struct map_operands *o, int64_t from,
                       int64_t columns) {
  int64_t end = columns;
  for (int i = 0; i < o->count; i++) {
    const int64_t *at = o->x[i].column;
    for (int64_t k = from + 2; k < end; k++)
      if (at[k] - at[k - 1] != at[from + 1] - at[from])
        end = k;
  }
  return end;
}

static int64_t runs(const struct map_operands *o, int64_t columns) {
  int64_t count = 0;
  for (int64_t i = 0; i < columns; i = run_end(o, i, columns))
    count++;
  return count;
}

static int64_t step(const int64_t *offset, int64_t count) {
  return count > 1 ? offset[1] - offset[0] : 0;
}

/* Are rows along the columns' direction fewer, or as few and out denser? */
static bool better_turned(struct map_operands *o, int64_t rows,
                          int64_t columns) {
  const struct pack_matrix *out = &o->x[o->count - 1];
  bool denser = rows > 1 && step(out->row, rows) < step(out->column, columns);
  int64_t straight = rows * runs(o, columns);
  turn(o);
  int64_t turned = columns * runs(o, rows);
  turn(o);
  return turned < straight || (turned == straight && denser);
}

static void run_row(const struct calc_program *p, const struct map_operands *o,
                    int64_t row, int64_t from, int64_t count) {
  const void *in[CALC_INPUTS];
  int64_t stride[CALC_INPUTS];
  char *out = NULL;
  int64_t out_stride = 0;
  for (int i = 0; i < o->count; i++) {
    const struct pack_matrix *x = &o->x[i];
    char *at = x->base + x->row[row] + x->column[from];
    int64_t pace = step(x->column + from, count);
    if (i == o->count - 1)
      out = at, out_stride = pace;
    else
      in[o->input[i]] = at, stride[o->input[i]] = pace;
  }
  calc_run_row(p, in, stride, out, out_stride, count);
}

void map_block(const struct calc_program *p, const struct map_operands *from,
               int64_t rows, int64_t columns) {
  struct map_operands o = *from;
  if (better_turned(&o, rows, columns)) {
    int64_t swap = rows;
    rows = columns, columns = swap;
    turn(&o);
  }
  for (int64_t begin = 0; begin < columns;) {
    int64_t end[RUNS], at = begin;
    int count = 0;
    while (at < columns && count < RUNS)
      at = end[count++] = run_end(&o, at, columns);
    for (int64_t row = 0; row < rows; row++) {
      at = begin;
      for (int i = 0; i < count; at = end[i++])
        run_row(p, &o, row, at, end[i] - at);
    }
    begin = at;
  }
}
