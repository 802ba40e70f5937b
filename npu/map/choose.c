/* choose.c -- the array as a machine whose blocks teir_search prices: what
 * fits, in which places, is memory.c's.  A step of k costs the slowest of the
 * multiply unit, of loading and storing the block of sums (kernels keep them in
 * memory between steps), and of the streams that fill the next blocks; all are
 * cycle counts that follow from the shapes (results.md section 0.3).
 * A core may hold two blocks of out at once, which halves the reads of in1 and
 * shows part of the way out; that pays where DRAM is the limit, so a known
 * platform's bandwidth is a bound, too.  The constants below are what the core
 * program and the kernels add to that on the simulator.
 *
 * That prices thousands of blockings.  The few best of a large product are then
 * priced again, with the schedule of their kernel set against the banks and the
 * channels of a design (kernel_gemm_loaded).
 */
#include "map.h"

#include "kernels.h"
#include "teir_search.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  STREAM_BYTES = 4,  /* per cycle and channel, timing.md S1 */
  STEP_CYCLES = 20,  /* between two steps of a kernel, its locks and DMA */
  GAP_CYCLES = 15,   /* of a stream, until a core has the next block */
  EDGE_CYCLES = 50,  /* a kernel whose last blocks of results are smaller */
  SUM_BYTES = 16,    /* a cycle: 32 in, 32 out, by one pointer */
  WAYS_OUT = 2,      /* channels of a column for out */
  ROUND_CYCLES = 60, /* locks around a block of out */
  /* At 1 GHz, for they run on clocks of their own (array.c has them for a
   * preset): to push a task, to read the first word, to see the last token. */
  PUSH_CYCLES = 1047,
  FIRST_CYCLES = 900,
  SYNC_CYCLES = 7764,
  PHASE_CYCLES = 16000, /* pushing an m round's tasks, as well */
  MAX_STEPS = 1 << 20,
  MAX_BLOCK = 128, /* elements along m and n, and along k: larger ones fit */
  MAX_DEPTH = 256, /* a core only if they are very flat */
  SHORT_LIST = 3,
  WORTH_MEASURING = 200000, /* cycles of a launch */
};
/* The formula's error: others are not worth measuring. */
static const double doubtful = 1.06;

static int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static double max3(double a, double b, double c) {
  return a > b ? (a > c ? a : c) : (b > c ? b : c);
}

/* The array as a machine for the search. */
struct array {
  const struct platform *at;
  const struct teir_problem *problem;
  const struct map_form *form; /* but for its cuts */
  struct map_grid grid;
  const struct map_work *work; /* in the array's roles; NULL: padded blocks */
  int begins[AXIS_ROLES];      /* axis with which blocks begin */
  int more_k; /* indices of another axis in a block of k; 0: as few as fit */
  struct kernel_shape mac;     /* of the multiply unit */
  struct kernel_shape even[2]; /* of blocks of which kernels have no edges, by
                                  map_tall */
  double turned;               /* what a kernel costs more for turned blocks */
  int64_t unit[OUT]; /* of m and n, by which blocks may move in place */
  double product;    /* cycles of one, measured; 0: by formula */
  struct map_blocking best[SHORT_LIST]; /* cheapest first */
  int count;
};

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

/* Into the runs from the `first` on, by falling strides. */
static void insert_run(struct runs *x, int first, int64_t extent,
                       int64_t stride_bytes) {
  int at = x->count;
  if (extent == 1)
    return;
  add_run(x, extent, stride_bytes);
  for (; at > first && x->run[at - 1].stride_bytes < stride_bytes; at--) {
    x->run[at] = x->run[at - 1];
    x->run[at - 1] = (struct run){extent, stride_bytes};
  }
}

/* The loops over a tensor in device memory in the order of its descriptors:
 * steps of k, or rows of cores, around the words of a buffer (npu/design/task.c
 * has the same). */
static void list_runs(const struct array *s, const struct map_blocking *b,
                      const struct map_panel *panel, int tensor,
                      struct runs *x) {
  const struct map_layout *l = &s->form->layout[tensor];
  const struct map_cut *k = &b->form.cut[AXIS_K], *m = &b->form.cut[AXIS_M];
  bool wide = tensor == IN0 && (l->turned || panel->run[IN0] > 1);
  int64_t run = tensor == OUT           ? 1
                : wide && panel->chunks ? b->steps_k / panel->chunks
                                        : panel->run[tensor];
  struct runs around = {.count = 0}, inside = {.count = 0};
  for (int i = k->count - 1; i >= 0 && tensor < OUT; i--) {
    const struct map_part *q = &k->part[i];
    if (q->place != MAP_TIME)
      continue;
    int64_t stride =
        q->step * s->work->axis[AXIS_K][q->axis].stride_bytes[tensor];
    int64_t take = run < q->extent ? run : q->extent;
    add_run(&around, q->extent / take, stride * take);
    add_run(&inside, take, stride);
    run /= take;
  }
  x->count = 0;
  while (around.count-- > 0)
    add_run(x, around.run[around.count].extent,
            around.run[around.count].stride_bytes);
  int64_t row = 0;
  for (int i = 0; i < m->count && tensor != IN1; i++) {
    const struct map_part *q = &m->part[i];
    int64_t stride =
        q->step * s->work->axis[AXIS_M][q->axis].stride_bytes[tensor];
    if (q->place == MAP_CORES)
      row = stride;
    if (q->place == MAP_GROUP && (tensor == OUT ? stride < row : wide))
      add_run(&inside, q->extent, stride);
    else if (q->place == MAP_GROUP)
      add_run(x, q->extent, stride);
  }
  if (tensor == OUT && s->grid.rows > 2)
    add_run(x, 2, row);
  int first = x->count;
  for (int i = 0; i < inside.count; i++)
    insert_run(x, first, inside.run[i].extent, inside.run[i].stride_bytes);
  for (int j = 0; j < 2; j++) {
    enum axis_role role = map_roles[tensor][j];
    const struct map_cut *c = &b->form.cut[role];
    for (int i = 0; i < c->count; i++)
      if (c->part[i].place == MAP_BLOCK)
        insert_run(
            x, first, c->part[i].extent,
            c->part[i].step *
                s->work->axis[role][c->part[i].axis].stride_bytes[tensor]);
  }
}

