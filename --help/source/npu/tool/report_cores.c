/* report_cores.c -- which core computes which blocks of a result, as a picture:
 * the result cut into blocks along m and n, and the array in the same colours.
 */
#include "npu.h"
#include "report.h"

#include <assert.h>

enum { SIDE = 240, DIGITS = 16, MOST_LINES = 64, TILE = 44 };

/* The loops that cut a side of the result, the longest step first. */
struct digit {
  int64_t extent, step;
  bool cores;
};
struct side {
  int count;
  struct digit digit[DIGITS];
};

static void add_digit(struct side *s, const struct map_loop *l, int64_t step,
                      bool cores) {
  if (l->extent <= 1 || s->count == DIGITS)
    return;
  int i = s->count++;
  for (; i > 0 && s->digit[i - 1].step < step; i--)
    s->digit[i] = s->digit[i - 1];
  s->digit[i] = (struct digit){l->extent, step, cores};
}

static struct side side_of(const struct tile_program *p, enum axis_role role) {
  struct side s = {0};
  const struct map_nest *cores = role == AXIS_M ? &p->row : &p->column;
  for (int i = 0; i < cores->count && !p->grid.apart; i++)
    add_digit(&s, &cores->loop[i], cores->loop[i].stride_bytes[OUT], true);
  for (int i = 0; i < p->time[role].count; i++) {
    const struct map_loop *l = &p->time[role].loop[i];
    add_digit(&s, l, l->stride_bytes[OUT], false);
  }
  if (role == AXIS_M)
    add_digit(&s, &p->group, p->group.stride_bytes[OUT], false);
  return s;
}

/* Loops that would be drawn finer than a reader sees are left out. */
static int64_t blocks_of(struct side *s) {
  int64_t n = 1;
  for (int i = 0; i < s->count; i++) {
    if (!s->digit[i].cores && n * s->digit[i].extent > MOST_LINES) {
      for (int j = i; j + 1 < s->count; j++)
        s->digit[j] = s->digit[j + 1];
      s->count--;
      i--;
      continue;
    }
    n *= s->digit[i].extent;
  }
  return n;
}

/* The part of the grid that computes block i of n. */
static int part_of(const struct side *s, int64_t i, int64_t n) {
  int part = 0;
  for (int k = 0; k < s->count; k++) {
    n /= s->digit[k].extent;
    if (s->digit[k].cores)
      part = (int)(part * s->digit[k].extent + i / n % s->digit[k].extent);
  }
  return part;
}

static void put_colour(struct text *t, const struct map_grid *g, int column,
                       int row) {
  text_printf(t, "hsl(%d 55%% %d%%)", column * 360 / g->columns,
              42 + row * 36 / g->rows);
}

static void put_block(struct text *t, const struct map_grid *g, double x,
                      double y, double w, double h, int m, int n) {
  int row = m * g->split + n % g->split, column = n / g->split;
  text_printf(t,
              "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
              "fill=\"",
              x, y, w, h);
  put_colour(t, g, column, row);
  text_printf(t, "\"><title>core %d,%d</title></rect>\n", column,
              CORE_ROW + row);
}

static void draw_result(const struct tile_program *p, struct text *t) {
  struct side m = side_of(p, AXIS_M), n = side_of(p, AXIS_N);
  int64_t rows = blocks_of(&m), columns = blocks_of(&n);
  double h = (double)SIDE / (double)rows, w = (double)SIDE / (double)columns;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      put_block(t, &p->grid, (double)j * w, (double)i * h, w, h,
                part_of(&m, i, rows), part_of(&n, j, columns));
}

static void draw_array(const struct map_grid *g, double left, struct text *t) {
  for (int row = 0; row < g->rows; row++)
    for (int column = 0; column < g->columns; column++) {
      double x = left + column * TILE, y = (g->rows - 1 - row) * TILE;
      text_printf(t,
                  "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                  "fill=\"",
                  x, y, TILE - 2, TILE - 2);
      put_colour(t, g, column, row);
      text_printf(t, "\"/><text x=\"%.1f\" y=\"%.1f\">%d,%d</text>\n",
                  x + TILE / 2 - 1, y + TILE / 2 + 3, column, CORE_ROW + row);
    }
}

void report_draw_cores(const struct npu_result *r, struct text *t) {
  const struct tile_program *p = r->program;
  const struct map_grid *g = &p->grid;
  assert(g->columns > 0 && g->rows > 0 && g->split > 0);
  bool swapped = p->transfer[IN0].tensor == IN1;
  double left = g->apart ? 0 : SIDE + 24;
  double width = left + g->columns * TILE, high = g->rows * TILE;
  double height = g->apart || high > SIDE ? high : SIDE;
  text_printf(t,
              "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\" "
              "aria-label=\"blocks on cores\">\n",
              width, height, width);
  if (!g->apart)
    draw_result(p, t);
  draw_array(g, left, t);
  text_puts(t, "</svg>\n<p class=\"note\">");
  if (g->apart)
    text_printf(t, "Each of %d cores computes products of the batch by itself",
                g->columns * g->rows);
  else
    text_printf(t,
                "The result, %s down and %s across, by the core "
                "(column,row) that computes it",
                swapped ? "n" : "m", swapped ? "m" : "n");
  text_printf(t,
              "; blocks of %d x %d, %d elements of the sum at a time, %d of "
              "them after each other.</p>\n",
              p->block_m, p->block_n, p->block_k, p->steps_k);
}
