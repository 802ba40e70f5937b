/* cost.c -- what a blocking costs on the array: how many bytes cross which
 * interface, in which runs, and the cycles of it.
 *
 * A step of k costs the slowest of the multiply unit, of loading and storing
 * the block of sums (kernels keep them in memory between steps), and of the
 * streams that fill the next blocks; all are cycle counts that follow from the
 * shapes (results.md section 0.3).  A core may hold two blocks of out at once,
 * which halves the reads of in1 and shows part of the way out; that pays where
 * DRAM is the limit, so a known platform's bandwidth is a bound, too.  The
 * constants are what the core program and the kernels add to that on the
 * simulator.
 */
#include "choose.h"

#include "kernels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
  STEP_CYCLES = 20,  /* between two steps of a kernel, its locks and DMA */
  GAP_CYCLES = 15,   /* of a stream, until a core has the next block */
  EDGE_CYCLES = 50,  /* to call a kernel whose last blocks are smaller */
  WAYS_OUT = 2,      /* channels of a column for out */
  ROUND_CYCLES = 60, /* locks around a block of out */
  COPY_CYCLES = 60,  /* of a copy, its call */
  /* At 1 GHz, for they run on clocks of their own (array.c has them for a
   * preset): to read the first word, to see that the last one
   * ended. */
  FIRST_CYCLES = 900,
  END_CYCLES = 110,
  LAUNCH_CYCLES = 235, /* a column's cores are told their numbers */
  TASK_CYCLES = 730,   /* from a task's begin to the end of its push */
  TURN_CYCLES = 600,   /* pushing an n round's, of in1 and of a bias */
};

/* Short divisions: the search has a million of them. */
static int64_t div_up(int64_t a, int64_t b) {
  assert(b > 0 && b <= UINT32_MAX && a + b - 1 <= UINT32_MAX);
  return (uint32_t)(a + b - 1) / (uint32_t)b;
}

