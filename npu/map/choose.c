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
  STREAM_BYTES = 4,     /* per cycle and channel, timing.md S1 */
  STEP_CYCLES = 20,     /* between two steps of a kernel, its locks and DMA */
  EDGE_CYCLES = 50,     /* a kernel whose last blocks of results are smaller */
  SUM_BYTES = 16,       /* a cycle: 32 in, 32 out, by one pointer */
  WAYS_OUT = 2,         /* channels of a column for out */
  ROUND_CYCLES = 60,    /* locks around a block of out */
  START_CYCLES = 12000, /* first blocks arrive: queue pushes and DRAM, which
                           have clocks of their own; at 1 GHz */
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

/* Bytes that cross the DRAM interface: what a mem tile keeps of in0 once per m
 * round, the rest once per n round too; in1 once per m round. */
static double traffic(const struct device *dev, const struct teir_problem *p,
                      const struct map_blocking *b,
                      const struct map_panel *panel) {
  double in0 = (double)b->rounds_m * b->group_m * b->block_m * dev->core_rows *
               b->steps_k * b->block_k * dtype_bytes(p->type[IN0]);
  double in1 = (double)b->rounds_n * b->block_n * dev->columns * b->steps_k *
               b->block_k * dtype_bytes(p->type[IN1]);
  double out = (double)b->rounds_m * b->group_m * b->block_m * dev->core_rows *
               b->rounds_n * b->block_n * dev->columns *
               dtype_bytes(p->type[OUT]);
  double kept = panel->chunks ? 1
                : panel->stretches
                    ? (double)panel->kept / (panel->kept + panel->streamed)
                    : 0;
  double again = kept + (1 - kept) * b->rounds_n;
  return in0 * again + in1 * b->rounds_m + out;
}

static double dram_cycles(const struct platform *at,
                          const struct teir_problem *p,
                          const struct map_blocking *b,
                          const struct map_panel *panel) {
  if (!at->preset)
    return 0;
  const struct preset *q = at->preset;
  /* blocks follow each other: the longest runs of the table */
  double rate = q->dram[q->dram_count - 1].bytes_per_second;
  return traffic(at->device, p, b, panel) / rate * q->clock_ghz * 1e9;
}

/* Two bounds that overlap imperfectly where they are close: the simulator's
 * runs lie on the 8-norm of both within 4 %. */
static double both(double a, double b) {
  return pow(pow(a, 8) + pow(b, 8), 1.0 / 8);
}

/* Whether a pass over the finished sums makes the results. */
static bool finishes(const struct teir_problem *p) {
  return p->acc != p->type[OUT] || p->finish.relu;
}

/* So many that all of the work is done, the last ones on padding. */
static void count_rounds(const struct device *dev, const struct teir_problem *p,
                         struct map_blocking *b) {
  b->rounds_m = (int)div_up(p->extent[AXIS_M],
                            (int64_t)b->block_m * b->group_m * dev->core_rows);
  b->rounds_n =
      (int)div_up(p->extent[AXIS_N], (int64_t)b->block_n * dev->columns);
  b->steps_k = (int)div_up(p->extent[AXIS_K], b->block_k);
}

/* The array as a machine for the search. */
struct array {
  const struct platform *at;
  const struct teir_problem *problem;
  struct kernel_shape mac;     /* of the multiply unit */
  struct kernel_shape even[2]; /* of blocks of which kernels have no edges, by
                                  map_tall */
  double product;              /* cycles of one, measured; 0: by formula */
  struct map_blocking best[SHORT_LIST]; /* cheapest first */
  int count;
};

/* Cycles of the array when device memory costs nothing. */
static double array_cycles(const struct device *dev,
                           const struct teir_problem *p, const struct array *s,
                           const struct map_blocking *b,
                           const struct map_core *at) {
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, sums = bytes.sums, out = bytes.out;
  double macs = (double)(b->block_m / s->mac.m) * (b->block_n / s->mac.n) *
                (b->block_k / s->mac.k);
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
  double drain = b->group_m * out * dev->core_rows / (WAYS_OUT * STREAM_BYTES);
  double round = b->steps_k * step + clear + finish + ROUND_CYCLES;
  if (b->group_m > 1) /* no other block of out: its way out is not hidden */
    round += out / STREAM_BYTES;
  if (round < drain) /* the column's ways out are the bottleneck */
    round = drain;
  double ghz = s->at->preset ? s->at->preset->clock_ghz : 1;
  return START_CYCLES * ghz + in0 / STREAM_BYTES + drain +
         (double)b->rounds_m * b->rounds_n * round;
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
                           .group_m = x->form};
  struct map_panel panel;
  struct map_core core;
  count_rounds(dev, s->problem, &b);
  if (!fits(dev, s->problem, &b, &core))
    return HUGE_VAL;
  assert(b.rounds_m >= 1 && b.rounds_n >= 1 && b.steps_k >= 1);
  double cycles = array_cycles(dev, s->problem, s, &b, &core);
  if (cycles >= best * doubtful || !map_mem_panel(dev, s->problem, &b, &panel))
    return HUGE_VAL;
  b.predicted_cycles = both(cycles, dram_cycles(s->at, s->problem, &b, &panel));
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
  double cycles = array_cycles(dev, p, s, b, &core);
  s->product = 0;
  return both(cycles, dram_cycles(s->at, p, b, &panel));
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

bool map_choose(const struct platform *at, const struct teir_problem *p,
                struct map_blocking *best, struct diag *d) {
  struct array s = {.at = at, .problem = p};
  struct kernel_shape unit;
  if (!check_types(p, d) ||
      !kernel_shape(p->type[IN0], p->type[IN1], p->acc, &s.mac) ||
      !kernel_gemm_even(p->type[IN0], p->type[IN1], p->acc, false,
                        &s.even[0]) ||
      !kernel_gemm_even(p->type[IN0], p->type[IN1], p->acc, true, &s.even[1]) ||
      !kernel_gemm_unit(p->type[IN0], p->type[IN1], p->acc, &unit))
    return false;
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
  const struct teir_model model = {.self = &s,
                                   .unit = {unit.m, unit.n, unit.k},
                                   .most = {MAX_BLOCK, MAX_BLOCK},
                                   .forms = 2, /* blocks of out at once */
                                   .depth = depth,
                                   .price = price};
  struct teir_found found = teir_search(&model);
  if (found.cost == HUGE_VAL)
    return diag_declined(d, loc_none(), "no blocks of %s x %s -> %s fit a core",
                         dtype_name(p->type[IN0]), dtype_name(p->type[IN1]),
                         dtype_name(p->type[OUT]));
  assert(s.count > 0 && s.best[0].predicted_cycles == found.cost);
  *best = choose(&s);
  return true;
}
