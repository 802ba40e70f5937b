/* arith_avx2.c -- the two products that kernels live on, in vector code for
 * x86-64 with AVX2 and FMA.
 *
 * bf16.  Facts E1 ask to round each term, to nearest even, to a multiple of one
 * unit, 2^(X - 278) with X the largest exponent in the lane.  A double adder
 * does just that when the other operand is 1.5 * 2^52 units: fma(a, b, magic)
 * is magic plus the product, exact in a double, rounded to a whole number of
 * units, and its bits read as an integer are those of magic plus that number.
 * So the exact integer sum is an integer addition of bit patterns, and the last
 * rounding is the conversion to float.  Inputs that a float unit would treat in
 * its own way (denormals, infinities, NaN) go to the plain C.
 */
#include "arith_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 static __attribute__((target("avx2,fma")))
#define INLINE_AVX2 AVX2 inline __attribute__((always_inline))

enum {
  NO_EXPONENT = 0xC000, /* of a zero: far below any other, sums stay so */
  MAGIC_EXPONENT = 798, /* lane exponent s = X - 1 -> that of 1.5 * 2^(s-225) */
};

/* Exponents as words, zeros as NO_EXPONENT; *special gets bits where a float
 * is denormal, infinite or NaN. */
INLINE_AVX2 __m256i exponents_bf16(__m256i x, __m256i *special) {
  __m256i none = _mm256_setzero_si256(), all = _mm256_set1_epi16(0xFF);
  __m256i e = _mm256_and_si256(_mm256_srli_epi16(x, 7), all);
  __m256i zero = _mm256_cmpeq_epi16(_mm256_slli_epi16(x, 1), none);
  __m256i odd =
      _mm256_or_si256(_mm256_cmpeq_epi16(e, all), _mm256_cmpeq_epi16(e, none));
  *special = _mm256_or_si256(*special, _mm256_andnot_si256(zero, odd));
  __m256i low = _mm256_set1_epi16((short)NO_EXPONENT);
  return _mm256_or_si256(e, _mm256_and_si256(zero, low));
}

/* The same for eight floats, in the scale of a product's sum of exponents. */
INLINE_AVX2 __m256i exponents_f32(__m256i x, __m256i *special) {
  __m256i none = _mm256_setzero_si256(), all = _mm256_set1_epi32(0xFF);
  __m256i e = _mm256_and_si256(_mm256_srli_epi32(x, 23), all);
  __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(x, 1), none);
  __m256i odd =
      _mm256_or_si256(_mm256_cmpeq_epi32(e, all), _mm256_cmpeq_epi32(e, none));
  *special = _mm256_or_si256(*special, _mm256_andnot_si256(zero, odd));
  e = _mm256_add_epi32(e, _mm256_set1_epi32(127));
  return _mm256_blendv_epi8(e, _mm256_set1_epi32(-0x4000), zero);
}

/* Sixteen lanes' largest exponent, from those of a, b and the accumulator. */
INLINE_AVX2 __m256i largest_exponents(const __m256i a[2], const __m256i b[2],
                                      __m256i largest) {
  /* Words 0-3 and 4-7 of each 128 bits become word k of two rows. */
  static const uint8_t spread[4][16] = {
      {0, 1, 0, 1, 0, 1, 0, 1, 8, 9, 8, 9, 8, 9, 8, 9},
      {2, 3, 2, 3, 2, 3, 2, 3, 10, 11, 10, 11, 10, 11, 10, 11},
      {4, 5, 4, 5, 4, 5, 4, 5, 12, 13, 12, 13, 12, 13, 12, 13},
      {6, 7, 6, 7, 6, 7, 6, 7, 14, 15, 14, 15, 14, 15, 14, 15},
  };
  _Alignas(32) long long columns[8];
  _mm256_store_si256((__m256i *)columns, b[0]);
  _mm256_store_si256((__m256i *)columns + 1, b[1]);
  __m256i even = _mm256_permute2x128_si256(a[0], a[1], 0x20);
  __m256i odd = _mm256_permute2x128_si256(a[0], a[1], 0x31);
  __m256i low = _mm256_unpacklo_epi64(even, odd);
  __m256i high = _mm256_unpackhi_epi64(even, odd);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    __m256i pick = _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)spread[k]));
    __m256i s = _mm256_add_epi16(_mm256_shuffle_epi8(low, pick),
                                 _mm256_set1_epi64x(columns[k]));
    __m256i t = _mm256_add_epi16(_mm256_shuffle_epi8(high, pick),
                                 _mm256_set1_epi64x(columns[k + 4]));
    largest = _mm256_max_epi16(largest, _mm256_max_epi16(s, t));
  }
  return _mm256_max_epi16(largest, _mm256_setzero_si256());
}

INLINE_AVX2 void widen(double out[16], __m256i words) {
  __m128i half[2] = {_mm256_castsi256_si128(words),
                     _mm256_extracti128_si256(words, 1)};
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    __m256 f = _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(half[i]), 16));
    _mm256_store_pd(out + 8 * i, _mm256_cvtps_pd(_mm256_castps256_ps128(f)));
    _mm256_store_pd(out + 8 * i + 4,
                    _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1)));
  }
}

