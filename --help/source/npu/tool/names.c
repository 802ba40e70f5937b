/* names.c -- what a design calls its locks and descriptors ("in1_full",
 * "in1_0_out": the tensor comes first), and the loops behind its tensors. */
#include "names.h"

#include <string.h>

static const char *lock_name(void *context, int column, int row, int lock) {
  const struct design *d = context;
  for (int i = 0; i < d->lock_count; i++) {
    const struct design_lock *l = &d->lock[i];
    if (l->column == column && l->row == row && l->id == lock)
      return l->name;
  }
  return NULL;
}

static const char *bd_name(void *context, int column, int row, int bd) {
  const struct design *d = context;
  for (int i = 0; i < d->bd_count; i++) {
    const struct design_bd *b = &d->bd[i];
    if (b->column == column && b->row == row && b->id == bd)
      return b->name;
  }
  return NULL;
}

struct sim_names names_of(const struct design *d) {
  return (struct sim_names){
      .lock = lock_name, .bd = bd_name, .context = (void *)d};
}

static void put_loop(const struct map_loop *l, int tensor, const char **before,
                     struct text *t) {
  if (l->extent <= 1)
    return;
  text_printf(t, "%s %s (%lld%s)", *before, l->axis ? l->axis : "group",
              (long long)l->extent,
              l->stride_bytes[tensor] ? "" : ", the same blocks again");
  *before = ",";
}

/* A design's in0 is what rows of cores share, which may be the TEIR's in1. */
void names_put_loops(const struct design *d, const char *mentioned,
                     struct text *t) {
  static const char *const own[] = {"in0", "in1", "out"};
  const struct tile_program *p = d->program;
  const int block[AXIS_ROLES] = {1, p->block_m, p->block_n, p->block_k};
  struct text lines = {0}; /* `mentioned` may be in t */
  for (int i = 0; i < TENSORS; i++) {
    const struct map_transfer *x = &p->transfer[i];
    if (!strstr(mentioned, own[i]))
      continue;
    text_printf(&lines, "%s is the program's %s: blocks of %dx%d %s", own[i],
                own[x->tensor], block[map_roles[i][0]], block[map_roles[i][1]],
                dtype_name(x->type));
    const char *before = ", in loops";
    for (int r = 0; r < AXIS_ROLES; r++)
      for (int j = 0; j < p->time[r].count; j++)
        if (r != AXIS_K || i != OUT)
          put_loop(&p->time[r].loop[j], i, &before, &lines);
    put_loop(&p->group, i, &before, &lines);
    text_puts(&lines, "\n");
  }
  text_puts(t, text_string(&lines));
  text_free(&lines);
}
