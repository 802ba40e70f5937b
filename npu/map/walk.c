/* walk.c -- how descriptors of the shim walk over tensors that lie in place: in
 * which runs, and over how many rounds. */
#include "choose.h"

#include <assert.h>
#include <math.h>

struct run {
  int64_t extent, stride_bytes;
};
struct runs {
  struct run run[4 * MAP_PARTS];
  int count;
};

static void add_run(struct runs *x, int64_t extent, int64_t stride_bytes) {
  if (extent == 1)
    return;
  assert(x->count < 4 * MAP_PARTS);
  x->run[x->count++] = (struct run){extent, stride_bytes};
}

/* A part of an axis as a loop inside others of the role. */
static void nest_part(const struct array *s, enum axis_role role,
                      const struct map_part *x, struct map_nest *n) {
  const struct map_axis *from = &s->work->axis[role][x->axis];
  if (n->count == MAP_LOOPS || (x->extent == 1 && n->count))
    return;
  if (n->count == 1 && n->loop[0].extent == 1)
    n->count = 0;
  struct map_loop *l = &n->loop[n->count++];
  *l = (struct map_loop){from->id, x->extent, {0}};
  for (int t = 0; t < TENSORS; t++)
    l->stride_bytes[t] = x->step * from->stride_bytes[t];
}

/* A role that no tensor in place has is padded: one loop of blocks. */
static void fill_nest(struct map_nest *n, const char *axis, int64_t extent) {
  if (!n->count)
    *n = (struct map_nest){1, {{axis, extent, {0}}}};
}

void array_walks(const struct array *s, const struct map_blocking *b,
                 const struct map_panel *panel, struct tile_program *p) {
  const struct map_layout *layout = s->form->layout;
  const enum dtype *type = s->problem->type;
  *p = (struct tile_program){.device = s->at->device,
                             .acc = s->problem->acc,
                             .block_m = b->block_m,
                             .block_n = b->block_n,
                             .block_k = b->block_k,
                             .group_m = b->group_m,
                             .group = {.extent = 1},
                             .grid = s->grid,
                             .converts = s->form->converts,
                             .batch = (int)s->problem->extent[AXIS_C],
                             .rounds_m = b->rounds_m,
                             .rounds_n = b->rounds_n,
                             .steps_k = b->steps_k,
                             .all_k = s->problem->extent[AXIS_K],
                             .panel = *panel};
  for (int t = 0; t < TENSORS; t++)
    p->transfer[t] =
        (struct map_transfer){.type = type[t], .turned = layout[t].turned};
  for (int i = 0; i < s->work->count[AXIS_C]; i++)
    nest_part(
        s, AXIS_C,
        &(struct map_part){i, MAP_TIME, s->work->axis[AXIS_C][i].extent, 1},
        &p->time[AXIS_C]);
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    for (int i = 0; i < b->form.cut[role].count; i++) {
      const struct map_part *x = &b->form.cut[role].part[i];
      struct map_nest group = {.count = 0};
      if (x->place == MAP_BLOCK)
        nest_part(s, (enum axis_role)role, x, &p->side[role]);
      if (x->place == MAP_TIME)
        nest_part(s, (enum axis_role)role, x, &p->time[role]);
      if (x->place == MAP_GROUP) {
        nest_part(s, (enum axis_role)role, x, &group);
        p->group = group.loop[0];
      }
    }
  const int64_t block[] = {
      [AXIS_M] = b->block_m,
      [AXIS_N] = b->block_n,
      [AXIS_K] = b->block_k,
  };
  const int64_t blocks[] = {
      [AXIS_M] = b->rounds_m,
      [AXIS_N] = b->rounds_n,
      [AXIS_K] = b->steps_k,
  };
  for (int role = AXIS_M; role < AXIS_ROLES; role++) {
    const char *axis = s->work->axis[role]->id;
    fill_nest(&p->side[role], axis, block[role]);
    fill_nest(&p->time[role], axis, blocks[role]);
  }
  if (!b->form.cut[AXIS_K].count)
    p->all_k = (int64_t)b->steps_k * b->block_k;
  if (s->form->layout[OUT].in_place)
    p->transfer[OUT].turned = map_is_turned(p, OUT);
  p->turns_out = map_turns_out(type, layout[IN0].turned, layout[IN1].turned,
                               p->transfer[OUT].turned);
}

/* Loops over the cores of a grid direction over out; the outer one of two
 * halves, or of nothing. */
struct cores {
  struct run outer, inner;
};

