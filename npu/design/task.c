/* task.c -- what the shim channels run, phase by phase.
 *
 * A phase is as much of the work as one descriptor of every channel can walk
 * over: usually one m round or, of a batch, as many products as a descriptor
 * iterates over; where a tensor's loops are more than that, less.  In it a
 * column reads its row's panel of in0, once if the mem tile keeps it, else once
 * per n round (one descriptor, repeated); its own columns of in1 once; and
 * writes its blocks of out (one descriptor with a token for each half of the
 * rows).  A panel that is kept in part is read whole in the first n round, and
 * what is not kept in the others; the mem tile's writer gets tasks to match.
 * Loops that continue each other in memory are merged.
 *
 * A bias comes between the last block of in1 of an n round and the first of the
 * next one.  So there every n round has two tasks of its own on the channel of
 * in1, whose descriptors find their ways by iteration, so that a push is all
 * that it costs; a push waits for a place in the queue.  Where one iteration
 * does not count these rounds, each is a phase.
 *
 * Where in1's last step of k is filled up, every n round has a second
 * descriptor behind the first one, which brings rows once more; or, where its
 * last buffer has less, that one.  Iteration leads both from round to round, so
 * that one task brings them all.
 *
 * As many phases may be outstanding as the channels' queues have room for, four
 * tasks each; with one in1 descriptor, and of in0 and out two to four each, a
 * shim stays within 16.
 */
#include "parts.h"
#include "phase.h"
#include "shim_walk.h"

#include <assert.h>

/* Which n rounds a task is for: in one go, or where a part of in0 is kept the
 * first one, and the others. */
enum rounds { ALL_ROUNDS, FIRST_ROUND, OTHER_ROUNDS };

/* A kind of tasks on a shim channel; ring: descriptors that take turns; part:
 * of those that a column has of n, or of its ways out; of in0 1: the last
 * chunk. */
enum columns { ALL_COLUMNS, HOME_COLUMNS, SHARE_COLUMNS, OTHER_COLUMNS };
struct channel {
  const char *name;
  int tensor; /* or MAP_BIAS */
  enum rounds rounds;
  bool mm2s;
  int channel, bd, ring;
  /* home: those that send in0; share: those with one on the channel */
  enum columns columns;
  int part;
};

static void walk_nest(struct shim_walk *w, const struct map_nest *n,
                      int tensor) {
  for (int i = 0; i < n->count; i++)
    shim_walk_add(w, n->loop[i].extent, n->loop[i].stride_bytes[tensor]);
}

/* Loops over k, but for the innermost `steps`. */
static void walk_steps(struct shim_walk *w, const struct map_nest *k,
                       int tensor, int64_t steps) {
  struct map_loop outer[MAP_LOOPS];
  for (int i = k->count - 1; i >= 0; i--) {
    outer[i] = k->loop[i];
    int64_t take = steps < outer[i].extent ? steps : outer[i].extent;
    assert(outer[i].extent % take == 0 && steps % take == 0);
    outer[i].extent /= take;
    outer[i].stride_bytes[tensor] *= take;
    steps /= take;
  }
  for (int i = 0; i < k->count; i++)
    shim_walk_add(w, outer[i].extent, outer[i].stride_bytes[tensor]);
}

/* Blocks of out of so many cores: of one half, or of both. */
static void walk_cores(struct shim_walk *w, const struct map_nest *n,
                       int cores) {
  const struct map_loop *l = &n->loop[n->count - 1];
  bool both = n->count > 1 && cores > l->extent;
  assert(!both || cores == map_nest_extent(n));
  if (both)
    shim_walk_add(w, n->loop[0].extent, n->loop[0].stride_bytes[OUT]);
  shim_walk_add(w, both ? l->extent : cores, l->stride_bytes[OUT]);
}

/* The words of a buffer. */
static bool walk_buffer(struct shim_walk *w, const struct tile_program *p,
                        int tensor, int steps, bool group) {
  struct map_stream s;
  if (!map_stream_of(p, tensor, steps, group, &s))
    return false;
  for (int i = 0; i < s.count; i++)
    shim_walk_add(w, s.loop[i].extent, s.loop[i].stride_bytes);
  return true;
}