static double max3(double a, double b, double c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

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

/* As much of the tile program as says how buffers travel. */
static void fill_program(const struct array *s, const struct map_blocking *b,
                         const struct map_panel *panel,
                         struct tile_program *p) {
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
  p->turns_out = map_turns_out(type, layout[IN0].turned, layout[IN1].turned,
                               layout[OUT].turned);
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
  int64_t row = 0, column = 0, half = 0; /* of rows */
  const struct map_cut *n = &b->form.cut[AXIS_N];
  for (int i = 0; i < n->count; i++)
    if (n->part[i].place == MAP_CORES) {
      half = column;
      column = n->part[i].step *
               s->work->axis[AXIS_N][n->part[i].axis].stride_bytes[OUT];
    }
  half = s->grid.across ? half : 0;
  row = s->grid.across ? column : 0;
  for (int i = 0; i < m->count && tensor != IN1; i++) {
    const struct map_part *q = &m->part[i];
    int64_t stride =
        q->step * s->work->axis[AXIS_M][q->axis].stride_bytes[tensor];
    if (q->place == MAP_CORES && !s->grid.across) {
      half = row;
      row = stride;
    }
    bool together = tensor == OUT ? stride < row && q->extent <= panel->out &&
                                        !map_clips_out(p)
                                  : wide;
    if (q->place == MAP_GROUP && together)
      group = true;
    else if (q->place == MAP_GROUP)
      add_run(x, q->extent, stride);
  }
  if (tensor == OUT && s->grid.split > 1 && map_joins(p) == 1)
    add_run(x, s->grid.m, row);
  if (tensor == OUT && s->grid.split > 1)
    add_run(x, s->grid.split, column);
  if (tensor == OUT && half && map_joins(p) == 1)
    add_run(x, 2, half);
  if (tensor == OUT && s->grid.split == 1 && s->grid.rows > 2)
    add_run(x, 2, row);
  struct map_stream words;
  bool uneven = b->last_k && tensor < OUT,
       apart = uneven && map_ends_apart(p, tensor, steps, group);
  if (apart && (tensor != IN0 || !panel->chunks))
    return false;
  if (apart)
    add_run(x, map_buffers_k(p, steps) - 1,
            (int64_t)steps * b->block_k *
                p->side[AXIS_K].loop[0].stride_bytes[tensor]);
  if (!(uneven ? map_stream_of_k(p, tensor,
                                 apart ? (int64_t)steps * b->block_k : p->all_k,
                                 group, &words)
               : map_stream_of(p, tensor, steps, group, &words)))
    return false;
  for (int i = 0; i < words.count; i++)
    add_run(x, words.loop[i].extent, words.loop[i].stride_bytes);
  return true;
}

/* Bytes of contiguous runs in which a tensor lies in device memory; blocks
 * follow each other. */
static double run_bytes(const struct array *s, const struct map_blocking *b,
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

/* Loops that a descriptor has for a tensor, those that continue each other
 * being one; *outermost is the extent of the first. */
static int count_runs(const struct array *s, const struct map_blocking *b,
                      const struct tile_program *p,
                      const struct map_panel *panel, int tensor,
                      int64_t *outermost) {
  struct runs r;
  if (!list_runs(s, b, p, panel, tensor, &r))
    return INT32_MAX;
  int count = r.count > 0;
  *outermost = r.count ? r.run[0].extent : 1;
  for (int i = 0; i < r.count; i++)
    if (r.run[i].stride_bytes / 4 >
            s->at->device->tile[TILE_SHIM].max_step_words &&
        (i + 1 == r.count ||
         r.run[i].stride_bytes !=
             r.run[i + 1].stride_bytes * r.run[i + 1].extent))
      return INT32_MAX;
  for (int i = 1; i < r.count; i++) {
    bool same =
        r.run[i - 1].stride_bytes == r.run[i].stride_bytes * r.run[i].extent;
    count += !same;
    if (same && count == 1)
      *outermost *= r.run[i].extent;
  }
  return count;
}

/* n rounds of which a descriptor walks over all buffers of a tensor, each of so
 * many loops: as many loops over n as it has dimensions left, and of the next
 * one what iterations count. */
static int64_t rounds_together(const struct device *dev,
                               const struct map_nest *n, int tensor,
                               int count) {
  int left = dev->tile[TILE_SHIM].dims - count;
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

/* Whether every m round, and product of a batch, is a phase at least. */
static bool rounds_are_phases(const struct array *s,
                              const struct map_blocking *b, bool apart) {
  return b->rounds_m > 1 || s->grid.split > 1 || apart;
}

/* Whether descriptors can walk over the tensors that lie in place, and how many
 * n rounds one does: 1 where a block needs the iterations. */
static bool can_walk(const struct array *s, const struct map_blocking *b,
                     const struct tile_program *p,
                     const struct map_panel *panel, int64_t *rounds) {
  const struct device *dev = s->at->device;
  int dims = dev->tile[TILE_SHIM].dims;
  bool again = b->rounds_n > 1 && !panel->chunks; /* in0, in n rounds */
  struct map_nest inside = {.count = 0};
  if (!rounds_are_phases(s, b, map_panel_ends_apart(p)) && !again)
    inside = p->time[AXIS_C];
  for (int i = 0; i < p->time[AXIS_N].count; i++)
    if (inside.count < MAP_LOOPS)
      inside.loop[inside.count++] = p->time[AXIS_N].loop[i];
  for (int t = 0; t < TENSORS; t++) {
    int64_t outermost = 1;
    if (!s->form->layout[t].in_place)
      continue;
    int count = count_runs(s, b, p, panel, t, &outermost);
    if (count > dims + 1 || (count > dims && outermost > dev->max_iterations))
      return false;
    int64_t most = t == IN0 && again && count <= dims
                       ? b->rounds_n
                       : rounds_together(dev, &inside, t, count);
    *rounds = *rounds < most ? *rounds : most;
  }
  return true;
}

/* Cycles for bytes that cross the DRAM interface.  Writes are posted, so their
 * runs do not matter. */
static double transfer_cycles(const struct preset *q, double bytes,
                              double run) {
  const double longest = q->dram[q->dram_count - 1].run_bytes;
  double rate = preset_dram(q, (uint64_t)(run < longest ? run : longest));
  return bytes / rate * q->clock_ghz * 1e9;
}

/* Two bounds that overlap imperfectly where they are close: the simulator's
 * runs lie on the 8-norm of both within 4 %. */
static double both(double a, double b) {
  return pow(pow(a, 8) + pow(b, 8), 1.0 / 8);
}

/* Cycles in which DRAM moves what a round of all cores takes and leaves; 0
 * where its rate is not known. */
struct traffic {
  double in0, in1, out;
  double kept; /* share of in0 that is read once per m round */
};

static struct traffic round_traffic(const struct array *s,
                                    const struct map_blocking *b,
                                    const struct tile_program *walks,
                                    const struct map_panel *panel) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  if (!q)
    return (struct traffic){.in0 = 0};
  double m = (double)b->group_m * b->block_m * s->grid.m,
         n = (double)b->block_n * s->grid.n,
         k = (double)b->steps_k * (b->valid_k ? b->valid_k : b->block_k);
  if (b->last_k)
    k -= b->block_k - b->last_k;
  return (struct traffic){
      .in0 = transfer_cycles(q, m * k * dtype_bytes(p->type[IN0]),
                             run_bytes(s, b, walks, panel, IN0)),
      .in1 = transfer_cycles(q, k * n * dtype_bytes(p->type[IN1]),
                             run_bytes(s, b, walks, panel, IN1)),
      .out = transfer_cycles(q, m * n * dtype_bytes(p->type[OUT]), HUGE_VAL),
      .kept = panel->chunks ? 1
              : panel->stretches
                  ? (double)panel->kept / (panel->kept + panel->streamed)
                  : 0};
}

/* n rounds that a panel of in0 serves. */
static int panel_rounds(const struct map_blocking *b,
                        const struct map_panel *panel) {
  return panel->chunks ? panel->rounds : b->rounds_n;
}

/* Cycles of all rounds, each `round` when device memory costs nothing.  What a
 * mem tile keeps of in0 is read once per m round, the rest in every n round, as
 * in1 is.  It is read part by part: behind the last use of a part in the n
 * round before, ahead of the first use in the first one.  What a round leaves
 * is written beside the next one; behind the last one it is not counted here.
 */
static double rounds_cycles(const struct array *s, const struct map_blocking *b,
                            const struct traffic *x,
                            const struct map_panel *panel, double round) {
  const struct teir_problem *p = s->problem;
  if (!s->at->preset)
    return (double)b->rounds_m * b->rounds_n * round;
  int rounds_n = panel_rounds(b, panel),
      rounds_m = b->rounds_m * (b->rounds_n / rounds_n);
  double read = (1 - x->kept) * x->in0 + x->in1, each = read + x->out;
  double part = panel->chunks      ? 1.0 / panel->chunks
                : panel->stretches ? 1.0 / panel->stretches
                                   : 0;
  double beside = rounds_n > 1 ? 2 * (1 - part) : 1; /* n rounds */
  double first = part * x->kept * x->in0 +
                 both(round, read + (1 - part) * x->kept * x->in0) +
                 both((rounds_n - 1) * round, (rounds_n - 1) * each);
  double others = both(beside * round, beside * each + x->kept * x->in0) +
                  both((rounds_n - beside) * round, (rounds_n - beside) * each);
  if (s->grid.split > 1) /* in1 waits for the panel on their channel */
    others += (double)b->group_m * b->block_m * b->steps_k *
              (b->valid_k ? b->valid_k : b->block_k) *
              dtype_bytes(p->type[IN0]) / map_stream_bytes(s->at->device);
  return first + (rounds_m - 1) * others;
}

static double stream_of(const struct array *s) {
  return map_stream_bytes(s->at->device);
}

static double ghz_of(const struct array *s) {
  return s->at->preset ? s->at->preset->clock_ghz : 1;
}

/* To push a task; of the platform, or of one with the device at 1 GHz. */
static double push_of(const struct array *s) {
  const struct preset *q = s->at->preset, *like = preset_of(s->at->device);
  return q ? preset_task_cycles(q) : preset_task_cycles(like) / like->clock_ghz;
}

/* Cycles until the first blocks arrive, and from the end of the last task on.
 * Channels start one after the other: on the average in the middle of their
 * pushes.  A panel of in0 that comes on a channel of in1's has that head start.
 */
static double start_cycles(const struct array *s,
                           const struct map_blocking *b) {
  int behind = s->grid.split > 1 ? s->grid.m : 0; /* in1, on in0's channels */
  double pushes = push_of(s) * (map_grid_inputs(&s->grid) - behind);
  double start = (FIRST_CYCLES + END_CYCLES) * ghz_of(s) + pushes / 2;
  if (s->form->converts) /* in1 waits for the panel in the converting core */
    start += (double)b->block_m * b->block_k * b->steps_k *
             dtype_bytes(s->problem->type[IN0]) / stream_of(s);
  if (s->grid.split == 1)
    return start;
  double panel = (double)b->group_m * b->block_m * b->block_k * b->steps_k *
                 dtype_bytes(s->problem->type[IN0]) / stream_of(s);
  return start + (panel > pushes / 2 ? panel - pushes / 2 : 0);
}

/* What more of the pushes cores wait for: DRAM has reads to do meanwhile, where
 * it is the bottleneck. */
static double late_cycles(const struct array *s, double cores, double memory) {
  double share = 1 / (1 + pow(memory / cores, 8));
  return share * push_of(s) * map_grid_inputs(&s->grid) / 4;
}

/* A launch in phases, as its pushes see it. */
struct phases {
  double count, panels; /* of in0, kept whole or not */
  double out, rounds;   /* cycles of each: for out to leave, and to compute */
  double last;          /* for the last blocks to leave */
  double ends;          /* panels whose last chunk takes a task of its own */
  double memory;        /* DRAM is busy behind the first inputs */
};

static double memory_cycles(const struct map_blocking *b,
                            const struct traffic *x,
                            const struct map_panel *panel) {
  double rounds = (double)b->rounds_m * b->rounds_n;
  return rounds * ((1 - x->kept) * x->in0 + x->in1 + x->out) +
         rounds / panel_rounds(b, panel) * x->kept * x->in0 - x->in0 - x->in1;
}

/* Cycles that a launch takes at least, whose tasks are pushed one by one: the
 * last phase's blocks of out leave behind the last push, and its rounds begin
 * behind the push of its inputs. */
static double push_cycles(const struct array *s, const struct phases *x) {
  const struct map_grid *g = &s->grid;
  double push = push_of(s), least = HUGE_VAL,
         inputs = map_grid_inputs(g) + (x->panels - 1 + x->ends) * g->m +
                  (x->count - 1) * g->n;
  for (int ways = 1; ways <= WAYS_OUT; ways++) {
    int each = ways * g->columns;
    double out = (inputs + x->count * each) * push - TASK_CYCLES * ghz_of(s) +
                 x->out / ways,
           rounds = (inputs + (x->count - 1) * each) * push + x->rounds +
                    x->last / ways,
           cycles = out > rounds ? out : rounds;
    least = cycles < least ? cycles : least;
  }
  /* nor does much happen before the first blocks of out can leave */
  double all = (map_grid_inputs(g) + g->columns / 2.0) * push + x->memory;
  least = all > least ? all : least;
  return (END_CYCLES + LAUNCH_CYCLES * g->columns) * ghz_of(s) + least;
}

/* Cycles for which a core that holds both blocks of out waits until one of them
 * has left: the first one leaves beside the second one's last product, the
 * second one beside the first product of the next round. */
static double group_wait(double product, double finish, double leaving) {
  double second = product + finish; /* is released, behind the first one */
  double first = leaving > second ? leaving - second : 0,
         left = (leaving > second ? leaving : second) + leaving,
         needed = second + first + product;
  return first + (left > needed ? left - needed : 0);
}

/* Rounds with a copy are longer by what leaves beside the next one, which meets
 * the kernel in its banks: 1 to 2 % on the simulator. */
static const double meets = 1.015;

/* The same where the second one is copied, and leaves behind the first. */
static double staged_wait(double product, double copy, double leaving) {
  return copy + (leaving > product + copy ? leaving - product - copy : 0);
}

/* For inputs to become block floats (kernels/blocks.c): of 8 x 8 elements, and
 * of calls and locks. */
static double blocks_cycles(const struct array *s, const struct map_blocking *b,
                            const struct map_core *at) {
  enum { ALONG_K = 2, ACROSS_K = 4, CALLS = 110, PRODUCT = 60 };
  const struct map_layout *x = s->form->layout;
  double in0 = (double)b->block_m * b->block_k / 64,
         in1 = (double)b->block_n * b->block_k / 64;
  return CALLS + (double)PRODUCT / at->joint +
         in0 * (x[IN0].turned ? ACROSS_K : ALONG_K) +
         in1 * (x[IN1].turned ? ALONG_K : ACROSS_K);
}

/* For a core to clear what is behind the last k of its inputs' blocks
 * (npu/design/clear.c): small matrices that are cut, and vectors. */
static double clear_cycles(const struct array *s, const struct teir_problem *p,
                           const struct map_blocking *b) {
  enum { CALLS = 80, STEP = 40, EACH = 18, VECTOR = 32 };
  if (b->last_k % s->mac.k == 0)
    return 0; /* else all steps are calls, but where a kernel fits, too */
  double bytes = (double)b->block_m * dtype_bytes(p->type[IN0]) +
                 (double)b->block_n * dtype_bytes(p->type[IN1]);
  return CALLS + STEP * b->steps_k +
         EACH *
             ((double)b->block_m / s->mac.m + (double)b->block_n / s->mac.n) +
         (b->block_k - b->last_k) * bytes / VECTOR;
}

/* Of two blocks of out at once, the kernel with edges has no loop over steps
 * that fits into npu1's program memory: every product is a call
 * (npu/design/program.c). */
static bool is_called(const struct device *dev, const struct map_blocking *b,
                      bool edges) {
  return edges && b->group_m > 1 && kernel_copies(map_isa(dev));
}

double array_round_cycles(const struct device *dev,
                          const struct teir_problem *p, const struct array *s,
                          const struct map_blocking *b,
                          const struct map_core *at, double *ends) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, sums = bytes.sums, out = bytes.out,
         stream = map_stream_bytes(dev), port = map_port_bytes(dev),
         summed = port / 2; /* a cycle loads or stores sums, by one pointer */
  double macs = (double)(b->block_m / s->mac.m) * (b->block_n / s->mac.n) *
                (b->block_k / s->mac.k) * s->turned;
  const struct kernel_shape *even = &s->even[map_tall(b->group_m)];
  macs *= 1 + (s->strip - 1) * (b->block_n % even->n) / b->block_n;
  if (at->by_blocks)
    sums /= at->joint;
  double core = macs > sums / summed ? macs : sums / summed;
  if (at->by_blocks)
    core += blocks_cycles(s, b, at);
  bool edges = b->block_m % even->m || b->block_n % even->n;
  core += edges ? EDGE_CYCLES : 0;
  double call = is_called(dev, b, edges) ? EDGE_CYCLES : 0;
  struct map_waits waits = map_core_waits(dev, &bytes, b->group_m, core, at);
  double products = s->product > 0
                        ? b->group_m * (s->product + call)
                        : b->group_m * (core + STEP_CYCLES) + waits.step;
  double step = max3(products, b->group_m * (in0 / stream + GAP_CYCLES),
                     in1 / stream + GAP_CYCLES);
  sums = bytes.sums;
  double finish = waits.round;
  if (map_finishes(p) && !at->staged)
    finish += b->group_m * (sums + out) / port;
  double drain = b->group_m * out * s->grid.rows / (WAYS_OUT * stream);
  if (p->finish.bias) /* loads and moves, and the block that brings it */
    finish += b->group_m * sums / port + in1 / stream;
  double round = b->steps_k * step + finish + ROUND_CYCLES;
  round += clear_cycles(s, p, b);
  if (b->group_m > 1 && at->staged)
    round =
        meets * (round + staged_wait(products / b->group_m,
                                     sums / port + COPY_CYCLES, out / stream));
  else if (b->group_m > 1)
    round +=
        group_wait(products / b->group_m, finish / b->group_m, out / stream);
  if (round < drain) /* the column's ways out are the bottleneck */
    round = drain;
  *ends = start_cycles(s, b) + drain;
  return round;
}

double array_least_cycles(const struct array *s, const struct teir_blocks *x) {
  const int64_t *extent = s->problem->extent, m = x->block[TEIR_M],
                n = x->block[TEIR_N], k = x->block[TEIR_K];
  double rounds = (double)div_up(extent[AXIS_M], m * x->form * s->grid.m) *
                  (double)div_up(extent[AXIS_N], n * s->grid.n) * x->form,
         row = (double)(m / s->mac.m) * (double)(n / s->mac.n) * s->turned;
  return k ? rounds * (double)div_up(extent[AXIS_K], k) *
                 (row * (double)(k / s->mac.k) + STEP_CYCLES)
           : rounds * row * (double)extent[AXIS_K] / s->mac.k;
}

bool array_fits(const struct device *dev, const struct teir_problem *p,
                const struct map_blocking *b, struct map_core *core) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  if (p->finish.bias && !map_bias_fits(dev, p, b))
    return false;
  return (!map_finishes(p) ||
          b->block_m * b->block_n %
                  kernel_narrow_unit(map_isa(dev), p->acc, p->type[OUT]) ==
              0) &&
         map_core_places(dev, &bytes, b->group_m, b->steps_k, core);
}

