/* bf16.c -- float inputs for a device that multiplies bf16.
 *
 * Rounded, a number keeps 8 bits.  Split in two bf16, x = high + low, it keeps
 * 16, and
 *   x * y = high(x) * high(y) + high(x) * low(y) + low(x) * high(y)
 * but for about 2^-16 of it.  That is one product of three times the K extent:
 * [high, high, low] of in0 by [high, low, high] of in1.  What is infinite as a
 * bf16 counts in the first third only, so that it meets no zero there.
 */
#include "parts.h"

#include <math.h>

enum part { ROUNDED, HIGH, LOW };

static const struct calc *part_of(struct arena *a, enum dtype from,
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

const struct calc_program *bf16_program(struct arena *a, enum dtype from,
                                        int tensor, int copy) {
  static const enum part part[][BF16_COPIES] = {
      [IN0] = {ROUNDED, HIGH, LOW}, [IN1] = {ROUNDED, LOW, HIGH}};
  return calc_compile(a, part_of(a, from, part[tensor][copy]));
}
