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

enum {
  STREAM_BYTES = 4,  /* per cycle and channel, timing.md S1 */
  STEP_CYCLES = 20,  /* between two steps of a kernel, its locks and DMA */
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
  const struct map_form *form; /* but for its shares */
  struct map_grid grid;
  struct kernel_shape mac;     /* of the multiply unit */
  struct kernel_shape even[2]; /* of blocks of which kernels have no edges, by
                                  map_tall */
  double turned;               /* what a kernel costs more for turned blocks */
  int64_t unit[OUT]; /* of m and n, by which blocks may move in place */
  double product;    /* cycles of one, measured; 0: by formula */
  struct map_blocking best[SHORT_LIST]; /* cheapest first */
  int count;
};

/* Bytes of contiguous runs in which a tensor lies in device memory; blocks
 * follow each other. */
static double run_bytes(const struct array *s, const struct map_blocking *b,
                        const struct map_panel *panel, int tensor) {
  const struct map_layout *x = &s->form->layout[tensor];
  double element = dtype_bytes(s->problem->type[tensor]);
  if (!x->in_place)
    return HUGE_VAL;
  if (tensor == IN0)
    return element *
           (x->turned ? b->group_m * b->block_m : panel->run[IN0] * b->block_k);
  return element * (x->turned ? panel->run[IN1] * b->block_k : b->block_n);
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

/* So many that all of the work is done, the last ones on padding. */
static void count_rounds(const struct map_grid *g, const struct teir_problem *p,
                         struct map_blocking *b) {
  b->rounds_m =
      (int)div_up(p->extent[AXIS_M], (int64_t)b->block_m * b->group_m * g->m);
  b->rounds_n = (int)div_up(p->extent[AXIS_N], (int64_t)b->block_n * g->n);
  b->steps_k = (int)div_up(p->extent[AXIS_K], b->block_k);
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
  double step =
      max3(products, b->group_m * in0 / STREAM_BYTES, in1 / STREAM_BYTES);
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

/* Whether blocks end where tensors do that lie in place, which nothing pads,
 * and descriptors can count what they walk over; fills the shares. */
static bool fits_in_place(const struct array *s, struct map_blocking *b) {
  const struct device *dev = s->at->device;
  const struct map_grid *g = &s->grid;
  const struct map_layout *x = s->form->layout;
  const int64_t *extent = s->problem->extent;
  if (extent[AXIS_C] > 1 && (b->rounds_m > 1 || b->rounds_n > 1))
    return false;
  if ((x[IN0].in_place || x[IN1].in_place) &&
      (int64_t)b->steps_k * b->block_k != extent[AXIS_K])
    return false;
  if ((x[IN0].in_place || x[OUT].in_place) &&
      !map_share(extent[AXIS_M], g->m, b->rounds_m,
                 (int64_t)b->block_m * b->group_m, s->unit[IN0], &b->form.m))
    return false;
  if ((x[IN1].in_place || x[OUT].in_place) &&
      !map_share(extent[AXIS_N], g->n, b->rounds_n, b->block_n, s->unit[IN1],
                 &b->form.n))
    return false;
  return (!x[IN1].in_place && !x[OUT].in_place) ||
         b->rounds_n <= dev->max_iterations;
}

/* Cycles from the last word in a mem tile, whose buffers cores get when they
 * are full, to the last one in a core. */
static double last_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_panel *panel) {
  struct map_block_bytes bytes = map_block_bytes(s->problem, b);
  double in0 = (double)b->group_m * bytes.in0, in1 = bytes.in1;
  if (!panel->chunks)
    in0 *= panel->run[IN0];
  in1 *= panel->run[IN1];
  return (in0 > in1 ? in0 : in1) / STREAM_BYTES;
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
  double phases = (b->rounds_m - 1.0) * PHASE_CYCLES * ghz_of(s);
  double cycles =
      ends + last_cycles(s, b, panel) + (rounds > phases ? rounds : phases);
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
  count_rounds(&s->grid, s->problem, &b);
  if (!fits_in_place(s, &b) || !fits(dev, s->problem, &b, &core))
    return HUGE_VAL;
  assert(b.rounds_m >= 1 && b.rounds_n >= 1 && b.steps_k >= 1);
  double ends, round = array_cycles(dev, s->problem, s, &b, &core, &ends);
  double least = ends + (double)b.rounds_m * b.rounds_n * round;
  if (least >= best * doubtful || !map_mem_panel(dev, s->problem, &b, &panel))
    return HUGE_VAL;
  b.predicted_cycles = launch_cycles(s, &b, &core, &panel);
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

enum dtype map_sum_type(const struct teir_problem *p) {
  struct kernel_shape mac;
  if (dtype_kind(p->type[OUT]) == DTYPE_FLOAT)
    return DTYPE_F32;
  bool whole = p->finish.relu || p->finish.saturate;
  return whole || !kernel_shape(p->type[IN0], p->type[IN1], p->type[OUT], &mac)
             ? DTYPE_I32
             : p->type[OUT];
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

/* The best blocks for tensors that lie so, m and n as they come; the problem
 * has been checked.  False: there are none. */
static bool search(const struct platform *at, const struct teir_problem *p,
                   const struct map_form *form, struct array *s) {
  *s = (struct array){
      .at = at,
      .problem = p,
      .form = form,
      .grid = map_grid_of(at->device, form),
      .turned = turned_cost(p, form->layout),
      .unit = {unit_of(p, form->layout, IN0), unit_of(p, form->layout, IN1)}};
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
                                   .forms = 2, /* blocks of out at once */
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
         (search(at, p, &blocked, s) ||
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
static void swap(struct teir_problem *p, struct map_form *form) {
  struct teir_problem q = *p;
  struct map_form f = *form;
  p->extent[AXIS_M] = q.extent[AXIS_N];
  p->extent[AXIS_N] = q.extent[AXIS_M];
  form->swapped = !f.swapped;
  for (int i = 0; i < TENSORS; i++) {
    int other = i < OUT ? IN0 + IN1 - i : OUT;
    p->type[i] = q.type[other];
    form->layout[i] = f.layout[other];
    form->layout[i].turned =
        f.layout[other].in_place && !f.layout[other].turned;
  }
}

/* A product or its transpose, with the best blocks for how tensors lie. */
struct candidate {
  struct teir_problem problem;
  struct map_form form;
  struct array array;
};

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

/* The best of the product and its transpose on all grids, with tensors that lie
 * so; `space` is for all of them. */
static struct candidate *search_forms(const struct platform *at,
                                      const struct teir_problem *p,
                                      const struct map_form *form,
                                      struct candidate space[FORMS]) {
  struct candidate *best = NULL;
  for (int i = 0; i < FORMS; i++) {
    struct candidate *c = &space[i];
    c->problem = *p;
    c->form = *form;
    if (i % 2)
      swap(&c->problem, &c->form);
    if (set_grid(at, i / 2, &c->problem, &c->form) &&
        search(at, &c->problem, &c->form, &c->array) &&
        (!best || c->array.best[0].predicted_cycles <
                      best->array.best[0].predicted_cycles))
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

/* A batch of products of one block each: true and the cycles if every core may
 * have its own. */
static bool price_apart(const struct platform *at, const struct teir_problem *p,
                        const struct map_layout layout[TENSORS],
                        struct map_blocking *b) {
  const int64_t *x = p->extent;
  struct map_form form = {.apart = true};
  struct array s = {.at = at, .problem = p, .form = &form};
  struct kernel_shape unit;
  struct map_core core;
  struct map_panel panel;
  for (int t = 0; t < TENSORS; t++)
    form.layout[t] = layout[t];
  s.grid = map_grid_of(at->device, &form);
  s.turned = turned_cost(p, form.layout);
  if (!kernel_gemm_unit(p->type[IN0], p->type[IN1], p->acc, &unit) ||
      !kernel_shape(p->type[IN0], p->type[IN1], p->acc, &s.mac) ||
      !kernel_gemm_even(p->type[IN0], p->type[IN1], p->acc, false,
                        &s.even[0]) ||
      x[AXIS_M] % unit.m || x[AXIS_N] % unit.n || x[AXIS_K] % unit.k ||
      x[AXIS_M] > MAX_BLOCK || x[AXIS_N] > MAX_BLOCK || x[AXIS_K] > MAX_DEPTH ||
      x[AXIS_C] % map_grid_products(&s.grid))
    return false;
  *b = (struct map_blocking){.block_m = (int)x[AXIS_M],
                             .block_n = (int)x[AXIS_N],
                             .block_k = (int)x[AXIS_K],
                             .group_m = 1,
                             .rounds_m = 1,
                             .rounds_n = 1,
                             .steps_k = 1,
                             .form = form};
  if (!fits(at->device, p, b, &core) ||
      !map_mem_panel(at->device, p, b, &panel))
    return false;
  b->predicted_cycles = apart_cycles(&s, b, &core);
  return true;
}

/* A batch in one launch: all tensors lie in place. */
static bool choose_batch(const struct platform *at,
                         const struct teir_problem *p,
                         const struct map_layout layout[TENSORS],
                         struct map_blocking *best, struct diag *d) {
  struct map_form form = {0};
  struct candidate space[FORMS], *c = NULL;
  struct map_blocking apart;
  bool all = true;
  for (int t = 0; t < TENSORS; t++) {
    all &= layout[t].in_place;
    form.layout[t] = layout[t];
  }
  if (all && (c = search_forms(at, p, &form, space)))
    *best = choose(&c->array);
  if (all && price_apart(at, p, layout, &apart) &&
      (!c || apart.predicted_cycles < best->predicted_cycles)) {
    *best = apart;
    return true;
  }
  return c || diag_declined(d, loc_none(),
                            "a batch of %lld products; all lie in place, each "
                            "one round of the array, or they are taken one by "
                            "one",
                            (long long)p->extent[AXIS_C]);
}

/* Blocks that end with the tensors may be poor ones, as where K is eight times
 * a prime; then fewer tensors stay. */
bool map_choose_in_place(const struct platform *at,
                         const struct teir_problem *p,
                         const struct map_layout layout[TENSORS],
                         struct map_blocking *best, struct diag *d) {
  static const bool stay[][TENSORS] = {
      {true, true, true},   {true, true, false},  {true, false, true},
      {false, true, true},  {true, false, false}, {false, true, false},
      {false, false, true},
  };
  static const double most = 1.2; /* times the cycles of blocked tensors */
  struct array blocked;
  if (!check_types(p, d) || !check_extents(p, d))
    return false;
  if (p->extent[AXIS_C] > 1)
    return choose_batch(at, p, layout, best, d);
  if (!search_blocked(at, p, &blocked, d))
    return false;
  for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
    struct map_form form = {0};
    struct candidate space[FORMS], *c;
    bool all = true;
    for (int t = 0; t < TENSORS; t++) {
      all &= layout[t].in_place || !stay[i][t];
      if (stay[i][t])
        form.layout[t] = layout[t];
    }
    if (all && (c = search_forms(at, p, &form, space)) &&
        c->array.best[0].predicted_cycles <=
            most * blocked.best[0].predicted_cycles) {
      *best = choose(&c->array);
      return true;
    }
  }
  *best = choose(&blocked);
  return true;
}
