/* split.c -- inputs of types that the device does not multiply, as several
 * products of types that it does.
 *
 * Floats: rounded to bf16, a number keeps 8 bits.  Split in two bf16,
 * x = high + low, it keeps 16, and
 *   x * y = high(x) * high(y) + high(x) * low(y) + low(x) * high(y)
 * but for about 2^-16 of it.  That is one product of three times the K extent:
 * [high, high, low] of in0 by [high, low, high] of in1.  What is infinite as a
 * bf16 counts in the first third only, so that it meets no zero there.
 *
 * Integers of 32 bits: x = high * 2^16 + low, both signed, and modulo 2^32
 *   x * y = low(x) * low(y) + 2^16 * (low(x) * high(y) + high(x) * low(y)).
 * That is one product of twice the K and twice the N extent,
 *   [low(x), high(x)] by [low(y), high(y)]
 *                        [  0   ,  low(y) ]
 * whose two halves along N are the two sums.  Where one input alone is wide, M
 * or N is there twice.
 */
#include "launch.h"

#include <assert.h>
#include <math.h>

/* ---- floats ---- */

enum part { ROUNDED, HIGH, LOW };

static const struct calc *float_part(struct arena *a, enum dtype from,
                                     enum part part) {
  const struct calc *x = calc_input(a, 0, from);
  const struct calc *high = calc_cast(a, DTYPE_BF16, x);
  if (part == ROUNDED)
    return high;
  const struct calc *wide = calc_cast(a, from, high);
  const struct calc *finite =
      calc_make(a, CALC_LT, calc_make(a, CALC_ABS, wide, NULL, NULL),
                calc_float(a, from, INFINITY), NULL);
  const struct calc *low =
      calc_cast(a, DTYPE_BF16, calc_make(a, CALC_SUB, x, wide, NULL));
  return calc_make(a, CALC_SELECT, finite, part == HIGH ? high : low,
                   calc_float(a, DTYPE_BF16, 0));
}

static const struct calc *float_copy(struct arena *a, enum dtype from,
                                     int tensor, int along_k) {
  static const enum part part[][SPLIT_COPIES] = {
      [IN0] = {ROUNDED, HIGH, LOW}, [IN1] = {ROUNDED, LOW, HIGH}};
  return float_part(a, from, part[tensor][along_k]);
}

/* ---- integers ---- */

static const struct calc *low_half(struct arena *a, enum dtype from) {
  return calc_cast(a, DTYPE_I16, calc_input(a, 0, from));
}

/* What is left above the low half, which may be negative. */
static const struct calc *high_half(struct arena *a, enum dtype from) {
  const struct calc *x = calc_cast(a, DTYPE_I32, calc_input(a, 0, from));
  const struct calc *low = calc_cast(a, DTYPE_I32, low_half(a, from));
  return calc_cast(a, DTYPE_I16,
                   calc_make(a, CALC_SHR, calc_make(a, CALC_SUB, x, low, NULL),
                             calc_int(a, DTYPE_I32, 16), NULL));
}

static const struct calc *no_half(struct arena *a, enum dtype from) {
  const struct calc *low = low_half(a, from);
  return calc_make(a, CALC_SUB, low, low, NULL);
}

/* Which of its halves an input of 32 bits is in a copy. */
static const struct calc *int_copy(struct arena *a, enum dtype from,
                                   const struct recipe *r, int tensor,
                                   const int copy[AXIS_ROLES]) {
  bool both = r->copies[AXIS_K] > 1;
  int across = copy[tensor == IN0 ? AXIS_M : AXIS_N];
  if (both && tensor == IN1 && copy[AXIS_K])
    return across ? low_half(a, from) : no_half(a, from);
  bool high = both && tensor == IN0 ? copy[AXIS_K] : across;
  return high ? high_half(a, from) : low_half(a, from);
}

/* ---- both ---- */

bool split_is_wide(const struct product *p, int tensor) {
  enum dtype t = p->type[tensor];
  return dtype_kind(t) == DTYPE_FLOAT ? !dtype_is_bf16(t) : dtype_bytes(t) > 2;
}

void split_copies(const struct product *p, enum f32_mode f32,
                  struct recipe *r) {
  bool wide[] = {split_is_wide(p, IN0), split_is_wide(p, IN1)};
  for (int i = 0; i < AXIS_ROLES; i++)
    r->copies[i] = 1;
  if (!wide[IN0] && !wide[IN1])
    return;
  if (dtype_kind(p->acc) == DTYPE_FLOAT) {
    r->copies[AXIS_K] = f32 == F32_BF16X3 ? SPLIT_COPIES : 1;
    return;
  }
  r->copies[AXIS_K] = wide[IN0] && wide[IN1] ? 2 : 1;
  r->copies[wide[IN1] ? AXIS_N : AXIS_M] = 2;
}

const struct calc_program *split_program(struct arena *a,
                                         const struct product *p,
                                         const struct recipe *r, int tensor,
                                         const int copy[AXIS_ROLES]) {
  enum dtype from = p->type[tensor];
  assert(tensor == IN0 || tensor == IN1);
  return calc_compile(
      a, dtype_kind(from) == DTYPE_FLOAT
             ? float_copy(a, from, tensor, copy[AXIS_K])
         : split_is_wide(p, tensor)
             ? int_copy(a, from, r, tensor, copy)
             : calc_cast(a, r->problem.type[tensor], calc_input(a, 0, from)));
}