static struct cores cores_of(const struct array *s,
                             const struct map_blocking *b,
                             enum axis_role role) {
  const struct map_cut *cut = &b->form.cut[role];
  struct cores x = {{1, 0}, {1, 0}};
  for (int i = 0; i < cut->count; i++) {
    const struct map_part *q = &cut->part[i];
    if (q->place != MAP_CORES)
      continue;
    x.outer = x.inner;
    x.inner = (struct run){
        q->extent, q->step * s->work->axis[role][q->axis].stride_bytes[OUT]};
  }
  return x;
}

/* So many cores, of one half or of both. */
static void add_cores(struct runs *x, const struct cores *c, int count) {
  bool both = count > c->inner.extent;
  if (both)
    add_run(x, c->outer.extent, c->outer.stride_bytes);
  add_run(x, both ? c->inner.extent : count, c->inner.stride_bytes);
}

/* The loops over a tensor in device memory in the order of its descriptors:
 * steps of k, or rows of cores, around the words of a buffer (npu/design/task.c
 * has the same).  False: these are not made of words. */
static bool list_runs(const struct array *s, const struct map_blocking *b,
                      const struct tile_program *p,
                      const struct map_panel *panel, int tensor,
                      struct runs *x) {
  const struct map_layout *l = &s->form->layout[tensor];
  const struct map_cut *k = &b->form.cut[AXIS_K], *m = &b->form.cut[AXIS_M];
  bool wide = tensor == IN0 && (l->turned || panel->run[IN0] > 1 || b->last_k);
  int64_t run = tensor == OUT ? 1
                : wide && panel->chunks && !p->converts && !b->last_k
                    ? b->steps_k / panel->chunks
                    : panel->run[tensor];
  struct runs around = {.count = 0};
  int steps = (int)run;
  bool group = false;
  for (int i = k->count - 1; i >= 0 && tensor < OUT && !b->last_k; i--) {
    const struct map_part *q = &k->part[i];
    if (q->place != MAP_TIME)
      continue;
    int64_t stride =
        q->step * s->work->axis[AXIS_K][q->axis].stride_bytes[tensor];
    int64_t take = run < q->extent ? run : q->extent;
    add_run(&around, q->extent / take, stride * take);
    run /= take;
  }
  x->count = 0;
  while (around.count-- > 0)
    add_run(x, around.run[around.count].extent,
            around.run[around.count].stride_bytes);
  const struct cores row = cores_of(s, b, s->grid.across ? AXIS_N : AXIS_M);
  for (int i = 0; i < m->count && tensor != IN1; i++) {
    const struct map_part *q = &m->part[i];
    int64_t stride =
        q->step * s->work->axis[AXIS_M][q->axis].stride_bytes[tensor];
    bool together = tensor == OUT
                        ? stride < row.inner.stride_bytes &&
                              q->extent <= panel->out && !map_clips_out(p)
                        : wide;
    if (q->place == MAP_GROUP && together)
      group = true;
    else if (q->place == MAP_GROUP)
      add_run(x, q->extent, stride);
  }
  if (tensor == OUT) {
    const struct cores column = cores_of(s, b, AXIS_N);
    int rows = s->grid.rows, lower = map_joins(p) > 1 ? (rows + 1) / 2 : rows,
        split = s->grid.split < lower ? s->grid.split : lower;
    add_cores(x, &row, lower / split);
    if (split > 1)
      add_cores(x, &column, split);
  }
  struct map_stream words;
  bool uneven = b->last_k && tensor < OUT,
       good = uneven ? map_stream_of_k(p, tensor, p->all_k, group, &words)
                     : map_stream_of(p, tensor, steps, group, &words),
       apart = uneven && map_stream_ends_apart(p, steps, good ? &words : NULL);
  if (apart && (tensor == IN0 ? !panel->chunks : map_fills(p)))
    return false;
  if (apart) {
    int64_t once = (int64_t)steps * b->block_k;
    add_run(x, map_buffers_k(p, steps) - 1,
            once * p->side[AXIS_K].loop[0].stride_bytes[tensor]);
    good = map_stream_of_k(p, tensor, once, group, &words);
  }
  if (!good)
    return false;
  for (int i = 0; i < words.count; i++)
    add_run(x, words.loop[i].extent, words.loop[i].stride_bytes);
  return true;
}

double array_run_bytes(const struct array *s, const struct map_blocking *b,
                       const struct tile_program *p,
                       const struct map_panel *panel, int tensor) {
  const struct map_layout *x = &s->form->layout[tensor];
  struct runs r;
  int64_t bytes = 4; /* a word */
  if (!x->in_place)
    return HUGE_VAL;
  assert(s->work && tensor < OUT);
  if (!list_runs(s, b, p, panel, tensor, &r))
    return (double)bytes;
  for (int i = r.count - 1; i >= 0 && r.run[i].stride_bytes == bytes; i--)
    bytes *= r.run[i].extent;
  return (double)bytes;
}

