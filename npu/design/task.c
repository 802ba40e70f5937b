/* task.c -- what the shim channels run, phase by phase.
 *
 * A phase is one m round.  In it a column reads its row's panel of in0 once per
 * n round (one descriptor, repeated), its own columns of in1 once (the same
 * descriptor in every phase), and writes its blocks of out (one descriptor with
 * a token).  Loops that continue each other in memory are merged, so that with
 * the layout of map/schedule.c each descriptor is a single run.
 *
 * Four phases may be outstanding: that is the depth of a channel's task queue,
 * and with one in1 and four in0 and out descriptors it stays within 16.
 */
#include "parts.h"

enum { PHASES_AHEAD = 4, SHIM_DIMS = 3, IN0_BD = 0, OUT_BD = 4, IN1_BD = 8 };

struct walk {
  int64_t extent[8], stride_bytes[8];
  int count;
};

/* Adds a loop inside the ones before; merges when the outer one continues
 * where this one ends. */
static void walk_add(struct walk *w, int64_t extent, int64_t stride_bytes) {
  if (extent == 1)
    return;
  if (w->count && w->stride_bytes[w->count - 1] == stride_bytes * extent) {
    w->extent[w->count - 1] *= extent;
    w->stride_bytes[w->count - 1] = stride_bytes;
    return;
  }
  w->extent[w->count] = extent;
  w->stride_bytes[w->count++] = stride_bytes;
}

/* Fills a shim descriptor from the walk below its repeating loop, which may
 * only be the outermost. */
static bool fill_bd(struct maker *m, const char *name, struct walk *w,
                    struct bd *bd, int *repeat) {
  *repeat = 1;
  int first = 0;
  if (w->count && w->stride_bytes[0] == 0) {
    if (w->extent[0] > 256)
      return diag_error(m->diag, loc_none(),
                        "%s: %lld rounds; a task repeats at most 256 times",
                        name, (long long)w->extent[0]);
    *repeat = (int)w->extent[0];
    first = 1;
  }
  int dims = w->count - first;
  if (dims < 1 || dims > SHIM_DIMS || w->stride_bytes[w->count - 1] != 4)
    return diag_error(m->diag, loc_none(),
                      "%s: %d loops over device memory; a shim descriptor has "
                      "%d dimensions over 4-byte words",
                      name, dims, SHIM_DIMS);
  uint64_t length = 1;
  for (int i = 0; i < dims; i++) {
    int at = w->count - 1 - i; /* innermost first */
    length *= (uint64_t)w->extent[at];
    bd->dim[i] = (struct bd_dim){(uint32_t)(w->stride_bytes[at] / 4),
                                 i == dims - 1 ? 0 : (uint32_t)w->extent[at]};
  }
  for (int i = dims; i < 4; i++)
    bd->dim[i] = (struct bd_dim){1, 0};
  if (length > UINT32_MAX)
    return diag_error(m->diag, loc_none(),
                      "%s: %llu words; a descriptor moves up to 2^32-1", name,
                      (unsigned long long)length);
  bd->length_words = (uint32_t)length;
  return true;
}

static struct walk walk_of(const struct tile_program *p, int tensor) {
  const struct map_transfer *x = &p->transfer[tensor];
  struct walk w = {.count = 0};
  for (int i = 1; i < 3; i++) /* n rounds, k steps; m rounds are phases */
    if (!(tensor == MAP_OUT && i == 2))
      walk_add(&w, x->time[i].extent, x->time[i].stride_bytes);
  if (tensor == MAP_OUT)
    walk_add(&w, p->rows, x->row_stride_bytes);
  int64_t words = dtype_bytes(x->type) * (int64_t)x->block_columns / 4;
  walk_add(&w, x->block_rows, words * 4);
  walk_add(&w, words, 4);
  return w;
}

static bool make_channel(struct maker *m, int column, int tensor) {
  static const struct {
    const char *name;
    bool mm2s;
    int channel, bd, ring;
  } row[MAP_TENSORS] = {{"in0", true, 0, IN0_BD, PHASES_AHEAD},
                        {"in1", true, 1, IN1_BD, 1},
                        {"out", false, 0, OUT_BD, PHASES_AHEAD}};
  const struct map_transfer *x = &m->design->program->transfer[tensor];
  struct walk w = walk_of(m->design->program, tensor);
  struct bd bd = {.iteration_step_words = 1,
                  .iteration_count = 1,
                  .acquire_lock = -1,
                  .release_lock = -1,
                  .next = -1,
                  .burst = 2};
  int repeat;
  if (!fill_bd(m, row[tensor].name, &w, &bd, &repeat))
    return false;
  for (int i = 0; i < row[tensor].ring; i++)
    *add_bd(m) = (struct design_bd){
        arena_printf(m->arena, "%s_task%d", row[tensor].name, i),
        column,
        0,
        row[tensor].bd + i,
        row[tensor].mm2s,
        row[tensor].channel,
        bd};
  for (int phase = 0; phase < m->design->phases; phase++)
    *add_task(m) = (struct design_task){
        .phase = phase,
        .column = column,
        .channel = row[tensor].channel,
        .bd = row[tensor].bd + phase % row[tensor].ring,
        .mm2s = row[tensor].mm2s,
        .argument = tensor,
        .offset_bytes = (uint64_t)(column * x->column_stride_bytes +
                                   phase * x->time[0].stride_bytes),
        .length_words = bd.length_words,
        .repeat = repeat,
        .token = tensor == MAP_OUT};
  return true;
}

bool make_tasks(struct maker *m) {
  m->design->phases = m->design->program->rounds_m;
  m->design->phases_ahead = PHASES_AHEAD;
  for (int tensor = 0; tensor < MAP_TENSORS; tensor++)
    for (int column = 0; column < m->design->program->columns; column++)
      if (!make_channel(m, column, tensor))
        return false;
  return true;
}