static int inner_steps(const struct tile_program *p) {
  const struct map_nest *k = &p->time[AXIS_K];
  return (int)k->loop[k->count - 1].extent;
}

/* Buffers of an input whose last step of k has less: all of them or, where a
 * task of its own brings the last one, the others. */
static bool walk_uneven(struct shim_walk *w, const struct tile_program *p,
                        const struct channel *c, int steps) {
  int64_t k = p->all_k, block = (int64_t)steps * p->block_k;
  bool in0 = c->tensor == IN0, apart = in0 && map_panel_ends_apart(p);
  if (apart && c->part) {
    k = map_last_k(p, steps);
  } else if (apart) {
    shim_walk_add(w, map_buffers_k(p, steps) - 1,
                  block * p->side[AXIS_K].loop[0].stride_bytes[IN0]);
    k = block;
  } else if (map_ends_apart(p, c->tensor, steps, in0)) {
    return false;
  }
  struct map_stream s;
  if (!map_stream_of_k(p, c->tensor, k, in0, &s))
    return false;
  for (int i = 0; i < s.count; i++)
    shim_walk_add(w, s.loop[i].extent, s.loop[i].stride_bytes);
  return true;
}

/* Whether an iteration counts the stretches of which a part is streamed again,
 * since they and their buffers are a loop each. */
static bool counts_stretches(const struct tile_program *p,
                             const struct channel *c) {
  return c->rounds == OTHER_ROUNDS && map_streamed_parts(p) > 1;
}

/* Of a panel that comes in shares. */
static int chunk_steps(const struct tile_program *p) {
  return p->steps_k / p->panel.chunks;
}

static bool walk_of(const struct tile_program *p, const struct phases *x,
                    const struct channel *c, int column, struct shim_walk *w) {
  const struct map_nest *k = &p->time[AXIS_K];
  const struct map_panel *panel = &p->panel;
  int t = c->tensor;
  w->count = 0;
  if (t == MAP_BIAS) {
    shim_walk_add(w, design_bias(p).block_bytes / 4, 4);
    return true;
  }
  walk_nest(w, &x->inside[AXIS_C], t);
  if (p->grid.apart && t < OUT)
    walk_nest(w, &p->row, t);
  walk_nest(w, &x->inside[AXIS_M], t);
  if (c->rounds == OTHER_ROUNDS && !counts_stretches(p, c))
    shim_walk_add(w, 2, 0); /* so often as each phase says */
  else if (c->rounds == ALL_ROUNDS && !(t == IN0 && panel->chunks))
    walk_nest(w, &x->inside[AXIS_N], t);
  if (t == OUT) {
    int first, rows = design_join_rows(p, c->part, &first),
               split = p->grid.split < rows ? p->grid.split : rows;
    int span = design_out_span(p);
    if (span == 1)
      shim_walk_add(w, p->group.extent, p->group.stride_bytes[OUT]);
    walk_cores(w, design_row_loops(p), rows / split);
    walk_cores(w, &p->column, split);
    return walk_buffer(w, p, OUT, 1, span > 1);
  }
  int steps = design_buffer_steps(p, t);
  if (map_is_uneven(p))
    return walk_uneven(w, p, c, steps);
  if (c->rounds == OTHER_ROUNDS) {
    int stretch = panel->kept + panel->streamed;
    assert(inner_steps(p) % stretch == 0);
    if (!counts_stretches(p, c))
      walk_steps(w, k, t, stretch);
    int apart = design_keeps_second(p, column) ? steps + panel->kept : steps;
    shim_walk_add(w, panel->streamed / steps,
                  apart * k->loop[k->count - 1].stride_bytes[t]);
  } else if (t == IN0 && panel->ways > 1) {
    assert(inner_steps(p) == p->steps_k);
    struct design_share share = design_panel_share(p, column, c->channel);
    shim_walk_add(w, share.count * chunk_steps(p) / steps,
                  steps * k->loop[k->count - 1].stride_bytes[t]);
  } else {
    walk_steps(w, k, t, steps);
  }
  bool wide = t == IN0 && design_is_wide(p);
  if (t == IN0 && !wide)
    shim_walk_add(w, p->group.extent, p->group.stride_bytes[IN0]);
  return walk_buffer(w, p, t, steps, wide);
}