/* Whether a loop continues the one around it. */
static bool goes_on(const struct runs *r, int i) {
  return i > 0 && i < r->count &&
         r->run[i - 1].stride_bytes ==
             r->run[i].stride_bytes * r->run[i].extent;
}

/* Loops that a descriptor has for a tensor, those that continue each other
 * being one, and two where a dimension does not count so far; *outermost is the
 * extent of the first, which needs no count. */
static int count_runs(const struct array *s, const struct map_blocking *b,
                      const struct tile_program *p,
                      const struct map_panel *panel, int tensor,
                      int64_t *outermost) {
  struct runs r;
  if (!list_runs(s, b, p, panel, tensor, &r))
    return INT32_MAX;
  const struct tile_resources *shim = &s->at->device->tile[TILE_SHIM];
  int loops = 0, more = 0;
  int64_t extent = 1;
  *outermost = 1;
  for (int i = 0; i < r.count; i++) {
    bool ends = !goes_on(&r, i + 1);
    if (ends && r.run[i].stride_bytes / 4 > shim->max_step_words)
      return INT32_MAX;
    loops += !goes_on(&r, i);
    extent = goes_on(&r, i) ? extent * r.run[i].extent : r.run[i].extent;
    if (loops == 1)
      *outermost = extent;
    else if (ends)
      more += extent > shim->max_wrap;
  }
  return loops + more;
}

/* n rounds of which a descriptor walks over all buffers of a tensor, each of so
 * many loops, the first of such an extent: as many loops over n as it has
 * dimensions left, and of the next one what iterations count. */
static int64_t rounds_together(const struct device *dev,
                               const struct map_nest *n, int tensor, int count,
                               int64_t outermost) {
  const struct tile_resources *shim = &dev->tile[TILE_SHIM];
  int left = shim->dims - count - (outermost > shim->max_wrap);
  int64_t rounds = 1, inside = -1; /* stride behind the loops so far */
  for (int i = n->count - 1; i >= 0 && left >= 0; i--) {
    const struct map_loop *l = &n->loop[i];
    int64_t extent = l->extent;
    bool goes_on = l->stride_bytes[tensor] == inside;
    inside = l->stride_bytes[tensor] * extent;
    if (!goes_on && left-- == 0)
      while (extent > dev->max_iterations || l->extent % extent)
        extent--;
    rounds *= extent;
  }
  return rounds;
}

/* n rounds that an iteration counts, which it does where each has two
 * descriptors: of the loops that continue each other, as many as it can. */
static int64_t rounds_by_iteration(const struct device *dev,
                                   const struct map_nest *n, int tensor) {
  int64_t rounds = 1, step = -1;
  for (int i = n->count - 1; i >= 0; i--) {
    const struct map_loop *l = &n->loop[i];
    if (l->extent > 1 && step >= 0 && l->stride_bytes[tensor] != step * rounds)
      break;
    if (l->extent > 1 && step < 0)
      step = l->stride_bytes[tensor];
    rounds *= l->extent;
  }
  if (step / 4 > dev->tile[TILE_SHIM].max_step_words)
    return 1;
  int64_t most = rounds;
  while (most > dev->max_iterations || rounds % most)
    most--;
  return most;
}

bool array_rounds_are_phases(const struct array *s,
                             const struct map_blocking *b, bool apart) {
  return b->rounds_m > 1 || s->grid.split > 1 || apart;
}

bool array_can_walk(const struct array *s, const struct map_blocking *b,
                    const struct tile_program *p, const struct map_panel *panel,
                    bool apart, int64_t *rounds) {
  const struct device *dev = s->at->device;
  int dims = dev->tile[TILE_SHIM].dims;
  bool again = b->rounds_n > 1 && !panel->chunks; /* in0, in n rounds */
  struct map_nest inside = {.count = 0};
  if (!array_rounds_are_phases(s, b, apart) && !again)
    inside = p->time[AXIS_C];
  for (int i = 0; i < p->time[AXIS_N].count; i++)
    if (inside.count < MAP_LOOPS)
      inside.loop[inside.count++] = p->time[AXIS_N].loop[i];
  for (int t = 0; t < TENSORS; t++) {
    int64_t outermost = 1;
    if (!s->form->layout[t].in_place)
      continue;
    int count = count_runs(s, b, p, panel, t, &outermost);
    bool in_two = t == IN1 && map_in1_in_two(p); /* iteration counts rounds */
    if (count > dims + !in_two ||
        (count > dims && outermost > dev->max_iterations))
      return false;
    int64_t most = t == IN0 && again && count <= dims ? b->rounds_n
                   : in_two
                       ? rounds_by_iteration(dev, &inside, IN1)
                       : rounds_together(dev, &inside, t, count, outermost);
    *rounds = *rounds < most ? *rounds : most;
  }
  return true;
}
