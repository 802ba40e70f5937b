// Vectors that are loaded, carried by loops and shuffled as numbers of 64 bits,
// and are others where something is computed, as x86's intrinsics have them;
// functions that combine lanes; lanes that a loop adds up.
// RUN: %verify -O1 %s
// RUN: %verify -O2 %s
// RUN: %verify -O3 %s
// DONE: 31
#include "forms.h"
#define I for (int i = 0; i < M; i++)
#define J for (int j = 0; j < N; j++)
#define EIGHTS(x, X) for (int x = 0; x + 8 <= X; x += 8)
#define LOOSE __attribute__((vector_size(16), aligned(1), may_alias))
typedef int64_t raw LOOSE; // of anything
typedef int64_t raw1 __attribute__((vector_size(8), aligned(1), may_alias));
typedef int8_t b8 __attribute__((vector_size(8)));
typedef int16_t s8 __attribute__((vector_size(16)));
typedef uint16_t u8 __attribute__((vector_size(16)));
typedef uint16_t u4 __attribute__((vector_size(8)));
typedef int32_t i4 __attribute__((vector_size(16)));
typedef uint32_t w4 __attribute__((vector_size(16)));
typedef float f4 __attribute__((vector_size(16)));

static inline raw widened(const int8_t *p) {
  return (raw)__builtin_convertvector((b8)*(const raw1 *)p, s8);
}
static inline raw pairs(raw x, raw y) {
#ifdef __SSE2__
  return (raw)__builtin_ia32_pmaddwd128((s8)x, (s8)y);
#else
#define HALF(v, a, b, c, d)                                                    \
  __builtin_convertvector(                                                     \
      __builtin_shufflevector((s8)v, (s8)v, a, b, c, d), i4)
  return (raw)(HALF(x, 0, 2, 4, 6) * HALF(y, 0, 2, 4, 6) +
               HALF(x, 1, 3, 5, 7) * HALF(y, 1, 3, 5, 7));
#endif
}
static inline raw plus(raw x, raw y) { return (raw)((w4)x + (w4)y); }
static inline int32_t all(raw v) { // halves that are added, of 64 and 32 bits
  v = plus(v, __builtin_shufflevector(v, v, 1, 0));
  return ((i4)v)[0] + ((i4)v)[1];
}
INT_FORM(in_pairs) {
  I J { // expected-remark {{mk,nk->mn}}
    raw s = {0};
    EIGHTS(k, K) s = plus(s, pairs(widened(A + i * K + k), widened(B + j * K + k)));
    C[i * N + j] = all(s);
  }
}
INT_FORM(with_a_rest) {
  I J { // expected-remark 1-2 {{mk,nk->mn}}
    raw s = {0};
    int k, whole = K / 8 * 8;
    for (k = 0; k < whole; k += 8)
      s = plus(s, pairs(widened(A + i * K + k), widened(B + j * K + k)));
    int32_t t = all(s);
    for (; k < K; k++)
      t += A[i * K + k] * B[j * K + k];
    C[i * N + j] = t;
  }
}
INT_FORM(two_rows) {
  for (int i = 0; i + 2 <= M; i += 2) // expected-remark {{mk,nk->mn}}
    J {
      raw s = {0}, t = {0};
      EIGHTS(k, K) {
        raw y = widened(B + j * K + k);
        s = plus(s, pairs(widened(A + i * K + k), y));
        t = plus(t, pairs(widened(A + i * K + K + k), y));
      }
      C[i * N + j] = all(s);
      C[i * N + N + j] = all(t);
    }
}
static inline float bits(uint32_t of) {
  float f;
  memcpy(&f, &of, sizeof f);
  return f;
}
// The lower half, or the upper one, as what a float's upper bits are.
static inline f4 half(raw v, int upper) {
  u8 h = (u8)(upper ? __builtin_shufflevector(v, v, 1, 0) : v);
  return (f4)(__builtin_convertvector(
                  __builtin_shufflevector(h, h, 0, 1, 2, 3), w4)
              << 16);
}
#define ALL(v) (v[0] + v[1] + v[2] + v[3])
BF16_FORM(of_halves) {
  I J { // expected-remark {{mk,nk->mn}}
    f4 s = {0};
    EIGHTS(k, K) {
      raw x = *(const raw *)(A + i * K + k), y = *(const raw *)(B + j * K + k);
      s += half(x, 0) * half(y, 0);
      s += half(x, 1) * half(y, 1);
    }
    C[i * N + j] = ALL(s);
  }
}
INT_FORM(along_columns) { // stored as they were carried
  I for (int j = 0; j + 4 <= N; j += 4) { // expected-remark {{mk,kn->mn}}
    raw s = {0};
    for (int k = 0; k < K; k++) {
      const int8_t *b = B + k * N + j;
      i4 y = {b[0], b[1], b[2], b[3]};
      s = plus(s, (raw)(A[i * K + k] * y));
    }
    *(raw *)(C + i * N + j) = s;
  }
}
static inline int32_t by_a_loop(raw v) {
  int32_t t[4], s = 0;
  memcpy(t, &v, sizeof t);
  for (int l = 0; l < 4; l++)
    s += t[l];
  return s;
}
INT_FORM(lanes_in_a_loop) {
  I J { // expected-remark 1-2 {{mk,nk->mn}}
    raw s = {0};
    int k, whole = K / 8 * 8;
    for (k = 0; k < whole; k += 8)
      s = plus(s, pairs(widened(A + i * K + k), widened(B + j * K + k)));
    int32_t t = by_a_loop(s);
    for (; k < K; k++)
      t += A[i * K + k] * B[j * K + k];
    C[i * N + j] = t;
  }
}
INT_FORM(by_a_function) { // that adds lanes
  I J { // expected-remark {{mk,nk->mn}}
    raw s = {0};
    EIGHTS(k, K) s = plus(s, pairs(widened(A + i * K + k), widened(B + j * K + k)));
    C[i * N + j] = __builtin_reduce_add((i4)s);
  }
}
typedef int8_t b16 __attribute__((vector_size(16)));
typedef int64_t loose __attribute__((aligned(1), may_alias));
static inline b16 eight(const int8_t *p) { // and zeros, by a number of 64 bits
  return (b16)(raw){*(const loose *)p, 0};
}
#define UNPACKED(x, y)                                                         \
  (s8) __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, \
                               6, 22, 7, 23)
