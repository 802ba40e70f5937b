/* cost.c -- what a blocking costs on the array: how many bytes cross which
 * interface, in which runs, and the cycles of it.
 *
 * A step of k costs the slower one of the multiply unit and of loading and
 * storing the block of sums (kernels keep them in memory between steps); and a
 * round its steps with what ends it, or what the streams take that fill its
 * blocks.  All are cycle counts that follow from the shapes (results.md section
 * 0.3).  A core may hold two blocks of out at once, which halves the reads of
 * in1 and shows part of the way out; that pays where DRAM is the limit, so a
 * known platform's bandwidth is a bound, too.  The constants are what the core
 * program and the kernels add to that on the simulator.
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

static double dram_rate(const struct preset *q, double run) {
  const double longest = q->dram[q->dram_count - 1].run_bytes;
  return preset_dram(q, (uint64_t)(run < longest ? run : longest));
}

/* Cycles for bytes that cross the DRAM interface.  Writes are posted, so their
 * runs do not matter. */
static double transfer_cycles(const struct preset *q, double bytes,
                              double run) {
  return bytes / dram_rate(q, run) * q->clock_ghz * 1e9;
}

static double eighth_power(double x) {
  x *= x;
  x *= x;
  return x * x;
}

/* Two bounds that overlap imperfectly where they are close: the simulator's
 * runs lie on the 8-norm of both within 4 %. */
static double both(double a, double b) {
  return sqrt(sqrt(sqrt(eighth_power(a) + eighth_power(b))));
}

/* Cycles in which DRAM moves what a round of all cores takes and leaves; 0
 * where its rate is not known. */
struct traffic {
  double in0, in1, out;
  double kept;          /* share of in0 that is read once per m round */
  double reads, writes; /* how much longer these take alone than their share */
};

/* Cycles for what is read and what is written meanwhile. */
static double moving(const struct traffic *x, double read, double written) {
  return max3(read + written, read * x->reads, written * x->writes);
}

/* Of DRAM's rate and that of one direction alone, which may be less. */
static double excess(const struct preset *q, double run, double most) {
  double rate = most > 0 ? dram_rate(q, run) / most : 0;
  return rate > 1 ? rate : 1;
}

/* How much of a block's side, along m or n, is a tensor's own: in device memory
 * nothing pads what lies in place. */
static double own_side(const struct array *s, const struct map_blocking *b,
                       enum axis_role role, int tensor) {
  const struct map_cut *c = &b->form.cut[role];
  double side = 1;
  if (!s->form->layout[tensor].in_place)
    return role == AXIS_M ? b->block_m : b->block_n;
  for (int i = 0; i < c->count; i++)
    if (c->part[i].place == MAP_BLOCK)
      side *= (double)c->part[i].extent;
  return side;
}

static double own_out_bytes(const struct array *s,
                            const struct map_blocking *b) {
  return own_side(s, b, AXIS_M, OUT) * own_side(s, b, AXIS_N, OUT) *
         dtype_bytes(s->problem->type[OUT]);
}

static struct traffic round_traffic(const struct array *s,
                                    const struct map_blocking *b,
                                    const struct tile_program *walks,
                                    const struct map_panel *panel) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  if (!q)
    return (struct traffic){.in0 = 0};
  double m = (double)b->group_m * s->grid.m, n = s->grid.n, /* blocks */
      k = (double)b->steps_k * (b->valid_k ? b->valid_k : b->block_k);
  if (b->last_k)
    k -= b->block_k - b->last_k;
  return (struct traffic){
      .in0 = transfer_cycles(
          q, m * own_side(s, b, AXIS_M, IN0) * k * dtype_bytes(p->type[IN0]),
          array_run_bytes(s, b, walks, panel, IN0)),
      .in1 = transfer_cycles(
          q, k * n * own_side(s, b, AXIS_N, IN1) * dtype_bytes(p->type[IN1]),
          array_run_bytes(s, b, walks, panel, IN1)),
      .out = transfer_cycles(q, m * n * own_out_bytes(s, b), HUGE_VAL),
      .kept = panel->chunks ? 1
              : panel->stretches
                  ? (double)panel->kept / (panel->kept + panel->streamed)
                  : 0,
      .reads =
          excess(q, array_run_bytes(s, b, walks, panel, IN1), q->most_read.all),
      .writes = excess(q, HUGE_VAL, q->most_written.all)};
}

