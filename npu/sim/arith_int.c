/* arith_int.c -- integer arithmetic of the vector unit: rounding shifts with
 * saturation (facts E3-E5) and multiplies of every known shape (C8, E6).
 */
#include "arith.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

uint64_t arith_lane(const uint8_t *v, int lane, int bits) {
  if (bits == 4)
    return v[lane / 2] >> 4 * (lane % 2) & 0xF;
  uint64_t x = 0;
  memcpy(&x, v + (size_t)lane * bits / 8, (size_t)bits / 8);
  return x;
}

void arith_set_lane(uint8_t *v, int lane, int bits, uint64_t value) {
  if (bits == 4) {
    int at = 4 * (lane % 2);
    v[lane / 2] = (uint8_t)((v[lane / 2] & ~(0xF << at)) | (value & 0xF) << at);
    return;
  }
  memcpy(v + (size_t)lane * bits / 8, &value, (size_t)bits / 8);
}

int64_t arith_extend(uint64_t value, int bits, bool is_signed) {
  if (bits == 64)
    return (int64_t)value;
  value &= ((uint64_t)1 << bits) - 1;
  if (is_signed && value >> (bits - 1))
    return (int64_t)(value | ~(((uint64_t)1 << bits) - 1));
  return (int64_t)value;
}

bool arith_round_known(unsigned round) {
  return round <= 3 || (round >= 8 && round <= 13);
}

/* Whether to go from the floor to the next value; rest != 0 was discarded,
 * compared with one half by its sign, from a value that is negative or not and
 * whose floor is odd or not. */
static bool round_up(unsigned round, int against_half, bool negative,
                     bool odd) {
  switch (round) {
  case 1: /* toward +inf */
    return true;
  case 2: /* toward zero */
    return negative;
  case 3: /* away from zero */
    return !negative;
  case 8: /* nearest, ties toward -inf */
    return against_half > 0;
  case 9: /* nearest, ties toward +inf */
    return against_half >= 0;
  case 10: /* nearest, ties toward zero */
    return against_half > 0 || (against_half == 0 && negative);
  case 11: /* nearest, ties away from zero */
    return against_half > 0 || (against_half == 0 && !negative);
  case 12: /* nearest, ties to even */
    return against_half > 0 || (against_half == 0 && odd);
  case 13: /* nearest, ties to odd */
    return against_half > 0 || (against_half == 0 && !odd);
  }
  return false; /* 0, toward -inf */
}

__int128 arith_round_shift(int64_t value, int shift, unsigned round) {
  if (shift <= 0)
    return (__int128)value * ((__int128)1 << -shift);
  __int128 wide = value, floor = wide >> shift;
  __int128 rest = wide - floor * ((__int128)1 << shift);
  __int128 half = (__int128)1 << (shift - 1);
  if (!rest)
    return floor;
  return floor + round_up(round, rest < half ? -1 : rest > half, value < 0,
                          (uint64_t)floor & 1);
}

int64_t arith_saturate(__int128 value, int bits, bool is_signed,
                       bool symmetric) {
  __int128 max = ((__int128)1 << (bits - is_signed)) - 1;
  __int128 min = !is_signed ? 0 : symmetric ? -max : -max - 1;
  return (int64_t)(value > max ? max : value < min ? min : value);
}

int64_t arith_srs(int64_t acc, int shift, int bits, bool is_signed,
                  unsigned round, unsigned saturate, bool *overflow) {
  __int128 v = arith_round_shift(acc, shift, round);
  int64_t clamped = arith_saturate(v, bits, is_signed, saturate == 3);
  if (v != clamped)
    *overflow = true;
  return saturate & 1 ? clamped : (int64_t)v;
}

int64_t arith_ups(int64_t value, int shift, int bits, unsigned saturate,
                  bool *overflow) {
  __int128 v = shift >= 0 ? (__int128)value * ((__int128)1 << shift)
                          : (__int128)(value >> -shift);
  int64_t clamped = arith_saturate(v, bits, true, saturate == 3);
  if (v != clamped)
    *overflow = true;
  return saturate & 1 ? clamped : (int64_t)v;
}

/* clang-format off */
static const struct arith_shape shapes[] = {
  /* amode bmode variant  a   b  acc   m   k   n  element */
  {  0,    0,    0,       8,  4, 32,   4, 16,  8, false },
  {  0,    1,    0,       8,  8, 32,   4,  8,  8, false },
  {  0,    1,    1,       8,  8, 32,   1,  2, 32, true  },
  {  0,    2,    0,      16,  8, 32,   4,  4,  8, false },
  {  0,    3,    0,      16, 16, 32,   4,  2,  8, false },
  {  0,    3,    1,      16, 16, 32,   1,  1, 32, true  },
  {  1,    2,    0,      16,  8, 64,   2,  8,  8, false },
  {  1,    2,    1,      16,  8, 64,   4,  8,  4, false },
  {  1,    3,    0,      16, 16, 64,   2,  4,  8, false },
  {  1,    3,    1,      16, 16, 64,   4,  4,  4, false },
  {  1,    3,    2,      16, 16, 64,   1,  2, 16, true  },
  {  1,    0,    0,      32, 16, 64,   4,  2,  4, false },
};
/* clang-format on */

const struct arith_shape *arith_shape(uint32_t config) {
  unsigned amode = config >> 1 & 3, bmode = config >> 3 & 3;
  unsigned variant = config >> 5 & 7;
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
    if (shapes[i].amode == amode && shapes[i].bmode == bmode &&
        shapes[i].variant == variant)
      return &shapes[i];
  return NULL;
}

/* The product part of one lane, modulo 2^64. */
static uint64_t lane_product(const struct arith_shape *s, int lane,
                             const uint8_t *a, const uint8_t *b,
                             unsigned flags) {
  uint64_t sum = 0;
  for (int k = 0; k < s->k; ++k) {
    int ia = s->element ? lane + k * s->n : lane / s->n * s->k + k;
    int ib = s->element ? lane + k * s->n : k * s->n + lane % s->n;
    sum += (uint64_t)arith_extend(arith_lane(a, ia, s->a_bits), s->a_bits,
                                  flags & ARITH_SIGNED_A) *
           (uint64_t)arith_extend(arith_lane(b, ib, s->b_bits), s->b_bits,
                                  flags & ARITH_SIGNED_B);
  }
  return flags & ARITH_NEGATE_PRODUCT ? -sum : sum;
}

void arith_mac_int(const struct arith_shape *s, uint8_t d[128],
                   const uint8_t acc1[128], const uint8_t acc2[128],
                   const uint8_t a[64], const uint8_t b[64], unsigned flags) {
  assert(s->m * s->n * s->acc_bits == 1024);
  for (int lane = 0; lane < s->m * s->n; ++lane) {
    uint64_t sum = lane_product(s, lane, a, b, flags);
    if (acc1 && !(flags & ARITH_ZERO_ACC1)) {
      uint64_t old = arith_lane(acc1, lane, s->acc_bits);
      sum += flags & ARITH_NEGATE_ACC1 ? -old : old;
    }
    if (acc2) {
      uint64_t old = arith_lane(acc2, lane, s->acc_bits);
      sum += flags & ARITH_NEGATE_ACC2 ? -old : old;
    }
    arith_set_lane(d, lane, s->acc_bits, sum);
  }
}
