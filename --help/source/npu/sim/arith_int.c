/* arith_int.c -- integer arithmetic of the vector unit: rounding shifts with
 * saturation (isa.md E3-E5) and multiplies of every known shape (C8, E6).
 */
#include "arith.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

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

/* arith_round_shift for 0 < shift < 63, where 64 bits are enough. */
static int64_t round_shift_right(int64_t value, int shift, unsigned round) {
  int64_t floor = value >> shift;
  uint64_t rest = (uint64_t)value & (((uint64_t)1 << shift) - 1);
  uint64_t half = (uint64_t)1 << (shift - 1);
  if (!rest)
    return floor;
  return floor +
         round_up(round, rest < half ? -1 : rest > half, value < 0, floor & 1);
}

/* arith_saturate to less than 64 bits. */
static int64_t clamp(int64_t value, int bits, bool is_signed, bool symmetric) {
  int64_t max = ((int64_t)1 << (bits - is_signed)) - 1;
  int64_t min = !is_signed ? 0 : symmetric ? -max : -max - 1;
  return value > max ? max : value < min ? min : value;
}

int64_t arith_srs(int64_t acc, int shift, int bits, bool is_signed,
                  unsigned round, unsigned saturate, bool *overflow) {
  if (shift >= 0 && shift < 63 && bits < 64) {
    int64_t v = shift ? round_shift_right(acc, shift, round) : acc;
    int64_t clamped = clamp(v, bits, is_signed, saturate == 3);
    *overflow |= v != clamped;
    return saturate & 1 ? clamped : v;
  }
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

/* Rounding as an addition before the shift: base, what is added to it for
 * negative values, and times the last bit that is kept. */
struct bias {
  int64_t base, negative, odd;
};

static struct bias bias_of(unsigned round, int shift) {
  int64_t all = ((int64_t)1 << shift) - 1, half = (all + 1) / 2;
  if (!shift)
    return (struct bias){0, 0, 0};
  switch (round) {
  case 1:
    return (struct bias){all, 0, 0};
  case 2:
    return (struct bias){0, all, 0};
  case 3:
    return (struct bias){all, -all, 0};
  case 8:
    return (struct bias){half - 1, 0, 0};
  case 9:
    return (struct bias){half, 0, 0};
  case 10:
    return (struct bias){half - 1, 1, 0};
  case 11:
    return (struct bias){half, -1, 0};
  case 12:
    return (struct bias){half - 1, 0, 1};
  case 13:
    return (struct bias){half, 0, -1};
  }
  return (struct bias){0, 0, 0};
}

void arith_srs_lanes(uint8_t *out, const uint8_t *acc, int lanes, int shift,
                     int bits, bool is_signed, unsigned round,
                     unsigned saturate, bool *overflow) {
  assert(shift >= 0 && shift < 32 && bits < 32);
  struct bias bias = bias_of(round, shift);
  int64_t max = ((int64_t)1 << (bits - is_signed)) - 1;
  int64_t min = !is_signed ? 0 : saturate == 3 ? -max : -max - 1;
  bool over = false;
  for (int i = 0; i < lanes; ++i) {
    int64_t v = (int32_t)arith_lane(acc, i, 32);
    v += bias.base + (v >> 63 & bias.negative) + (v >> shift & 1) * bias.odd;
    v >>= shift;
    int64_t clamped = v > max ? max : v < min ? min : v;
    over |= v != clamped;
    arith_set_lane(out, i, bits, (uint64_t)(saturate & 1 ? clamped : v));
  }
  *overflow |= over;
}

void arith_ups_lanes(uint8_t *out, const uint8_t *from, int lanes, int shift,
                     int bits, bool is_signed, unsigned saturate,
                     bool *overflow) {
  assert(shift >= 0 && shift < 32 && bits < 32);
  int64_t max = INT32_MAX, min = saturate == 3 ? -max : INT32_MIN;
  bool over = false;
  for (int i = 0; i < lanes; ++i) {
    int64_t v = arith_extend(arith_lane(from, i, bits), bits, is_signed) *
                ((int64_t)1 << shift);
    int64_t clamped = v > max ? max : v < min ? min : v;
    over |= v != clamped;
    arith_set_lane(out, i, 32, (uint64_t)(saturate & 1 ? clamped : v));
  }
  *overflow |= over;
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

/* Accumulators of 2048 bits.  Left out is what only a pattern suggests. */
static const struct arith_shape wide_shapes[] = {
  {  0,    1,    0,       8,  8, 32,   8,  8,  8, false },
  {  0,    1,    1,       8,  8, 32,   1,  2, 64, true  },
  {  0,    1,    6,       8,  8, 32,   4,  8, 16, false },
  {  0,    2,    0,      16,  8, 32,   8,  4,  8, false },
  {  0,    3,    0,      16, 16, 32,   8,  2,  8, false },
  {  1,    3,    2,      16, 16, 64,   1,  1, 32, true  },
};
/* clang-format on */

static const struct arith_shape *find_shape(const struct arith_shape *shape,
                                            size_t count, uint32_t config) {
  unsigned amode = config >> 1 & 3, bmode = config >> 3 & 3;
  unsigned variant = config >> 5 & 7;
  for (size_t i = 0; i < count; ++i)
    if (shape[i].amode == amode && shape[i].bmode == bmode &&
        shape[i].variant == variant)
      return &shape[i];
  return NULL;
}

const struct arith_shape *arith_shape(uint32_t config) {
  return find_shape(shapes, sizeof shapes / sizeof shapes[0], config);
}

const struct arith_shape *arith_shape_wide(uint32_t config) {
  return find_shape(wide_shapes, sizeof wide_shapes / sizeof wide_shapes[0],
                    config);
}

/* Elements of a vector as whole numbers. */
static void elements(int32_t out[128], const uint8_t *v, int count, int bits,
                     bool is_signed) {
  for (int i = 0; i < count; ++i)
    switch (bits) {
    case 4:
      out[i] = (int32_t)arith_extend(arith_lane(v, i, 4), 4, is_signed);
      break;
    case 8:
      out[i] = is_signed ? (int8_t)v[i] : v[i];
      break;
    case 16: {
      uint16_t x;
      memcpy(&x, v + 2 * i, 2);
      out[i] = is_signed ? (int16_t)x : x;
      break;
    }
    case 32:
      memcpy(&out[i], v + 4 * i, 4);
      break;
    }
}

/* All lanes' products, modulo 2^64.  The mask makes unsigned elements of 32
 * bits out of the signed ones that they were kept as. */
static void products(const struct arith_shape *s, uint64_t sum[64],
                     const int32_t a[128], const int32_t b[128],
                     int64_t a_mask) {
  memset(sum, 0, 64 * sizeof *sum);
  if (s->element) {
    for (int i = 0; i < s->k * s->n; ++i)
      sum[i % s->n] += (uint64_t)((a[i] & a_mask) * b[i]);
    return;
  }
  for (int r = 0; r < s->m; ++r)
    for (int k = 0; k < s->k; ++k) {
      int64_t factor = a[r * s->k + k] & a_mask;
      const int32_t *row = b + k * s->n;
      uint64_t *to = sum + r * s->n;
      for (int c = 0; c < s->n; c += 4)
        for (int i = 0; i < 4; ++i)
          to[c + i] += (uint64_t)(factor * row[c + i]);
    }
}

/* Lanes of `bits`: d <- +-acc1 +- acc2 +- sum. */
static inline void accumulate(uint8_t *d, const uint8_t *acc1,
                              const uint8_t *acc2, const uint64_t sum[64],
                              int lanes, int bits, unsigned flags) {
  for (int lane = 0; lane < lanes; ++lane) {
    uint64_t v = flags & ARITH_NEGATE_PRODUCT ? -sum[lane] : sum[lane];
    if (acc1 && !(flags & ARITH_ZERO_ACC1)) {
      uint64_t old = arith_lane(acc1, lane, bits);
      v += flags & ARITH_NEGATE_ACC1 ? -old : old;
    }
    if (acc2) {
      uint64_t old = arith_lane(acc2, lane, bits);
      v += flags & ARITH_NEGATE_ACC2 ? -old : old;
    }
    arith_set_lane(d, lane, bits, v);
  }
}

int arith_shape_elements(const struct arith_shape *s, bool b) {
  return s->element || b ? s->k * s->n : s->m * s->k;
}

void arith_mac_int(const struct arith_shape *s, uint8_t *d, const uint8_t *acc1,
                   const uint8_t *acc2, const uint8_t *a, const uint8_t *b,
                   unsigned flags) {
  int lanes = s->m * s->n;
  int32_t wide_a[128], wide_b[128];
  uint64_t sum[64];
  bool cut = s->a_bits == 32 && !(flags & ARITH_SIGNED_A);
  assert(lanes <= 64 && arith_shape_elements(s, true) <= 128);
  elements(wide_a, a, arith_shape_elements(s, false), s->a_bits,
           flags & ARITH_SIGNED_A);
  elements(wide_b, b, arith_shape_elements(s, true), s->b_bits,
           flags & ARITH_SIGNED_B);
  products(s, sum, wide_a, wide_b, cut ? (int64_t)UINT32_MAX : -1);
  if (s->acc_bits == 32)
    accumulate(d, acc1, acc2, sum, lanes, 32, flags);
  else
    accumulate(d, acc1, acc2, sum, lanes, 64, flags);
}
