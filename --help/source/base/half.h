/* half.h -- the 16-bit floats to and from f32 by operations on bits, inline, so
 * that loops over them vectorise on any host.  Rounding is to nearest even. */
#ifndef NPUTEIR_HALF_H
#define NPUTEIR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t f32_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static inline float f32_of_bits(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static inline float bf16_to_f32(uint16_t bits) {
  return f32_of_bits((uint32_t)bits << 16);
}

/* NaN stays NaN. */
static inline uint16_t bf16_from_f32(float f) {
  uint32_t bits = f32_bits(f);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (uint16_t)(f != f ? bits >> 16 | 0x40 : rounded);
}

/* Two ways that meet no denormal f32, which the program may have switched off
 * (as -ffast-math does): a normal f16 gets its exponent by a product with
 * 2^-112; a denormal one is put behind the point of 0.5, which is taken off. */
static inline float f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t rest = half & 0x7fff;
  float normal = f32_of_bits((rest << 13) + (224u << 23)) * 0x1p-112f;
  float denormal = f32_of_bits(rest | 126u << 23) - 0.5f;
  return f32_of_bits(sign | f32_bits(rest < 0x400 ? denormal : normal));
}

/* Adding a power of two 2^13 units of the f16 larger than the number rounds it
 * at the f16's last place; the sum's bits then are those of the f16, its
 * exponent counted from elsewhere.  Scaling by 2^112 makes infinity of what is
 * too large.  NaN stays NaN. */
static inline uint16_t f16_from_f32(float f) {
  uint32_t bits = f32_bits(f), twice = bits << 1;
  float scaled = f32_of_bits(bits & 0x7fffffff) * 0x1p+112f * 0x1p-110f;
  uint32_t exponent = twice & 0xff000000;
  if (exponent < 0x71000000)
    exponent = 0x71000000;
  uint32_t sum = f32_bits(f32_of_bits((exponent >> 1) + 0x07800000) + scaled);
  uint32_t rounded = (sum >> 13 & 0x7c00) + (sum & 0xfff);
  return (uint16_t)((bits >> 16 & 0x8000) |
                    (twice > 0xff000000 ? 0x7e00 : rounded));
}

/* To f32 so that rounding once more gives what rounding at once would: the last
 * bit of an inexact number is set ("rounding to odd"). */
static inline float f32_to_odd(double v) {
  float f = (float)v;
  uint32_t bits = f32_bits(f);
  if ((double)f == v || (bits & 0x7f800000) == 0x7f800000)
    return f;
  return f32_of_bits((bits - (fabs((double)f) > fabs(v))) | 1);
}

#endif
