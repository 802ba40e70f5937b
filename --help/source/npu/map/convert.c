/* convert.c -- inputs that become block floats on their way to the cores.
 *
 * A core that converts what it multiplies does so again for every block of out,
 * and device memory brings an input of which little fits into the mem tiles as
 * often.  Where columns take m (struct map_grid) one row of cores may do it for
 * the others: the core above a column's others gets 16 rows of in0 at a time
 * from the shim, and what it makes of them is kept in the column's mem tile, 9
 * bits for 16.  The same core of a column that sends in1 makes block floats of
 * that, too, for a row of cores; these go there at once.
 *
 *   shim -> converting core -> mem tile, the panel -> cores of the column
 *   shim -> converting core -> cores of a row
 *
 * Where in0 lies along m, it gets 32 k of a block at a time.  Blocks are of one
 * axis each, so what comes in the order of addresses comes in that of rows.
 */
#include "map.h"

#include "kernels.h"

#include <assert.h>

uint32_t map_converted_bytes(uint32_t elements) {
  assert(elements % 8 == 0);
  return elements / 8 * 9;
}

bool map_converts(const struct device *dev, const struct teir_problem *p,
                  const struct map_form *f) {
  const struct map_layout *x = f->layout;
  return f->across && f->cores_n > 0 && f->cores_n < dev->core_rows &&
         kernel_gemm_by_blocks(map_isa(dev), p->type[IN0], p->type[IN1],
                               p->acc) &&
         x[IN0].in_place && x[IN1].in_place && x[IN1].turned &&
         p->finish.bias == AXIS_C;
}

bool map_converts_blocks(const struct map_cut cut[AXIS_ROLES]) {
  for (int role = AXIS_M; role <= AXIS_K; role++) {
    int axes = 0;
    for (int i = 0; i < cut[role].count; i++)
      axes += cut[role].part[i].place == MAP_BLOCK;
    if (axes > 1)
      return false;
  }
  return true;
}

bool map_converts_order(const struct tile_program *q) {
  const struct map_nest *k = &q->time[AXIS_K], *side = q->side;
  const struct map_loop *step = &k->loop[k->count - 1],
                        *along = side[AXIS_K].loop;
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    if (side[role].count > 1)
      return false;
  return step->extent == 1 ||
         step->stride_bytes[IN0] == along->extent * along->stride_bytes[IN0];
}

struct map_converter map_converter_of(const struct map_blocking *b, int steps) {
  struct map_converter c = {.bytes = 0};
  bool turned = b->form.layout[IN0].turned;
  uint32_t k = (uint32_t)(steps * b->block_k), m = (uint32_t)b->block_m,
           n = (uint32_t)b->block_n;
  for (int i = IN0; i < OUT; i++) {
    uint32_t come = i || !turned ? MAP_CONVERTED_ROWS * k : m * MAP_CONVERTED_K;
    c.raw_bytes[i] = come * 2;
    c.made_bytes[i] = map_converted_bytes(i ? n * k : come);
    c.raw[i] = c.bytes;
    c.made[i] = c.raw[i] + 2 * c.raw_bytes[i];
    c.bytes = c.made[i] + 2 * c.made_bytes[i];
  }
  return c;
}

int map_converter_parts(const struct device *dev, int block_k, int steps) {
  uint32_t step = MAP_CONVERTED_ROWS * (uint32_t)block_k;
  bool whole =
      map_converted_bytes(step) / 4 <= (uint32_t)dev->tile[TILE_CORE].max_wrap;
  return whole ? 1 : steps;
}

bool map_converter_walks(const struct device *dev, int block_k, int steps) {
  enum { MOST_K = 512, OTHERS = 6, BUFFERS = 2, SIDE = 8 };
  const struct tile_resources *core = &dev->tile[TILE_CORE];
  int parts = map_converter_parts(dev, block_k, steps);
  return steps * block_k <= MOST_K &&
         steps * block_k / SIDE <= core->max_wrap &&
         OTHERS + BUFFERS * parts <= core->bds;
}