/* Four lanes: one row of a, all of b. */
INLINE_AVX2 __m128 row_sum(const double a[8], const __m256d b[8], __m128 acc,
                           __m256i exponent) {
  __m256i magic_bits = _mm256_or_si256(
      _mm256_slli_epi64(
          _mm256_add_epi64(exponent, _mm256_set1_epi64x(MAGIC_EXPONENT)), 52),
      _mm256_set1_epi64x(1LL << 51));
  __m256d magic = _mm256_castsi256_pd(magic_bits);
  /* Nine terms carry a magic each; one is wanted in the end. */
  __m256i sum = _mm256_castpd_si256(_mm256_add_pd(_mm256_cvtps_pd(acc), magic));
  sum = _mm256_sub_epi64(sum, _mm256_slli_epi64(magic_bits, 3));
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k)
    sum = _mm256_add_epi64(sum, _mm256_castpd_si256(_mm256_fmadd_pd(
                                    _mm256_broadcast_sd(a + k), b[k], magic)));
  __m256d value = _mm256_sub_pd(_mm256_castsi256_pd(sum), magic);
  /* What rounds to less than 2^-126 is +0. */
  __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), value);
  __m256d normal =
      _mm256_cmp_pd(size, _mm256_set1_pd(0x1p-126 - 0x1p-151), _CMP_GE_OQ);
  return _mm256_cvtpd_ps(_mm256_and_pd(value, normal));
}

AVX2 void mac_bf16_avx2(uint32_t d[16], const uint32_t acc1[16],
                        const uint16_t a[32], const uint16_t b[32],
                        unsigned flags) {
  const __m256i *pa = (const __m256i *)a, *pb = (const __m256i *)b;
  __m256i wa[2] = {_mm256_loadu_si256(pa), _mm256_loadu_si256(pa + 1)};
  __m256i wb[2] = {_mm256_loadu_si256(pb), _mm256_loadu_si256(pb + 1)};
  __m256i q[2] = {_mm256_loadu_si256((const __m256i *)acc1),
                  _mm256_loadu_si256((const __m256i *)acc1 + 1)};
  if (flags & ARITH_ZERO_ACC1)
    q[0] = q[1] = _mm256_setzero_si256();
  __m256i special = _mm256_setzero_si256();
  __m256i ea[2] = {exponents_bf16(wa[0], &special),
                   exponents_bf16(wa[1], &special)};
  __m256i eb[2] = {exponents_bf16(wb[0], &special),
                   exponents_bf16(wb[1], &special)};
  __m256i eq[2] = {exponents_f32(q[0], &special),
                   exponents_f32(q[1], &special)};
  if (!_mm256_testz_si256(special, special)) {
    arith_plain.mac_bf16(d, acc1, a, b, flags);
    return;
  }
  __m256i packed = _mm256_packs_epi32(eq[0], eq[1]);
  __m256i largest =
      largest_exponents(ea, eb, _mm256_permute4x64_epi64(packed, 0xD8));
  _Alignas(32) short exponent[16];
  _mm256_store_si256((__m256i *)exponent, largest);

  if (flags & ARITH_NEGATE_PRODUCT)
    for (int i = 0; i < 2; ++i)
      wa[i] = _mm256_xor_si256(wa[i], _mm256_set1_epi16((short)0x8000));
  if (flags & ARITH_NEGATE_ACC1)
    for (int i = 0; i < 2; ++i)
      q[i] = _mm256_xor_si256(q[i], _mm256_set1_epi32((int)0x80000000));
  _Alignas(32) double da[32], db[32];
  _Alignas(32) float acc[16];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    widen(da + 16 * i, wa[i]);
    widen(db + 16 * i, wb[i]);
    _mm256_store_si256((__m256i *)acc + i, q[i]);
  }
  __m256d rows[8];
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k)
    rows[k] = _mm256_load_pd(db + 4 * k);
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    __m128i e = _mm_loadl_epi64((const __m128i *)(exponent + 4 * r));
    __m128 sum = row_sum(da + 8 * r, rows, _mm_load_ps(acc + 4 * r),
                         _mm256_cvtepi16_epi64(e));
    _mm_storeu_ps((float *)d + 4 * r, sum);
  }
}

/* Words of two bytes each, to multiply and add in pairs along k. */
INLINE_AVX2 __m256i bytes_to_words(__m128i bytes, bool is_signed) {
  return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

__attribute__((target("avx2,fma"))) void
arith_mac_i8_avx2(uint32_t d[32], const uint32_t acc1[32], const uint8_t a[32],
                  const uint8_t b[64], unsigned flags) {
  _Alignas(32) int pairs[16]; /* row r, columns 2i and 2i+1 of a at 4r + i */
  __m256i columns[4];
  for (int i = 0; i < 2; ++i) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)a + i);
    _mm256_store_si256((__m256i *)pairs + i,
                       bytes_to_words(bytes, flags & ARITH_SIGNED_A));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    __m128i two = _mm_loadu_si128((const __m128i *)b + i);
    __m128i mixed = _mm_unpacklo_epi8(two, _mm_unpackhi_epi64(two, two));
    columns[i] = bytes_to_words(mixed, flags & ARITH_SIGNED_B);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    __m256i sum = _mm256_setzero_si256(), old = sum;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      sum = _mm256_add_epi32(
          sum,
          _mm256_madd_epi16(_mm256_set1_epi32(pairs[4 * r + i]), columns[i]));
    if (!(flags & ARITH_ZERO_ACC1))
      old = _mm256_loadu_si256((const __m256i *)acc1 + r);
    if (flags & ARITH_NEGATE_ACC1)
      old = _mm256_sub_epi32(_mm256_setzero_si256(), old);
    sum = flags & ARITH_NEGATE_PRODUCT ? _mm256_sub_epi32(old, sum)
                                       : _mm256_add_epi32(old, sum);
    _mm256_storeu_si256((__m256i *)d + r, sum);
  }
}

const struct arith arith_avx2 = {"avx2", mac_bf16_avx2, arith_mac_i8_avx2};
#endif