int64_t array_most_k(const struct device *dev, const struct teir_problem *p,
                     const struct map_blocking *b) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  int64_t left = (int64_t)dev->tile[TILE_CORE].memory_bytes -
                 (int64_t)b->group_m * bytes.sums,
          each = 2 * ((int64_t)bytes.in0 + bytes.in1); /* two buffers */
  return left < each ? 0 : left / each * b->block_k;
}

/* Cycles from the last word in a mem tile to the last block in a core, which
 * gets buffers when they are full; of the first block's way to a core; and of
 * the last block of out's to the mem tile. */
static double filling_cycles(const struct array *s,
                             const struct map_blocking *b,
                             const struct map_panel *panel) {
  struct map_block_bytes bytes = map_block_bytes(s->problem, b);
  double in0 = (double)b->group_m * bytes.in0, in1 = bytes.in1,
         block = in0 > in1 ? in0 : in1;
  if (!panel->chunks)
    in0 *= panel->run[IN0];
  in1 *= panel->run[IN1];
  double buffer = in0 > in1 ? in0 : in1;
  return (buffer + block + bytes.out) / stream_of(s);
}

double array_launch_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_core *core,
                           const struct map_panel *panel) {
  double ends,
      round = array_round_cycles(s->at->device, s->problem, s, b, core, &ends);
  if (panel->out < b->group_m) { /* the first blocks are on the way to DRAM */
    double first = (double)map_block_bytes(s->problem, b).out * s->grid.rows,
           stream = first / (WAYS_OUT * stream_of(s)), memory = 0;
    if (s->at->preset)
      memory =
          transfer_cycles(s->at->preset, first * s->grid.columns, HUGE_VAL);
    round += stream > memory ? stream : memory;
  }
  /* a mem tile is full of the last group while the first block would leave */
  if (core->staged && b->group_m > 1 && panel->out < MAP_MEM_DEPTH_OUT * 2)
    round += map_block_bytes(s->problem, b).out / stream_of(s);
  /* the products of a batch are such rounds, too */
  struct map_blocking all = *b;
  all.rounds_m *= (int)s->problem->extent[AXIS_C];
  struct tile_program walks;
  if (s->work)
    fill_program(s, b, panel, &walks);
  const struct traffic traffic = round_traffic(s, &all, &walks, panel);
  double rounds = rounds_cycles(s, &all, &traffic, panel, round);
  double drain = (double)b->group_m * map_block_bytes(s->problem, b).out *
                 s->grid.rows / (WAYS_OUT * stream_of(s));
  ends += late_cycles(s, (double)all.rounds_m * all.rounds_n * round,
                      memory_cycles(&all, &traffic, panel));
  if (traffic.out > drain) /* all columns' last blocks, at once */
    ends += traffic.out - drain;
  bool apart = s->work && map_panel_ends_apart(&walks);
  bool each = rounds_are_phases(s, b, apart);
  int64_t all_rounds = (int64_t)all.rounds_m * b->rounds_n,
          together = each && panel->chunks ? panel->rounds
                     : each || (b->rounds_n > 1 && !panel->chunks) ? b->rounds_n
                                                                   : all_rounds;
  if (s->work && !can_walk(s, b, &walks, panel, &together))
    return HUGE_VAL;
  double count = (double)all_rounds / (double)together;
  double panels = panel->chunks ? (double)all_rounds / panel->rounds : count;
  double phases = (count - 1) *
                  (((panel->chunks ? 0 : s->grid.m) + s->grid.n) +
                   WAYS_OUT * s->grid.columns) *
                  push_of(s);
  if (apart)
    phases += (panels - 1) * s->grid.m * push_of(s);
  if (s->problem->finish.bias)
    phases += (double)all.rounds_m * b->rounds_n * s->grid.columns *
              TURN_CYCLES * ghz_of(s);
  double cycles =
      ends + filling_cycles(s, b, panel) + (rounds > phases ? rounds : phases);
  double out = (double)all.rounds_m * b->rounds_n * b->group_m *
               map_block_bytes(s->problem, b).out * s->grid.rows;
  const double equal = 1e-4; /* the shorter one of two that wait for pushes */
  double last = (double)b->group_m * map_block_bytes(s->problem, b).out *
                s->grid.rows / stream_of(s);
  const struct phases pushed = {.count = count,
                                .panels = panels,
                                .ends = apart ? panels : 0,
                                .out = out / count / stream_of(s),
                                .rounds = (double)all_rounds / count * round,
                                .last = last,
                                .memory = memory_cycles(&all, &traffic, panel)};
  double least = push_cycles(s, &pushed);
  return cycles > least ? cycles : least + equal * cycles;
}

double array_apart_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_core *at) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, out = bytes.out,
         products = (double)p->extent[AXIS_C],
         turns = products / map_grid_products(&s->grid), ends;
  double round = array_round_cycles(s->at->device, p, s, b, at, &ends);
  double shim = s->grid.rows * max3(in0, in1, out / WAYS_OUT) / stream_of(s),
         core = max3(round, (in0 + in1) / stream_of(s), out / stream_of(s));
  double turn = shim > core ? shim : core;
  /* whole matrices, whose rows run on unless there are gaps */
  double memory =
      q ? transfer_cycles(q, products * (in0 + in1 + out), HUGE_VAL) : 0;
  double cycles =
      ends + (in0 + in1 + out) / stream_of(s) + both(turns * turn, memory);
  double least = END_CYCLES * ghz_of(s) +
                 push_of(s) * s->grid.columns * (2 + WAYS_OUT) +
                 out / stream_of(s);
  return cycles > least ? cycles : least;
}
