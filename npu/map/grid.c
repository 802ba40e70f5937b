/* grid.c -- the grids of cores that a design can feed.
 *
 * A mem tile has six channels in each direction.  It sends blocks of in0 on one
 * and of in1 on one per part of n that its column works on; two are for out.
 * The shim has two channels in, so a column works on one part of n, with in0 on
 * the other channel, or on two, with shares of in0 ahead of them.
 *
 * Where columns share out m, each sends its own blocks of in0, and a row's of
 * in1 come from one of them.
 *
 * Of a batch of small products every core may have its own: then nothing is
 * shared, and the mem tile sends each of its four cores both inputs in turn on
 * one channel.
 */
#include "array.h"
#include "map.h"

#include <assert.h>

bool map_grid(const struct device *dev, int m, int n, bool across,
              struct map_grid *g) {
  if (across) {
    *g = (struct map_grid){
        .m = m, .n = n, .columns = m, .rows = n, .split = 1, .across = true};
    return n >= 1 && n < m && n <= dev->core_rows && m <= dev->columns;
  }
  int split = n > dev->columns ? n / dev->columns : 1;
  *g = (struct map_grid){
      .m = m, .n = n, .columns = n / split, .rows = m * split, .split = split};
  return m >= 1 && n >= 1 && n % split == 0 && g->rows <= dev->core_rows &&
         g->columns <= dev->columns && m <= g->columns &&
         split <= dev->tile[TILE_SHIM].channels;
}

int map_grid_home(const struct map_grid *g, int part) {
  int parts = g->across ? g->n : g->m;
  assert(part >= 0 && part < parts);
  return part * g->columns / parts;
}

bool map_grid_spreads(const struct map_grid *g) {
  return !g->apart && !g->across && g->columns >= 2 * g->m;
}

bool map_same_grid(const struct map_form *a, const struct map_form *b) {
  return a->cores_m == b->cores_m && a->cores_n == b->cores_n &&
         a->across == b->across && a->apart == b->apart &&
         a->converts == b->converts;
}

struct map_grid map_grid_of(const struct device *dev,
                            const struct map_form *form) {
  struct map_grid g;
  bool given = form->cores_m > 0, across = form->across;
  int m = across ? dev->columns : dev->core_rows,
      n = across ? dev->core_rows : dev->columns;
  bool good = map_grid(dev, given ? form->cores_m : m,
                       given ? form->cores_n : n, across, &g);
  if (form->apart)
    return (struct map_grid){.m = 1,
                             .n = 1,
                             .columns = dev->columns,
                             .rows = dev->core_rows,
                             .split = 1,
                             .apart = true};
  assert(good);
  (void)good;
  return g;
}

int map_grid_products(const struct map_grid *g) {
  return g->apart ? g->columns * g->rows : 1;
}

double map_stream_bytes(const struct device *dev) {
  return 4.0 * dev->stream_words;
}

int map_grid_inputs(const struct map_grid *g) {
  return g->apart ? 2 * g->columns : g->m + g->n;
}

static double block_bytes(const struct tile_program *p, int tensor) {
  const enum axis_role *role = map_roles[tensor];
  return (double)map_nest_extent(&p->side[role[0]]) *
         (double)map_nest_extent(&p->side[role[1]]) *
         dtype_bytes(p->transfer[tensor].type);
}

int map_ways_out(const struct device *dev, const struct map_grid *g,
                 const double bytes[TENSORS]) {
  if (g->rows == 1)
    return 1;
  if (g->apart) /* one channel's would not leave descriptors for its half */
    return 2;
  double stream = map_stream_bytes(dev),
         push = preset_task_cycles(preset_of(dev)),
         in = bytes[IN0] > bytes[IN1] ? bytes[IN0] : bytes[IN1],
         out = bytes[OUT] * g->rows / stream;
  double pushes = map_grid_inputs(g) * push, each = g->columns * push,
         ready = pushes + in / stream;
  double one = (pushes + each > ready ? pushes + each : ready) + out,
         two =
             (pushes + 2 * each > ready ? pushes + 2 * each : ready) + out / 2;
  return one <= two ? 1 : 2;
}

int map_joins(const struct tile_program *p) {
  double rounds = (double)p->batch * p->rounds_m * p->rounds_n,
         steps = rounds * p->steps_k;
  int once = p->panel.chunks ? p->panel.rounds : 1;
  const double bytes[TENSORS] = {
      [IN0] = steps * p->group_m * block_bytes(p, IN0) / once,
      [IN1] = steps * block_bytes(p, IN1),
      [OUT] = rounds * p->group_m * block_bytes(p, OUT)};
  return map_ways_out(p->device, &p->grid, bytes);
}

int map_given_tensor(const struct map_form *form, int tensor) {
  return form->swapped && tensor < OUT ? IN0 + IN1 - tensor : tensor;
}

void map_form_lie(struct map_form *form,
                  const struct map_layout given[TENSORS]) {
  for (int i = 0; i < TENSORS; i++) {
    struct map_layout *x = &form->layout[i];
    *x = given[map_given_tensor(form, i)];
    x->turned = x->in_place && x->turned != form->swapped;
  }
}

void map_form_stays(const struct map_form *form, bool stay[TENSORS],
                    bool aligned[TENSORS]) {
  for (int i = 0; i < TENSORS; i++) {
    int t = map_given_tensor(form, i);
    stay[t] = map_stays(&form->layout[i]);
    aligned[t] = form->layout[i].aligned;
  }
}
