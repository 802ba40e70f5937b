/* arith.h -- the core's arithmetic as pure functions, bit for bit (isa.md E and
 * C7): bf16 products, fp32 sums, conversions, shift-round-saturate, integer
 * products, permutations.
 *
 * Every function here is plain C.  The two products that kernels spend their
 * time in exist a second time in vector code; struct arith holds one of the
 * two, and tests compare them.
 */
#ifndef NPUTEIR_ARITH_H
#define NPUTEIR_ARITH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* What a multiply or an accumulator operation does with its operands; the
 * sense of both mnemonic (vmsc, vnegmac ...) and configuration word (C8). */
enum arith_mac_flag {
  ARITH_ZERO_ACC1 = 1 << 0,
  ARITH_NEGATE_PRODUCT = 1 << 1,
  ARITH_NEGATE_ACC1 = 1 << 2,
  ARITH_NEGATE_ACC2 = 1 << 3,
  ARITH_SIGNED_A = 1 << 4,
  ARITH_SIGNED_B = 1 << 5,
};

struct arith {
  const char *name;
  /* d = acc1 + a x b, a 4x8 and b 8x4 bf16, d 4x4 fp32, all row-major. */
  void (*mac_bf16)(uint32_t d[16], const uint32_t acc1[16],
                   const uint16_t a[32], const uint16_t b[32], unsigned flags);
  /* d = acc1 + a x b, a 4x8 and b 8x8 int8, d 4x8 int32, all row-major. */
  void (*mac_i8)(uint32_t d[32], const uint32_t acc1[32], const uint8_t a[32],
                 const uint8_t b[64], unsigned flags);
};
extern const struct arith arith_plain;
/* What this processor can run, the slowest (0, plain) first; NULL at the end,
 * and the last of them. */
const struct arith *arith_variant(int i);
const struct arith *arith_best(void);

/* ---- floats ---- */
/* One lane of a float multiply: the fused sum of `count` products and up to
 * two accumulators (NULL: none). */
uint32_t arith_dot_bf16(int count, const uint16_t *a, const uint16_t *b,
                        const uint32_t *acc1, const uint32_t *acc2,
                        unsigned flags);
uint32_t arith_add_f32(uint32_t, uint32_t);
/* Lanes in memory order; round: value of crRnd, 0-3 and 8-13 (isa.md E3). */
void arith_f32_to_bf16(uint8_t *out, const uint8_t *in, int lanes,
                       unsigned round);
/* floor(x * 2^shift), saturated. */
int32_t arith_floor_bf16(uint16_t x, int shift);
/* Ordering of bf16 as the vector compare has it: -0 < +0, NaN never less. */
bool arith_less_bf16(uint16_t, uint16_t);

/* ---- integers ---- */
bool arith_round_known(unsigned round);
/* value / 2^shift, the discarded bits rounded; shift < 0 multiplies. */
__int128 arith_round_shift(int64_t value, int shift, unsigned round);
/* Clamps to `bits`; symmetric: the smallest signed value is -max. */
int64_t arith_saturate(__int128 value, int bits, bool is_signed,
                       bool symmetric);
/* Shift-round-saturate of one lane; saturate: value of crSat.  *overflow is
 * set, never cleared, when the rounded value does not fit. */
int64_t arith_srs(int64_t acc, int shift, int bits, bool is_signed,
                  unsigned round, unsigned saturate, bool *overflow);
/* The way back: value * 2^shift into an accumulator lane of `bits`. */
int64_t arith_ups(int64_t value, int shift, int bits, unsigned saturate,
                  bool *overflow);
/* The same for all lanes of 32-bit accumulators, 0 <= shift < 32, and narrow
 * lanes of 8 or 16 bits: what quantised kernels do all the time. */
void arith_srs_lanes(uint8_t *out, const uint8_t *acc, int lanes, int shift,
                     int bits, bool is_signed, unsigned round,
                     unsigned saturate, bool *overflow);
void arith_ups_lanes(uint8_t *out, const uint8_t *from, int lanes, int shift,
                     int bits, bool is_signed, unsigned saturate,
                     bool *overflow);

static inline int64_t arith_extend(uint64_t value, int bits, bool is_signed) {
  int unused = 64 - bits;
  return is_signed ? (int64_t)(value << unused) >> unused
                   : (int64_t)(value << unused >> unused);
}

/* An integer multiply by its configuration word (isa.md C8). */
struct arith_shape {
  uint8_t amode, bmode, variant;
  uint8_t a_bits, b_bits, acc_bits;
  uint8_t m, k, n; /* a: m x k, b: k x n, row-major */
  bool element;    /* lanes instead: d[L] += a[L + i*n] * b[L + i*n], i < k */
};
/* NULL: no dense integer multiply that we know. */
const struct arith_shape *arith_shape(uint32_t config);
/* The same with accumulators of 2048 bits. */
const struct arith_shape *arith_shape_wide(uint32_t config);
/* Elements of the operand a or b. */
int arith_shape_elements(const struct arith_shape *, bool b);
/* acc1 may be NULL (zero), acc2 NULL (none); d may be acc1. */
void arith_mac_int(const struct arith_shape *, uint8_t *d, const uint8_t *acc1,
                   const uint8_t *acc2, const uint8_t *a, const uint8_t *b,
                   unsigned flags);

/* ---- block floats: 8 mantissas with one exponent (arith_block.c) ---- */
/* One lane: acc +- the product of two blocks. */
/* The sum of two accumulators, before a product is added. */
uint32_t arith_block_add(uint32_t, uint32_t);
uint32_t arith_dot_block(const int8_t a[8], uint8_t a_exponent,
                         const int8_t b[8], uint8_t b_exponent, uint32_t acc,
                         unsigned flags);
/* 8 fp32 to a block; round: value of crRnd.  false: infinity or NaN. */
bool arith_f32_to_block(int8_t mantissa[8], uint8_t *exponent,
                        const uint8_t in[32], unsigned round);

/* ---- permutations (isa.md C7) ---- */
/* s: s1 then s2.  false: no such mode. */
bool arith_shuffle(uint8_t d[64], const uint8_t s[128], unsigned mode);

/* ---- lanes of 4, 8, 16, 32 or 64 bits in memory order ---- */
static inline uint64_t arith_lane(const uint8_t *v, int lane, int bits) {
  uint16_t half;
  uint32_t word;
  uint64_t pair;
  switch (bits) {
  case 4:
    return v[lane / 2] >> 4 * (lane % 2) & 0xF;
  case 8:
    return v[lane];
  case 16:
    memcpy(&half, v + 2 * lane, 2);
    return half;
  case 32:
    memcpy(&word, v + 4 * lane, 4);
    return word;
  }
  memcpy(&pair, v + 8 * lane, 8);
  return pair;
}

static inline void arith_set_lane(uint8_t *v, int lane, int bits,
                                  uint64_t value) {
  uint16_t half = (uint16_t)value;
  uint32_t word = (uint32_t)value;
  int at = 4 * (lane % 2);
  switch (bits) {
  case 4:
    v[lane / 2] = (uint8_t)((v[lane / 2] & ~(0xF << at)) | (value & 0xF) << at);
    break;
  case 8:
    v[lane] = (uint8_t)value;
    break;
  case 16:
    memcpy(v + 2 * lane, &half, 2);
    break;
  case 32:
    memcpy(v + 4 * lane, &word, 4);
    break;
  case 64:
    memcpy(v + 8 * lane, &value, 8);
    break;
  }
}

#endif
