/* apart.c -- the blocking of a batch in which every core has products to
 * itself: each is one block.
 */
#include "choose.h"

void array_price_apart(const struct platform *at, const struct map_work *w,
                       struct map_blocking *b) {
  const struct teir_problem *p = &w->problem;
  const int64_t *x = p->extent;
  struct map_form form = {.apart = true};
  struct array s = {.at = at, .problem = p, .form = &form};
  const struct isa *isa = map_isa(at->device);
  struct kernel_shape unit;
  struct map_core core;
  struct map_panel panel;
  for (int t = 0; t < TENSORS; t++)
    form.layout[t] = w->layout[t];
  s.grid = map_grid_of(at->device, &form);
  for (int role = 0; role < AXIS_ROLES; role++)
    if (w->count[role] != 1 || p->finish.bias)
      return;
  if (!kernel_gemm_unit(isa, p->type[IN0], p->type[IN1], p->acc, &unit) ||
      !kernel_shape(isa, p->type[IN0], p->type[IN1], p->acc, &s.mac) ||
      !kernel_gemm_even(isa, p->type[IN0], p->type[IN1], p->acc, false,
                        &s.even[0]) ||
      (x[AXIS_M] > unit.m && x[AXIS_M] % unit.m) ||
      (x[AXIS_N] > unit.n && x[AXIS_N] % unit.n) || x[AXIS_M] > MAX_BLOCK ||
      x[AXIS_N] > MAX_BLOCK || x[AXIS_K] > MAX_DEPTH ||
      x[AXIS_C] % map_grid_products(&s.grid))
    return;
  s.turned = array_turned_cost(at->device, p, &s.mac, form.layout);
  s.strip = array_strip_cost(at->device, p);
  bool few_m = x[AXIS_M] < unit.m, few_n = x[AXIS_N] < unit.n;
  struct map_blocking q = {.block_m = few_m ? unit.m : (int)x[AXIS_M],
                           .block_n = few_n ? unit.n : (int)x[AXIS_N],
                           .block_k =
                               ((int)x[AXIS_K] + unit.k - 1) / unit.k * unit.k,
                           .valid_k = (int)x[AXIS_K],
                           .group_m = 1,
                           .rounds_m = 1,
                           .rounds_n = 1,
                           .steps_k = 1,
                           .form = form};
  if (q.block_k > q.valid_k && !array_pads(&s, &q, q.valid_k))
    return;
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    map_cut_add(&q.form.cut[role], 0, MAP_BLOCK, x[role], 1);
  struct map_cut *c = &q.form.cut[AXIS_C];
  map_cut_add(c, 0, MAP_TIME, x[AXIS_C] / map_grid_products(&s.grid),
              map_grid_products(&s.grid));
  map_cut_add(c, 0, MAP_CORES, s.grid.columns, s.grid.rows);
  map_cut_add(c, 0, MAP_CORES, s.grid.rows, 1);
  if (!array_fits(at->device, p, &q, &core) ||
      !map_mem_panel(at->device, p, &q, &panel))
    return;
  q.predicted_cycles = array_apart_cycles(&s, &q, &core);
  *b = q;
}
