/* arith_float.c -- bf16 products and fp32 sums as the vector unit forms them
 * (isa.md E1, E2): every term is aligned to the largest exponent and rounded by
 * itself, the aligned integers are added exactly, the sum is rounded once.
 */
#include "arith.h"

#include <assert.h>
#include <stddef.h>

enum { MAX_TERMS = 10 };

/* Terms of one lane, before alignment.  A term is value * 2^(exponent - 278),
 * the exponent 0 being kept for terms that are zero. */
struct sum {
  int count;
  int64_t value[MAX_TERMS];
  int exponent[MAX_TERMS];
  bool nan, plus_infinity, minus_infinity;
};

static void sum_add(struct sum *s, int64_t value, int exponent) {
  assert(s->count < MAX_TERMS);
  s->value[s->count] = value;
  s->exponent[s->count++] = exponent;
}

static void sum_infinity(struct sum *s, bool negative) {
  if (negative)
    s->minus_infinity = true;
  else
    s->plus_infinity = true;
}

static bool is_nan_f32(uint32_t x) { return (x & 0x7FFFFFFF) > 0x7F800000; }
static bool is_nan_bf16(uint16_t x) { return (x & 0x7FFF) > 0x7F80; }
static bool is_inf_bf16(uint16_t x) { return (x & 0x7FFF) == 0x7F80; }

static void sum_product(struct sum *s, uint16_t a, uint16_t b, bool negate) {
  bool negative = ((a ^ b) >> 15 & 1) != negate;
  bool zero = !(a & 0x7FFF) || !(b & 0x7FFF);
  if (is_nan_bf16(a) || is_nan_bf16(b))
    s->nan = true;
  else if (is_inf_bf16(a) || is_inf_bf16(b)) {
    if (zero)
      s->nan = true;
    else
      sum_infinity(s, negative);
  }
  if (zero)
    return;
  int ea = a >> 7 & 0xFF, eb = b >> 7 & 0xFF;
  int64_t pa = (a & 0x7F) | (ea ? 0x80 : 0), pb = (b & 0x7F) | (eb ? 0x80 : 0);
  int64_t p = pa * pb * 512; /* 23 fraction bits */
  sum_add(s, negative ? -p : p, (ea ? ea : 1) + (eb ? eb : 1) + 1);
}

static void sum_accumulator(struct sum *s, uint32_t q, bool negate) {
  bool negative = (q >> 31) != negate;
  int e = q >> 23 & 0xFF;
  if (is_nan_f32(q))
    s->nan = true;
  else if (e == 0xFF)
    sum_infinity(s, negative);
  int64_t v = (q & 0x7FFFFF) | (e ? 0x800000 : 0);
  if (v)
    sum_add(s, negative ? -v : v, (e ? e : 1) + 128);
}

/* value / 2^shift to nearest, ties to even. */
static int64_t shift_even(int64_t value, int shift) {
  if (shift <= 0)
    return value;
  if (shift > 60)
    return 0;
  int64_t q = value >> shift, rest = value - q * ((int64_t)1 << shift);
  int64_t half = (int64_t)1 << (shift - 1);
  return q + (rest > half || (rest == half && (q & 1)));
}

/* Aligns, adds, normalises to 24 bits.  `guard` bits more than 23 are kept in
 * the terms.  The result's exponent has the bias of fp32 and may be out of
 * range; the magnitude is 0 or has its leading one at bit 23. */
static uint32_t sum_normal(const struct sum *s, int guard, bool *negative,
                           int *exponent) {
  int x = 0;
  for (int i = 0; i < s->count; ++i)
    x = s->exponent[i] > x ? s->exponent[i] : x;
  int64_t total = 0;
  for (int i = 0; i < s->count; ++i)
    total +=
        shift_even(s->value[i] * ((int64_t)1 << guard), x - s->exponent[i]);
  *negative = total < 0;
  *exponent = 0;
  if (!total)
    return 0;
  uint64_t magnitude = total < 0 ? -(uint64_t)total : (uint64_t)total;
  int f = 63 - __builtin_clzll(magnitude);
  if (f <= 23) {
    magnitude <<= 23 - f;
  } else {
    magnitude = (uint64_t)shift_even((int64_t)magnitude, f - 23);
    if (magnitude >> 24) {
      magnitude >>= 1;
      ++f;
    }
  }
  *exponent = x + f - 23 - guard - 128;
  return (uint32_t)magnitude;
}

/* Packs the sum, with the specials that its terms raised (isa.md E1.8, E1.9). */
static uint32_t sum_finish(const struct sum *s, int guard, bool signed_zero) {
  bool negative;
  int exponent;
  uint32_t magnitude = sum_normal(s, guard, &negative, &exponent);
  uint32_t sign = negative ? 0x80000000u : 0;
  if (s->nan || (s->plus_infinity && s->minus_infinity)) {
    bool in_range = magnitude && exponent > 0 && exponent < 255;
    return sign | 0x7F800001 | (in_range ? magnitude & 0x7FFFFF : 0);
  }
  if (s->plus_infinity || s->minus_infinity)
    return s->plus_infinity ? 0x7F800000 : 0xFF800000;
  if (!magnitude)
    return 0;
  if (exponent <= 0)
    return signed_zero ? sign : 0;
  if (exponent >= 255)
    return sign | 0x7F800000;
  return sign | (uint32_t)exponent << 23 | (magnitude & 0x7FFFFF);
}

