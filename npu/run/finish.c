/* finish.c -- which products the array brings to out's type by itself, so that
 * narrow results leave it and no sums: conversions, for integers with a ReLU or
 * a rounding shift with saturation, always with the bits of the expression.
 *
 * Not among them: a float ReLU, because the array's keeps NaN; anything that
 * reads more than the sum; and what needs the sum of several launches along K.
 */
#include "parts.h"

/* The expression down to the sum, as matched so far. */
struct match {
  const struct product *p;
  const struct calc *c;
};

static bool is_sum(const struct match *m) {
  return m->c->op == CALC_INPUT && m->p->input[m->c->input] == SUMS;
}

/* `op` of the rest and an integer constant, on either side unless it is a
 * shift: steps into the rest. */
static bool step(struct match *m, enum calc_op op, int64_t *constant) {
  if (m->c->op != op || dtype_kind(m->c->type) == DTYPE_FLOAT)
    return false;
  bool swapped = op != CALC_SHR && m->c->arg[0]->op == CALC_NUMBER;
  const struct calc *number = m->c->arg[!swapped];
  if (number->op != CALC_NUMBER)
    return false;
  *constant = number->integer;
  m->c = m->c->arg[swapped];
  return true;
}

static int64_t highest(enum dtype t) {
  int bits = 8 * dtype_bytes(t) - (dtype_kind(t) == DTYPE_SIGNED);
  return bits < 63 ? ((int64_t)1 << bits) - 1 : INT64_MAX;
}
static int64_t lowest(enum dtype t) {
  return dtype_kind(t) == DTYPE_SIGNED ? -highest(t) - 1 : 0;
}

/* min(max(.., low), high) in either order. */
static bool clamps(struct match *m, int64_t *low, int64_t *high) {
  if (step(m, CALC_MIN, high))
    return step(m, CALC_MAX, low);
  return step(m, CALC_MAX, low) && step(m, CALC_MIN, high);
}

/* Whether sums and half a result stay below 2^31, so that the source's addition
 * does not wrap, which the array's does not. */
static bool half_fits(const struct product *p, int64_t half) {
  int64_t product = highest(p->type[IN0]) + 1, sum;
  return !__builtin_mul_overflow(product, highest(p->type[IN1]) + 1,
                                 &product) &&
         !__builtin_mul_overflow(product, p->extent[AXIS_K], &sum) &&
         sum <= INT32_MAX - half;
}

/* (sum + half) >> shift, clamped to out's range, or from zero on. */
static bool shifts(struct match m, enum dtype out, struct teir_finish *f) {
  int64_t low, high, shift = 0, half = 0;
  if (!clamps(&m, &low, &high) || high != highest(out) ||
      (low != lowest(out) && low != 0))
    return false;
  if (step(&m, CALC_SHR, &shift) &&
      (shift < 1 || shift > 31 || !step(&m, CALC_ADD, &half) ||
       half != (int64_t)1 << (shift - 1) || !half_fits(m.p, half)))
    return false;
  *f = (struct teir_finish){
      .relu = low > lowest(out), .saturate = true, .shift = (int)shift};
  return is_sum(&m);
}

static bool relus(struct match m, struct teir_finish *f) {
  int64_t zero;
  *f = (struct teir_finish){.relu = true};
  return step(&m, CALC_MAX, &zero) && zero == 0 && is_sum(&m);
}

bool finish_read(const struct product *p, struct teir_finish *f) {
  enum dtype out = p->type[OUT];
  *f = (struct teir_finish){0};
  if (p->accumulate)
    return false;
  bool narrower = dtype_bytes(out) < dtype_bytes(p->acc);
  if (!p->epilogue)
    return dtype_bytes(out) < 4 && dtype_kind(out) != DTYPE_FLOAT;
  struct match m = {p, p->epilogue};
  bool cast = m.c->op == CALC_CAST;
  if (cast)
    m.c = m.c->arg[0];
  if (is_sum(&m))
    return cast && narrower &&
           (dtype_kind(out) == DTYPE_FLOAT ? p->acc == DTYPE_F32
                                           : dtype_kind(p->acc) != DTYPE_FLOAT);
  if (p->acc != DTYPE_I32 || m.c->type != DTYPE_I32 ||
      dtype_kind(out) == DTYPE_FLOAT || dtype_bytes(out) > 4)
    return false;
  return (narrower && shifts(m, out, f)) || relus(m, f);
}
