/* legal.c -- what may be done to a nest that computes the right thing: is the
 * sum free to be reordered, are the types ours, is every place of out written
 * by one iteration only, is the work worth it. */
#include "recognizer_parts.h"

#include <assert.h>

/* ---- types ---- */

/* Integers that the multiply unit has: the wider one comes first. */
static const struct {
  enum dtype in0, in1;
} integers[] = {
    {DTYPE_I8, DTYPE_I8}, {DTYPE_U8, DTYPE_I8},  {DTYPE_I8, DTYPE_U8},
    {DTYPE_U8, DTYPE_U8}, {DTYPE_I16, DTYPE_I8}, {DTYPE_I16, DTYPE_I16},
};

/* How many products a place sums; -1: not known, or beyond 64 bits. */
static int64_t sum_length(const struct contraction *c) {
  int64_t length = 1;
  for (int i = 0; i < c->axis_count; i++)
    if (c->axis[i].role == AXIS_K &&
        (c->axis[i].extent.symbol >= 0 ||
         __builtin_mul_overflow(length, c->axis[i].extent.constant, &length)))
      return -1;
  return length;
}

/* An element's magnitude is at most 2 to this power. */
static int magnitude_bits(enum dtype t) {
  int bits = 8 * dtype_bytes(t);
  return dtype_kind(t) == DTYPE_UNSIGNED ? bits : bits - 1;
}

/* Does a sum of so many products never leave 32 bits?  Of two elements of 32
 * bits one product may: its bound does not even fit in 64. */
static bool fits_32_bits(const struct contraction *c, int64_t length) {
  int bits = magnitude_bits(multiplied_type(c, IN0)) +
             magnitude_bits(multiplied_type(c, IN1));
  return length >= 0 && bits < 31 && length <= INT32_MAX >> bits;
}

/* What maps give must fit in 16 bits, of which the runtime makes sure; the
 * multiply unit takes no other type beside them than i8. */
enum dtype multiplied_type(const struct contraction *c, int input) {
  assert(input == IN0 || input == IN1);
  bool beside = c->map[IN0 + IN1 - input] && c->type[input] != DTYPE_I8;
  return c->map[input] || beside ? DTYPE_I16 : c->type[input];
}

static bool decline_types(const struct contraction *c, enum dtype sum,
                          struct verdict *v) {
  return verdict_decline(v, RULE_TYPES, c->at,
                         "the NPU does not compute %s += %s * %s summed in %s",
                         dtype_name(c->type[OUT]), dtype_name(c->type[IN0]),
                         dtype_name(c->type[IN1]), dtype_name(sum));
}

static bool decline_wide(const struct contraction *c, int64_t length,
                         struct verdict *v) {
  if (length < 0)
    return verdict_decline(v, RULE_WIDE_SUM, c->at,
                           "the sum is formed in 64 bits, and its length is "
                           "not known");
  return verdict_decline(v, RULE_WIDE_SUM, c->at,
                         "a sum of %lld products of %s and %s may need more "
                         "than 32 bits",
                         (long long)length, dtype_name(c->type[IN0]),
                         dtype_name(c->type[IN1]));
}

static bool has_32_bits(enum dtype t) {
  return dtype_bytes(t) == 4 && dtype_kind(t) != DTYPE_FLOAT;
}

/* The runtime splits 32 bits into halves, beside anything that is no wider. */
static bool is_split(const struct contraction *c) {
  enum dtype in0 = multiplied_type(c, IN0), in1 = multiplied_type(c, IN1);
  return (has_32_bits(in0) && dtype_bytes(in1) <= 4) ||
         (has_32_bits(in1) && dtype_bytes(in0) <= 4);
}

static bool npu_multiplies(const struct contraction *c) {
  if (is_split(c))
    return true;
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    if (multiplied_type(c, IN0) == integers[i].in0 &&
        multiplied_type(c, IN1) == integers[i].in1)
      return true;
  return false;
}

/* Sums of integers are formed modulo 2^32, of which narrower results are the
 * low bits; a wider sum must not be able to leave 32 bits, or is left to the
 * host, which multiplies all integers modulo 2^64. */
static bool legal_integers(struct contraction *c, enum dtype sum,
                           const struct options *o, struct verdict *v) {
  bool npu = npu_multiplies(c);
  if (dtype_kind(c->type[IN0]) == DTYPE_FLOAT ||
      dtype_kind(c->type[IN1]) == DTYPE_FLOAT || (!npu && !options_any_type(o)))
    return decline_types(c, sum, v);
  c->acc = DTYPE_I32;
  if (dtype_bytes(sum) <= 4)
    return true;
  int64_t length = sum_length(c);
  if (npu && fits_32_bits(c, length))
    return true;
  c->acc = DTYPE_I64;
  return options_any_type(o) || decline_wide(c, length, v);
}

static enum dtype factor_type(const struct contraction *c, int input) {
  return c->map[input] ? c->map[input]->type : c->type[input];
}