uint32_t arith_dot_bf16(int count, const uint16_t *a, const uint16_t *b,
                        const uint32_t *acc1, const uint32_t *acc2,
                        unsigned flags) {
  struct sum s = {0};
  for (int i = 0; i < count; ++i)
    sum_product(&s, a[i], b[i], flags & ARITH_NEGATE_PRODUCT);
  bool products_zero = !s.count && !s.nan;
  if (acc1 && !(flags & ARITH_ZERO_ACC1)) {
    if (products_zero && !acc2 && is_nan_f32(*acc1))
      return *acc1;
    sum_accumulator(&s, *acc1, flags & ARITH_NEGATE_ACC1);
  }
  if (acc2)
    sum_accumulator(&s, *acc2, flags & ARITH_NEGATE_ACC2);
  return sum_finish(&s, 0, false);
}

static void mac_bf16_plain(uint32_t d[16], const uint32_t acc1[16],
                           const uint16_t a[32], const uint16_t b[32],
                           unsigned flags) {
  uint32_t out[16];
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      uint16_t column[8];
      for (int k = 0; k < 8; ++k)
        column[k] = b[4 * k + c];
      out[4 * r + c] =
          arith_dot_bf16(8, a + 8 * r, column, acc1 + 4 * r + c, NULL, flags);
    }
  for (int i = 0; i < 16; ++i)
    d[i] = out[i];
}

static void mac_i8_plain(uint32_t d[32], const uint32_t acc1[32],
                         const uint8_t a[32], const uint8_t b[64],
                         unsigned flags) {
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 8; ++c) {
      int64_t sum = 0;
      for (int k = 0; k < 8; ++k)
        sum += arith_extend(a[8 * r + k], 8, flags & ARITH_SIGNED_A) *
               arith_extend(b[8 * k + c], 8, flags & ARITH_SIGNED_B);
      uint32_t old = flags & ARITH_ZERO_ACC1 ? 0 : acc1[8 * r + c];
      if (flags & ARITH_NEGATE_ACC1)
        old = -old;
      uint32_t product = (uint32_t)sum;
      d[8 * r + c] =
          flags & ARITH_NEGATE_PRODUCT ? old - product : old + product;
    }
}

const struct arith arith_plain = {"plain", mac_bf16_plain, mac_i8_plain};

/* One guard bit, and denormal results keep their sign (isa.md E2). */
uint32_t arith_add_f32(uint32_t x, uint32_t y) {
  struct sum s = {0};
  sum_accumulator(&s, x, false);
  sum_accumulator(&s, y, false);
  return sum_finish(&s, 1, true);
}

/* Rounding to the upper half of a word as an addition to the magnitude: by
 * sign, and times the last bit that is kept. */
struct bias {
  uint32_t of_sign[2], odd;
};

static struct bias bias_of(unsigned round) {
  switch (round) {
  case 0: /* toward -inf */
    return (struct bias){{0, 0xFFFF}, 0};
  case 1: /* toward +inf */
    return (struct bias){{0xFFFF, 0}, 0};
  case 3: /* away from zero */
    return (struct bias){{0xFFFF, 0xFFFF}, 0};
  case 8: /* nearest, ties toward -inf */
    return (struct bias){{0x7FFF, 0x8000}, 0};
  case 9: /* nearest, ties toward +inf */
    return (struct bias){{0x8000, 0x7FFF}, 0};
  case 10: /* nearest, ties toward zero */
    return (struct bias){{0x7FFF, 0x7FFF}, 0};
  case 11: /* nearest, ties away from zero */
    return (struct bias){{0x8000, 0x8000}, 0};
  case 12: /* nearest, ties to even */
    return (struct bias){{0x7FFF, 0x7FFF}, 1};
  case 13: /* nearest, ties to odd */
    return (struct bias){{0x8000, 0x8000}, -1u};
  }
  return (struct bias){{0, 0}, 0}; /* 2, toward zero */
}

void arith_f32_to_bf16(uint8_t *out, const uint8_t *in, int lanes,
                       unsigned round) {
  struct bias bias = bias_of(round);
  for (int i = 0; i < lanes; ++i) {
    uint32_t x = (uint32_t)arith_lane(in, i, 32), odd = x >> 16 & 1;
    /* A carry runs into the exponent, and into infinity, by itself. */
    uint32_t y = x + bias.of_sign[x >> 31] + odd * bias.odd;
    if (is_nan_f32(x))
      y = x & 0x7F0000 ? x : x | 0x10000;
    arith_set_lane(out, i, 16, y >> 16);
  }
}

int32_t arith_floor_bf16(uint16_t x, int shift) {
  int e = x >> 7 & 0xFF;
  int64_t v = (x & 0x7F) | (e ? 0x80 : 0);
  int scale = (e ? e : 1) - 134 + shift; /* value = v * 2^scale */
  if (x & 0x8000)
    v = -v;
  if (scale > 40)
    scale = 40;
  if (scale < -60)
    scale = -60;
  int64_t r = scale >= 0 ? v * ((int64_t)1 << scale) : v >> -scale;
  if (r > INT32_MAX)
    return INT32_MAX;
  return r < INT32_MIN ? INT32_MIN : (int32_t)r;
}

bool arith_less_bf16(uint16_t x, uint16_t y) {
  if (is_nan_bf16(x) || is_nan_bf16(y))
    return false;
  /* Sign and magnitude to a monotonic integer, -0 just below +0. */
  int ix = x & 0x8000 ? -(x & 0x7FFF) - 1 : x;
  int iy = y & 0x8000 ? -(y & 0x7FFF) - 1 : y;
  return ix < iy;
}
