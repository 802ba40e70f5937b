/* reference.c -- what a product is, element by element.
 *
 * It follows isa.md (C8 layouts, E1 arithmetic of vmac.f, E3 rounding, E4 and
 * E5 narrowing and widening) and shares nothing with generator or simulator. */
#include "parts.h"

#include <math.h>
#include <string.h>

/* ---- layouts: isa.md C8 and kernels.h ---- */

/* Element (i, j) of a rows x columns matrix in small blocks of r x c. */
static int64_t blocked(int columns, int r, int c, bool transposed, int i,
                       int j) {
  int64_t block = (int64_t)(i / r) * (columns / c) + j / c;
  int inner = transposed ? j % c * r + i % r : i % r * c + j % c;
  return block * r * c + inner;
}

/* ---- bf16: isa.md E1, E2 ---- */

/* x / 2^shift, to nearest, ties to even. */
static int64_t round_even(int64_t x, int shift) {
  if (shift == 0)
    return x;
  if (shift > 62)
    return 0;
  int64_t floor = x >> shift, rest = x - floor * ((int64_t)1 << shift);
  int64_t half = (int64_t)1 << (shift - 1);
  return floor + (rest > half || (rest == half && (floor & 1)));
}

enum { STEP = 8, NAN32 = 0x7fc00000, INF32 = 0x7f800000 };

static bool is_nan(uint32_t x) { return (x & 0x7fffffff) > INF32; }
static bool is_inf(uint32_t x) { return (x & 0x7fffffff) == INF32; }

/* The result if an input is infinite or not a number; false if none is. */
static bool special_sum(uint32_t acc, const uint16_t *a, const uint16_t *b,
                        uint32_t *result) {
  bool nan = is_nan(acc), inf[2] = {acc == INF32, acc == 0xff800000};
  for (int i = 0; i < STEP; i++) {
    uint32_t x = (uint32_t)a[i] << 16, y = (uint32_t)b[i] << 16;
    bool zero = !(x & 0x7fffffff) || !(y & 0x7fffffff);
    nan |= is_nan(x) || is_nan(y) || (zero && (is_inf(x) || is_inf(y)));
    if (is_inf(x) || is_inf(y))
      inf[(x ^ y) >> 31] = true;
  }
  *result = nan || (inf[0] && inf[1]) ? NAN32 : INF32 | (inf[1] ? 1u << 31 : 0);
  return nan || inf[0] || inf[1];
}

/* acc + sum of a[i] * b[i]: every term is rounded to the place of the largest
 * one, the sum is exact and rounded once. */
static uint32_t mac_bf16(uint32_t acc, const uint16_t *a, const uint16_t *b) {
  int64_t term[STEP], acc_term = acc & 0x7fffff;
  int exponent[STEP], q = 0, top;
  uint32_t special;
  if (special_sum(acc, a, b, &special))
    return special;
  if (acc & 0x7fffffff) {
    int e = acc >> 23 & 255;
    q = (e ? e : 1) + 128;
    acc_term |= e ? 0x800000 : 0;
  }
  top = q;
  for (int i = 0; i < STEP; i++) {
    int ex = a[i] >> 7 & 255, ey = b[i] >> 7 & 255;
    int64_t mx = (a[i] & 127) | (ex ? 128 : 0);
    int64_t my = (b[i] & 127) | (ey ? 128 : 0);
    term[i] = mx * my * 512 * ((a[i] ^ b[i]) & 0x8000 ? -1 : 1);
    exponent[i] = mx && my ? (ex ? ex : 1) + (ey ? ey : 1) + 1 : 0;
    top = exponent[i] > top ? exponent[i] : top;
  }
  int64_t sum = q ? round_even(acc_term, top - q) : 0;
  sum = acc >> 31 ? -sum : sum;
  for (int i = 0; i < STEP; i++)
    if (exponent[i])
      sum += round_even(term[i], top - exponent[i]);
  if (!sum)
    return 0;
  int64_t magnitude = sum < 0 ? -sum : sum;
  int lead = 63 - __builtin_clzll((uint64_t)magnitude);
  if (lead <= 23)
    magnitude <<= 23 - lead;
  else
    magnitude = round_even(magnitude, lead - 23);
  if (magnitude >> 24)
    magnitude >>= 1, lead++;
  int e = top + lead - 23 - 128;
  uint32_t sign = sum < 0 ? 1u << 31 : 0;
  if (e <= 0)
    return 0;
  return sign | (e >= 255 ? INF32 : (uint32_t)e << 23 | (magnitude & 0x7fffff));
}

