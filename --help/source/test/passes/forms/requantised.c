// Requantisation through 64 bits: the high half of a doubled product, rounded,
// and a rounding shift, as quantised networks write them out.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 58
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define L for (int k = 0; k < K; k++)

// Low and high word side by side.
static inline int32_t high_of_double(int32_t x, int32_t y) {
  union {
    int64_t all;
    struct {
      uint32_t low;
      int32_t high;
    } word;
  } product;
  product.word.low = 1 << 30;
  product.word.high = 0;
  product.all += (int64_t)x * y;
  return (int32_t)(product.all >> 31);
}
static inline int32_t divide_by_power(int32_t x, int32_t exponent) {
  int32_t mask = (1 << exponent) - 1, rest = mask & x, result = x >> exponent;
  int32_t threshold = mask >> 1;
  if (result < 0)
    threshold++;
  if (rest > threshold)
    result++;
  return result;
}
static inline int32_t twice_rounded(int32_t x, int32_t by, int32_t shift) {
  int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
  uint32_t up = (uint32_t)x << left;
  return divide_by_power(high_of_double((int32_t)up, by), right);
}
static inline int32_t once_rounded(int32_t x, int32_t by, int32_t shift) {
  int64_t total = 31 - shift, round = (int64_t)1 << (total - 1);
  return (int32_t)((x * (int64_t)by + round) >> total);
}
// Saturating, and rounding away from zero before a division.
static inline int32_t saturated_high(int32_t x, int32_t y) {
  int overflow = x == y && x == INT32_MIN;
  int64_t product = (int64_t)x * y;
  int32_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
  int32_t high = (int32_t)((product + nudge) / (INT64_C(1) << 31));
  return overflow ? INT32_MAX : high;
}
static inline int32_t by_saturation(int32_t x, int32_t by, int32_t shift) {
  int32_t right = shift > 0 ? 0 : -shift;
  int32_t high = saturated_high(x, by), mask = (1 << right) - 1;
  int32_t rest = high & mask, threshold = (mask >> 1) + (high < 0);
  return (high >> right) + (rest > threshold);
}
static inline int8_t clamped(int32_t x) {
  return (int8_t)(x < -128 ? -128 : x > 127 ? 127 : x);
}
#define SUM                                                                    \
  int32_t s = B[j];                                                            \
  L s += (A[i * K + k] + 11) * B[j * K + k]
#define MULTIPLIER (B[j] * (1 << 23) + 12345)
#define SHIFT ((A[j] & 7) - 4)

INT_FORM(per_tensor) {
  int8_t *c = (int8_t *)C;
  int32_t by = 1500000000 + M, shift = -6;
  I J { // expected-remark {{mk,nk->mn}}
    SUM;
    c[i * N + j] = clamped(twice_rounded(s, by, shift) - 5);
  }
}
INT_FORM(per_channel) {
  int8_t *c = (int8_t *)C;
  I J { // expected-remark {{mk,nk->mn}}
    SUM;
    c[i * N + j] = clamped(twice_rounded(s, MULTIPLIER, SHIFT) + 3);
  }
}
INT_FORM(per_channel_once) {
  int8_t *c = (int8_t *)C;
  I J { // expected-remark {{mk,nk->mn}}
    SUM;
    c[i * N + j] = clamped(once_rounded(s, MULTIPLIER, SHIFT));
  }
}
INT_FORM(per_channel_saturated) {
  int8_t *c = (int8_t *)C;
  I J { // expected-remark {{mk,nk->mn}}
    SUM;
    c[i * N + j] = clamped(by_saturation(s, MULTIPLIER, SHIFT) + M);
  }
}
INT_FORM(high_half) { // all bits of it are kept
  I J { // expected-remark {{mk,nk->mn}}
    SUM;
    C[i * N + j] = high_of_double(s, INT32_MIN + 1 + N);
  }
}
INT_FORM(unsigned_half) { // the bits above come from the left
  I J { // expected-remark {{for its sums}}
    SUM;
    uint64_t product = (uint64_t)((int64_t)s * (1500000000 + N));
    C[i * N + j] = (int32_t)(product >> 40);
  }
}
INT_FORM(unsigned_low) { // these do not
  I J { // expected-remark {{mk,nk->mn}}
    SUM;
    uint64_t product = (uint64_t)((int64_t)s * (1500000000 + N));
    C[i * N + j] = (int32_t)(product >> 32);
  }
}
INT_FORM(partly_used) { // one user of the shift sees all of its bits
  I J { // expected-remark {{for its sums}}
    SUM;
    uint64_t half = (uint64_t)((int64_t)s * (1500000000 + N)) >> 20;
    C[i * N + j] = (int32_t)half ^ (half > 1000000000000);
  }
}
INT_FORM(elements_by_half) { // what is multiplied is made of one element
  I J { // expected-remark {{mk,nk->mn}}
    int32_t s = 0;
    L s += high_of_double(A[i * K + k] << 20, 1 << 30) * B[j * K + k];
    C[i * N + j] = s;
  }
}
INT_FORM(products_by_half) { // near misses: each product is rounded
  I J { // expected-remark {{kept}}
    int32_t s = 0;
    L s += high_of_double(A[i * K + k] * B[j * K + k], 1 << 30);
    C[i * N + j] = s;
  }
}
