/* cost.c -- what a round costs on the array: the cycles of its products and of
 * the streams that bring blocks and take them away.
 *
 * A step of k costs the slower one of the multiply unit and of loading and
 * storing the block of sums (kernels keep them in memory between steps); and a
 * round its steps with what ends it, or what the streams take that fill its
 * blocks.  All are cycle counts that follow from the shapes (results.md section
 * 0.3).  A core may hold two blocks of out at once, which halves the reads of
 * in1 and shows part of the way out.  The constants are what the core program
 * and the kernels add to that on the simulator.
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
  ROUND_CYCLES = 60, /* locks around a block of out */
  COPY_CYCLES = 60,  /* of a copy, its call */
};

/* Short divisions: the search has a million of them. */
static int64_t div_up(int64_t a, int64_t b) {
  assert(b > 0 && b <= UINT32_MAX && a + b - 1 <= UINT32_MAX);
  return (uint32_t)(a + b - 1) / (uint32_t)b;
}

double array_own_side(const struct array *s, const struct map_blocking *b,
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

double array_out_bytes(const struct array *s, const struct map_blocking *b) {
  return array_own_side(s, b, AXIS_M, OUT) * array_own_side(s, b, AXIS_N, OUT) *
         dtype_bytes(s->problem->type[OUT]);
}

static double stream_of(const struct array *s) {
  return map_stream_bytes(s->at->device);
}

double array_shim_bytes(const struct array *s, bool read) {
  const struct preset *q = s->at->preset;
  double most =
      q ? (read ? q->most_read : q->most_written).channel / (q->clock_ghz * 1e9)
        : 0;
  return most > 0 && most < stream_of(s) ? most : stream_of(s);
}

int array_most_ways(const struct array *s) {
  return s->grid.rows == 1 ? 1 : ARRAY_WAYS_OUT;
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

double array_way_bytes(const struct array *s, const struct map_blocking *b,
                       int tensor) {
  enum { WORD = 4 };
  const struct map_layout *x = s->form->layout;
  const enum dtype *type = s->problem->type;
  const int side[] = {
      [AXIS_M] = s->mac.m, [AXIS_N] = s->mac.n, [AXIS_K] = s->mac.k};
  double most =
      tensor == IN0 ? stream_of(s) : array_shim_bytes(s, tensor != OUT);
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

double array_drain_cycles(const struct array *s, const struct map_blocking *b,
                          int ways) {
  return b->group_m * array_out_bytes(s, b) * s->grid.rows /
         (ways * array_way_bytes(s, b, OUT));
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
  double load0 = b->group_m * (in0 / array_way_bytes(s, b, IN0) + GAP_CYCLES),
         load1 = in1 / array_way_bytes(s, b, IN1) + GAP_CYCLES,
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
  return array_max3(round, loads, array_drain_cycles(s, b, ways));
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
  return rounds * array_max3(product, in0 / stream_of(s), in1 / stream_of(s));
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
