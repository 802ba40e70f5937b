/* task.c -- what the shim channels run, phase by phase.
 *
 * A phase is one m round or, of a batch, as many products as a descriptor
 * iterates over.  In it a column reads its row's panel of in0, once
 * if the mem tile keeps it, else once per n round (one descriptor, repeated);
 * its own columns of in1 once (the same descriptor in every phase); and writes
 * its blocks of out (one descriptor with a token for each half of the rows).
 * A panel that is kept in part is read whole in the first n round, and what is
 * not kept in the others; the mem tile's writer gets tasks to match.
 * Loops that continue each other in memory are merged.
 *
 * As many phases may be outstanding as the channels' queues have room for, four
 * tasks each; with one in1 descriptor, and of in0 and out two to four each, a
 * shim stays within 16.
 */
#include "parts.h"

#include <assert.h>

struct walk {
  int64_t extent[8], stride_bytes[8];
  int count;
};

/* Adds a loop inside the ones before; merges when the outer one continues
 * where this one ends. */
static void walk_add(struct walk *w, int64_t extent, int64_t stride_bytes) {
  assert(extent >= 1 && w->count < 8);
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

/* A loop inside others that is longer than a dimension can count becomes two,
 * of which no step is too long. */
static void split_long(struct walk *w, const struct tile_resources *shim) {
  for (int i = w->count - 1; i > 0; i--) {
    if (w->extent[i] <= shim->max_wrap || w->count == 8)
      continue;
    int64_t inner = shim->max_wrap;
    while (inner > 1 && (w->extent[i] % inner ||
                         inner * w->stride_bytes[i] / 4 > shim->max_step_words))
      inner--;
    for (int j = w->count++; j > i; j--) {
      w->extent[j] = w->extent[j - 1];
      w->stride_bytes[j] = w->stride_bytes[j - 1];
    }
    w->extent[i + 1] = inner;
    w->extent[i] /= inner;
    w->stride_bytes[i] *= inner;
  }
}

static void drop_outermost(struct walk *w) {
  w->count--;
  for (int i = 0; i < w->count; i++) {
    w->extent[i] = w->extent[i + 1];
    w->stride_bytes[i] = w->stride_bytes[i + 1];
  }
}

/* Fills a shim descriptor from the walk.  Its outermost loop may be repeats of
 * the task, of the same words or, where there are more loops than dimensions,
 * of others by iteration. */
static bool fill_bd(struct builder *m, const char *name, struct walk *w,
                    struct bd *bd, int *repeat) {
  const struct device *dev = m->design->program->device;
  const struct tile_resources *shim = &dev->tile[TILE_SHIM];
  *repeat = 1;
  bool again = w->count && w->stride_bytes[0] == 0;
  if (again) {
    if (w->extent[0] > dev->max_repeat)
      return diag_error(m->diag, loc_none(),
                        "%s: %lld rounds; a task runs at most %d times", name,
                        (long long)w->extent[0], dev->max_repeat);
    *repeat = (int)w->extent[0];
    drop_outermost(w);
  }
  split_long(w, shim);
  if (!again && w->count == shim->dims + 1 &&
      w->extent[0] <= dev->max_iterations &&
      w->stride_bytes[0] / 4 <= shim->max_step_words) {
    bd->iteration_count = (uint32_t)w->extent[0];
    bd->iteration_step_words = (uint32_t)(w->stride_bytes[0] / 4);
    *repeat = (int)w->extent[0];
    drop_outermost(w);
  }
  if (w->count < 1 || w->count > shim->dims ||
      w->stride_bytes[w->count - 1] != 4)
    return diag_error(m->diag, loc_none(),
                      "%s: %d loops over device memory; a shim descriptor has "
                      "%d dimensions over 4-byte words",
                      name, w->count, shim->dims);
  double length = 1;
  for (int i = 0; i < w->count; i++) {
    int at = w->count - 1 - i; /* innermost first */
    bool outermost = i == w->count - 1;
    length *= (double)w->extent[at];
    if (!outermost && w->extent[at] > shim->max_wrap)
      return diag_error(m->diag, loc_none(),
                        "%s: a loop of %lld; a shim dimension counts to %d",
                        name, (long long)w->extent[at], shim->max_wrap);
    bd->dim[i] = (struct bd_dim){(uint32_t)(w->stride_bytes[at] / 4),
                                 outermost ? 0 : (uint32_t)w->extent[at]};
  }
  for (int i = w->count; i < 4; i++)
    bd->dim[i] = (struct bd_dim){1, 0};
  if (length > shim->max_length_words)
    return diag_error(m->diag, loc_none(),
                      "%s: %.0f words; a descriptor moves up to %u", name,
                      length, shim->max_length_words);
  bd->length_words = (uint32_t)length;
  return true;
}

/* Which n rounds a task is for: in one go, or where a part of in0 is kept the
 * first one, and the others. */
enum rounds { ALL_ROUNDS, FIRST_ROUND, OTHER_ROUNDS };

/* A kind of tasks on a shim channel; ring: descriptors that take turns; part:
 * of those that a column has of n, or of its ways out. */
enum columns { ALL_COLUMNS, HOME_COLUMNS, OTHER_COLUMNS };
struct channel {
  const char *name;
  int tensor;
  enum rounds rounds;
  bool mm2s;
  int channel, bd, ring;
  enum columns columns; /* home: those that send in0 */
  int part;
};

/* Of a batch, so that a descriptor's iterations count the products of one. */
static int batch_phases(const struct tile_program *p) {
  int phases = 1, most = p->device->max_iterations;
  while (p->batch % phases || p->batch / phases > most)
    phases++;
  return phases;
}

/* Bytes between what the tasks of two phases move. */
static int64_t phase_stride(const struct tile_program *p,
                            const struct map_transfer *x) {
  return p->batch > 1 ? p->batch / batch_phases(p) * x->batch.stride_bytes
                      : x->time[0].stride_bytes;
}

/* The rows of blocks, of `steps` steps where rows run along k. */
static void walk_rows(struct walk *w, const struct map_transfer *x, int steps) {
  int64_t bytes = (int64_t)steps * x->block_columns * dtype_bytes(x->type);
  walk_add(w, x->block_rows, x->pitch_bytes);
  if (x->turned && x->time[3].stride_bytes) /* a group's lie side by side */
    walk_add(w, x->time[3].extent, x->time[3].stride_bytes);
  walk_add(w, bytes / 4, 4);
}

static struct walk walk_of(const struct tile_program *p,
                           const struct channel *c) {
  const struct map_transfer *x = &p->transfer[c->tensor];
  const struct map_loop *n = &x->time[1], *k = &x->time[2],
                        *group = &x->time[3];
  bool part = c->tensor == IN0 && p->panel.chunks;
  int run = c->tensor < OUT ? p->panel.run[c->tensor] : 1;
  struct walk w = {.count = 0};
  walk_add(&w, p->batch / batch_phases(p), x->batch.stride_bytes);
  if (p->grid.apart && c->tensor < OUT)
    walk_add(&w, p->grid.rows, x->row_stride_bytes);
  if (c->rounds == ALL_ROUNDS && !part)
    walk_add(&w, n->extent, n->stride_bytes);
  if (c->rounds == OTHER_ROUNDS)
    walk_add(&w, n->extent - 1, n->stride_bytes);
  if (c->tensor == OUT) {
    bool joined = design_out_span(p) > 1;
    int first, rows = design_join_rows(p, c->part, &first),
               split = p->grid.split < rows ? p->grid.split : rows;
    if (!joined)
      walk_add(&w, group->extent, group->stride_bytes);
    walk_add(&w, rows / split, x->row_stride_bytes);
    walk_add(&w, split, x->column_stride_bytes);
    if (joined && !x->turned)
      walk_add(&w, group->extent, group->stride_bytes);
  } else if (c->rounds == OTHER_ROUNDS) {
    walk_add(&w, p->panel.stretches,
             (p->panel.kept + p->panel.streamed) * k->stride_bytes);
    walk_add(&w, p->panel.streamed, k->stride_bytes);
  } else {
    walk_add(&w, k->extent / run, run * k->stride_bytes);
  }
  if (c->tensor == IN0 && !x->turned)
    walk_add(&w, group->extent, group->stride_bytes);
  walk_rows(&w, x, run);
  return w;
}

/* Bytes from the argument's start to what a task of phase 0 moves. */
static int64_t start_of(const struct tile_program *p, const struct channel *c,
                        int column) {
  const struct map_transfer *x = &p->transfer[c->tensor];
  const struct map_grid *g = &p->grid;
  int first_row;
  if (c->tensor == OUT) {
    design_join_rows(p, c->part, &first_row);
    return first_row / g->split * x->row_stride_bytes +
           (column * g->split + first_row % g->split) * x->column_stride_bytes;
  }
  if (g->apart)
    return column * x->column_stride_bytes;
  if (c->tensor == IN1)
    return (column * g->split + c->part) * x->column_stride_bytes;
  int64_t start = design_in0_part(p, column) * x->column_stride_bytes;
  if (c->rounds == OTHER_ROUNDS)
    start += p->panel.kept * x->time[2].stride_bytes;
  return start;
}

static bool make_channel(struct builder *m, int column,
                         const struct channel *c) {
  const struct tile_program *p = m->design->program;
  struct walk w = walk_of(p, c);
  struct bd bd = {.iteration_step_words = 1,
                  .iteration_count = 1,
                  .acquire_lock = -1,
                  .release_lock = -1,
                  .next = -1,
                  .burst = 2};
  int repeat;
  if (!fill_bd(m, c->name, &w, &bd, &repeat))
    return false;
  for (int i = 0; i < c->ring; i++)
    *add_bd(m) =
        (struct design_bd){arena_printf(m->arena, "%s_task%d", c->name, i),
                           column,
                           0,
                           c->bd + i,
                           c->mm2s,
                           c->channel,
                           bd};
  assert(repeat >= 1 && c->ring >= 1);
  for (int phase = 0; phase < m->design->phases; phase++)
    *add_task(m) = (struct design_task){
        .phase = phase,
        .column = column,
        .channel = c->channel,
        .bd = c->bd + phase % c->ring,
        .mm2s = c->mm2s,
        .argument = p->transfer[c->tensor].tensor,
        .offset_bytes =
            (uint64_t)(start_of(p, c, column) +
                       phase * phase_stride(p, &p->transfer[c->tensor])),
        .length_words = bd.length_words,
        .repeat = repeat,
        .token = c->tensor == OUT};
  return true;
}

static void add_mem_task(struct builder *m, int phase, int column, int argument,
                         int bd, int repeat) {
  const struct tile_program *p = m->design->program;
  *add_task(m) = (struct design_task){.phase = phase,
                                      .column = column,
                                      .row = 1,
                                      .channel = design_in0_way(p).in,
                                      .bd = bd,
                                      .argument = p->transfer[argument].tensor,
                                      .repeat = repeat};
}

/* The mem tile's side of in0 when a part of it is kept: both parts of every
 * stretch in the first n round, then the streamed ones. */
static void make_panel_tasks(struct builder *m, int column) {
  const struct tile_program *p = m->design->program;
  int stretches = p->panel.stretches;
  for (int phase = 0; phase < m->design->phases; phase++) {
    add_mem_task(m, phase, column, IN0, DESIGN_KEPT_BD, stretches);
    add_mem_task(m, phase, column, IN0, DESIGN_STREAMED_BD,
                 stretches * (p->rounds_n - 1));
  }
}

/* The same where in0 comes on a channel of in1's: all of it once, and then
 * turns of in1's ring. */
static void make_turn_tasks(struct builder *m, int column) {
  const struct tile_program *p = m->design->program;
  int depth = map_mem_depth(&p->panel, IN1),
      blocks = p->rounds_n * p->steps_k / p->panel.run[IN1];
  assert(blocks % depth == 0 && m->design->phases == 1);
  add_mem_task(m, 0, column, IN0, DESIGN_PANEL_BD, 1);
  add_mem_task(m, 0, column, IN1, design_turn_bd(p), blocks / depth);
}

static bool has_channel(const struct tile_program *p, const struct channel *c,
                        int column) {
  bool home = design_in0_part(p, column) >= 0;
  return c->ring > 0 &&
         (c->columns == ALL_COLUMNS || home == (c->columns == HOME_COLUMNS));
}

/* In the order in which they are pushed: first what others wait for.  Where
 * in1 comes behind in0 on a channel, its task has time. */
bool make_tasks(struct builder *m) {
  const struct tile_program *p = m->design->program;
  bool part = p->panel.stretches > 0, turns = p->grid.split > 1;
  int depth = p->device->queue_depth, ahead = part || turns ? depth / 2 : depth;
  int in1 = p->batch > 1 ? ahead : 1;
  assert(ahead >= 1 && ahead <= depth);
  m->design->phases = p->rounds_m * batch_phases(p);
  m->design->phases_ahead = ahead;
  struct channel channel[] = {
      {"in0", IN0, part ? FIRST_ROUND : ALL_ROUNDS, true, 0, 0, ahead,
       HOME_COLUMNS, 0},
      {"in0_again", IN0, OTHER_ROUNDS, true, 0, 0, part ? ahead : 0,
       HOME_COLUMNS, 0},
      {"in1", IN1, ALL_ROUNDS, true, design_in1_way(p, 0).in, 0, in1,
       turns ? OTHER_COLUMNS : ALL_COLUMNS, 0},
      {"in1_1", IN1, ALL_ROUNDS, true, 1, 0, turns ? in1 : 0, ALL_COLUMNS, 1},
      {"in1_0", IN1, ALL_ROUNDS, true, 0, 0, turns ? in1 : 0, HOME_COLUMNS, 0},
      {"out0", OUT, ALL_ROUNDS, false, 0, 0, ahead, ALL_COLUMNS, 0},
      {"out1", OUT, ALL_ROUNDS, false, 1, 0, p->joins > 1 ? ahead : 0,
       ALL_COLUMNS, 1}};
  for (int column = 0; column < p->grid.columns; column++) {
    if (part)
      make_panel_tasks(m, column);
    if (design_takes_turns(p, column))
      make_turn_tasks(m, column);
  }
  int bd = 0; /* of the shim, for the tasks of all channels */
  for (size_t i = 0; i < sizeof channel / sizeof *channel; i++) {
    channel[i].bd = bd;
    bd += channel[i].ring;
    for (int column = 0; column < p->grid.columns; column++)
      if (has_channel(p, &channel[i], column) &&
          !make_channel(m, column, &channel[i]))
        return false;
  }
  return true;
}