/* Bytes of contiguous runs in which a tensor lies in device memory; blocks
 * follow each other. */
static double run_bytes(const struct array *s, const struct map_blocking *b,
                        const struct map_panel *panel, int tensor) {
  const struct map_layout *x = &s->form->layout[tensor];
  struct runs r;
  if (!x->in_place)
    return HUGE_VAL;
  assert(s->work && tensor < OUT);
  list_runs(s, b, panel, tensor, &r);
  int64_t bytes = dtype_bytes(s->problem->type[tensor]);
  for (int i = r.count - 1; i >= 0 && r.run[i].stride_bytes == bytes; i--)
    bytes *= r.run[i].extent;
  return (double)bytes;
}

/* Loops that a descriptor has for a tensor, those that continue each other
 * being one; *outermost is the extent of the first. */
static int count_runs(const struct array *s, const struct map_blocking *b,
                      const struct map_panel *panel, int tensor,
                      int64_t *outermost) {
  struct runs r;
  list_runs(s, b, panel, tensor, &r);
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

/* Whether descriptors can walk over the tensors that lie in place; *alone: one
 * of them needs the iterations, so every block of out has its own tasks. */
static bool can_walk(const struct array *s, const struct map_blocking *b,
                     const struct map_panel *panel, bool *alone) {
  const struct device *dev = s->at->device;
  int dims = dev->tile[TILE_SHIM].dims;
  *alone = false;
  for (int t = 0; t < TENSORS; t++) {
    int64_t outermost;
    if (!s->form->layout[t].in_place)
      continue;
    int count = count_runs(s, b, panel, t, &outermost);
    if (count > dims + 1 || (count > dims && outermost > dev->max_iterations))
      return false;
    *alone |= count > dims;
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

/* Cycles of all rounds, each `round` when device memory costs nothing.  What a
 * mem tile keeps of in0 is read once per m round, the rest in every n round, as
 * in1 is.  It is read part by part: behind the last use of a part in the n
 * round before, ahead of the first use in the first one. */
static double rounds_cycles(const struct array *s, const struct map_blocking *b,
                            const struct map_panel *panel, double round) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  int rounds_n = b->rounds_n;
  if (!q)
    return (double)b->rounds_m * rounds_n * round;
  double m = (double)b->group_m * b->block_m * s->grid.m,
         n = (double)b->block_n * s->grid.n,
         k = (double)b->steps_k * b->block_k;
  double in0 = transfer_cycles(q, m * k * dtype_bytes(p->type[IN0]),
                               run_bytes(s, b, panel, IN0)),
         in1 = transfer_cycles(q, k * n * dtype_bytes(p->type[IN1]),
                               run_bytes(s, b, panel, IN1)),
         out = transfer_cycles(q, m * n * dtype_bytes(p->type[OUT]), HUGE_VAL);
  double kept = panel->chunks ? 1
                : panel->stretches
                    ? (double)panel->kept / (panel->kept + panel->streamed)
                    : 0;
  double each = (1 - kept) * in0 + in1 + out;
  double part = panel->chunks      ? 1.0 / panel->chunks
                : panel->stretches ? 1.0 / panel->stretches
                                   : 0;
  double beside = rounds_n > 1 ? 2 * (1 - part) : 1; /* n rounds */
  double first = part * kept * in0 +
                 both(round, each + (1 - part) * kept * in0) +
                 both((rounds_n - 1) * round, (rounds_n - 1) * each);
  double others = both(beside * round, beside * each + kept * in0) +
                  both((rounds_n - beside) * round, (rounds_n - beside) * each);
  return first + (b->rounds_m - 1) * others;
}

/* Whether a pass over the finished sums makes the results. */
static bool finishes(const struct teir_problem *p) {
  return p->acc != p->type[OUT] || p->finish.relu;
}

/* ---- cutting axes ---- */

static bool is_exact(const struct array *s, enum axis_role role) {
  for (int t = 0; t < TENSORS; t++)
    for (int j = 0; j < 2; j++)
      if (map_roles[t][j] == role && s->form->layout[t].in_place)
        return true;
  return false;
}

/* What a core takes of a role: a block, made of the axis with which it begins
 * and, where that is too short, some of another one; and a group of blocks.
 * Cores share one axis. */
struct dealing {
  enum axis_role role;
  int64_t block, more;  /* indices of the first axis and of another one */
  int begins, other;    /* these axes */
  int64_t group, cores; /* and how many are dealt out along which axes */
  int grouped, shared;
  int64_t unit; /* by which blocks move along the first axis */
};

static int64_t dealt(const struct dealing *x, int axis) {
  return (axis == x->begins ? x->block : 1) * (axis == x->other ? x->more : 1) *
         (axis == x->grouped ? x->group : 1);
}

/* Rounds of a dealing; 0: blocks do not end where an axis does. */
static int64_t count_dealing(const struct array *s, const struct dealing *x) {
  int64_t all = 1;
  for (int i = 0; i < s->work->count[x->role]; i++) {
    int64_t extent = s->work->axis[x->role][i].extent, take = dealt(x, i);
    int cores = i == x->shared ? (int)x->cores : 1;
    int64_t rounds = div_up(extent, take * cores);
    struct map_share share;
    if (rounds > MAX_STEPS || !map_share(extent, cores, (int)rounds, take,
                                         i == x->begins ? x->unit : 1, &share))
      return 0;
    all *= rounds;
  }
  return all > MAX_STEPS ? 0 : all;
}

/* The dealing with fewest rounds; false: there is none. */
static bool deal(const struct array *s, enum axis_role role, int block,
                 int group, int cores, int small, struct dealing *best,
                 int64_t *rounds) {
  const struct map_axis *axis = s->work->axis[role];
  int count = s->work->count[role], first = s->begins[role];
  int64_t whole = axis[first].extent;
  struct dealing x = {.role = role,
                      .block = block < whole ? block : whole,
                      .begins = first,
                      .other = -1,
                      .group = group,
                      .cores = cores,
                      .unit = role == AXIS_K ? 1 : s->unit[role == AXIS_N]};
  x.more = block / x.block;
  if (x.block * x.more != block ||
      (x.more > 1 && x.block % small && small % x.block))
    return false;
  *rounds = 0;
  for (int o = 0; o < (x.more > 1 ? count : 1); o++)
    for (int g = 0; g < (group > 1 ? count : 1); g++)
      for (int c = 0; c < count; c++) {
        x.other = x.more > 1 ? o : -1;
        x.grouped = group > 1 ? g : -1;
        x.shared = c;
        if (x.other == first)
          continue;
        int64_t all = count_dealing(s, &x);
        if (all && (!*rounds || all < *rounds)) {
          *rounds = all;
          *best = x;
        }
      }
  return *rounds > 0;
}

static void add_part(struct map_cut *c, int axis, enum map_place place,
                     int64_t extent, int64_t step) {
  bool none = extent == 1 && place != MAP_CORES && place != MAP_BLOCK;
  assert(c->count < MAP_PARTS);
  if (!none)
    c->part[c->count++] = (struct map_part){axis, place, extent, step};
}

/* Whether cores take turns at an axis, in rounds that are `turn.core` apart, of
 * blocks that are `turn.round` apart: closer to each other than parts would be,
 * of which some are too far apart for a descriptor. */
static bool takes_turns(const struct array *s, const struct dealing *x, int i,
                        int rounds, int64_t part, struct map_share *turn) {
  const struct map_axis *a = &s->work->axis[x->role][i];
  int64_t far = part * a->stride_bytes[OUT] / 4, take = dealt(x, i);
  if (i != x->begins) {
    *turn = (struct map_share){take * x->cores, take};
    return a->extent % (take * x->cores) == 0;
  }
  return far > s->at->device->tile[TILE_SHIM].max_step_words &&
         map_share(a->extent, rounds, (int)x->cores, take, x->unit, turn);
}

static void cut_axis(const struct array *s, const struct dealing *x, int i,
                     struct map_cut *c) {
  int64_t extent = s->work->axis[x->role][i].extent, take = dealt(x, i);
  int cores = i == x->shared ? (int)x->cores : 1;
  int rounds = (int)div_up(extent, take * cores);
  int64_t side = take / (i == x->grouped ? x->group : 1);
  struct map_share share;
  bool good = map_share(extent, cores, rounds, take,
                        i == x->begins ? x->unit : 1, &share);
  assert(good);
  if (!good)
    return;
  bool shared = i == x->shared && x->role != AXIS_K;
  struct map_share turn;
  if (shared && takes_turns(s, x, i, rounds, share.core, &turn)) {
    add_part(c, i, MAP_TIME, rounds, turn.core);
    add_part(c, i, MAP_CORES, cores, turn.round);
  } else {
    if (shared)
      add_part(c, i, MAP_CORES, cores, share.core);
    add_part(c, i, MAP_TIME, rounds, share.round);
  }
  if (i == x->grouped)
    add_part(c, i, MAP_GROUP, x->group, side);
  if (i == x->begins || i == x->other)
    add_part(c, i, MAP_BLOCK, side, 1);
}

/* The axis with which blocks begin is cut last: its loops are the innermost. */
static void cut_role(const struct array *s, const struct dealing *x,
                     struct map_cut *c) {
  c->count = 0;
  for (int i = 0; i < s->work->count[x->role]; i++)
    if (i != x->begins)
      cut_axis(s, x, i, c);
  cut_axis(s, x, x->begins, c);
}

/* K in blocks that end where its axes do, from one axis or, where that has no
 * such blocks, from two: then as much of the first as divides them. */
static bool deal_k(const struct array *s, int block, struct dealing *best) {
  const struct map_axis *axis = s->work->axis[AXIS_K];
  int first = s->begins[AXIS_K];
  int64_t extent = axis[first].extent;
  *best = (struct dealing){.role = AXIS_K,
                           .block = block,
                           .more = 1,
                           .begins = first,
                           .other = -1,
                           .group = 1,
                           .cores = 1,
                           .grouped = -1,
                           .shared = -1,
                           .unit = 1};
  if (s->more_k <= 1 && extent % block == 0)
    return true;
  for (int64_t d = block / 2; d > 1; d--) {
    if (block % d || extent % d || (d % s->mac.k && s->mac.k % d) ||
        (s->more_k > 1 && block / d != s->more_k))
      continue;
    best->block = d;
    best->more = block / d;
    for (int i = 0; i < s->work->count[AXIS_K]; i++)
      if (i != first && axis[i].extent % best->more == 0)
        return best->other = i, true;
  }
  return false;
}

static void cut_k(const struct array *s, const struct dealing *x,
                  struct map_blocking *b) {
  struct map_cut *c = &b->form.cut[AXIS_K];
  cut_role(s, x, c);
  b->form.inner_k = 1;
  for (int i = 0; i < c->count; i++)
    if (c->part[i].place == MAP_TIME)
      b->form.inner_k = (int)c->part[i].extent;
}

/* So many rounds and steps that all of the work is done, the last ones on
 * padding where nothing lies in place. */
static bool cut_work(const struct array *s, struct map_blocking *b) {
  const struct map_grid *g = &s->grid;
  const struct teir_problem *p = s->problem;
  b->rounds_m =
      (int)div_up(p->extent[AXIS_M], (int64_t)b->block_m * b->group_m * g->m);
  b->rounds_n = (int)div_up(p->extent[AXIS_N], (int64_t)b->block_n * g->n);
  b->steps_k = (int)div_up(p->extent[AXIS_K], b->block_k);
  if (!s->work)
    return true;
  struct dealing m, n, k;
  int64_t rounds;
  if (is_exact(s, AXIS_K)) {
    if (p->extent[AXIS_K] % b->block_k || !deal_k(s, b->block_k, &k))
      return false;
    cut_k(s, &k, b);
  }
  if (is_exact(s, AXIS_M)) {
    if (!deal(s, AXIS_M, b->block_m, b->group_m, g->m, s->mac.m, &m, &rounds))
      return false;
    b->rounds_m = (int)rounds;
    cut_role(s, &m, &b->form.cut[AXIS_M]);
  }
  if (is_exact(s, AXIS_N)) {
    if (!deal(s, AXIS_N, b->block_n, 1, g->n, s->mac.n, &n, &rounds))
      return false;
    b->rounds_n = (int)rounds;
    cut_role(s, &n, &b->form.cut[AXIS_N]);
  }
  return true;
}

static double ghz_of(const struct array *s) {
  return s->at->preset ? s->at->preset->clock_ghz : 1;
}

/* Input channels of all columns. */
static int input_channels(const struct array *s) {
  return s->grid.split > 1 ? s->grid.n : 2 * s->grid.columns;
}

/* Cycles until the first blocks arrive, and from the last token on.  Channels
 * start one after the other: on the average in the middle of their pushes.  A
 * panel of in0 that comes on a channel of in1's has that head start. */
static double start_cycles(const struct array *s,
                           const struct map_blocking *b) {
  double pushes = PUSH_CYCLES * ghz_of(s) * input_channels(s);
  double start = (FIRST_CYCLES + SYNC_CYCLES) * ghz_of(s) + pushes / 2;
  if (s->grid.split == 1)
    return start;
  double panel = (double)b->group_m * b->block_m * b->block_k * b->steps_k *
                 dtype_bytes(s->problem->type[IN0]) / STREAM_BYTES;
  return start + (panel > pushes / 2 ? panel - pushes / 2 : 0);
}

/* Cycles that a launch takes at least, whose tasks are pushed one by one and
 * whose blocks of out leave behind the last push. */
static double push_cycles(const struct array *s, double drain) {
  int inputs = input_channels(s) + (s->grid.split > 1 ? s->grid.m : 0);
  double push = PUSH_CYCLES * ghz_of(s),
         one = (inputs + s->grid.columns) * push + WAYS_OUT * drain,
         two = (inputs + WAYS_OUT * s->grid.columns) * push + drain;
  return SYNC_CYCLES * ghz_of(s) + (one < two ? one : two);
}

/* Cycles of a round when device memory costs nothing, and what is left before
 * and behind all rounds. */
static double array_cycles(const struct device *dev,
                           const struct teir_problem *p, const struct array *s,
                           const struct map_blocking *b,
                           const struct map_core *at, double *ends) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, sums = bytes.sums, out = bytes.out;
  double macs = (double)(b->block_m / s->mac.m) * (b->block_n / s->mac.n) *
                (b->block_k / s->mac.k) * s->turned;
  double core = macs > sums / SUM_BYTES ? macs : sums / SUM_BYTES;
  const struct kernel_shape *even = &s->even[map_tall(b->group_m)];
  if (b->block_m % even->m || b->block_n % even->n)
    core += EDGE_CYCLES;
  struct map_waits waits = map_core_waits(dev, &bytes, b->group_m, core, at);
  double products = s->product > 0
                        ? b->group_m * s->product
                        : b->group_m * (core + STEP_CYCLES) + waits.step;
  double step = max3(products, b->group_m * (in0 / STREAM_BYTES + GAP_CYCLES),
                     in1 / STREAM_BYTES + GAP_CYCLES);
  double clear = b->group_m * sums / 32;
  double finish = waits.round;
  if (finishes(p) && !at->staged)
    finish += b->group_m * (sums + out) / 32;
  double drain = b->group_m * out * s->grid.rows / (WAYS_OUT * STREAM_BYTES);
  double round = b->steps_k * step + clear + finish + ROUND_CYCLES;
  if (b->group_m > 1) /* no other block of out: its way out is not hidden */
    round += out / STREAM_BYTES;
  if (round < drain) /* the column's ways out are the bottleneck */
    round = drain;
  *ends = start_cycles(s, b) + drain;
  return round;
}

static bool fits(const struct device *dev, const struct teir_problem *p,
                 const struct map_blocking *b, struct map_core *core) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  return (!finishes(p) ||
          b->block_m * b->block_n % kernel_narrow_unit(p->acc, p->type[OUT]) ==
              0) &&
         map_core_places(dev, &bytes, b->group_m, b->steps_k, core);
}