/* n rounds that a panel of in0 serves. */
static int panel_rounds(const struct map_blocking *b,
                        const struct map_panel *panel) {
  return panel->chunks ? panel->rounds : b->rounds_n;
}

static double stream_of(const struct array *s) {
  return map_stream_bytes(s->at->device);
}

/* Bytes per cycle of a shim's channel. */
static double shim_bytes(const struct array *s, bool read) {
  const struct preset *q = s->at->preset;
  double most =
      q ? (read ? q->most_read : q->most_written).channel / (q->clock_ghz * 1e9)
        : 0;
  return most > 0 && most < stream_of(s) ? most : stream_of(s);
}

/* Cycles in which the largest share of a panel comes ahead of in1: of its
 * channel, or of DRAM for all of them. */
static double share_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_panel *panel, double in0) {
  double bytes = (double)b->group_m * b->block_m *
                 (b->valid_k ? b->valid_k : b->block_k) * b->steps_k *
                 dtype_bytes(s->problem->type[IN0]),
         share = (double)div_up(panel->chunks, panel->ways) / panel->chunks,
         way = share * bytes / shim_bytes(s, true);
  return way > in0 ? way : in0;
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
  if (!s->at->preset)
    return (double)b->rounds_m * b->rounds_n * round;
  int rounds_n = panel_rounds(b, panel),
      rounds_m = b->rounds_m * (b->rounds_n / rounds_n);
  double read = (1 - x->kept) * x->in0 + x->in1, each = moving(x, read, x->out);
  double part = panel->chunks      ? 1.0 / panel->chunks
                : panel->stretches ? 1.0 / panel->stretches
                                   : 0;
  double beside = rounds_n > 1 ? 2 * (1 - part) : 1; /* n rounds */
  /* in1 waits for a panel on their channels, which is counted apart */
  bool shares = s->grid.split > 1;
  double kept = shares ? 0 : x->kept * x->in0;
  double first = part * kept +
                 both(round, moving(x, read + (1 - part) * kept, 0)) +
                 both((rounds_n - 1) * round, (rounds_n - 1) * each);
  double others =
      both(beside * round,
           moving(x, beside * read + x->kept * x->in0, beside * x->out)) +
      both((rounds_n - beside) * round, (rounds_n - beside) * each);
  if (shares)
    others += share_cycles(s, b, panel, x->in0);
  return first + (rounds_m - 1) * others;
}

int array_most_ways(const struct array *s) {
  return s->grid.rows == 1 ? 1 : WAYS_OUT;
}

/* Whether a block has elements of out that follow each other in memory. */
static bool is_out_dense(const struct array *s, const struct map_blocking *b,
                         enum axis_role role) {
  const struct map_cut *c = &b->form.cut[role];
  for (int i = 0; i < c->count; i++)
    if (c->part[i].place == MAP_BLOCK &&
        c->part[i].step *
                s->work->axis[role][c->part[i].axis].stride_bytes[OUT] ==
            dtype_bytes(s->problem->type[OUT]))
      return true;
  return false;
}

/* Bytes per cycle of a tensor's channels; in0 is taken to be kept in mem tiles.
 * They move no more in a cycle than what is contiguous both in device memory
 * and in a block of small matrices. */
static double way_bytes(const struct array *s, const struct map_blocking *b,
                        int tensor) {
  enum { WORD = 4 };
  const struct map_layout *x = s->form->layout;
  const enum dtype *type = s->problem->type;
  const int side[] = {
      [AXIS_M] = s->mac.m, [AXIS_N] = s->mac.n, [AXIS_K] = s->mac.k};
  double most = tensor == IN0 ? stream_of(s) : shim_bytes(s, tensor != OUT);
  if (most == WORD || !x[tensor].in_place || s->form->apart)
    return most;
  enum axis_role role = map_roles[tensor][!x[tensor].turned];
  double run = side[role] * dtype_bytes(type[tensor]);
  if (tensor == OUT && (!is_out_dense(s, b, role) ||
                        (x[OUT].turned && !map_turns_out(type, x[IN0].turned,
                                                         x[IN1].turned, true))))
    run = WORD;
  return run < most ? run : most;
}