/* ---- rounding and narrowing: isa.md E3, E4 ---- */

/* Whether a value rounds up from its floor, which is odd or not and has `rest`
 * of `one` above it. */
static bool rounds_up(enum kernel_rounding mode, bool negative, bool odd,
                      uint64_t rest, uint64_t one) {
  bool tie = 2 * rest == one, beyond = 2 * rest > one;
  switch (mode) {
  case KERNEL_ROUND_EVEN:
    return beyond || (tie && odd);
  case KERNEL_ROUND_ODD:
    return beyond || (tie && !odd);
  case KERNEL_ROUND_HALF_DOWN:
    return beyond;
  case KERNEL_ROUND_HALF_UP:
    return beyond || tie;
  case KERNEL_ROUND_HALF_TO_ZERO:
    return beyond || (tie && negative);
  case KERNEL_ROUND_HALF_AWAY:
    return beyond || (tie && !negative);
  case KERNEL_ROUND_FLOOR:
    return false;
  case KERNEL_ROUND_CEILING:
    return rest > 0;
  case KERNEL_ROUND_TO_ZERO:
    return negative && rest > 0;
  case KERNEL_ROUND_AWAY:
    return !negative && rest > 0;
  case KERNEL_ROUNDINGS:
    break;
  }
  return false;
}

static int64_t round_shift(enum kernel_rounding mode, int64_t x, int shift) {
  if (shift == 0)
    return x;
  int64_t floor = x >> shift;
  uint64_t rest = (uint64_t)(x - floor * ((int64_t)1 << shift));
  return floor + rounds_up(mode, x < 0, floor & 1, rest, UINT64_C(1) << shift);
}

/* The top half of an fp32, rounded.  As a number line, negative floats count
 * their magnitude downward. */
static uint16_t narrow_bf16(enum kernel_rounding mode, uint32_t x) {
  if (is_nan(x))
    return 0x7fc0;
  bool negative = x >> 31;
  int64_t magnitude = x & 0x7fffffff, line = negative ? -magnitude : magnitude;
  int64_t floor = line >> 16;
  floor += rounds_up(mode, negative, floor & 1, (uint64_t)line & 0xffff, 65536);
  return (uint16_t)(negative ? 0x8000 | -floor : floor);
}

static int64_t clamp(int64_t x, int bits, bool is_signed, bool symmetric) {
  int64_t high =
      is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
  int64_t low = !is_signed ? 0 : symmetric ? -high : -high - 1;
  return x < low ? low : x > high ? high : x;
}

/* ---- the product ---- */

static const uint8_t *element(const uint8_t *base, enum dtype type,
                              int64_t index) {
  return base + index * dtype_bytes(type);
}

/* acc + A * B of the first or second halves of both. */
static uint32_t add_product(const struct problem *p, int i, int j, bool a_low,
                            bool b_low, uint32_t acc) {
  const struct kernel_gemm *k = p->k;
  int64_t a_half = a_low ? (int64_t)k->m * k->k : 0;
  int64_t b_half = b_low ? (int64_t)k->k * k->n : 0;
  /* aie2p adds them one by one (gemm_lanes.c) */
  int together = k->isa == isa_find("aie2p") ? 1 : STEP;
  for (int step = 0; step < k->k; step += together) {
    uint16_t a[STEP] = {0}, b[STEP] = {0};
    for (int n = 0; n < together; n++) {
      int64_t a_at = blocked(k->k, p->s.m, p->s.k, k->ta, i, step + n);
      int64_t b_at = blocked(k->n, p->s.k, p->s.n, k->tb, step + n, j);
      memcpy(&a[n], element(p->a, DTYPE_BF16, a_half + a_at), 2);
      memcpy(&b[n], element(p->b, DTYPE_BF16, b_half + b_at), 2);
    }
    /* without an old value the first step has no accumulator at all */
    acc = mac_bf16(acc, a, b);
  }
  return acc;
}