static int64_t depth(void *self, const struct teir_blocks *blocks,
                     double best) {
  (void)self, (void)blocks, (void)best;
  return MAX_DEPTH;
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
  return (buffer + block + bytes.out) / STREAM_BYTES;
}

/* Cycles of a launch. */
static double launch_cycles(const struct array *s, const struct map_blocking *b,
                            const struct map_core *core,
                            const struct map_panel *panel) {
  double ends,
      round = array_cycles(s->at->device, s->problem, s, b, core, &ends);
  /* the products of a batch are such rounds, too */
  struct map_blocking all = *b;
  all.rounds_m *= (int)s->problem->extent[AXIS_C];
  double rounds = rounds_cycles(s, &all, panel, round);
  bool rounds_each = b->rounds_m > 1 || b->rounds_n > 1, alone = false;
  if (s->work && !can_walk(s, b, panel, &alone))
    return HUGE_VAL;
  double count =
      (rounds_each ? all.rounds_m : 1) * (double)(alone ? b->rounds_n : 1);
  double phases = (count - 1) * PHASE_CYCLES * ghz_of(s);
  double cycles =
      ends + filling_cycles(s, b, panel) + (rounds > phases ? rounds : phases);
  double out = (double)all.rounds_m * b->rounds_n * b->group_m *
               map_block_bytes(s->problem, b).out * s->grid.rows;
  double least = push_cycles(s, out / (WAYS_OUT * STREAM_BYTES));
  return cycles > least ? cycles : least;
}