/* Products of bf16 are exact in f32.  Other floats need leave to be rounded,
 * or a device that has them; so do integers that become floats. */
static bool legal_floats(struct contraction *c, enum dtype sum,
                         const struct options *o, struct verdict *v) {
  bool bf16 = c->type[IN0] == DTYPE_BF16 && c->type[IN1] == DTYPE_BF16 &&
              !c->map[IN0] && !c->map[IN1];
  if (!bf16 && !options_wide_floats(o))
    return verdict_decline(v, RULE_FLOAT_INPUT, c->at,
                           "%s are multiplied by %s, which the NPU does not do",
                           dtype_name(factor_type(c, IN0)),
                           dtype_name(factor_type(c, IN1)));
  if (bf16 && sum == DTYPE_F64 && !options_any_type(o) && o->fp != FP_RELAXED)
    return verdict_decline(v, RULE_WIDE_SUM, c->at,
                           "the sum is formed in double, but the NPU's is "
                           "float");
  bool rounds = o->f32 != F32_KEEP && !options_on_cpu(o);
  bool wide = sum == DTYPE_F64 && options_any_type(o) && !rounds;
  c->acc = wide ? DTYPE_F64 : DTYPE_F32;
  return true;
}

bool legal_types(struct contraction *c, enum dtype sum, const struct options *o,
                 struct verdict *v) {
  return dtype_kind(sum) == DTYPE_FLOAT ? legal_floats(c, sum, o, v)
                                        : legal_integers(c, sum, o, v);
}

bool legal_order(enum dtype acc, bool reassoc, struct loc at,
                 const struct options *o, struct verdict *v) {
  if (dtype_kind(acc) != DTYPE_FLOAT || reassoc || o->fp == FP_RELAXED)
    return true;
  return verdict_decline(v, RULE_NEEDS_REASSOC, at,
                         "the sum of floats would be formed in another order");
}

/* ---- places ---- */

static bool falls(struct value stride) {
  return stride.symbol < 0 && stride.constant < 0;
}

static bool rises(struct value stride) {
  return stride.symbol >= 0 || stride.constant > 0;
}

/* The strides of axis i in all tensors. */
static struct value *stride(struct contraction *c, int i, int tensor) {
  return tensor < TENSORS ? &c->axis[i].stride_bytes[tensor]
                          : &c->extra[tensor - TENSORS].stride_bytes[i];
}

static int64_t *offset(struct contraction *c, int tensor) {
  return tensor < TENSORS ? &c->offset_bytes[tensor]
                          : &c->extra[tensor - TENSORS].offset_bytes;
}

static bool reverse_limit(struct affine_guard *l, int i, struct value extent) {
  struct value *step = &l->step[i];
  int64_t way;
  if (value_is(*step, 0))
    return true;
  if (step->symbol >= 0 || l->start.symbol >= 0 ||
      __builtin_mul_overflow(step->constant, extent.constant - 1, &way) ||
      __builtin_add_overflow(l->start.constant, way, &l->start.constant))
    return false;
  step->constant = -step->constant;
  return true;
}

/* From its last iteration to its first. */
static bool reverse_axis(struct contraction *c, int i) {
  struct value extent = c->axis[i].extent;
  if (extent.symbol >= 0)
    return false;
  for (int l = 0; l < c->limit_count; l++)
    if (!reverse_limit(&c->limit[l], i, extent))
      return false;
  for (int t = 0; t < TENSORS + c->extra_count; t++) {
    struct value *s = stride(c, i, t);
    int64_t way;
    if (__builtin_mul_overflow(s->constant, extent.constant - 1, &way) ||
        __builtin_add_overflow(*offset(c, t), way, offset(c, t)))
      return false;
    s->constant = -s->constant;
  }
  return true;
}

bool legal_directions(struct contraction *c, struct verdict *v) {
  for (int i = 0; i < c->axis_count; i++) {
    bool down = false, up = false;
    for (int t = 0; t < TENSORS + c->extra_count; t++) {
      down |= falls(*stride(c, i, t));
      up |= rises(*stride(c, i, t));
    }
    if (down && (up || !reverse_axis(c, i)))
      return verdict_decline(v, RULE_DIRECTIONS, c->axis[i].at,
                             "loop %s has a negative stride in one array and a "
                             "positive one in another",
                             c->axis[i].name);
  }
  return true;
}

/* Axes that move out: constant strides ascending, then run-time strides from
 * the innermost loop. */
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
  assert(count <= c->axis_count);
  return count;
}

/* large >= small * count: true, false, or a guard when it cannot be known. */
static bool require(struct contraction *c, struct value large,
                    struct value small, struct value count) {
  assert(small.symbol >= 0 || small.constant > 0); /* nothing steps back */
  if (large.symbol < 0 && small.symbol < 0 && count.symbol < 0) {
    int64_t product;
    return !__builtin_mul_overflow(small.constant, count.constant, &product) &&
           large.constant >= product;
  }
  /* Holds for one iteration only: not worth a call that is never made. */
  if (large.symbol < 0 && small.symbol < 0 &&
      large.constant < 2 * small.constant)
    return false;
  c->guard[c->guard_count++] = (struct contraction_guard){
      .large = large, .small = small, .count = count};
  return true;
}

