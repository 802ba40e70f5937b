/* view.c -- a TEIR's work as blockings see it, by which of its tensors stay.
 *
 * To read it takes as long as to price blocks, and of many blockings few differ
 * in that. */
#include "map.h"

enum { VIEWS = 1 << 2 * TENSORS };

struct map_views {
  struct arena *arena;
  const struct device *device;
  const struct teir *teir;
  struct {
    bool read;
    struct map_work *work; /* NULL: it cannot lie so */
  } view[VIEWS];
};

struct map_views *map_views(struct arena *a, const struct device *dev,
                            const struct teir *teir) {
  struct map_views *v = arena_alloc(a, sizeof *v);
  v->arena = a;
  v->device = dev;
  v->teir = teir;
  return v;
}

const struct map_work *map_view(struct map_views *v,
                                const struct map_form *form) {
  bool stay[TENSORS], aligned[TENSORS];
  int at = 0;
  map_form_stays(form, stay, aligned);
  for (int t = 0; t < TENSORS; t++)
    at |= stay[t] << 2 * t | aligned[t] << (2 * t + 1);
  if (!v->view[at].read) {
    struct diag ignored = {0};
    struct map_work *w = arena_alloc(v->arena, sizeof *w);
    v->view[at].read = true;
    if (map_work_read_aligned(v->arena, v->device, v->teir, stay, aligned, w,
                              &ignored))
      v->view[at].work = w;
  }
  return v->view[at].work;
}