/* Bytes from out's start to the bias of a phase, which is one n round or begins
 * with the first one. */
static int64_t bias_start(const struct tile_program *p, const struct phases *x,
                          int column, int phase) {
  struct design_bias b = design_bias(p);
  int block = column * p->rounds_n + (x->turns > 1 ? 0 : phase % p->rounds_n);
  assert(block < b.blocks);
  return b.offset_bytes + block * b.block_bytes;
}

/* Bytes from the argument's start to what a task of phase 0 moves. */
static int64_t start_of(const struct tile_program *p, const struct channel *c,
                        int column) {
  const struct map_nest *k = &p->time[AXIS_K];
  const struct map_grid *g = &p->grid;
  int first_row, t = c->tensor;
  if (t == OUT) {
    design_join_rows(p, c->part, &first_row);
    if (g->across)
      return map_nest_offset(&p->column, OUT, first_row) +
             map_nest_offset(&p->row, OUT, column);
    return map_nest_offset(&p->row, OUT, first_row / g->split) +
           map_nest_offset(&p->column, OUT,
                           column * g->split + first_row % g->split);
  }
  if (g->apart)
    return map_nest_offset(&p->column, t, column);
  if (t == IN1)
    return map_nest_offset(&p->column, IN1,
                           design_in1_part(p, column) + c->part);
  struct design_share share = {.home = column};
  if (c->columns == SHARE_COLUMNS)
    share = design_panel_share(p, column, c->channel);
  int64_t start = map_nest_offset(&p->row, IN0, design_in0_part(p, share.home));
  if (share.first)
    start +=
        share.first * chunk_steps(p) * k->loop[k->count - 1].stride_bytes[IN0];
  if (c->rounds == OTHER_ROUNDS && !design_keeps_second(p, column))
    start += p->panel.kept * k->loop[k->count - 1].stride_bytes[t];
  if (c->part) /* the last chunk */
    start += (p->all_k - map_last_k(p, p->panel.run[IN0])) *
             p->side[AXIS_K].loop[0].stride_bytes[t];
  return start;
}

/* Whether the channel's tasks are one for every n round. */
static bool takes_turns(const struct tile_program *p, const struct channel *c) {
  return p->finish.bias && (c->tensor == IN1 || c->tensor == MAP_BIAS);
}

/* The iteration that leads from round to round; false: none does. */
static bool set_iteration(const struct device *dev,
                          const struct shim_walk *rounds, struct bd *bd) {
  int64_t step = rounds->count ? rounds->stride_bytes[0] : 4,
          count = rounds->count ? rounds->extent[0] : 1;
  bd->iteration_count = (uint32_t)count;
  bd->iteration_step_words = (uint32_t)(step / 4);
  return rounds->count <= 1 && step >= 4 &&
         step / 4 <= dev->tile[TILE_SHIM].max_step_words &&
         count <= dev->max_iterations;
}

/* The walk of one turn of a phase, and the way to the next one. */
static bool walk_turn(struct builder *m, const struct phases *x,
                      const struct channel *c, struct shim_walk *w,
                      struct bd *bd) {
  const struct tile_program *p = m->design->program;
  struct phases one = *x;
  struct shim_walk turns = {.count = 0};
  one.inside[AXIS_C].count = one.inside[AXIS_N].count = 0;
  if (c->tensor == MAP_BIAS) { /* again and again for a batch */
    shim_walk_add(&turns, p->rounds_n, design_bias(p).block_bytes);
  } else {
    walk_nest(&turns, &x->inside[AXIS_C], IN1);
    walk_nest(&turns, &x->inside[AXIS_N], IN1);
  }
  if (!set_iteration(p->device, &turns, bd) ||
      map_nest_extent(&x->inside[AXIS_N]) != p->rounds_n)
    return diag_error(m->diag, loc_none(),
                      "%s: an iteration does not count rounds with a bias",
                      c->name);
  return walk_of(p, &one, c, 0, w);
}