/* x, of which the stride is known at run time, steps over all of each of the
 * axes before it in `order`, or they over all of x. */
static void require_apart(struct contraction *c, const int *order, int x) {
  const struct contraction_axis *a = &c->axis[order[x]];
  struct value element = value_of(dtype_bytes(c->type[OUT]));
  bool above = false; /* an element at least */
  for (int i = 0; i < x; i++) {
    const struct contraction_axis *b = &c->axis[order[i]];
    struct value s = b->stride_bytes[OUT];
    bool either = s.symbol >= 0 || s.constant > element.constant;
    above |= !either;
    c->guard[c->guard_count++] =
        (struct contraction_guard){.large = a->stride_bytes[OUT],
                                   .small = s,
                                   .count = b->extent,
                                   .turned = a->extent,
                                   .either = either};
  }
  if (!above)
    c->guard[c->guard_count++] = (struct contraction_guard){
        .large = a->stride_bytes[OUT], .small = element, .count = value_of(1)};
}

/* Of two axes, one steps over everything that the other reaches; so no two
 * iterations write one place, and blocks of out can be computed apart. */
bool legal_out(struct arena *a, struct contraction *c, struct verdict *v) {
  int *order = arena_array(a, (size_t)c->axis_count, sizeof *order);
  c->guard = arena_array(a, (size_t)c->axis_count * (size_t)c->axis_count,
                         sizeof *c->guard);
  c->guard_count = 0;
  int count = out_order(c, order);
  struct value small = value_of(dtype_bytes(c->type[OUT]));
  struct value steps = value_of(1);
  for (int i = 0; i < count; i++) {
    const struct contraction_axis *x = &c->axis[order[i]];
    if (x->stride_bytes[OUT].symbol >= 0) {
      require_apart(c, order, i);
      continue;
    }
    if (!require(c, x->stride_bytes[OUT], small, steps))
      return verdict_decline(v, RULE_OVERLAPS_SELF, x->at,
                             "iterations of loop %s write places of the "
                             "result that other iterations write too",
                             x->name);
    small = x->stride_bytes[OUT];
    steps = x->extent;
  }
  assert(c->guard_count <= c->axis_count * c->axis_count);
  return true;
}

/* Multiplies *n by the extents of the axes that move `tensor`, or of all axes
 * where it is TENSORS; false: known at run time only, or too large a number. */
static bool times_extents(const struct contraction *c, int tensor, int64_t *n) {
  for (int i = 0; i < c->axis_count; i++) {
    const struct contraction_axis *x = &c->axis[i];
    bool moves = tensor == TENSORS || !value_is(x->stride_bytes[tensor], 0);
    if (moves && (x->extent.symbol >= 0 ||
                  __builtin_mul_overflow(*n, x->extent.constant, n)))
      return false;
  }
  return true;
}

/* A launch costs 45 us at least; a core multiplies this often in a tenth of
 * that, whatever the loop.  Less work than this, known when compiling, keeps
 * its code where nothing is said about it: 16 x 16 x 16 is the smallest cube
 * that is replaced. */
enum { LAUNCH_MACS = 1 << 12 };

/* The work below which no device is worth a call.  A simulated or host device
 * takes every size, and so does who requires that nests are replaced. */
static int64_t least_macs(const struct options *o) {
  if (options_for_tests(o) || options_on_cpu(o))
    return 0;
  if (o->min_macs >= 0)
    return o->min_macs;
  return o->require ? 0 : LAUNCH_MACS;
}

bool legal_size(const struct contraction *c, const struct options *o,
                struct verdict *v) {
  int64_t macs = 1, first = 1, bytes = 0, least = least_macs(o);
  if (!times_extents(c, TENSORS, &macs) ||
      (c->first && !times_extents(c->first, TENSORS, &first)) ||
      (c->first && __builtin_add_overflow(macs, first, &macs)))
    return true; /* decided at run time */
  for (int t = 0; t < TENSORS; t++) {
    int64_t of_tensor = dtype_bytes(c->type[t]);
    if (times_extents(c, t, &of_tensor))
      bytes += of_tensor;
  }
  assert(macs >= 0 && bytes >= 0 && least >= 0);
  v->macs = macs;
  v->bytes = bytes;
  if (macs >= least)
    return true;
  if (o->min_macs < 0)
    return verdict_decline(v, RULE_BELOW_THRESHOLD, c->at,
                           "%lld multiply-accumulates end on the CPU before an "
                           "NPU is launched; min-macs is %lld",
                           (long long)macs, (long long)least);
  return verdict_decline(v, RULE_BELOW_THRESHOLD, c->at,
                         "%lld multiply-accumulates are fewer than min-macs, "
                         "%lld",
                         (long long)macs, (long long)least);
}