INT_FORM(unpacked) { // the upper half of each pair is the number
  I J { // expected-remark {{mk,nk->mn}}
    raw s = {0};
    EIGHTS(k, K) {
      b16 x = eight(A + i * K + k), y = eight(B + j * K + k);
      s = plus(s, pairs((raw)(UNPACKED(x, x) >> 8), (raw)(UNPACKED(y, y) >> 8)));
    }
    C[i * N + j] = all(s);
  }
}
INT_FORM(unsigned_unpacked) { // of bytes without a sign, with zeros
  const b16 z = {0};
  I J { // expected-remark {{mk,nk->mn}}
    raw s = {0};
    EIGHTS(k, K) {
      b16 x = eight(A + i * K + k), y = eight(B + j * K + k);
      s = plus(s, pairs((raw)UNPACKED(x, z), (raw)UNPACKED(y, z)));
    }
    C[i * N + j] = all(s);
  }
}
BF16_FORM(halves_unpacked) {
  const u8 z = {0};
  I J { // expected-remark {{mk,nk->mn}}
    f4 s = {0};
    EIGHTS(k, K) {
      u8 x = (u8)*(const raw *)(A + i * K + k);
      u8 y = (u8)*(const raw *)(B + j * K + k);
      s += (f4)__builtin_shufflevector(z, x, 0, 8, 1, 9, 2, 10, 3, 11) *
           (f4)__builtin_shufflevector(z, y, 0, 8, 1, 9, 2, 10, 3, 11);
      s += (f4)__builtin_shufflevector(z, x, 4, 12, 5, 13, 6, 14, 7, 15) *
           (f4)__builtin_shufflevector(z, y, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    C[i * N + j] = ALL(s);
  }
}

// Near misses.

INT_FORM(weights_of_lanes) {
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) s = plus(s, pairs(widened(A + i * K + k), widened(B + j * K + k)));
    int32_t t[4], sum = 0;
    memcpy(t, &s, sizeof t);
    for (int l = 0; l < 4; l++)
      sum += t[l] * l;
    C[i * N + j] = sum;
  }
}
INT_FORM(shifted_less) { // a number and some bits of its neighbour
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) {
      b16 x = eight(A + i * K + k), y = eight(B + j * K + k);
      s = plus(s, pairs((raw)(UNPACKED(x, x) >> 7), (raw)(UNPACKED(y, y) >> 8)));
    }
    C[i * N + j] = all(s);
  }
}
INT_FORM(not_with_zeros) {
  const b16 one = {0, 0, 1}, z = {0};
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) {
      b16 x = eight(A + i * K + k), y = eight(B + j * K + k);
      s = plus(s, pairs((raw)UNPACKED(x, one), (raw)UNPACKED(y, z)));
    }
    C[i * N + j] = all(s);
  }
}

INT_FORM(other_pairs) { // of neighbours that have changed places
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) {
      s8 y = (s8)widened(B + j * K + k);
      y = __builtin_shufflevector(y, y, 1, 0, 3, 2, 5, 4, 7, 6);
      s = plus(s, pairs(widened(A + i * K + k), (raw)y));
    }
    C[i * N + j] = all(s);
  }
}
INT_FORM(halves_change_places) {
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) {
      raw y = widened(B + j * K + k);
      y = __builtin_shufflevector(y, y, 1, 0);
      s = plus(s, pairs(widened(A + i * K + k), y));
    }
    C[i * N + j] = all(s);
  }
}
INT_FORM(a_half_less) { // of the sums
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) s = plus(s, pairs(widened(A + i * K + k), widened(B + j * K + k)));
    C[i * N + j] = ((i4)s)[0] - ((i4)s)[3];
  }
}
INT_FORM(carries) { // sums of 64 bits have a carry between their halves
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) s += pairs(widened(A + i * K + k), widened(B + j * K + k));
    C[i * N + j] = all(s);
  }
}
INT_FORM(shifted) { // as one number of 64 bits
  I J { // expected-remark {{kept}}
    raw s = {0};
    EIGHTS(k, K) {
      raw x = widened(A + i * K + k) << 16;
      s = plus(s, pairs(x, widened(B + j * K + k)));
    }
    C[i * N + j] = all(s);
  }
}