static uint64_t expect_float(const struct problem *p, int i, int j,
                             int64_t c_at) {
  const struct kernel_gemm *k = p->k;
  uint32_t acc = 0;
  if (!k->zero && k->out == DTYPE_F32)
    memcpy(&acc, element(p->c, DTYPE_F32, c_at), 4);
  else if (!k->zero) {
    uint16_t half;
    memcpy(&half, element(p->c, DTYPE_BF16, c_at), 2);
    acc = (uint32_t)half << 16;
  }
  acc = add_product(p, i, j, false, false, acc);
  if (k->in0 == DTYPE_F32) {
    acc = add_product(p, i, j, false, true, acc);
    acc = add_product(p, i, j, true, false, acc);
  }
  if (k->relu && acc >> 31)
    acc = 0;
  return k->out == DTYPE_F32 ? acc : narrow_bf16(k->rounding, acc);
}

/* ---- block floats (isa-aie2p.md C6, kernels.h) ---- */

/* The 8 values of row (column) i from step k of K on. */
static const uint8_t *block_at(const uint8_t *base, int steps, int i, int k) {
  enum { SIDE = 8, PAIR = 2, BYTES = 9 };
  int64_t tile =
      ((int64_t)(i / SIDE / PAIR) * steps + k) * PAIR + i / SIDE % PAIR;
  return base + (tile * SIDE + i % SIDE) * BYTES;
}

/* Every step's products are added exactly and rounded with the sum; the old
 * value joins in one step, rounded by itself. */
static uint64_t expect_blocks(const struct problem *p, int i, int j,
                              int64_t c_at) {
  const struct kernel_gemm *k = p->k;
  enum { SIDE = 8, BIAS = 133 };
  int steps = k->k / SIDE, join = kernel_gemm_join(k, i / SIDE, j / SIDE);
  float sum = 0, old;
  uint32_t bits;
  memcpy(&old, element(p->c, DTYPE_F32, c_at), sizeof old);
  for (int step = 0; step < steps; step++) {
    const uint8_t *a = block_at(p->a, steps, i, step),
                  *b = block_at(p->b, steps, j, step);
    int dot = 0;
    for (int n = 1; n <= SIDE; n++)
      dot += (int8_t)a[n] * (int8_t)b[n];
    if (!k->zero && step == join)
      sum = sum + old;
    sum = (float)((double)sum + ldexp(dot, a[0] + b[0] - 2 * BIAS));
  }
  if (k->relu && signbit(sum))
    sum = 0;
  memcpy(&bits, &sum, sizeof bits);
  return bits;
}

static uint64_t expect_int(const struct problem *p, int i, int j,
                           int64_t c_at) {
  const struct kernel_gemm *k = p->k;
  bool narrow_lanes = k->isa == isa_find("aie2p");
  bool wide =
      !narrow_lanes && dtype_bytes(k->in0) == 2 && dtype_bytes(k->in1) == 2;
  int lane = wide ? 64 : 32, bits = 8 * dtype_bytes(k->out);
  bool narrows = bits < lane;
  uint64_t sum = 0;
  if (!k->zero) {
    int64_t old = dtype_load_int(k->out, element(p->c, k->out, c_at));
    sum = (uint64_t)old << (narrows ? k->shift : 0);
    if (narrows && k->saturation != KERNEL_WRAP && lane == 32)
      sum = (uint64_t)clamp((int64_t)sum, lane, true,
                            k->saturation == KERNEL_SATURATE_SYMMETRIC);
  }
  for (int n = 0; n < k->k; n++) {
    int64_t a_at = blocked(k->k, p->s.m, p->s.k, k->ta, i, n);
    int64_t b_at = blocked(k->n, p->s.k, p->s.n, k->tb, n, j);
    sum += (uint64_t)(dtype_load_int(k->in0, element(p->a, k->in0, a_at)) *
                      dtype_load_int(k->in1, element(p->b, k->in1, b_at)));
  }
  int64_t acc = lane == 32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
  if (k->relu && acc < 0)
    acc = 0;
  if (!narrows)
    return (uint64_t)acc;
  acc = round_shift(k->rounding, acc, k->shift);
  if (k->saturation != KERNEL_WRAP)
    acc = clamp(acc, bits, dtype_kind(k->out) == DTYPE_SIGNED,
                k->saturation == KERNEL_SATURATE_SYMMETRIC);
  return (uint64_t)acc;
}

