/* phase.c -- how the loops of the batch, m and n are divided into phases. */
#include "phase.h"

#include <assert.h>

static void append(struct map_nest *n, const struct map_loop *l) {
  assert(n->count < MAP_LOOPS);
  if (l->extent > 1)
    n->loop[n->count++] = *l;
}

/* Loops behind others; false: they are too many. */
static bool append_all(struct map_nest *n, const struct map_nest *more) {
  for (int i = 0; i < more->count; i++) {
    if (n->count == MAP_LOOPS)
      return false;
    append(n, &more->loop[i]);
  }
  return true;
}

bool phase_loops(const struct tile_program *p, struct map_nest *all,
                 int first[AXIS_ROLES]) {
  struct map_nest around = {.count = 0}, n = p->time[AXIS_N];
  bool again = p->panel.chunks && p->panel.rounds < p->rounds_n;
  if (again && !map_nest_divide(&p->time[AXIS_N], p->panel.rounds, &around, &n))
    return false;
  *all = (struct map_nest){.count = 0};
  bool good = append_all(all, &p->time[AXIS_C]);
  first[AXIS_C] = 0;
  first[AXIS_M] = all->count;
  good = good && append_all(all, &p->time[AXIS_M]) && append_all(all, &around);
  first[AXIS_N] = all->count;
  good = good && append_all(all, &n);
  first[AXIS_K] = all->count;
  return good;
}

bool phase_split(const struct tile_program *p, int depth, int64_t within,
                 struct phases *x) {
  struct map_nest all;
  int first[AXIS_ROLES];
  if (!phase_loops(p, &all, first))
    return false;
  *x = (struct phases){.count = 1};
  for (int i = 0, role = AXIS_C; i < all.count; i++) {
    while (i >= first[role + 1])
      role++;
    struct map_loop outer = all.loop[i], inner = outer;
    inner.extent = i < depth ? 1 : i == depth ? within : outer.extent;
    outer.extent /= inner.extent;
    for (int t = 0; t < TENSORS; t++)
      outer.stride_bytes[t] *= inner.extent;
    x->n += role == AXIS_N && outer.extent > 1;
    append(&x->around, &outer);
    append(&x->inside[role], &inner);
  }
  int64_t count = map_nest_extent(&x->around),
          turns = map_nest_extent(&x->inside[AXIS_C]) *
                  map_nest_extent(&x->inside[AXIS_N]);
  x->count = (int)count;
  x->turns = p->finish.bias && turns <= INT16_MAX ? (int)turns : 1;
  return count <= INT16_MAX;
}

int64_t phase_start(const struct phases *x, int phase, int tensor) {
  int64_t at = 0;
  for (int i = x->around.count - 1; i >= 0; i--) {
    const struct map_loop *l = &x->around.loop[i];
    at += phase % l->extent * l->stride_bytes[tensor];
    phase /= (int)l->extent;
  }
  return at;
}

bool phase_starts_panel(const struct phases *x, int phase) {
  int64_t over_n = 1;
  for (int i = x->around.count - x->n; i < x->around.count; i++)
    over_n *= x->around.loop[i].extent;
  return phase % over_n == 0;
}

int phase_other_rounds(const struct phases *x, int phase) {
  return (int)map_nest_extent(&x->inside[AXIS_N]) -
         phase_starts_panel(x, phase);
}