static double ghz_of(const struct array *s) {
  return s->at->preset ? s->at->preset->clock_ghz : 1;
}

/* To push a task; of the platform, or of one with the device at 1 GHz. */
static double push_of(const struct array *s) {
  const struct preset *q = s->at->preset, *like = preset_of(s->at->device);
  return q ? preset_task_cycles(q) : preset_task_cycles(like) / like->clock_ghz;
}

/* Cycles of a launch: cores have work, so many rounds; DRAM has, but for the
 * last blocks; it reads all there is, and of that what fills rings beside the
 * first blocks; and writes what is there when it has read all, and all there
 * is. */
struct busy {
  double cores, rounds, memory, read, held, beside, written;
};

/* What DRAM reads in each round but for a panel. */
static double each_cycles(const struct traffic *x) {
  return x->in1 + (1 - x->kept) * x->in0;
}

/* In which DRAM fills the buffers of in1, in the mem tiles and in cores. */
static double held_cycles(const struct map_blocking *b,
                          const struct map_panel *panel,
                          const struct traffic *x) {
  double steps = map_mem_depth(panel, IN1) * panel->run[IN1] + 2.0,
         rounds = fmin(steps / b->steps_k, (double)b->rounds_m * b->rounds_n);
  return rounds * each_cycles(x);
}

/* Until the first channel reads. */
static double first_cycles(const struct array *s) {
  return FIRST_CYCLES * ghz_of(s);
}

/* The ends of all ways out are asked for one by one. */
static double end_cycles(const struct array *s, int ways) {
  return END_CYCLES * ghz_of(s) * ways * s->grid.columns;
}

/* in1 waits for the panel in the converting core. */
static double converting_cycles(const struct array *s,
                                const struct map_blocking *b) {
  return s->form->converts
             ? (double)b->block_m * b->block_k * b->steps_k *
                   dtype_bytes(s->problem->type[IN0]) / stream_of(s)
             : 0;
}

/* What DRAM could have read while channels begin, one after the other. */
static double lost_cycles(const struct array *s) {
  const struct preset *q = s->at->preset;
  double rate = q ? dram_rate(q, HUGE_VAL) : 0, lost = 0;
  if (q && q->most_read.all > 0 && q->most_read.all < rate)
    rate = q->most_read.all;
  rate /= ghz_of(s) * 1e9;
  for (int i = 1; i < map_grid_inputs(&s->grid); i++) {
    double share = rate > 0 ? i * shim_bytes(s, true) / rate
                            : (double)i / map_grid_inputs(&s->grid);
    lost += share < 1 ? 1 - share : 0;
  }
  return lost * push_of(s);
}

/* From the first word of a buffer of in0's (in1's) to the first block of it in
 * a core, which gets buffers when they are full. */
static double filling_cycles(const struct array *s,
                             const struct map_blocking *b,
                             const struct map_panel *panel, int tensor) {
  const struct map_block_bytes bytes = map_block_bytes(s->problem, b);
  double block = tensor == IN0 ? (double)b->group_m * bytes.in0 : bytes.in1;
  int run = tensor == IN0 && panel->chunks ? 1 : panel->run[tensor];
  return (1 + run) * block / stream_of(s);
}

/* From the first read until cores have what their products begin with: the last
 * column's channels begin behind those of all others, whose cores wait for it
 * when they have what their memory holds. */
static double ready_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_panel *panel,
                           const struct traffic *x, double held) {
  const struct map_grid *g = &s->grid;
  double push = push_of(s), last = push * (map_grid_inputs(g) - 1),
         in0 = filling_cycles(s, b, panel, IN0) - push * g->n,
         in1 = filling_cycles(s, b, panel, IN1);
  if (g->split == 1)
    return last + fmax(in0, in1);
  /* in1 comes behind the panel */
  double way = push * (g->m * panel->ways - 1) +
               share_cycles(s, b, panel, x->in0),
         memory = lost_cycles(s) + x->in0 + fmax(held - each_cycles(x), 0);
  return max3(last, way, memory) + in1;
}

