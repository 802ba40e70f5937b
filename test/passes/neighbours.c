// Lanes that are added to their neighbours, at the end of a sum in vectors and
// elsewhere, and hints to fetch what a product reads.
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O1 -mavx2 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %verify -O2 -mavx2 %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -mavx2 -ffast-math %s -o %t
// RUN: %t || ! grep -qw avx2 /proc/cpuinfo
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 -mavx2 -ffast-math -S -emit-llvm %s -o - | FileCheck %s
#include <immintrin.h>
#include <string.h>
#define ALONE __attribute__((noinline))
#define AS_WRITTEN __attribute__((noinline, annotate("nputeir:off")))

ALONE void dots(int n, const float *a, const float *b, float *c) {
  for (int i = 0; i < n; i++) // expected-remark {{code for the processor: mk,nk->mn}}
    for (int j = 0; j < n; j++) {
      __m256 s = _mm256_setzero_ps();
      for (int k = 0; k < n; k += 8)
        s = _mm256_add_ps(s, _mm256_mul_ps(_mm256_loadu_ps(a + i * n + k),
                                           _mm256_loadu_ps(b + j * n + k)));
      s = _mm256_hadd_ps(s, s);
      s = _mm256_hadd_ps(s, s);
      c[i * n + j] = s[0] + s[4];
    }
}
ALONE void pairs(int n, const double *a, const double *b, double *c) {
  for (int i = 0; i < n; i++) // expected-remark {{code for the processor: mk,nk->mn}}
    for (int j = 0; j < n; j++) {
      __m128d s = _mm_setzero_pd();
      for (int k = 0; k < n; k += 2)
        s += _mm_loadu_pd(a + i * n + k) * _mm_loadu_pd(b + j * n + k);
      c[i * n + j] = _mm_hadd_pd(s, s)[0];
    }
}
// CHECK-LABEL: @hints(
// CHECK-NOT: @llvm.prefetch
// CHECK: ret void
// CHECK-LABEL: @other_hints(
// CHECK: call void @llvm.prefetch
// CHECK-LABEL: @hints_beside(
// CHECK: call void @llvm.prefetch
// CHECK-LABEL: @beside(
ALONE void hints(int n, const double *restrict a, const double *restrict b, double *restrict c) {
  for (int i = 0; i < n; i++) // expected-remark {{code for the processor: mk,kn->mn}}
    for (int k = 0; k < n; k++) {
      __builtin_prefetch(b + (k + 1) * n);
      for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}
ALONE void other_hints(int n, const double *restrict a, double *restrict c) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      __builtin_prefetch(a + (i + 1) * n);
      c[i] += a[i * n + k];
    }
}
ALONE void hints_beside(int n, const double *restrict a, const double *restrict b, double *restrict c) {
  for (int i = 0; i < n; i++) // expected-remark {{code for the processor: mk,kn->mn}}
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
  for (int i = 0; i < n; i++) {
    __builtin_prefetch(c + (i + 1) * n);
    c[i * n] = -c[i * n];
  }
}
// What stands in a function beside a product is what it was.
typedef int v4i __attribute__((vector_size(16)));
typedef int v8i __attribute__((vector_size(32)));
ALONE void beside(int n, const float *a, const float *b, float *c, char *out) {
  __m256 x = _mm256_loadu_ps(a), y = _mm256_loadu_ps(b);
  __m256d u = _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  __m256d v = _mm256_cvtps_pd(_mm256_castps256_ps128(y));
  v8i p = __builtin_convertvector(x, v8i), q = __builtin_convertvector(y, v8i);
  v4i r = __builtin_shufflevector(p, q, 0, 1, 2, 3);
  v4i t = __builtin_shufflevector(p, q, 8, 9, 10, 11);
  __m256 f = _mm256_hadd_ps(x, y);
  __m256d d = _mm256_hadd_pd(u, v);
  v8i i = (v8i)__builtin_ia32_phaddd256(p, q);
  v4i h = (v4i)__builtin_ia32_phaddd128(r, t);
  memcpy(out, &f, 32);
  memcpy(out + 32, &d, 32);
  memcpy(out + 64, &i, 32);
  memcpy(out + 96, &h, 16);
  for (int i = 0; i < n; i++) // expected-remark {{code for the processor: mk,kn->mn}}
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int k = 0; k < n; k++)
        s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
}

enum { N = 32 };
static float a[N * N], b[N * N], c[N * N];
static double da[N * N], db[N * N], dc[N * N];

AS_WRITTEN static int differs(int transposed, int of_doubles, int more) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int s = more;
      for (int k = 0; k < N; k++)
        s += (int)a[i * N + k] * (int)(transposed ? b[j * N + k] : b[k * N + j]);
      if ((of_doubles ? dc[i * N + j] : (double)c[i * N + j]) != s)
        return 1;
    }
  return 0;
}

AS_WRITTEN int main(void) {
  for (int i = 0; i < N * N; i++) {
    da[i] = a[i] = (float)(i * 7 % 13 - 6);
    db[i] = b[i] = (float)(i * 5 % 11 - 5);
    dc[i] = 3;
  }
  hints(N, da, db, dc);
  if (differs(0, 1, 3))
    return 1;
  dots(N, a, b, c);
  if (differs(1, 0, 0))
    return 2;
  pairs(N, da, db, dc);
  if (differs(1, 1, 0))
    return 3;
  struct {
    float f[8];
    double d[4];
    int i[8], h[4];
  } out;
  beside(N, a, b, c, (char *)&out);
  static const int first[] = {0, 2, -1, -3, 4, 6, -5, -7};
  for (int l = 0; l < 8; l++) { // a pair of a, or of b
    const float *of = first[l] < 0 ? b - first[l] - 1 : a + first[l];
    if (out.f[l] != of[0] + of[1] || out.i[l] != (int)(of[0] + of[1]) ||
        (l < 4 && out.h[l] != (int)(of[0] + of[1])))
      return 4;
  }
  for (int l = 0; l < 4; l++) {
    const float *of = (l & 1 ? b : a) + l / 2 * 2;
    if (out.d[l] != of[0] + of[1])
      return 5;
  }
  return differs(0, 0, 0) ? 6 : 0;
}
