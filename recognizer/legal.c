/* legal.c -- what may be done to a nest that computes the right thing: is the
 * sum free to be reordered, are the types ours, is every place of out written
 * by one iteration only, is the work worth it. */
#include "recognizer_parts.h"

/* Inputs, output and sum that keep the source's numbers: integers modulo 2^n,
 * products of bf16 exactly in f32.  The wider input comes first, as the
 * multiply unit has it. */
static const struct {
  enum dtype in0, in1, out, acc;
} taken[] = {
    {DTYPE_BF16, DTYPE_BF16, DTYPE_F32, DTYPE_F32},
    {DTYPE_I8, DTYPE_I8, DTYPE_I32, DTYPE_I32},
    {DTYPE_U8, DTYPE_I8, DTYPE_I32, DTYPE_I32},
    {DTYPE_I8, DTYPE_U8, DTYPE_I32, DTYPE_I32},
    {DTYPE_U8, DTYPE_U8, DTYPE_I32, DTYPE_I32},
    {DTYPE_I16, DTYPE_I8, DTYPE_I32, DTYPE_I32},
};

bool legal_types(const struct contraction *c, struct verdict *v) {
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (c->type[IN0] == taken[i].in0 && c->type[IN1] == taken[i].in1 &&
        c->type[OUT] == taken[i].out && c->acc == taken[i].acc)
      return true;
  bool f32 = c->type[IN0] == DTYPE_F32 && c->type[IN1] == DTYPE_F32 &&
             c->type[OUT] == DTYPE_F32 && c->acc == DTYPE_F32;
  if (f32)
    return verdict_decline(v, RULE_FLOAT_INPUT, c->at,
                           "both inputs are float, which the NPU does not "
                           "multiply");
  return verdict_decline(v, RULE_TYPES, c->at,
                         "the NPU does not compute %s += %s * %s summed in %s",
                         dtype_name(c->type[OUT]), dtype_name(c->type[IN0]),
                         dtype_name(c->type[IN1]), dtype_name(c->acc));
}

bool legal_order(enum dtype acc, bool reassoc, struct loc at,
                 const struct options *o, struct verdict *v) {
  if (dtype_kind(acc) != DTYPE_FLOAT || reassoc || o->fp == FP_RELAXED)
    return true;
  return verdict_decline(v, RULE_NEEDS_REASSOC, at,
                         "the sum of floats would be formed in another order");
}

/* Axes that move out, from the innermost place outwards: constant strides
 * ascending, then run-time strides from the innermost loop.  A wrong guess
 * costs the offload, never the result: the guard fails. */
static int out_order(const struct contraction *c, int *order) {
  int count = 0;
  for (int i = c->axis_count - 1; i >= 0; i--) {
    struct value s = c->axis[i].stride_bytes[OUT];
    if (value_is(s, 0))
      continue;
    int at = count++;
    while (at > 0) {
      struct value before = c->axis[order[at - 1]].stride_bytes[OUT];
      if (s.symbol >= 0 || (before.symbol < 0 && before.constant <= s.constant))
        break;
      order[at] = order[at - 1];
      at--;
    }
    order[at] = i;
  }
  return count;
}

/* large >= small * count: true, false, or a guard when it cannot be known. */
static bool require(struct contraction *c, struct value large,
                    struct value small, struct value count) {
  if (large.symbol < 0 && small.symbol < 0 && count.symbol < 0) {
    int64_t product;
    return !__builtin_mul_overflow(small.constant, count.constant, &product) &&
           large.constant >= product;
  }
  /* Holds for one iteration only: not worth a call that is never made. */
  if (large.symbol < 0 && small.symbol < 0 &&
      large.constant < 2 * small.constant)
    return false;
  c->guard[c->guard_count++] = (struct contraction_guard){large, small, count};
  return true;
}

/* Each axis steps over everything that the faster axes reach; so no two
 * iterations write one place, and blocks of out can be computed apart. */
bool legal_out(struct arena *a, struct contraction *c, struct verdict *v) {
  int *order = arena_array(a, (size_t)c->axis_count, sizeof *order);
  c->guard = arena_array(a, (size_t)c->axis_count, sizeof *c->guard);
  c->guard_count = 0;
  int count = out_order(c, order);
  struct value small = value_of(dtype_bytes(c->type[OUT]));
  struct value steps = value_of(1);
  for (int i = 0; i < count; i++) {
    const struct contraction_axis *x = &c->axis[order[i]];
    if (!require(c, x->stride_bytes[OUT], small, steps))
      return verdict_decline(v, RULE_OVERLAPS_SELF, x->at,
                             "iterations of loop %s write places of the "
                             "result that other iterations write too",
                             x->name);
    small = x->stride_bytes[OUT];
    steps = x->extent;
  }
  return true;
}

/* The gate is for silicon: a simulated or host device takes every size. */
bool legal_size(const struct contraction *c, const struct options *o,
                struct verdict *v) {
  bool silicon = o->device && o->device[0] == 'n'; /* npu1, npu4 */
  int64_t macs = 1;
  for (int i = 0; i < c->axis_count; i++)
    if (c->axis[i].extent.symbol >= 0 ||
        __builtin_mul_overflow(macs, c->axis[i].extent.constant, &macs))
      return true; /* decided at run time */
  if (!silicon || o->min_macs < 0 || macs >= o->min_macs)
    return true;
  return verdict_decline(v, RULE_BELOW_THRESHOLD, c->at,
                         "%lld multiply-accumulates are fewer than min-macs, "
                         "%lld",
                         (long long)macs, (long long)o->min_macs);
}