/* Into the list, by its price. */
static void keep(struct array *s, const struct map_blocking *b) {
  int i = s->count < SHORT_LIST ? s->count++ : SHORT_LIST;
  for (; i > 0 && s->best[i - 1].predicted_cycles > b->predicted_cycles; i--)
    if (i < SHORT_LIST)
      s->best[i] = s->best[i - 1];
  if (i < SHORT_LIST)
    s->best[i] = *b;
}

/* Cycles of a launch; the cheapest are kept. */
static double price(void *self, const struct teir_blocks *x, double best) {
  struct array *s = self;
  const struct device *dev = s->at->device;
  struct map_blocking b = {.block_m = (int)x->block[TEIR_M],
                           .block_n = (int)x->block[TEIR_N],
                           .block_k = (int)x->block[TEIR_K],
                           .group_m = x->form,
                           .form = *s->form};
  struct map_panel panel;
  struct map_core core;
  if (!cut_work(s, &b) || !fits(dev, s->problem, &b, &core))
    return HUGE_VAL;
  assert(b.rounds_m >= 1 && b.rounds_n >= 1 && b.steps_k >= 1);
  double ends, round = array_cycles(dev, s->problem, s, &b, &core, &ends);
  double least = ends + (double)b.rounds_m * b.rounds_n * round;
  if (least >= best * doubtful || !map_mem_panel(dev, s->problem, &b, &panel))
    return HUGE_VAL;
  b.predicted_cycles = launch_cycles(s, &b, &core, &panel);
  if (b.predicted_cycles == HUGE_VAL)
    return HUGE_VAL;
  keep(s, &b);
  return b.predicted_cycles;
}

