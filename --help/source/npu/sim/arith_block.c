/* arith_block.c -- block floats of AIE2P: 8 mantissas of 8 bits, two's
 * complement, share an exponent E; a value is mantissa * 2^(E - 133).
 *
 * Not documented, and guessed here and nowhere else:
 *   - a product of two blocks is added exactly to the accumulator, and the sum
 *     is rounded once, to nearest even;
 *   - of two accumulators, their sum is rounded before the product is added;
 *   - mantissas round in one step; one that rounds up to 128 becomes 127.
 */
#include "arith.h"

#include <math.h>

uint32_t arith_block_add(uint32_t x, uint32_t y) {
  float a, b;
  memcpy(&a, &x, 4);
  memcpy(&b, &y, 4);
  a += b;
  memcpy(&x, &a, 4);
  return x;
}

uint32_t arith_dot_block(const int8_t a[8], uint8_t a_exponent,
                         const int8_t b[8], uint8_t b_exponent, uint32_t acc,
                         unsigned flags) {
  int32_t sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += a[i] * b[i];
  if (flags & ARITH_NEGATE_PRODUCT)
    sum = -sum;
  float old;
  if (flags & ARITH_ZERO_ACC1)
    acc = 0;
  if (flags & ARITH_NEGATE_ACC1)
    acc ^= 0x80000000;
  memcpy(&old, &acc, 4);
  /* Two terms of at most 24 bits: 53 are enough to round only once. */
  double exact = ldexp((double)sum, a_exponent + b_exponent - 266);
  float result = (float)((double)old + exact);
  memcpy(&acc, &result, 4);
  return acc;
}

bool arith_f32_to_block(int8_t mantissa[8], uint8_t *exponent,
                        const uint8_t in[32], unsigned round) {
  enum { MOST_SHIFT = 40 }; /* further, only the sign counts */
  int most = 1;
  uint32_t x[8];
  for (int i = 0; i < 8; ++i) {
    x[i] = (uint32_t)arith_lane(in, i, 32);
    int e = x[i] >> 23 & 0xFF;
    most = e > most ? e : most;
  }
  if (most == 255)
    return false;
  bool zero = true;
  for (int i = 0; i < 8; ++i) {
    int e = x[i] >> 23 & 0xFF;
    int64_t value = (x[i] & 0x7FFFFF) | (e ? 0x800000 : 0);
    int shift = 17 + most - (e ? e : 1);
    zero = zero && e == 0;
    if (x[i] >> 31)
      value = -value;
    mantissa[i] = (int8_t)arith_saturate(
        arith_round_shift(value, shift < MOST_SHIFT ? shift : MOST_SHIFT,
                          round),
        8, true, false);
  }
  *exponent = zero ? 0 : (uint8_t)most;
  return true;
}
