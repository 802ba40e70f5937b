/* arith_avx512.c -- the bf16 product in AVX-512, by the method that
 * arith_avx2.c explains: doubles round each term, integers add their bit
 * patterns.
 */
#include "arith_vector.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512                                                                 \
  static __attribute__((target("avx512f,avx512bw,avx512dq,"                    \
                               "avx512vl,avx2,fma")))
#define INLINE_AVX512 AVX512 inline __attribute__((always_inline))

enum {
  NO_EXPONENT = -0x4000, /* of a zero: far below any other, sums stay so */
  MAGIC_EXPONENT = 798, /* lane exponent s = X - 1 -> that of 1.5 * 2^(s-225) */
};

/* Exponents of 32 bf16; *special where one is denormal, infinite or NaN: its
 * exponent is 0 or 255 and it is no zero. */
INLINE_AVX512 __m512i exponents_bf16(__m512i x, __mmask32 *special) {
  __m512i e = _mm512_and_si512(_mm512_srli_epi16(x, 7), _mm512_set1_epi16(255));
  __mmask32 number = _mm512_test_epi16_mask(x, _mm512_set1_epi16(0x7FFF));
  __m512i below = _mm512_add_epi16(e, _mm512_set1_epi16(-1));
  *special |=
      _mm512_mask_cmpge_epu16_mask(number, below, _mm512_set1_epi16(254));
  return _mm512_mask_mov_epi16(_mm512_set1_epi16(NO_EXPONENT), number, e);
}

/* The same for 16 floats, in the scale of a product's sum of exponents. */
INLINE_AVX512 __m256i exponents_f32(__m512i x, __mmask32 *special) {
  __m512i e =
      _mm512_and_si512(_mm512_srli_epi32(x, 23), _mm512_set1_epi32(255));
  __mmask16 number = _mm512_test_epi32_mask(x, _mm512_set1_epi32(0x7FFFFFFF));
  __m512i below = _mm512_add_epi32(e, _mm512_set1_epi32(-1));
  *special |=
      _mm512_mask_cmpge_epu32_mask(number, below, _mm512_set1_epi32(254));
  e = _mm512_mask_add_epi32(_mm512_set1_epi32(NO_EXPONENT), number, e,
                            _mm512_set1_epi32(127));
  return _mm512_cvtepi32_epi16(e);
}

/* Words that bring elements (r, 2j) and (r, 2j+1) of a, or (2j, c) and
 * (2j+1, c) of b, to lane 4r + c of the lower and the upper half. */
#define A_ROW(r, k) 8 * r + k, 8 * r + k, 8 * r + k, 8 * r + k
#define A_HALF(k) A_ROW(0, k), A_ROW(1, k), A_ROW(2, k), A_ROW(3, k)
#define B_ROW(k) 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3
#define B_HALF(k) B_ROW(k), B_ROW(k), B_ROW(k), B_ROW(k)
static const _Alignas(64) uint16_t pick_a[4][32] = {{A_HALF(0), A_HALF(1)},
                                                    {A_HALF(2), A_HALF(3)},
                                                    {A_HALF(4), A_HALF(5)},
                                                    {A_HALF(6), A_HALF(7)}};
static const _Alignas(64) uint16_t pick_b[4][32] = {{B_HALF(0), B_HALF(1)},
                                                    {B_HALF(2), B_HALF(3)},
                                                    {B_HALF(4), B_HALF(5)},
                                                    {B_HALF(6), B_HALF(7)}};

/* Sixteen lanes' largest exponent, from those of a, b and the accumulator. */
INLINE_AVX512 __m256i largest_exponents(__m512i a, __m512i b, __m256i acc) {
  __m512i largest = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j)
    largest = _mm512_max_epi16(
        largest,
        _mm512_add_epi16(
            _mm512_permutexvar_epi16(_mm512_load_si512(pick_a[j]), a),
            _mm512_permutexvar_epi16(_mm512_load_si512(pick_b[j]), b)));
  __m256i half = _mm256_max_epi16(_mm512_castsi512_si256(largest),
                                  _mm512_extracti64x4_epi64(largest, 1));
  return _mm256_max_epi16(half, acc);
}