/* The kernel that npu/design makes of it. */
static struct kernel_gemm kernel_of(const struct teir_problem *p,
                                    const struct map_blocking *b,
                                    const struct map_core *core) {
  return (struct kernel_gemm){.name = "product",
                              .in0 = p->type[IN0],
                              .in1 = p->type[IN1],
                              .out = p->acc,
                              .m = b->block_m,
                              .k = b->block_k,
                              .n = b->block_n,
                              .ta = b->form.layout[IN0].turned,
                              .tb = b->form.layout[IN1].turned,
                              .tc = map_turns_out(p->type,
                                                  b->form.layout[IN0].turned,
                                                  b->form.layout[IN1].turned,
                                                  b->form.layout[OUT].turned),
                              .tall = map_tall(b->group_m),
                              .yields = true,
                              .joined = core->joined,
                              .saturation = KERNEL_WRAP};
}

/* Its price with the kernel's cycles among the design's channels; the formula's
 * where no kernel can be made. */
static double measured_price(struct array *s, const struct map_blocking *b) {
  const struct device *dev = s->at->device;
  const struct teir_problem *p = s->problem;
  struct map_core core;
  struct map_panel panel;
  struct diag d = {0};
  bool good = fits(dev, p, b, &core) && map_mem_panel(dev, p, b, &panel);
  assert(good);
  struct kernel_gemm k = kernel_of(p, b, &core);
  struct kernel_places places = {
      .group = b->group_m,
      .a = {core.in0[0], core.in0[1]},
      .b = {core.in1[0], core.in1[1]},
      .c = {b->group_m > 1 ? core.out[0] : core.sums, core.out[1]}};
  if (!good || !kernel_gemm_loaded(&k, &places, &s->product, &d))
    return b->predicted_cycles;
  double cycles = launch_cycles(s, b, &core, &panel);
  s->product = 0;
  return cycles;
}

/* The cheapest of the list, measured where it may matter. */
static struct map_blocking choose(struct array *s) {
  double most = s->best[0].predicted_cycles * doubtful;
  int best = 0;
  bool small = s->best[0].predicted_cycles < WORTH_MEASURING;
  for (int i = 0; i < s->count && !small; i++) {
    struct map_blocking *b = &s->best[i];
    if (b->predicted_cycles > most)
      break;
    b->predicted_cycles = measured_price(s, b);
    if (b->predicted_cycles < s->best[best].predicted_cycles)
      best = i;
  }
  return s->best[best];
}

bool platform_find(const char *name, struct platform *at, struct diag *d) {
  at->preset = preset_find(name);
  at->device = device_find(at->preset ? at->preset->device : name);
  return at->device ||
         diag_error(d, loc_none(), "there is no device or preset '%s'", name);
}

