/* read.c -- how mem tiles read their inputs' buffers on the way to the cores
 * (dma.c has the layouts). */
#include "ring.h"

#include <assert.h>

/* The dimension over rows comes before those over k and what lies between: a
 * word of each row in turn, and zeros behind the last k of all. */
static void rows_first(struct walk *w, int rows) {
  const struct bd_dim first = w->dim[rows];
  for (int i = rows; i > 0; i--)
    w->dim[i] = w->dim[i - 1];
  w->dim[0] = first;
  w->zero_runs = w->zeros;
  w->zeros = 0;
}

/* Of blocks of in0 that zeros join, of which the buffer has so many. */
static struct walk in0_padded_walk(const struct tile_program *p,
                                   const struct kernel_shape *s, int steps,
                                   int blocks) {
  bool turned = p->transfer[IN0].turned, wide = design_is_wide(p);
  struct walk w = walk_padded(p, IN0, turned ? s->m : 1);
  uint32_t run = w.dim[0].wrap, row = run * (uint32_t)(wide ? steps : 1),
           rows = (uint32_t)(p->block_m / s->m), m = (uint32_t)p->block_m;
  bool apart = wide && !turned && steps > 1 && p->group_m > 1;
  w.parts = apart ? steps : 1;
  assert(w.parts <= MAP_MAX_PARTS);
  for (int i = 0; i < w.parts; i++)
    w.part_bytes[i] = (uint32_t)i * run * 4;
  if (turned) {
    w.dim[1] = (struct bd_dim){row, rows * (uint32_t)p->group_m};
    w.dim[2] = (struct bd_dim){run, 0};
    w.dims = 3;
  } else {
    bool by_step = wide && steps > 1 && !apart;
    w.dim[1] = (struct bd_dim){(uint32_t)s->m * row, rows};
    w.dim[2] = (struct bd_dim){row, (uint32_t)s->m};
    if (map_cuts_words(s, p->transfer[IN0].type, turned, IN0))
      rows_first(&w, 2);
    w.dim[3] = (struct bd_dim){by_step ? run : m * row, 0};
    w.dims = 4;
  }
  w.length_words = ring_core_bytes(p, IN0) / 4 * (uint32_t)(blocks / w.parts);
  return w;
}

/* How `blocks` of it, of so many steps, are read. */
struct walk in0_read_walk(const struct tile_program *p,
                          const struct kernel_shape *s, int steps, int blocks) {
  if (map_is_uncut(p))
    return in0_padded_walk(p, s, steps, blocks);
  uint32_t step =
      (uint32_t)(p->block_k * s->m * dtype_bytes(p->transfer[IN0].type) / 4);
  struct walk w = walk_linear;
  if (!design_is_wide(p) || steps == 1)
    return w;
  w.dim[0] = (struct bd_dim){1, step};
  w.dim[1] = (struct bd_dim){step * (uint32_t)steps,
                             (uint32_t)(p->group_m * p->block_m / s->m)};
  w.dim[2] = (struct bd_dim){step, 0};
  w.dims = 3;
  return w;
}

struct walk in1_read_walk(const struct tile_program *p,
                          const struct kernel_shape *s, int steps) {
  bool turned = p->transfer[IN1].turned;
  if (!map_is_uncut(p))
    return walk_linear;
  struct walk w = walk_padded(p, IN1, turned ? 1 : s->n);
  uint32_t run = w.dim[0].wrap;
  w.dim[1] =
      (struct bd_dim){run * (uint32_t)steps,
                      (uint32_t)(turned ? p->block_n : p->block_n / s->n)};
  w.dim[2] = (struct bd_dim){run, 0};
  w.dims = 3;
  if (map_cuts_words(s, p->transfer[IN1].type, turned, IN1))
    rows_first(&w, 1);
  w.length_words = ring_core_bytes(p, IN1) / 4 * (uint32_t)steps;
  return w;
}