/* Whether two descriptors bring what a task of the channel has in a round. */
static bool is_in_two(const struct tile_program *p, const struct channel *c) {
  return c->tensor == IN1 && map_in1_in_two(p);
}

/* What one of the two brings: so many buffers, each of so many k. */
struct half {
  int64_t buffers, k, first_k;
};

/* All k there are, and of what fills up the last step the first rows again; or
 * the full buffers and the last one. */
static struct half half_of(const struct tile_program *p, int which) {
  int64_t all = p->all_k, steps = design_buffer_steps(p, IN1),
          full = map_buffers_k(p, (int)steps) - 1, each = steps * p->block_k;
  if (map_fills(p))
    return (struct half){1, which ? p->steps_k * p->block_k - all : all, 0};
  return which ? (struct half){1, all - full * each, full * each}
               : (struct half){full, each, 0};
}

/* From where an n round begins to where the second one does. */
static int64_t second_start(const struct tile_program *p) {
  return half_of(p, 1).first_k * p->side[AXIS_K].loop[0].stride_bytes[IN1];
}

/* One of them in an n round, and the iteration to the next one. */
static bool walk_half(struct builder *m, const struct phases *x,
                      const struct half *h, struct shim_walk *w,
                      struct bd *bd) {
  const struct tile_program *p = m->design->program;
  struct map_stream s;
  struct shim_walk rounds = {.count = 0};
  walk_nest(&rounds, &x->inside[AXIS_C], IN1);
  walk_nest(&rounds, &x->inside[AXIS_N], IN1);
  if (!set_iteration(p->device, &rounds, bd))
    return diag_error(m->diag, loc_none(),
                      "in1: an iteration does not count rounds of two "
                      "descriptors");
  w->count = 0;
  shim_walk_add(w, h->buffers,
                h->k * p->side[AXIS_K].loop[0].stride_bytes[IN1]);
  if (!map_stream_of_k(p, IN1, h->k, false, &s))
    return diag_error(m->diag, loc_none(),
                      "in1: its rows are not made of words");
  for (int i = 0; i < s.count; i++)
    shim_walk_add(w, s.loop[i].extent, s.loop[i].stride_bytes);
  return true;
}

static struct bd empty_bd(const struct device *dev) {
  return (struct bd){.iteration_step_words = 1,
                     .iteration_count = 1,
                     .acquire_lock = -1,
                     .release_lock = -1,
                     .next = -1,
                     .burst = dev->burst};
}

static bool fill_both(struct builder *m, const struct phases *x,
                      const struct channel *c, struct bd bd[2], int *repeat) {
  const struct tile_program *p = m->design->program;
  struct shim_walk w;
  if (map_fills(p) &&
      map_ends_apart(p, IN1, design_buffer_steps(p, IN1), false))
    return diag_error(m->diag, loc_none(),
                      "%s: its steps of k do not lie one behind the other",
                      c->name);
  for (int i = 0; i < 2; i++) {
    struct half half = half_of(p, i);
    bd[i] = empty_bd(p->device);
    assert(half.k > 0 && half.k <= p->all_k);
    if (!walk_half(m, x, &half, &w, &bd[i]) ||
        !shim_walk_fill(p->device, c->name, &w, &bd[i], repeat, m->diag))
      return false;
    if (*repeat > 1)
      return diag_error(m->diag, loc_none(), "%s: more loops than dimensions",
                        c->name);
  }
  *repeat = (int)bd[0].iteration_count;
  return true;
}

