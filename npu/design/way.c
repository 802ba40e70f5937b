/* way.c -- which channels of a column blocks pass, and who sends them.
 *
 * Even channels of a mem tile have the lower half of its descriptors, odd ones
 * the upper half: in0's are many, so what else there is goes to odd ones where
 * it can.
 */
#include "parts.h"

#include <assert.h>

int design_join_rows(const struct tile_program *p, int join, int *first) {
  int rows = p->grid.rows, lower = p->joins > 1 ? (rows + 1) / 2 : rows;
  assert(join >= 0 && join < p->joins);
  *first = join ? lower : 0;
  return join ? rows - lower : lower;
}

struct design_way design_in0_way(const struct tile_program *p) {
  (void)p;
  return (struct design_way){0, 0};
}

struct design_way design_in1_way(const struct tile_program *p, int part) {
  assert(part >= 0 && part < p->grid.split);
  if (p->grid.split == 1)
    return (struct design_way){1, 1};
  return (struct design_way){part, part ? 1 : 5};
}

int design_join_channel(const struct tile_program *p, int join) {
  return p->joins > 1 ? 2 + join : 3;
}

int design_row_channel(int row) {
  static const int channel[] = {0, 1, 4, 5}; /* 2 and 3 are for out */
  assert(row >= 0 && row < (int)(sizeof channel / sizeof *channel));
  return channel[row];
}

/* The part of what rows take that this column sends. */
static int home_part(const struct map_grid *g, int column) {
  int parts = g->across ? g->n : g->m;
  for (int i = 0; i < parts; i++)
    if (map_grid_home(g, i) == column)
      return i;
  return -1;
}

int design_in0_part(const struct tile_program *p, int column) {
  const struct map_grid *g = &p->grid;
  return g->apart ? 0 : g->across ? column : home_part(g, column);
}

int design_in1_part(const struct tile_program *p, int column) {
  const struct map_grid *g = &p->grid;
  return g->across ? home_part(g, column) : column * g->split;
}

const struct map_nest *design_row_loops(const struct tile_program *p) {
  return p->grid.across ? &p->column : &p->row;
}

int64_t design_row_bytes(const struct tile_program *p) {
  const struct map_nest *rows = design_row_loops(p);
  return rows->loop[rows->count - 1].stride_bytes[OUT];
}

struct design_share design_panel_share(const struct tile_program *p, int column,
                                       int channel) {
  const struct map_panel *x = &p->panel;
  for (int beside = 0; beside <= 1 && p->grid.split > 1; beside++) {
    int home = column - beside, way = 2 * beside + channel;
    if (home < 0 || way >= x->ways || design_in0_part(p, home) < 0)
      continue;
    int first = way * x->chunks / x->ways,
        end = (way + 1) * x->chunks / x->ways;
    return (struct design_share){home, first, end - first};
  }
  return (struct design_share){.count = 0};
}

/* Blocks of out that leave as one: those of a group, if they are closer to each
 * other than those of the next row of cores, and the mem tile holds them, whole
 * and one behind the other. */
int design_out_span(const struct tile_program *p) {
  return map_close_out(p) && p->group_m <= p->panel.out ? p->group_m : 1;
}