/* Whether cores have kernels for the product and for what follows it. */
static bool check_types(const struct teir_problem *p, struct diag *d) {
  const char *in0 = dtype_name(p->type[IN0]), *in1 = dtype_name(p->type[IN1]),
             *acc = dtype_name(p->acc), *out = dtype_name(p->type[OUT]);
  struct kernel_shape unit;
  if (!kernel_shape(p->type[IN0], p->type[IN1], p->acc, &unit))
    return diag_declined(d, loc_none(), "no kernel for %s x %s -> %s", in0, in1,
                         acc);
  if (kernel_gemm_passes(p->type[IN0], p->type[IN1], p->acc) > 1)
    return diag_declined(d, loc_none(),
                         "%s x %s -> %s: its kernel reads inputs in two "
                         "halves, and nothing brings these to the cores",
                         in0, in1, acc);
  if (dtype_kind(p->acc) == DTYPE_FLOAT && p->acc != DTYPE_F32)
    return diag_declined(d, loc_none(),
                         "sums in %s: a core keeps them in memory between "
                         "steps of k, and float sums stay in f32",
                         acc);
  if (finishes(p) && !kernel_narrow_unit(p->acc, p->type[OUT]))
    return diag_declined(d, loc_none(), "no kernel makes %s%s of sums in %s",
                         out, p->finish.relu ? " by a relu" : "", acc);
  bool narrower =
      dtype_kind(p->type[OUT]) != DTYPE_FLOAT && p->acc != p->type[OUT];
  if (p->finish.shift < 0 || p->finish.shift > 31 ||
      (p->finish.shift && !p->finish.saturate) ||
      (p->finish.saturate && !narrower))
    return diag_declined(d, loc_none(),
                         "shift %d from %s to %s; integers that become "
                         "narrower take 0 to 31 and saturate",
                         p->finish.shift, acc, out);
  return true;
}

/* What a product's kernel costs more where elements inside small blocks of in0,
 * in1 and out are turned (nputeir bench kernels --all). */
static double turned_cost(const struct teir_problem *p,
                          const struct map_layout x[TENSORS]) {
  static const double floats[8] = {1, 1.08, 1, 1, 1, 1, 1.08, 1},
                      bytes[8] = {1, 1.02, 1.02, 1.40, 1.02, 1.08, 1.26, 1.43},
                      words[8] = {1, 1.12, 1, 1, 1, 1, 1.12, 1};
  bool out =
      map_turns_out(p->type, x[IN0].turned, x[IN1].turned, x[OUT].turned);
  const double *cost = p->type[IN0] == DTYPE_BF16       ? floats
                       : dtype_bytes(p->type[IN1]) == 1 ? bytes
                                                        : words;
  return cost[4 * x[IN0].turned + 2 * x[IN1].turned + out];
}

/* The smallest distance by which blocks may move along m or n. */
static int64_t unit_of(const struct teir_problem *p,
                       const struct map_layout x[TENSORS], int input) {
  enum { WORD = 4 };
  bool first = input == IN0; /* m is the first role of in0 and of out */
  int64_t unit = 1;
  const int tensor[] = {input, OUT};
  for (int i = 0; i < 2; i++)
    if (x[tensor[i]].in_place && x[tensor[i]].turned == first &&
        WORD / dtype_bytes(p->type[tensor[i]]) > unit)
      unit = WORD / dtype_bytes(p->type[tensor[i]]);
  return unit;
}

static bool check_extents(const struct teir_problem *p, struct diag *d) {
  const int64_t *extent = p->extent, most = (int64_t)MAX_STEPS * 16;
  for (int r = AXIS_M; r <= AXIS_K; r++) {
    if (extent[r] < 1)
      return diag_error(d, loc_none(), "%lldx%lldx%lld: extents are positive",
                        (long long)extent[AXIS_M], (long long)extent[AXIS_N],
                        (long long)extent[AXIS_K]);
    if (extent[r] > most)
      return diag_declined(d, loc_none(),
                           "%lldx%lldx%lld: one launch takes extents up to "
                           "%lld",
                           (long long)extent[AXIS_M], (long long)extent[AXIS_N],
                           (long long)extent[AXIS_K], (long long)most);
  }
  return true;
}

/* The axis with which a role's blocks begin: a contiguous one, else the
 * longest.
 */
static int begin_of(const struct map_work *w, enum axis_role role) {
  int best = 0;
  for (int t = 0; t < TENSORS; t++)
    if (w->contiguous[t] >= 0 && map_roles[t][!w->layout[t].turned] == role)
      return w->contiguous[t];
  for (int i = 1; i < w->count[role]; i++)
    if (w->axis[role][i].extent >= w->axis[role][best].extent)
      best = i;
  return best;
}

/* The best blocks for tensors that lie so, m and n as they come; the problem
 * has been checked.  False: there are none. */
static bool search(const struct platform *at, const struct teir_problem *p,
                   const struct map_form *form, const struct map_work *work,
                   int begin_k, int more_k, struct array *s) {
  *s = (struct array){
      .at = at,
      .problem = p,
      .form = form,
      .work = work,
      .more_k = more_k,
      .grid = map_grid_of(at->device, form),
      .turned = turned_cost(p, form->layout),
      .unit = {unit_of(p, form->layout, IN0), unit_of(p, form->layout, IN1)}};
  for (int role = AXIS_M; work && role < AXIS_ROLES; role++)
    s->begins[role] = begin_of(work, (enum axis_role)role);
  if (begin_k >= 0)
    s->begins[AXIS_K] = begin_k;
  struct kernel_shape unit;
  if (!kernel_shape(p->type[IN0], p->type[IN1], p->acc, &s->mac) ||
      !kernel_gemm_even(p->type[IN0], p->type[IN1], p->acc, false,
                        &s->even[0]) ||
      !kernel_gemm_even(p->type[IN0], p->type[IN1], p->acc, true,
                        &s->even[1]) ||
      !kernel_gemm_unit(p->type[IN0], p->type[IN1], p->acc, &unit))
    return false;
  const struct teir_model model = {.self = s,
                                   .unit = {unit.m, unit.n, unit.k},
                                   .most = {MAX_BLOCK, MAX_BLOCK},
                                   /* blocks of out at once; in1 that comes
                                    * on both channels is used up as fast */
                                   .forms = s->grid.split > 1 ? 1 : 2,
                                   .depth = depth,
                                   .price = price};
  struct teir_found found = teir_search(&model);
  assert(found.cost == HUGE_VAL ||
         (s->count > 0 && s->best[0].predicted_cycles == found.cost));
  return found.cost < HUGE_VAL;
}