static bool same(enum dtype type, uint64_t got, uint64_t expected) {
  if (type == DTYPE_F32 && is_nan((uint32_t)expected))
    return is_nan((uint32_t)got);
  if (type == DTYPE_BF16 && is_nan((uint32_t)expected << 16))
    return is_nan((uint32_t)got << 16);
  int unused = 64 - 8 * dtype_bytes(type);
  return got << unused == expected << unused;
}

void reference_expect(const struct problem *p, uint8_t *result) {
  const struct kernel_gemm *k = p->k;
  bool is_float = dtype_kind(k->in0) == DTYPE_FLOAT;
  int size = dtype_bytes(k->out);
  for (int i = 0; i < k->m; i++)
    for (int j = 0; j < k->n; j++) {
      int64_t at = blocked(k->n, p->s.m, p->s.n, k->tc, i, j);
      uint64_t value = k->bfp16   ? expect_blocks(p, i, j, at)
                       : is_float ? expect_float(p, i, j, at)
                                  : expect_int(p, i, j, at);
      memcpy(result + at * size, &value, (size_t)size);
    }
}

void reference_compare(const struct problem *p, const uint8_t *result,
                       const uint8_t *expected, struct check_outcome *o) {
  const struct kernel_gemm *k = p->k;
  int size = dtype_bytes(k->out);
  for (int i = 0; i < k->m; i++)
    for (int j = 0; j < k->n; j++) {
      int64_t at = blocked(k->n, p->s.m, p->s.n, k->tc, i, j);
      uint64_t got = 0, want = 0;
      memcpy(&got, result + at * size, (size_t)size);
      memcpy(&want, expected + at * size, (size_t)size);
      if (same(k->out, got, want))
        continue;
      if (!o->wrong++)
        snprintf(o->first, sizeof o->first,
                 "element (%d, %d) is 0x%llx, should be 0x%llx", i, j,
                 (unsigned long long)got, (unsigned long long)want);
    }
}

/* ---- f32 inputs, in halves (kernels.h) ---- */

static float f32(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint16_t reference_high(uint32_t value) {
  return narrow_bf16(KERNEL_ROUND_EVEN, value);
}

uint16_t reference_low(uint32_t value) {
  float low = f32(value) - f32((uint32_t)reference_high(value) << 16);
  uint32_t bits;
  memcpy(&bits, &low, sizeof bits);
  return isfinite(low) ? narrow_bf16(KERNEL_ROUND_EVEN, bits) : 0;
}

double reference_error(const struct problem *p, const uint8_t *result) {
  const struct kernel_gemm *k = p->k;
  double largest = 0;
  for (int i = 0; i < k->m; i++)
    for (int j = 0; j < k->n; j++) {
      int64_t at = blocked(k->n, p->s.m, p->s.n, k->tc, i, j);
      double got = dtype_load_float(k->out, element(result, k->out, at));
      double exact =
          k->zero ? 0 : dtype_load_float(k->out, element(p->c, k->out, at));
      double scale = fabs(exact);
      for (int n = 0; n < k->k; n++) {
        int64_t a_at = blocked(k->k, p->s.m, p->s.k, k->ta, i, n);
        int64_t b_at = blocked(k->n, p->s.k, p->s.n, k->tb, n, j);
        double term = (double)f32(p->a_value[a_at]) * f32(p->b_value[b_at]);
        exact += term;
        scale += fabs(term);
      }
      exact = k->relu && exact < 0 ? 0 : exact;
      largest = fmax(largest, fabs(got - exact) / scale);
    }
  return largest;
}