/* A launch in phases, as its pushes see it. */
struct phases {
  double count, panels; /* of in0, kept whole or not */
  double out, rounds;   /* cycles of each: for out to leave, and to compute */
  double last;          /* for the last blocks to leave */
  double ends;          /* panels whose last chunk takes a task of its own */
  double shares; /* of a panel, beside the first ones of all parts of m */
  int ways;      /* channels of a column for out */
};

/* In which DRAM moves all that is read. */
static double reading_cycles(const struct map_blocking *b,
                             const struct traffic *x,
                             const struct map_panel *panel) {
  double rounds = (double)b->rounds_m * b->rounds_n;
  return rounds * ((1 - x->kept) * x->in0 + x->in1) +
         rounds / panel_rounds(b, panel) * x->kept * x->in0;
}

/* Cycles that a launch takes at least, whose tasks are pushed one by one: the
 * last phase's blocks of out leave behind the last push, and its rounds begin
 * behind the push of its inputs. */
static double push_cycles(const struct array *s, const struct phases *x) {
  const struct map_grid *g = &s->grid;
  int each = x->ways * g->columns;
  double push = push_of(s),
         inputs = map_grid_inputs(g) + (x->panels - 1 + x->ends) * g->m +
                  x->panels * x->shares + (x->count - 1) * g->n,
         out = (inputs + x->count * each) * push - TASK_CYCLES * ghz_of(s) +
               x->out / x->ways,
         rounds = (inputs + (x->count - 1) * each) * push + x->rounds +
                  x->last / x->ways;
  double pushed = (inputs + x->count * each) * push;
  return end_cycles(s, x->ways) + LAUNCH_CYCLES * g->columns * ghz_of(s) +
         max3(out, rounds, pushed);
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

/* For a round's blocks of out to leave a column. */
static double drain_cycles(const struct array *s, const struct map_blocking *b,
                           int ways) {
  return b->group_m * own_out_bytes(s, b) * s->grid.rows /
         (ways * way_bytes(s, b, OUT));
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

/* For a core to clear what is behind the last k of an input's block
 * (npu/design/clear.c): small matrices that are cut, and vectors. */
static double clear_input(const struct array *s, const struct teir_problem *p,
                          const struct map_blocking *b, enum map_clear clear,
                          int input) {
  enum { CALL = 40, EACH = 8, VECTOR = 32 };
  double across = input == IN0 ? b->block_m : b->block_n,
         small = input == IN0 ? s->mac.m : s->mac.n,
         cycles = CALL + EACH * across / small;
  if (clear == MAP_CLEAR_ALL)
    cycles += (b->block_k - b->last_k) * across * dtype_bytes(p->type[input]) /
              VECTOR;
  return clear ? cycles : 0;
}

/* Of both, and for the step to be a call of its own. */
static double clear_cycles(const struct array *s, const struct teir_problem *p,
                           const struct map_blocking *b, bool edges) {
  enum { STEP = 40 };
  const bool turned[] = {s->form->layout[IN0].turned,
                         s->form->layout[IN1].turned};
  const struct map_steps steps = {b->steps_k, b->block_k, b->last_k,
                                  b->block_n};
  if (!b->last_k)
    return 0;
  struct map_end end = map_end_of(&s->mac, p->type, turned, &steps);
  double cycles = 0;
  for (int i = 0; i < OUT; i++)
    cycles += clear_input(s, p, b, end.clear[i], i);
  /* beside a product with edges no kernel of all other steps fits: every one
   * is a call */
  return cycles > 0 ? cycles + STEP * (edges ? b->steps_k : 1) : 0;
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
                          const struct map_core *at, int ways) {
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
  double core = s->lanes               ? macs + sums / port
                : macs > sums / summed ? macs
                                       : sums / summed;
  if (at->by_blocks)
    core += blocks_cycles(s, b, at);
  bool edges = b->block_m % even->m || b->block_n % even->n;
  core += edges ? EDGE_CYCLES : 0;
  double call = is_called(dev, b, edges) ? EDGE_CYCLES : 0;
  struct map_waits waits = map_core_waits(dev, &bytes, b->group_m, core, at);
  double products = s->product > 0
                        ? b->group_m * (s->product + call)
                        : b->group_m * (core + STEP_CYCLES) + waits.step;
  double load0 = b->group_m * (in0 / way_bytes(s, b, IN0) + GAP_CYCLES),
         load1 = in1 / way_bytes(s, b, IN1) + GAP_CYCLES,
         loads = b->steps_k * (load0 > load1 ? load0 : load1);
  sums = bytes.sums;
  double finish = waits.round;
  if (map_finishes(p) && !at->staged)
    finish += b->group_m * (sums + out) / port;
  if (p->finish.bias) { /* loads and moves, and the block that brings it */
    finish += b->group_m * sums / port;
    loads += in1 / stream;
  }
  double round = b->steps_k * products + finish + ROUND_CYCLES;
  round += clear_cycles(s, p, b, edges);
  if (b->group_m > 1 && at->staged)
    round =
        meets * (round + staged_wait(products / b->group_m,
                                     sums / port + COPY_CYCLES, out / stream));
  else if (b->group_m > 1)
    round +=
        group_wait(products / b->group_m, finish / b->group_m, out / stream);
  /* inputs come while results are made; or the column's ways out are the
   * bottleneck */
  return max3(round, loads, drain_cycles(s, b, ways));
}

/* For its products, or for the streams to bring blocks. */
double array_least_cycles(const struct array *s, const struct teir_blocks *x) {
  const int64_t *extent = s->problem->extent, m = x->block[TEIR_M],
                n = x->block[TEIR_N];
  const enum dtype *type = s->problem->type;
  int64_t block_k = x->block[TEIR_K],
          of_k = block_k ? div_up(extent[AXIS_K], block_k) : 0;
  double steps = (double)of_k,
         k = block_k ? steps * (double)block_k : (double)extent[AXIS_K],
         rounds = (double)div_up(extent[AXIS_M], m * x->form * s->grid.m) *
                  (double)div_up(extent[AXIS_N], n * s->grid.n) * x->form,
         row = (double)(m / s->mac.m) * (double)(n / s->mac.n) * s->turned,
         product = row * k / s->mac.k + steps * STEP_CYCLES;
  if (s->form->converts) /* into fewer bytes */
    return rounds * product;
  double in0 = (double)m * k * dtype_bytes(type[IN0]),
         in1 = (double)n * k * dtype_bytes(type[IN1]) / x->form;
  return rounds * max3(product, in0 / stream_of(s), in1 / stream_of(s));
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

double array_ends_cycles(const struct array *s, const struct map_blocking *b) {
  return first_cycles(s) + push_of(s) * map_grid_inputs(&s->grid) / 2 +
         drain_cycles(s, b, array_most_ways(s)) + END_CYCLES * ghz_of(s);
}

/* From the last product's end until all of a core's blocks of out are in a mem
 * tile: the first one of two leaves beside the second one's product. */
static double leaving_cycles(const struct array *s,
                             const struct map_blocking *b, double round) {
  double one = own_out_bytes(s, b) / way_bytes(s, b, OUT),
         product = round / b->steps_k / b->group_m,
         first = b->group_m > 1 && one > product ? one - product : 0;
  return first + one;
}

/* What is left of all when DRAM does what it has to and cores do: it is busy
 * from the first word on, until channels are behind; cores from when they have
 * their first blocks, until the last ones leave. */
static double ends_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_panel *panel,
                          const struct traffic *x, const struct busy *busy) {
  double round = busy->cores / busy->rounds,
         split = s->grid.split > 1 ? x->in0 : 0,
         leaving = leaving_cycles(s, b, round),
         behind = filling_cycles(s, b, panel, IN1) + round / b->steps_k +
                  leaving - busy->beside,
         memory = lost_cycles(s) + split + fmax(behind, 0),
         cores = ready_cycles(s, b, panel, x, busy->held) + leaving,
         share = 1 / (1 + eighth_power((busy->memory - split) / busy->cores));
  return first_cycles(s) + converting_cycles(s, b) + memory +
         share * (cores - memory);
}

/* From the first read until the first blocks of out can leave: other columns'
 * channels are pushed meanwhile. */
static double out_pushed_cycles(const struct array *s, const struct phases *x) {
  const struct map_grid *g = &s->grid;
  int ends = x->ends > 0 ? g->m : 0;
  return (map_grid_inputs(g) + ends + g->columns / 2.0) * push_of(s) +
         LAUNCH_CYCLES * g->columns * ghz_of(s) - first_cycles(s);
}

/* At least so long: all of out leaves behind the first round, whose last blocks
 * come when others were read beside them, as many as rings hold; what else is
 * read comes later, too. */
static double written_cycles(const struct array *s,
                             const struct map_blocking *b,
                             const struct map_panel *panel,
                             const struct traffic *x, const struct busy *busy,
                             const struct phases *phases) {
  double lost = lost_cycles(s), round = busy->cores / busy->rounds,
         cores = ready_cycles(s, b, panel, x, busy->held) + round,
         memory = lost + x->kept * x->in0 + fmax(each_cycles(x), busy->held) +
                  filling_cycles(s, b, panel, IN0) + round / b->steps_k,
         first = fmax(fmax(cores, memory) + leaving_cycles(s, b, round),
                      out_pushed_cycles(s, phases)),
         read = x->kept * x->in0 + each_cycles(x) + busy->held,
         unread = fmax(busy->read - fmin(read, first - lost), 0);
  return first_cycles(s) + first + moving(x, unread, busy->written);
}

/* Channels of a column for out where no tensor lies in place. */
static int blocked_ways(const struct array *s, const struct map_blocking *b,
                        const struct map_panel *panel, double rounds) {
  struct map_block_bytes block = map_block_bytes(s->problem, b);
  int once = panel->chunks ? panel->rounds : 1;
  const double bytes[TENSORS] = {[IN0] = rounds * b->steps_k * b->group_m *
                                         block.in0 / once,
                                 [IN1] = rounds * b->steps_k * block.in1,
                                 [OUT] = rounds * b->group_m * block.out};
  return map_ways_out(s->at->device, &s->grid, bytes);
}

/* What a round takes longer where a mem tile has few buffers for out. */
static double short_of_buffers(const struct array *s,
                               const struct map_blocking *b,
                               const struct map_core *core,
                               const struct map_panel *panel, int ways) {
  double wait = 0;
  if (panel->out < b->group_m) { /* the first blocks are on the way to DRAM */
    double own = own_out_bytes(s, b) * s->grid.rows, memory = 0;
    if (s->at->preset)
      memory = transfer_cycles(s->at->preset, own * s->grid.columns, HUGE_VAL);
    wait = own / (ways * way_bytes(s, b, OUT));
    wait = wait > memory ? wait : memory;
  }
  /* a mem tile is full of the last group while the first block would leave */
  if (core->staged && b->group_m > 1 && panel->out < MAP_MEM_DEPTH_OUT * 2)
    wait += map_block_bytes(s->problem, b).out / stream_of(s);
  return wait;
}

/* The phases of so many rounds in all; false: descriptors cannot walk so. */
static bool count_phases(const struct array *s, const struct map_blocking *b,
                         const struct tile_program *walks,
                         const struct map_panel *panel, int64_t rounds,
                         struct phases *x) {
  bool apart = s->work && map_panel_ends_apart(walks),
       each = array_rounds_are_phases(s, b, apart);
  int64_t together = each && panel->chunks ? panel->rounds
                     : each || (b->rounds_n > 1 && !panel->chunks) ? b->rounds_n
                                                                   : rounds;
  if (s->work && !array_can_walk(s, b, walks, panel, &together))
    return false;
  x->count = (double)rounds / (double)together;
  x->panels = panel->chunks ? (double)rounds / panel->rounds : x->count;
  x->ends = apart ? x->panels : 0;
  x->shares = s->grid.split > 1 ? (panel->ways - 1) * s->grid.m : 0;
  x->ways =
      s->work ? map_joins(walks) : blocked_ways(s, b, panel, (double)rounds);
  return true;
}

/* To push what comes behind the first phase's tasks, and every bias. */
static double later_pushes(const struct array *s, const struct map_panel *panel,
                           const struct phases *x, double rounds) {
  const struct map_grid *g = &s->grid;
  double inputs = (panel->chunks ? 0 : g->m) + g->n,
         tasks = (x->count - 1) * (inputs + x->ways * g->columns);
  if (x->ends)
    tasks += (x->panels - 1) * g->m;
  double bias = s->problem->finish.bias
                    ? rounds * g->columns * TURN_CYCLES * ghz_of(s)
                    : 0;
  return tasks * push_of(s) + bias;
}

double array_launch_cycles(const struct array *s, const struct map_blocking *b,
                           const struct map_core *core,
                           const struct map_panel *panel) {
  /* the products of a batch are such rounds, too */
  struct map_blocking all = *b;
  all.rounds_m *= (int)s->problem->extent[AXIS_C];
  int64_t count = (int64_t)all.rounds_m * all.rounds_n;
  struct tile_program walks;
  struct phases x;
  if (s->work)
    array_walks(s, b, panel, &walks);
  if (!count_phases(s, b, &walks, panel, count, &x))
    return HUGE_VAL;
  double round =
      array_round_cycles(s->at->device, s->problem, s, b, core, x.ways) +
      short_of_buffers(s, b, core, panel, x.ways);
  const struct traffic traffic = round_traffic(s, &all, &walks, panel);
  double rounds = rounds_cycles(s, &all, &traffic, panel, round),
         pushes = later_pushes(s, panel, &x, (double)count),
         read = reading_cycles(&all, &traffic, panel);
  x.last = drain_cycles(s, b, 1);
  x.out = (double)count / x.count * x.last;
  x.rounds = (double)count / x.count * round;
  const struct busy busy = {
      .cores = (double)count * round,
      .rounds = (double)count,
      .memory = moving(&traffic, read, (double)(count - 1) * traffic.out),
      .read = read,
      .held = held_cycles(&all, panel, &traffic),
      .beside = count > 1 ? traffic.out : 0,
      .written = (double)count * traffic.out};
  /* all columns' last blocks, at once */
  double last = fmax(x.last / x.ways, moving(&traffic, 0, traffic.out)),
         done = ends_cycles(s, b, panel, &traffic, &busy) +
                fmax(rounds, pushes) + last,
         written = written_cycles(s, b, panel, &traffic, &busy, &x),
         cycles = fmax(done, written) + end_cycles(s, x.ways);
  const double equal = 1e-4; /* the shorter one of two that wait for pushes */
  double least = push_cycles(s, &x);
  return cycles > least ? cycles : least + equal * cycles;
}

double array_apart_cycles(const struct array *s, const struct map_blocking *b,
                          const struct map_core *at) {
  const struct teir_problem *p = s->problem;
  const struct preset *q = s->at->preset;
  struct map_block_bytes bytes = map_block_bytes(p, b);
  double in0 = bytes.in0, in1 = bytes.in1, out = bytes.out,
         products = (double)p->extent[AXIS_C],
         turns = products / map_grid_products(&s->grid);
  double round = array_round_cycles(s->at->device, p, s, b, at, WAYS_OUT);
  double shim = s->grid.rows * max3(in0, in1, out / WAYS_OUT) / stream_of(s),
         core = max3(round, (in0 + in1) / stream_of(s), out / stream_of(s));
  double turn = shim > core ? shim : core;
  /* whole matrices, whose rows run on unless there are gaps */
  double memory =
      q ? transfer_cycles(q, products * (in0 + in1 + out), HUGE_VAL) : 0;
  double cycles = array_ends_cycles(s, b) + (in0 + in1 + out) / stream_of(s) +
                  both(turns * turn, memory);
  double least = END_CYCLES * ghz_of(s) +
                 push_of(s) * s->grid.columns * (2 + WAYS_OUT) +
                 out / stream_of(s);
  return cycles > least ? cycles : least;
}