/* 32 bf16 as doubles, eight to a register. */
INLINE_AVX512 void widen(__m512d out[4], __m512i x) {
  __m256i half[2] = {_mm512_castsi512_si256(x),
                     _mm512_extracti64x4_epi64(x, 1)};
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    __m512 f = _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(half[i]), 16));
    out[2 * i] = _mm512_cvtps_pd(_mm512_castps512_ps256(f));
    out[2 * i + 1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(f, 1));
  }
}

/* Element k of row `low` four times, then that of row `high`. */
INLINE_AVX512 __m512d two_rows(__m512d low, __m512d high, int k) {
  __m512i pick = _mm512_add_epi64(_mm512_set1_epi64(k),
                                  _mm512_set_epi64(8, 8, 8, 8, 0, 0, 0, 0));
  return _mm512_permutex2var_pd(low, pick, high);
}

/* Eight lanes: two rows of a, all of b, whose rows are in memory. */
INLINE_AVX512 __m256 rows_sum(__m512d low, __m512d high, const double b[32],
                              __m256 acc, __m128i exponent) {
  __m512i magic_bits = _mm512_or_si512(
      _mm512_slli_epi64(_mm512_add_epi64(_mm512_cvtepi16_epi64(exponent),
                                         _mm512_set1_epi64(MAGIC_EXPONENT)),
                        52),
      _mm512_set1_epi64(1LL << 51));
  __m512d magic = _mm512_castsi512_pd(magic_bits);
  __m512i sum = _mm512_castpd_si512(_mm512_add_pd(_mm512_cvtps_pd(acc), magic));
  sum = _mm512_sub_epi64(sum, _mm512_slli_epi64(magic_bits, 3));
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    __m512d row = _mm512_broadcast_f64x4(_mm256_load_pd(b + 4 * k));
    __m512d term = _mm512_fmadd_pd(two_rows(low, high, k), row, magic);
    sum = _mm512_add_epi64(sum, _mm512_castpd_si512(term));
  }
  __m512d value = _mm512_sub_pd(_mm512_castsi512_pd(sum), magic);
  /* What rounds to less than 2^-126 is +0. */
  __mmask8 normal = _mm512_cmp_pd_mask(
      _mm512_abs_pd(value), _mm512_set1_pd(0x1p-126 - 0x1p-151), _CMP_GE_OQ);
  return _mm512_maskz_cvtpd_ps(normal, value);
}

AVX512 void mac_bf16_avx512(uint32_t d[16], const uint32_t acc1[16],
                            const uint16_t a[32], const uint16_t b[32],
                            unsigned flags) {
  __m512i wa = _mm512_loadu_si512(a), wb = _mm512_loadu_si512(b);
  __m512i q = flags & ARITH_ZERO_ACC1 ? _mm512_setzero_si512()
                                      : _mm512_loadu_si512(acc1);
  __mmask32 special = 0;
  __m512i ea = exponents_bf16(wa, &special), eb = exponents_bf16(wb, &special);
  __m256i eq = exponents_f32(q, &special);
  if (special) {
    arith_plain.mac_bf16(d, acc1, a, b, flags);
    return;
  }
  __m256i largest = largest_exponents(ea, eb, eq);
  if (flags & ARITH_NEGATE_PRODUCT)
    wa = _mm512_xor_si512(wa, _mm512_set1_epi16((short)0x8000));
  if (flags & ARITH_NEGATE_ACC1)
    q = _mm512_xor_si512(q, _mm512_set1_epi32((int)0x80000000));
  __m512d rows[4], columns[4];
  _Alignas(64) double memory[32];
  widen(rows, wa);
  widen(columns, wb);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    _mm512_store_pd(memory + 8 * i, columns[i]);
  __m512 acc = _mm512_castsi512_ps(q);
  __m256 low = rows_sum(rows[0], rows[1], memory, _mm512_castps512_ps256(acc),
                        _mm256_castsi256_si128(largest));
  __m256 high =
      rows_sum(rows[2], rows[3], memory, _mm512_extractf32x8_ps(acc, 1),
               _mm256_extracti128_si256(largest, 1));
  _mm256_storeu_ps((float *)d, low);
  _mm256_storeu_ps((float *)d + 8, high);
}

const struct arith arith_avx512 = {"avx512", mac_bf16_avx512,
                                   arith_mac_i8_avx2};
#endif