static bool search_blocked(const struct platform *at,
                           const struct teir_problem *p, struct array *s,
                           struct diag *d) {
  static const struct map_form blocked;
  return check_types(p, d) && check_extents(p, d) &&
         (search(at, p, &blocked, NULL, -1, 0, s) ||
          diag_declined(d, loc_none(), "no blocks of %s x %s -> %s fit a core",
                        dtype_name(p->type[IN0]), dtype_name(p->type[IN1]),
                        dtype_name(p->type[OUT])));
}

bool map_choose(const struct platform *at, const struct teir_problem *p,
                struct map_blocking *best, struct diag *d) {
  struct array s;
  if (!search_blocked(at, p, &s, d))
    return false;
  *best = choose(&s);
  return true;
}

/* The transposed product. */
static void swap(struct map_work *w) {
  struct map_work old = *w;
  w->problem.extent[AXIS_M] = old.problem.extent[AXIS_N];
  w->problem.extent[AXIS_N] = old.problem.extent[AXIS_M];
  w->count[AXIS_M] = old.count[AXIS_N];
  w->count[AXIS_N] = old.count[AXIS_M];
  memcpy(w->axis[AXIS_M], old.axis[AXIS_N], sizeof *w->axis);
  memcpy(w->axis[AXIS_N], old.axis[AXIS_M], sizeof *w->axis);
  for (int role = 0; role < AXIS_ROLES; role++)
    for (int i = 0; i < w->count[role]; i++) {
      int64_t *stride = w->axis[role][i].stride_bytes, in0 = stride[IN0];
      stride[IN0] = stride[IN1];
      stride[IN1] = in0;
    }
  for (int i = 0; i < TENSORS; i++) {
    int other = i < OUT ? IN0 + IN1 - i : OUT;
    w->problem.type[i] = old.problem.type[other];
    w->contiguous[i] = old.contiguous[other];
    w->layout[i] = old.layout[other];
    w->layout[i].turned = w->layout[i].in_place && !w->layout[i].turned;
  }
}

/* A product or its transpose, with the best blocks for how tensors lie. */
struct candidate {
  struct map_work work;
  struct map_form form;
  struct array array;
};

static double cost_of(const struct candidate *c) {
  return c ? c->array.best[0].predicted_cycles : HUGE_VAL;
}

/* Grids beside that of all rows and columns, and when they may be better: few
 * rows of m, so that both channels of a column had better bring in1; or little
 * work, which waits for the tasks of columns. */
enum { GRIDS = 3, FORMS = 2 * GRIDS };
static bool set_grid(const struct platform *at, int grid,
                     const struct teir_problem *p, struct map_form *form) {
  enum { FEW_CORES = 2, FEW_ROWS = 512, LITTLE = 1 << 21 };
  const struct device *dev = at->device;
  const int64_t *x = p->extent;
  int m = grid == 1 ? dev->core_rows / 2 : FEW_CORES,
      n = grid == 1 ? dev->columns * 2 : FEW_CORES;
  struct map_grid g;
  if (!grid)
    return true;
  if (x[AXIS_C] > 1 || !map_grid(dev, m, n, &g))
    return false;
  form->cores_m = m;
  form->cores_n = n;
  return grid == 1 ? x[AXIS_M] <= FEW_ROWS && x[AXIS_M] < x[AXIS_N]
                   : x[AXIS_M] * x[AXIS_N] * x[AXIS_K] <= LITTLE;
}

/* The best of the product and its transpose on all grids, whatever axis blocks
 * of k begin with; NULL: none. */
static struct candidate *search_all(struct arena *a, const struct platform *at,
                                    const struct map_work *w) {
  struct candidate *best = NULL;
  bool free = true;
  for (int t = 0; t < TENSORS; t++)
    free &=
        w->contiguous[t] < 0 || map_roles[t][!w->layout[t].turned] != AXIS_K;
  static const int more[] = {0, 2, 4, 8};
  int axes = free ? w->count[AXIS_K] : 1,
      mixes = w->count[AXIS_K] > 1 ? (int)(sizeof more / sizeof *more) : 1;
  for (int i = 0; i < FORMS * axes * mixes; i++) {
    struct candidate *c = arena_alloc(a, sizeof *c);
    int grid = i / 2 % GRIDS, axis = i / FORMS % axes;
    c->work = *w;
    if (i % 2)
      swap(&c->work);
    c->form = (struct map_form){.swapped = i % 2};
    memcpy(c->form.layout, c->work.layout, sizeof c->form.layout);
    if (set_grid(at, grid, &c->work.problem, &c->form) &&
        search(at, &c->work.problem, &c->form, &c->work, free ? axis : -1,
               more[i / FORMS / axes], &c->array) &&
        cost_of(c) < cost_of(best))
      best = c;
  }
  return best;
}

/* Cycles of a launch in which every core has products to itself. */
static double apart_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_core *at) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, out = bytes.out,
         products = (double)p->extent[AXIS_C],
         turns = products / map_grid_products(&s->grid), ends;
  double round = array_cycles(s->at->device, p, s, b, at, &ends);
  double shim = s->grid.rows * max3(in0, in1, out / WAYS_OUT) / STREAM_BYTES,
         core = max3(round, (in0 + in1) / STREAM_BYTES, out / STREAM_BYTES);
  double turn = shim > core ? shim : core;
  /* whole matrices, whose rows run on unless there are gaps */
  double memory =
      q ? transfer_cycles(q, products * (in0 + in1 + out), HUGE_VAL) : 0;
  return ends + (in0 + in1 + out) / STREAM_BYTES + both(turns * turn, memory);
}