static bool fill_channel(struct builder *m, const struct phases *x,
                         const struct channel *c, int column, struct bd bd[2],
                         int *repeat) {
  struct shim_walk w;
  if (is_in_two(m->design->program, c))
    return fill_both(m, x, c, bd, repeat);
  *bd = empty_bd(m->design->program->device);
  bool turns = x->turns > 1 && takes_turns(m->design->program, c);
  if (!(turns ? walk_turn(m, x, c, &w, bd)
              : walk_of(m->design->program, x, c, column, &w)))
    return diag_error(m->diag, loc_none(),
                      "%s: its blocks are not made of words", c->name);
  const struct tile_program *p = m->design->program;
  bool stretches = counts_stretches(p, c);
  if (stretches) {
    const struct map_nest *k = &p->time[AXIS_K];
    bd->iteration_count = (uint32_t)p->panel.stretches;
    bd->iteration_step_words =
        (uint32_t)((p->panel.kept + p->panel.streamed) *
                   k->loop[k->count - 1].stride_bytes[IN0] / 4);
  }
  turns |= stretches; /* the iteration is taken */
  return shim_walk_fill(p->device, c->name, &w, bd, repeat, m->diag) &&
         (!turns || *repeat == 1 ||
          diag_error(m->diag, loc_none(), "%s: more loops than dimensions",
                     c->name));
}

/* Descriptors of a task. */
static int bds_of(const struct tile_program *p, const struct channel *c) {
  return is_in_two(p, c) ? 2 : 1;
}

static bool make_channel(struct builder *m, const struct phases *x, int column,
                         const struct channel *c) {
  const struct tile_program *p = m->design->program;
  struct bd bd[2];
  int repeat, each = bds_of(p, c);
  if (!fill_channel(m, x, c, column, bd, &repeat))
    return false;
  for (int i = 0; i < c->ring * each; i++) {
    bool more = i % each > 0;
    *add_bd(m) =
        (struct design_bd){arena_printf(m->arena, "%s_%s%d", c->name,
                                        more ? "more" : "task", i / each),
                           column,
                           0,
                           c->bd + i,
                           c->mm2s,
                           c->channel,
                           bd[more],
                           more ? second_start(p) : 0};
    if (each > 1 && !more)
      m->design->bd[m->design->bd_count - 1].bd.next = c->bd + i + 1;
  }
  assert(repeat >= 1 && c->ring >= 1);
  bool once = c->rounds == FIRST_ROUND || (c->tensor == IN0 && p->panel.chunks),
       queued = x->turns > 1 && takes_turns(p, c);
  /* the second turn's inputs come before what takes the first one's results */
  int tasks = 0, later = x->turns > 1 && c->tensor == OUT;
  for (int phase = 0; phase < x->count; phase++) {
    if (c->rounds == OTHER_ROUNDS)
      repeat = phase_other_rounds(x, phase) *
               (counts_stretches(p, c) ? p->panel.stretches : 1);
    if (!repeat || (once && !phase_starts_panel(x, phase)))
      continue;
    bool bias = c->tensor == MAP_BIAS;
    int64_t start =
        bias ? bias_start(p, x, column, phase)
             : start_of(p, c, column) + phase_start(x, phase, c->tensor);
    struct design_task task = {
        .phase = phase * x->turns + later,
        .column = column,
        .channel = c->channel,
        .queued = queued,
        .bd = c->bd + tasks++ % c->ring * each,
        .mm2s = c->mm2s,
        .argument = bias ? OUT : p->transfer[c->tensor].tensor,
        .offset_bytes = (uint64_t)start,
        .length_words = bd->length_words,
        .repeat = repeat,
        .token = c->tensor == OUT &&
                 phase * x->turns + later + m->design->phases_ahead <
                     m->design->phases};
    for (int i = 0; i < (queued ? x->turns : 1); i++, task.phase++)
      *add_task(m) = task;
  }
  return true;
}

static void add_mem_task(struct builder *m, int phase, int column, int channel,
                         int argument, int bd, int repeat) {
  const struct tile_program *p = m->design->program;
  if (repeat)
    *add_task(m) =
        (struct design_task){.phase = phase * m->design->turns,
                             .column = column,
                             .row = 1,
                             .channel = channel,
                             .bd = bd,
                             .argument = p->transfer[argument].tensor,
                             .repeat = repeat};
}

/* The mem tile's side of in0 when a part of it is kept: both parts of every
 * stretch in the first n round, then the streamed ones. */
