/* kernel_price.c -- what the kernel of a block costs beside the multiplies: by
 * tables of what was measured, or by its schedule. */
#include "choose.h"

#include <assert.h>

static bool turns_sums(const struct device *dev, const struct teir_problem *p,
                       const struct map_layout x[TENSORS]) {
  return map_turns_sums(
      dev, p, (const bool[]){x[IN0].turned, x[IN1].turned, x[OUT].turned});
}

double array_turned_cost(const struct device *dev, const struct teir_problem *p,
                         const struct kernel_shape *unit,
                         const struct map_layout x[TENSORS]) {
  static const double floats[8] = {1, 1.08, 1, 1, 1, 1, 1.08, 1},
                      bytes[8] = {1, 1.02, 1.02, 1.40, 1.02, 1.08, 1.26, 1.43},
                      words[8] = {1, 1.12, 1, 1, 1, 1, 1.12, 1},
                      large[8] = {1, 1.02, 1, 1, 1, 1, 1.02, 1},
                      lanes[8] = {2.2, 2.8, 4.2, 4.8, 2.2, 2.8, 4.2, 4.8};
  if (kernel_gemm_by_blocks(map_isa(dev), p->type[IN0], p->type[IN1], p->acc))
    return 1; /* what turns them counts by itself */
  bool sums = turns_sums(dev, p, x);
  bool by_lanes =
      kernel_gemm_by_lanes(map_isa(dev), p->type[IN0], p->type[IN1], p->acc);
  const double *cost = by_lanes                             ? lanes
                       : unit->m * unit->k * unit->n == 512 ? large
                       : dtype_is_bf16(p->type[IN0])        ? floats
                       : dtype_bytes(p->type[IN1]) == 1     ? bytes
                                                            : words;
  return cost[4 * x[IN0].turned + 2 * x[IN1].turned + sums];
}

double array_strip_cost(const struct device *dev,
                        const struct teir_problem *p) {
  return kernel_gemm_by_lanes(map_isa(dev), p->type[IN0], p->type[IN1], p->acc)
             ? 1.87
             : 1;
}

/* The kernel that npu/design makes of it. */
static struct kernel_gemm kernel_of(const struct device *dev,
                                    const struct teir_problem *p,
                                    const struct map_blocking *b,
                                    const struct map_core *core) {
  return (struct kernel_gemm){.name = "product",
                              .isa = map_isa(dev),
                              .in0 = p->type[IN0],
                              .in1 = p->type[IN1],
                              .out = p->acc,
                              .m = b->block_m,
                              .k = b->block_k,
                              .n = b->block_n,
                              .ta = b->form.layout[IN0].turned,
                              .tb = b->form.layout[IN1].turned,
                              .tc = turns_sums(dev, p, b->form.layout),
                              .tall = map_tall(b->group_m),
                              .yields = true,
                              .joined = core->joined,
                              .saturation = KERNEL_WRAP};
}

/* Bytes that a core's channel writes one behind the other: where zeros follow a
 * block's k, it cuts what is contiguous along k into small matrices, unless the
 * mem tile does (npu/design/core.c). */
static uint32_t run_of(const struct array *s, const struct map_blocking *b,
                       int input) {
  bool padded = b->valid_k && b->valid_k < b->block_k,
       inside = b->last_k % s->mac.k != 0,
       turned = b->form.layout[input].turned,
       along_k = turned == (input == IN1),
       cut = map_cuts_words(&s->mac, s->problem->type[input], turned, input);
  return (padded || inside) && along_k && !cut
             ? (uint32_t)(s->mac.k * dtype_bytes(s->problem->type[input]))
             : 0;
}

double array_measured_cycles(struct array *s, const struct map_blocking *b) {
  const struct device *dev = s->at->device;
  const struct teir_problem *p = s->problem;
  struct map_core core;
  struct map_panel panel;
  struct diag d = {0};
  bool good = array_fits(dev, p, b, &core) && map_mem_panel(dev, p, b, &panel);
  assert(good);
  struct kernel_gemm k = kernel_of(dev, p, b, &core);
  struct kernel_places places = {
      .group = b->group_m,
      .a = {core.in0[0], core.in0[1]},
      .b = {core.in1[0], core.in1[1]},
      .c = {map_sums(&core, b->group_m, 0), map_sums(&core, b->group_m, 1)},
      .run = {run_of(s, b, IN0), run_of(s, b, IN1)}};
  if (!good || !kernel_gemm_loaded(s->scratch, &k, &places, &s->product, &d))
    return b->predicted_cycles;
  double cycles = s->product < HUGE_VAL
                      ? array_launch_cycles(s, b, &core, &panel)
                      : HUGE_VAL;
  s->product = 0;
  return cycles;
}