/* A batch of products of one block each, if every core may have its own. */
static void price_apart(const struct platform *at, const struct map_work *w,
                        struct map_blocking *b) {
  const struct teir_problem *p = &w->problem;
  const int64_t *x = p->extent;
  struct map_form form = {.apart = true};
  struct array s = {.at = at, .problem = p, .form = &form};
  struct kernel_shape unit;
  struct map_core core;
  struct map_panel panel;
  for (int t = 0; t < TENSORS; t++)
    form.layout[t] = w->layout[t];
  s.grid = map_grid_of(at->device, &form);
  s.turned = turned_cost(p, form.layout);
  for (int role = 0; role < AXIS_ROLES; role++)
    if (w->count[role] != 1)
      return;
  if (!kernel_gemm_unit(p->type[IN0], p->type[IN1], p->acc, &unit) ||
      !kernel_shape(p->type[IN0], p->type[IN1], p->acc, &s.mac) ||
      !kernel_gemm_even(p->type[IN0], p->type[IN1], p->acc, false,
                        &s.even[0]) ||
      x[AXIS_M] % unit.m || x[AXIS_N] % unit.n || x[AXIS_K] % unit.k ||
      x[AXIS_M] > MAX_BLOCK || x[AXIS_N] > MAX_BLOCK || x[AXIS_K] > MAX_DEPTH ||
      x[AXIS_C] % map_grid_products(&s.grid))
    return;
  struct map_blocking q = {.block_m = (int)x[AXIS_M],
                           .block_n = (int)x[AXIS_N],
                           .block_k = (int)x[AXIS_K],
                           .group_m = 1,
                           .rounds_m = 1,
                           .rounds_n = 1,
                           .steps_k = 1,
                           .form = form};
  for (int role = AXIS_M; role < AXIS_ROLES; role++)
    add_part(&q.form.cut[role], 0, MAP_BLOCK, x[role], 1);
  struct map_cut *c = &q.form.cut[AXIS_C];
  add_part(c, 0, MAP_TIME, x[AXIS_C] / map_grid_products(&s.grid),
           map_grid_products(&s.grid));
  add_part(c, 0, MAP_CORES, s.grid.columns, s.grid.rows);
  add_part(c, 0, MAP_CORES, s.grid.rows, 1);
  if (!fits(at->device, p, &q, &core) ||
      !map_mem_panel(at->device, p, &q, &panel))
    return;
  q.predicted_cycles = apart_cycles(&s, &q, &core);
  *b = q;
}

static int64_t tensor_bytes(const struct teir_problem *p, int tensor) {
  return p->extent[AXIS_C] * p->extent[map_roles[tensor][0]] *
         p->extent[map_roles[tensor][1]] * dtype_bytes(p->type[tensor]);
}

/* Cycles for the host to lay tensors otherwise. */
static double packing_cycles(const struct platform *at,
                             const struct teir_problem *p, unsigned stay) {
  static const double bytes_per_second = 8e9;
  double ghz = at->preset ? at->preset->clock_ghz : 1, bytes = 0;
  for (int t = 0; t < TENSORS; t++)
    if (!(stay >> t & 1))
      bytes += (double)tensor_bytes(p, t);
  return bytes / bytes_per_second * ghz * 1e9;
}

static void name_reasons(const struct map_form *form, const bool can[TENSORS],
                         const char *why[TENSORS]) {
  for (int i = 0; i < TENSORS; i++) {
    int t = form->swapped && i < OUT ? IN0 + IN1 - i : i;
    why[t] = form->layout[i].in_place ? NULL : can[t] ? "extent" : "stride";
  }
}

/* Blocks that end with the tensors may be poor ones, as where K is eight times
 * a prime; then some had better be packed, which costs the host time. */
bool map_choose_in_place(struct arena *a, const struct platform *at,
                         const struct teir *teir, unsigned *tried,
                         struct map_blocking *best, const char *why[TENSORS],
                         struct diag *d) {
  enum { ALL = 7, SETS = 8 };
  struct array *blocked = arena_alloc(a, sizeof *blocked);
  struct teir_problem p;
  if (!teir_problem_read(teir, &p, d))
    return false;
  p.acc = map_sum_type(&p);
  if (!search_blocked(at, &p, blocked, d))
    return false;
  struct candidate *found = NULL;
  struct map_blocking apart = {.predicted_cycles = HUGE_VAL};
  unsigned set = 0;
  double least = blocked->best[0].predicted_cycles,
         cost = least + packing_cycles(at, &p, 0);
  bool can[TENSORS] = {false}, batch = p.extent[AXIS_C] > 1;
  for (unsigned i = ALL; i > 0 && !(batch && set); i--) {
    static const unsigned order[SETS] = {0, 4, 2, 1, 6, 5, 3, 7};
    struct map_work w;
    unsigned stays = order[i];
    bool stay[TENSORS], all = true;
    for (int t = 0; t < TENSORS; t++)
      stay[t] = stays >> t & 1;
    double packing = packing_cycles(at, &p, stays);
    if (*tried >> stays & 1 || (stays != ALL && least + packing > cost))
      continue;
    if (!map_work_read(a, at->device, teir, stay, &w, d))
      return false;
    for (int t = 0; t < TENSORS; t++) {
      all &= w.layout[t].in_place == stay[t];
      can[t] |= w.layout[t].in_place;
    }
    struct candidate *c = all ? search_all(a, at, &w) : NULL;
    bool whole = batch && stays == ALL;
    if (whole && all)
      price_apart(at, &w, &apart);
    if (c && (whole || cost_of(c) + packing < cost)) {
      cost = cost_of(c) + packing;
      found = c;
      set = stays;
    }
    if (whole && apart.predicted_cycles < cost_of(c))
      set = stays;
  }
  *tried |= 1u << set;
  if (set == ALL && apart.predicted_cycles < cost_of(found))
    *best = apart;
  else
    *best = choose(found ? &found->array : blocked);
  name_reasons(&best->form, can, why);
  return true;
}