static void make_panel_tasks(struct builder *m, const struct phases *x,
                             int column) {
  const struct tile_program *p = m->design->program;
  int stretches = p->panel.stretches, channel = design_in0_way(p).in;
  for (int phase = 0; phase < x->count; phase++) {
    add_mem_task(m, phase, column, channel, IN0, DESIGN_STRETCH_BD,
                 stretches * phase_starts_panel(x, phase));
    add_mem_task(m, phase, column, channel, IN0, DESIGN_STREAMED_BD,
                 stretches * phase_other_rounds(x, phase));
  }
}

/* The first or the last descriptor by which a channel of a mem tile writes. */
static int writer_of(const struct design *x, int column, int channel,
                     bool last) {
  int found = -1;
  for (int i = 0; i < x->bd_count; i++) {
    const struct design_bd *b = &x->bd[i];
    if (b->column == column && b->row == MEM_ROW && b->channel == channel &&
        !b->mm2s && (found < 0 || last))
      found = b->id;
  }
  assert(found >= 0);
  return found;
}

/* The same where in0 comes on a channel of in1's: a share of it once, and then
 * in1's blocks. */
static void make_turn_tasks(struct builder *m, const struct phases *x,
                            int column, int channel) {
  const struct tile_program *p = m->design->program;
  int blocks = (int)map_nest_extent(&x->inside[AXIS_N]) * p->steps_k /
               p->panel.run[IN1],
      panel = writer_of(m->design, column, channel, false),
      in1 = writer_of(m->design, column, channel, true);
  for (int phase = 0; phase < x->count; phase++) {
    add_mem_task(m, phase, column, channel, IN0, panel,
                 phase_starts_panel(x, phase));
    add_mem_task(m, phase, column, channel, IN1, in1, blocks);
  }
}

static bool has_channel(const struct tile_program *p, const struct channel *c,
                        int column) {
  if (c->ring == 0 || (c->tensor == IN1 && design_in1_part(p, column) < 0))
    return false;
  bool shares = design_panel_share(p, column, c->channel).count > 0;
  switch (c->columns) {
  case ALL_COLUMNS:
    break;
  case HOME_COLUMNS:
    return design_in0_part(p, column) >= 0;
  case SHARE_COLUMNS:
    return shares;
  case OTHER_COLUMNS:
    return !shares;
  }
  return true;
}

enum { CHANNELS = 11 };

static bool fits(struct builder *m, const struct phases *x,
                 const struct channel channel[CHANNELS], struct diag *d) {
  struct bd bd[2];
  int repeat;
  struct builder trial = *m;
  trial.diag = d;
  const struct tile_program *p = m->design->program;
  for (int i = 0; i < CHANNELS; i++) {
    bool alike = channel[i].columns != SHARE_COLUMNS, found = false;
    for (int column = 0; column < p->grid.columns && !(alike && found);
         column++) {
      found = has_channel(p, &channel[i], column);
      if (found && !fill_channel(&trial, x, &channel[i], column, bd, &repeat))
        return false;
    }
  }
  return true;
}

/* As much inside a phase as descriptors can walk over; m rounds, which are
 * long, are phases at least. */
static bool find_phases(struct builder *m,
                        const struct channel channel[CHANNELS],
                        struct phases *x) {
  const struct tile_program *p = m->design->program;
  struct map_nest all;
  struct diag d = {0};
  int first[AXIS_ROLES];
  if (!phase_loops(p, &all, first) || all.count == MAP_LOOPS)
    return diag_error(m->diag, loc_none(), "%d loops over time or more",
                      MAP_LOOPS);
  bool each = p->rounds_m > 1 || p->grid.split > 1 || map_panel_ends_apart(p);
  for (int depth = each ? first[AXIS_N] : 0; depth <= all.count; depth++) {
    int64_t extent = depth < all.count ? all.loop[depth].extent : 1;
    for (int64_t within = extent; within > 1 || depth == all.count; within--) {
      d = (struct diag){0};
      if (extent % within == 0 && phase_split(p, depth, within, x) &&
          fits(m, x, channel, &d))
        return true;
      if (depth == all.count)
        break;
    }
  }
  if (d.kind == DIAG_NONE)
    diag_error(&d, loc_none(), "%lld phases; a transaction has up to %d",
               (long long)map_nest_extent(&all), INT16_MAX);
  *m->diag = d;
  return false;
}

