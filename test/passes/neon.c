// NEON's functions that combine lanes, and widen numbers for that.
// cpu_targets.sh runs it.
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O2 --target=aarch64-linux-gnu -march=armv8.2-a+dotprod -fno-pic -I%S/freestanding %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O1 --target=aarch64-linux-gnu -march=armv8.2-a+dotprod -fno-pic -I%S/freestanding %s
#include <arm_neon.h>
#include <stdio.h>
#define ALONE __attribute__((noinline))
#define AS_WRITTEN __attribute__((noinline, annotate("nputeir:off")))
#define IJ                                                                     \
  for (int i = 0; i < m; i++)                                                  \
    for (int j = 0; j < n; j++)
typedef const float *floats;
typedef const int8_t *bytes;
typedef const uint8_t *naturals;

ALONE void across(int m, int n, int k, floats a, floats b, float *c) {
  IJ { // expected-remark {{code for the processor: mk,nk->mn}}
    float32x4_t s = vdupq_n_f32(0);
    for (int p = 0; p + 4 <= k; p += 4)
      s = vfmaq_f32(s, vld1q_f32(a + i * k + p), vld1q_f32(b + j * k + p));
    c[i * n + j] = vaddvq_f32(s);
  }
}
ALONE void pairwise(int m, int n, int k, floats a, floats b, float *c) {
  IJ { // expected-remark {{code for the processor: mk,nk->mn}}
    float32x4_t s = vdupq_n_f32(0);
    for (int p = 0; p + 4 <= k; p += 4)
      s = vmlaq_f32(s, vld1q_f32(a + i * k + p), vld1q_f32(b + j * k + p));
    float32x2_t t = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    c[i * n + j] = vget_lane_f32(vpadd_f32(t, t), 0);
  }
}
ALONE void long_products(int m, int n, int k, bytes a, bytes b, int *c) {
  IJ { // expected-remark {{code for the processor: mk,nk->mn}}
    int32x4_t s = vdupq_n_s32(0);
    for (int p = 0; p + 8 <= k; p += 8) {
      int16x8_t x = vmovl_s8(vld1_s8(a + i * k + p));
      int16x8_t y = vmovl_s8(vld1_s8(b + j * k + p));
      s = vmlal_s16(s, vget_low_s16(x), vget_low_s16(y));
      s = vmlal_s16(s, vget_high_s16(x), vget_high_s16(y));
    }
    c[i * n + j] = vaddvq_s32(s);
  }
}
ALONE void long_pairs(int m, int n, int k, bytes a, bytes b, int *c) {
  IJ { // expected-remark {{code for the processor: mk,nk->mn}}
    int32x4_t s = vdupq_n_s32(0);
    for (int p = 0; p + 8 <= k; p += 8)
      s = vpadalq_s16(s, vmull_s8(vld1_s8(a + i * k + p), vld1_s8(b + j * k + p)));
    c[i * n + j] = vaddvq_s32(s);
  }
}
ALONE void of_naturals(int m, int n, int k, naturals a, naturals b, int *c) {
  IJ { // expected-remark {{code for the processor: mk,nk->mn}}
    uint32x4_t s = vdupq_n_u32(0);
    for (int p = 0; p + 8 <= k; p += 8)
      s = vpadalq_u16(s, vmull_u8(vld1_u8(a + i * k + p), vld1_u8(b + j * k + p)));
    c[i * n + j] = (int)vaddvq_u32(s);
  }
}
ALONE void by_fours(int m, int n, int k, bytes a, bytes b, int *c) {
  IJ { // expected-remark {{code for the processor: mk,nk->mn}}
    int32x4_t s = vdupq_n_s32(0);
    for (int p = 0; p + 16 <= k; p += 16)
      s = vdotq_s32(s, vld1q_s8(a + i * k + p), vld1q_s8(b + j * k + p));
    c[i * n + j] = vaddvq_s32(s);
  }
}
// Near misses: 16 bits do not hold two such products; a sum of some lanes twice.
ALONE void short_pairs(int m, int n, int k, naturals a, naturals b, int *c) {
  IJ { // expected-remark {{kept}}
    uint16x8_t s = vdupq_n_u16(0);
    for (int p = 0; p + 8 <= k; p += 8)
      s = vmlal_u8(s, vld1_u8(a + i * k + p), vld1_u8(b + j * k + p));
    c[i * n + j] = vaddlvq_u16(s);
  }
}
ALONE void twice(int m, int n, int k, floats a, floats b, float *c) {
  IJ { // expected-remark {{kept}}
    float32x4_t s = vdupq_n_f32(0);
    for (int p = 0; p + 4 <= k; p += 4)
      s = vfmaq_f32(s, vld1q_f32(a + i * k + p), vld1q_f32(b + j * k + p));
    float32x4_t t = vpaddq_f32(s, s);
    c[i * n + j] = vgetq_lane_f32(t, 0) * 2 + vgetq_lane_f32(t, 1);
  }
}

enum { M = 13, N = 20, K = 32 };
static float a[M * K], b[N * K], c[M * N];
static int8_t p[M * K], q[N * K];
static int r[M * N];
static int wrong;

AS_WRITTEN static void check(int kind) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int s = 0;
      float f = 0;
      for (int k = 0; k < K; k++) {
        int x = i * K + k, y = j * K + k;
        f += a[x] * b[y];
        s += kind == 2 ? (uint8_t)p[x] * (uint8_t)q[y] : p[x] * q[y];
      }
      wrong += kind == 0 ? c[i * N + j] != f : r[i * N + j] != s;
    }
}
AS_WRITTEN int main(void) {
  for (int i = 0; i < M * K; i++) {
    a[i] = (float)(i * 7 % 13 - 6);
    p[i] = (int8_t)(i * 37);
  }
  for (int i = 0; i < N * K; i++) {
    b[i] = (float)(i * 5 % 11 - 5);
    q[i] = (int8_t)(i * 91 + 3);
  }
  p[0] = p[1] = p[8] = p[9] = q[0] = q[1] = q[8] = q[9] = -128;
  across(M, N, K, a, b, c), check(0);
  pairwise(M, N, K, a, b, c), check(0);
  long_products(M, N, K, p, q, r), check(1);
  long_pairs(M, N, K, p, q, r), check(1);
  of_naturals(M, N, K, (naturals)p, (naturals)q, r), check(2);
  by_fours(M, N, K, p, q, r), check(1);
  printf("%d sums, %d different\n", 6 * M * N, wrong);
  return wrong != 0;
}