/* Whether what in1's tasks move depends on the phase. */
static bool in1_moves(const struct phases *x) {
  for (int i = 0; i < x->around.count; i++)
    if (x->around.loop[i].stride_bytes[IN1])
      return true;
  return false;
}

/* In the order in which they are pushed: first what others wait for.  Where
 * in1 comes behind in0 on a channel, its task has time. */
bool make_tasks(struct builder *m) {
  const struct tile_program *p = m->design->program;
  bool part = p->panel.stretches > 0, turns = p->grid.split > 1,
       bias = p->finish.bias != AXIS_C, apart = map_panel_ends_apart(p);
  int depth = p->device->queue_depth,
      ahead = part || turns || bias || apart || map_in1_in_two(p) ? depth / 2
                                                                  : depth;
  assert(ahead >= 1 && ahead <= depth);
  struct channel channel[CHANNELS] = {
      {"in0", IN0, part ? FIRST_ROUND : ALL_ROUNDS, true, 0, 0, ahead,
       turns ? SHARE_COLUMNS : HOME_COLUMNS, 0},
      {"in0_again", IN0, OTHER_ROUNDS, true, 0, 0, part ? ahead : 0,
       HOME_COLUMNS, 0},
      {"in0_more", IN0, ALL_ROUNDS, true, 1, 0, turns ? ahead : 0,
       SHARE_COLUMNS, 0},
      {"in1", IN1, ALL_ROUNDS, true, design_in1_way(p, 0).in, 0, 1,
       turns ? OTHER_COLUMNS : ALL_COLUMNS, 0},
      {"in1_1", IN1, ALL_ROUNDS, true, 1, 0, turns, OTHER_COLUMNS, 1},
      {"in1", IN1, ALL_ROUNDS, true, 0, 0, turns, SHARE_COLUMNS, 0},
      {"in1_1", IN1, ALL_ROUNDS, true, 1, 0, turns, SHARE_COLUMNS, 1},
      {"in0_last", IN0, ALL_ROUNDS, true, 0, 0, apart ? ahead : 0, HOME_COLUMNS,
       1},
      {"bias", MAP_BIAS, ALL_ROUNDS, true, design_in1_way(p, 0).in, 0,
       bias ? ahead : 0, ALL_COLUMNS, 0},
      {"out0", OUT, ALL_ROUNDS, false, 0, 0, ahead, ALL_COLUMNS, 0},
      {"out1", OUT, ALL_ROUNDS, false, 1, 0, p->joins > 1 ? ahead : 0,
       ALL_COLUMNS, 1}};
  struct phases x;
  if (!find_phases(m, channel, &x))
    return false;
  for (int i = 0; i < CHANNELS && in1_moves(&x); i++)
    if (channel[i].tensor == IN1 && channel[i].ring)
      channel[i].ring = ahead;
  for (int i = 0; i < CHANNELS && x.turns > 1; i++)
    if (channel[i].tensor == MAP_BIAS)
      channel[i].ring = 1; /* begins at the same place in every phase */
  m->design->turns = x.turns;
  m->design->phases = x.count * x.turns;
  m->design->phases_ahead = ahead * x.turns;
  for (int column = 0; column < p->grid.columns; column++) {
    if (part && design_in0_part(p, column) >= 0)
      make_panel_tasks(m, &x, column);
    for (int i = 0; i < CHANNELS; i++)
      if (channel[i].tensor == IN0 && channel[i].columns == SHARE_COLUMNS &&
          has_channel(p, &channel[i], column))
        make_turn_tasks(m, &x, column, channel[i].channel);
  }
  int bd = 0; /* of the shim, for the tasks of all channels */
  for (int i = 0; i < CHANNELS; i++) {
    channel[i].bd = bd;
    bd += channel[i].ring * bds_of(p, &channel[i]);
    for (int column = 0; column < p->grid.columns; column++)
      if (has_channel(p, &channel[i], column) &&
          !make_channel(m, &x, column, &channel[i]))
        return false;
  }
  return true;
}
