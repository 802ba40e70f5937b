/* cpu_works_bench.c -- the part of `nputeir bench cpu` that is not square
 * products of floats: integers and bf16, vectors, flat and small products,
 * convolutions, nests of PolyBench.
 *
 * A case is a C function of extents, two inputs and a result, compiled with the
 * plugin and without; beside them runs what a library has for it: OpenBLAS, for
 * a convolution after the input was unfolded, or oneDNN.  What is limited by
 * memory is also given as a share of the bandwidth at which a loop reads. */
#include "cpu_bench.h"
#include "keys.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE(...) #__VA_ARGS__
static const char source[] = SOURCE(
    typedef signed char s8; typedef unsigned char u8; typedef float f32;
    typedef __bf16 bf16; typedef int s32;

    f32 read_all(long n, const f32 *x) {
      f32 sum = 0;
      for (long i = 0; i < n; i++)
        sum += x[i];
      return sum;
    }

    void s8s8(const long *s, const s8 *restrict a, const s8 *restrict b,
              s32 *restrict c) {
      for (long i = 0; i < s[0]; i++)
        for (long j = 0; j < s[1]; j++)
          for (long k = 0; k < s[2]; k++)
            c[i * s[1] + j] += a[i * s[2] + k] * b[k * s[1] + j];
    } void u8s8(const long *s, const u8 *restrict a, const s8 *restrict b,
                s32 *restrict c) {
      for (long i = 0; i < s[0]; i++)
        for (long j = 0; j < s[1]; j++)
          for (long k = 0; k < s[2]; k++)
            c[i * s[1] + j] += a[i * s[2] + k] * b[k * s[1] + j];
    } void bf16bf16(const long *s, const bf16 *restrict a,
                    const bf16 *restrict b, f32 *restrict c) {
      for (long i = 0; i < s[0]; i++)
        for (long j = 0; j < s[1]; j++)
          for (long k = 0; k < s[2]; k++)
            c[i * s[1] + j] += (f32)a[i * s[2] + k] * (f32)b[k * s[1] + j];
    }

    void product(const long *s, const f32 *restrict a, const f32 *restrict b,
                 f32 *restrict c) {
      for (long i = 0; i < s[0]; i++)
        for (long j = 0; j < s[1]; j++)
          for (long k = 0; k < s[2]; k++)
            c[i * s[1] + j] += a[i * s[2] + k] * b[k * s[1] + j];
    } void rows(const long *s, const f32 *restrict a, const f32 *restrict b,
                f32 *restrict c) {
      for (long i = 0; i < s[0]; i++)
        for (long k = 0; k < s[2]; k++)
          c[i] += a[i * s[2] + k] * b[k];
    } void across(const long *s, const f32 *restrict a, const f32 *restrict b,
                  f32 *restrict c) {
      for (long j = 0; j < s[1]; j++)
        for (long k = 0; k < s[2]; k++)
          c[j] += a[k] * b[k * s[1] + j];
    }

    void fixed8(const long *s, const f32 *restrict a, const f32 *restrict b,
                f32 *restrict c) {
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
          for (int k = 0; k < 8; k++)
            c[i * 8 + j] += a[i * 8 + k] * b[k * 8 + j];
    } void fixed16(const long *s, const f32 *restrict a, const f32 *restrict b,
                   f32 *restrict c) {
      for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
          for (int k = 0; k < 16; k++)
            c[i * 16 + j] += a[i * 16 + k] * b[k * 16 + j];
    } void fixed32(const long *s, const f32 *restrict a, const f32 *restrict b,
                   f32 *restrict c) {
      for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
          for (int k = 0; k < 32; k++)
            c[i * 32 + j] += a[i * 32 + k] * b[k * 32 + j];
    }

    /* s: height, width, channels out and in, window */
    void conv(const long *s, const f32 *restrict a, const f32 *restrict b,
              f32 *restrict c) {
      long wide = s[1] + s[4] - 1;
      for (long y = 0; y < s[0]; y++)
        for (long x = 0; x < s[1]; x++)
          for (long o = 0; o < s[2]; o++)
            for (long v = 0; v < s[4]; v++)
              for (long u = 0; u < s[4]; u++)
                for (long i = 0; i < s[3]; i++)
                  c[(y * s[1] + x) * s[2] + o] +=
                      a[((y + v) * wide + x + u) * s[3] + i] *
                      b[((v * s[4] + u) * s[3] + i) * s[2] + o];
    }

    /* Of 3 x 3, with a margin of zeros; c is a matrix of pixels and channels */
    void padded(const long *s, const f32 *restrict a, const f32 *restrict b,
                f32 *restrict c) {
      for (long y = 0; y < s[0]; y++)
        for (long x = 0; x < s[1]; x++)
          for (long o = 0; o < s[2]; o++) {
            f32 sum = 0;
            for (long v = 0; v < 3; v++)
              for (long u = 0; u < 3; u++)
                for (long i = 0; i < s[3]; i++) {
                  long p = y + v - 1;
                  long q = x + u - 1;
                  if (p >= 0 && p < s[0] && q >= 0 && q < s[1])
                    sum += a[(p * s[1] + q) * s[3] + i] *
                           b[((v * 3 + u) * s[3] + i) * s[2] + o];
                }
            c[(y * s[1] + x) * s[2] + o] = sum;
          }
    }
    /* of channels and pixels */
    void channels(const long *s, const f32 *restrict a, const f32 *restrict b,
                  f32 *restrict c) {
      for (long o = 0; o < s[2]; o++)
        for (long y = 0; y < s[0]; y++)
          for (long x = 0; x < s[1]; x++) {
            f32 sum = 0;
            for (long i = 0; i < s[3]; i++)
              for (long v = 0; v < 3; v++)
                for (long u = 0; u < 3; u++) {
                  long p = y + v - 1;
                  long q = x + u - 1;
                  if (p >= 0 && p < s[0] && q >= 0 && q < s[1])
                    sum += a[(i * s[0] + p) * s[1] + q] *
                           b[((o * s[3] + i) * 3 + v) * 3 + u];
                }
            c[(o * s[0] + y) * s[1] + x] = sum;
          }
    });

/* Apart, for Polly takes minutes for those above. */
static const char polybench[] = SOURCE(
    typedef double f64;

    void gemm(const long *s, const f64 *restrict a, const f64 *restrict b,
              f64 *restrict c) {
      for (long i = 0; i < s[0]; i++) {
        for (long j = 0; j < s[1]; j++)
          c[i * s[1] + j] *= 1.2;
        for (long k = 0; k < s[2]; k++)
          for (long j = 0; j < s[1]; j++)
            c[i * s[1] + j] += 1.5 * a[i * s[2] + k] * b[k * s[1] + j];
      }
    }

    __attribute__((noinline)) static void product_to(
        long m, long n, long k, f64 alpha, const f64 *restrict a,
        const f64 *restrict b, f64 *restrict c) {
      for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
          c[i * n + j] = 0;
          for (long p = 0; p < k; p++)
            c[i * n + j] += alpha * a[i * k + p] * b[p * n + j];
        }
    }
    __attribute__((noinline)) static void product_and(
        long m, long n, long k, f64 beta, const f64 *restrict a,
        const f64 *restrict b, f64 *restrict c) {
      for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
          c[i * n + j] *= beta;
          for (long p = 0; p < k; p++)
            c[i * n + j] += a[i * k + p] * b[p * n + j];
        }
    }
    /* s: ni, nj, nk, nl; what lies behind is further matrices */
    void mm2(const long *s, const f64 *a, const f64 *b, f64 *c) {
      f64 *t = c + s[0] * s[3];
      product_to(s[0], s[1], s[2], 1.5, a, b, t);
      product_and(s[0], s[3], s[1], 1.2, t, b + s[2] * s[1], c);
    }
    /* and nm */
    void mm3(const long *s, const f64 *a, const f64 *b, f64 *c) {
      f64 *e = c + s[0] * s[3];
      f64 *f = e + s[0] * s[1];
      product_to(s[0], s[1], s[2], 1, a, b, e);
      product_to(s[1], s[3], s[4], 1, a + s[0] * s[2], b + s[2] * s[1], f);
      product_to(s[0], s[3], s[1], 1, e, f, c);
    }
    /* s: n, n, m */
    void syrk(const long *s, const f64 *restrict a, const f64 *restrict b,
              f64 *restrict c) {
      for (long i = 0; i < s[0]; i++) {
        for (long j = 0; j <= i; j++)
          c[i * s[0] + j] *= 1.2;
        for (long k = 0; k < s[2]; k++)
          for (long j = 0; j <= i; j++)
            c[i * s[0] + j] += 1.5 * a[i * s[2] + k] * a[j * s[2] + k];
      }
    }

    /* s: r, q, p, s */
    void doitgen(const long *s, const f64 *restrict a, const f64 *restrict b,
                 f64 *restrict c) {
      for (long r = 0; r < s[0]; r++)
        for (long q = 0; q < s[1]; q++)
          for (long p = 0; p < s[2]; p++) {
            f64 sum = 0;
            for (long k = 0; k < s[3]; k++)
              sum += a[(r * s[1] + q) * s[3] + k] * b[k * s[2] + p];
            c[(r * s[1] + q) * s[2] + p] = sum;
          }
    });

enum library {
  SGEMM,
  DGEMM,
  UNFOLDED, /* a convolution's input for sgemm */
  UNFOLDED_PADDED,
  UNFOLDED_CHANNELS,
  DGEMM_2,
  DGEMM_3,
  DSYRK,
  DGEMM_ROWS,
  SGEMV_ROWS,
  SGEMV_ACROSS,
  DNNL_S8,
  DNNL_U8,
  DNNL_BF16
};

enum { EXTENTS = 5 };

static const struct work {
  const char *name, *function;
  enum library library;
  long s[EXTENTS];
  double macs;
  double read_bytes; /* 0: not limited by memory */
} works[] = {
    /* clang-format off */
    {"s8-1024",      "s8s8",     DNNL_S8,   {1024, 1024, 1024}, 1073741824, 0},
    {"u8s8-1024",    "u8s8",     DNNL_U8,   {1024, 1024, 1024}, 1073741824, 0},
    {"bf16-1024",    "bf16bf16", DNNL_BF16, {1024, 1024, 1024}, 1073741824, 0},
    {"s8-256",       "s8s8",     DNNL_S8,   {256, 256, 256},    16777216,   0},
    {"bf16-256",     "bf16bf16", DNNL_BF16, {256, 256, 256},    16777216,   0},
    {"s8-128",       "s8s8",     DNNL_S8,   {128, 128, 128},    2097152,    0},
    {"bf16-128",     "bf16bf16", DNNL_BF16, {128, 128, 128},    2097152,    0},
    {"matvec-4096",  "rows",     SGEMV_ROWS,   {4096, 1, 4096}, 16777216,
                                                                67108864},
    {"vecmat-4096",  "across",   SGEMV_ACROSS, {1, 4096, 4096}, 16777216,
                                                                67108864},
    {"matvec-256",   "rows",     SGEMV_ROWS,   {256, 1, 256},   65536,      0},
    {"vecmat-256",   "across",   SGEMV_ACROSS, {1, 256, 256},   65536,      0},
    {"4x2048x2048",  "product",  SGEMM,     {4, 2048, 2048},    16777216,   0},
    {"8x2048x2048",  "product",  SGEMM,     {8, 2048, 2048},    33554432,   0},
    {"2048x4x2048",  "product",  SGEMM,     {2048, 4, 2048},    16777216,   0},
    {"2048x8x2048",  "product",  SGEMM,     {2048, 8, 2048},    33554432,   0},
    {"2048x2048x4",  "product",  SGEMM,     {2048, 2048, 4},    16777216,   0},
    {"fixed-8",      "fixed8",   SGEMM,     {8, 8, 8},          512,        0},
    {"fixed-16",     "fixed16",  SGEMM,     {16, 16, 16},       4096,       0},
    {"fixed-32",     "fixed32",  SGEMM,     {32, 32, 32},       32768,      0},
    {"conv1x1-nhwc", "conv",     SGEMM,     {56, 56, 256, 64, 1},
                                                                51380224,   0},
    {"conv3x3-nhwc", "conv",     UNFOLDED,  {56, 56, 64, 64, 3},
                                                                115605504,  0},
    {"conv3x3-nhwc-padded", "padded",   UNFOLDED_PADDED,
                                           {56, 56, 64, 64, 3},
                                                                115605504,  0},
    {"conv3x3-nchw-padded", "channels", UNFOLDED_CHANNELS,
                                           {56, 56, 64, 64, 3},
                                                                115605504,  0},
    {"polybench-gemm", "gemm",   DGEMM,     {1000, 1100, 1200}, 1320000000, 0},
    {"polybench-2mm", "mm2",     DGEMM_2,   {800, 900, 1100, 1200},
                                                                1656000000, 0},
    {"polybench-3mm", "mm3",     DGEMM_3,   {800, 900, 1000, 1100, 1200},
                                                                2700000000, 0},
    {"polybench-syrk", "syrk",   DSYRK,     {1200, 1200, 1000}, 720600000,  0},
    {"polybench-doitgen", "doitgen", DGEMM_ROWS, {150, 140, 160, 160},
                                                                537600000,  0},
    /* clang-format on */
};

typedef void loop(const long *s, const void *a, const void *b, void *c);
typedef float reads(long n, const float *x);
typedef int dnnl_bytes(char, char, char, long, long, long, float, const void *,
                       long, int8_t, const void *, long, int8_t, float,
                       int32_t *, long, const int32_t *);
typedef int dnnl_halves(char, char, long, long, long, float, const void *, long,
                        const void *, long, float, float *, long);
typedef void gemv_s(int, int, int, int, float, const float *, int,
                    const float *, int, float, float *, int);

typedef void syrk_d(int, int, int, int, int, double, const double *, int,
                    double, double *, int);

struct libraries {
  cblas_gemm_s *sgemm;
  cblas_gemm_d *dgemm;
  syrk_d *dsyrk;
  gemv_s *sgemv;
  dnnl_bytes *s8, *u8;
  dnnl_halves *bf16;
};

static void find(void *library, const char *name, void *function) {
  void *f = library ? dlsym(library, name) : NULL;
  memcpy(function, &f, sizeof f);
}

static struct libraries find_libraries(void) {
  struct libraries l = {0};
  void *blas = cpu_bench_openblas();
  find(blas, "cblas_sgemm", &l.sgemm);
  find(blas, "cblas_dgemm", &l.dgemm);
  find(blas, "cblas_dsyrk", &l.dsyrk);
  find(blas, "cblas_sgemv", &l.sgemv);
  setenv("OMP_NUM_THREADS", "1", 1); /* oneDNN asks when it is loaded */
  static const char *const names[] = {"libdnnl.so.2", "libdnnl.so.3"};
  for (size_t i = 0; !l.s8 && i < sizeof names / sizeof *names; i++) {
    void *dnnl = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    find(dnnl, "dnnl_gemm_s8s8s32", &l.s8);
    find(dnnl, "dnnl_gemm_u8s8s32", &l.u8);
    find(dnnl, "dnnl_gemm_bf16bf16f32", &l.bf16);
  }
  return l;
}

struct tensors {
  void *a, *b, *c, *unfolded;
};
enum { TENSOR_BYTES = 128 << 20 };

static void unfold(const long *s, const float *a, float *to) {
  long wide = s[1] + s[4] - 1;
  size_t run = (size_t)(s[4] * s[3]) * sizeof *a; /* adjacent in a row */
  for (long y = 0; y < s[0]; y++)
    for (long x = 0; x < s[1]; x++)
      for (long v = 0; v < s[4]; v++, to += s[4] * s[3])
        memcpy(to, a + ((y + v) * wide + x) * s[3], run);
}

/* One row of taps, of which each begins a pixel behind the one before; zeros
 * in place of those beyond the edges. */
static void unfold_padded(const long *s, const float *a, float *to) {
  size_t pixel = (size_t)s[3] * sizeof *a;
  for (long y = 0; y < s[0]; y++)
    for (long x = 0; x < s[1]; x++)
      for (long v = 0; v < s[4]; v++, to += s[4] * s[3]) {
        long p = y + v - 1, first = x == 0, last = x + 1 == s[1];
        if (p < 0 || p >= s[0]) {
          memset(to, 0, (size_t)s[4] * pixel);
          continue;
        }
        if (first)
          memset(to, 0, pixel);
        if (last)
          memset(to + (s[4] - 1) * s[3], 0, pixel);
        memcpy(to + first * s[3], a + (p * s[1] + x - 1 + first) * s[3],
               (size_t)(s[4] - first - last) * pixel);
      }
}

/* A row for each channel and tap: the image, moved by the tap. */
static void unfold_channels(const long *s, const float *a, float *to) {
  for (long i = 0; i < s[3]; i++)
    for (long v = -1; v < 2; v++)
      for (long u = -1; u < 2; u++)
        for (long y = 0; y < s[0]; y++, to += s[1]) {
          long first = u < 0, last = u > 0;
          if (y + v < 0 || y + v >= s[0]) {
            memset(to, 0, (size_t)s[1] * sizeof *to);
            continue;
          }
          if (first)
            to[0] = 0;
          if (last)
            to[s[1] - 1] = 0;
          memcpy(to + first, a + (i * s[0] + y + v) * s[1] + u + first,
                 (size_t)(s[1] - first - last) * sizeof *to);
        }
}

/* As one product, of pixels with taps and channels. */
static bool convolve(const struct libraries *l, const struct work *w,
                     const struct tensors *t) {
  const long *s = w->s;
  int pixels = (int)(s[0] * s[1]), channels = (int)s[2];
  int taps = (int)(s[3] * s[4] * s[4]);
  const void *a = w->library == SGEMM ? t->a : t->unfolded;
  if (!l->sgemm)
    return false;
  if (w->library == UNFOLDED)
    unfold(s, t->a, t->unfolded);
  else if (w->library == UNFOLDED_PADDED)
    unfold_padded(s, t->a, t->unfolded);
  else if (w->library == UNFOLDED_CHANNELS)
    unfold_channels(s, t->a, t->unfolded);
  if (w->library == UNFOLDED_CHANNELS)
    l->sgemm(CBLAS_ROW_MAJOR, CBLAS_AS_IS, CBLAS_AS_IS, channels, pixels, taps,
             1, t->b, taps, a, pixels, 0, t->c, pixels);
  else
    l->sgemm(CBLAS_ROW_MAJOR, CBLAS_AS_IS, CBLAS_AS_IS, pixels, channels, taps,
             1, a, taps, t->b, channels, w->library != UNFOLDED_PADDED, t->c,
             channels);
  return true;
}

static void dgemm(const struct libraries *l, long m, long n, long k,
                  double alpha, const double *a, const double *b, double beta,
                  double *c) {
  l->dgemm(CBLAS_ROW_MAJOR, CBLAS_AS_IS, CBLAS_AS_IS, (int)m, (int)n, (int)k,
           alpha, a, (int)k, b, (int)n, beta, c, (int)n);
}

/* The nests of PolyBench. */
static bool call_doubles(const struct libraries *l, const struct work *w,
                         const struct tensors *t) {
  enum { LOWER = 122 };
  const long *s = w->s;
  const double *a = t->a, *b = t->b;
  double *c = t->c, *more = c + s[0] * s[3], *last = more + s[0] * s[1];
  if (w->library == DSYRK) {
    if (l->dsyrk)
      l->dsyrk(CBLAS_ROW_MAJOR, LOWER, CBLAS_AS_IS, (int)s[0], (int)s[2], 1.5,
               a, (int)s[2], 1.2, c, (int)s[0]);
    return l->dsyrk != NULL;
  }
  if (!l->dgemm)
    return false;
  if (w->library == DGEMM) {
    dgemm(l, s[0], s[1], s[2], 1.5, a, b, 1.2, c);
  } else if (w->library == DGEMM_ROWS) {
    dgemm(l, s[0] * s[1], s[2], s[3], 1, a, b, 0, c);
  } else if (w->library == DGEMM_2) {
    dgemm(l, s[0], s[1], s[2], 1.5, a, b, 0, more);
    dgemm(l, s[0], s[3], s[1], 1, more, b + s[2] * s[1], 1.2, c);
  } else {
    dgemm(l, s[0], s[1], s[2], 1, a, b, 0, more);
    dgemm(l, s[1], s[3], s[4], 1, a + s[0] * s[2], b + s[2] * s[1], 0, last);
    dgemm(l, s[0], s[3], s[1], 1, more, last, 0, c);
  }
  return true;
}

/* False: the library is not there, or does not do it. */
static bool call_library(const struct libraries *l, const struct work *w,
                         const struct tensors *t) {
  const long *s = w->s;
  int m = (int)s[0], n = (int)s[1], k = (int)s[2];
  const int32_t none = 0;
  switch (w->library) {
  case UNFOLDED:
  case UNFOLDED_PADDED:
  case UNFOLDED_CHANNELS:
    return convolve(l, w, t);
  case SGEMM:
    if (strcmp(w->function, "conv") == 0)
      return convolve(l, w, t);
    if (l->sgemm)
      l->sgemm(CBLAS_ROW_MAJOR, CBLAS_AS_IS, CBLAS_AS_IS, m, n, k, 1, t->a, k,
               t->b, n, 1, t->c, n);
    return l->sgemm != NULL;
  case DGEMM:
  case DGEMM_2:
  case DGEMM_3:
  case DGEMM_ROWS:
  case DSYRK:
    return call_doubles(l, w, t);
  case SGEMV_ROWS:
    if (l->sgemv)
      l->sgemv(CBLAS_ROW_MAJOR, CBLAS_AS_IS, m, k, 1, t->a, k, t->b, 1, 1, t->c,
               1);
    return l->sgemv != NULL;
  case SGEMV_ACROSS:
    if (l->sgemv)
      l->sgemv(CBLAS_ROW_MAJOR, CBLAS_TURNED, k, n, 1, t->b, n, t->a, 1, 1,
               t->c, 1);
    return l->sgemv != NULL;
  case DNNL_S8:
    return l->s8 && l->s8('N', 'N', 'F', m, n, k, 1, t->a, k, 0, t->b, n, 0, 1,
                          t->c, n, &none) == 0;
  case DNNL_U8:
    return l->u8 && l->u8('N', 'N', 'F', m, n, k, 1, t->a, k, 0, t->b, n, 0, 1,
                          t->c, n, &none) == 0;
  case DNNL_BF16:
    return l->bf16 &&
           l->bf16('N', 'N', m, n, k, 1, t->a, k, t->b, n, 1, t->c, n) == 0;
  }
  return false;
}

enum rival { OURS, LIBRARY, MATMUL, PLAIN, POLLY, READING, RIVALS };

/* oneDNN's primitive beside its function; NULL: none. */
static struct onednn *open_matmul(const struct work *w,
                                  const struct tensors *t) {
  if (w->library < DNNL_S8)
    return NULL;
  return cpu_bench_onednn_open(w->library == DNNL_S8   ? DTYPE_I8
                               : w->library == DNNL_U8 ? DTYPE_U8
                                                       : DTYPE_BF16,
                               w->s, (void *const[]){t->a, t->b, t->c});
}

/* Of a plain loop that takes long one run is enough. */
static bool is_left_out(enum rival r, const struct work *w, int calls,
                        int round) {
  return (r == PLAIN || r == POLLY) && round != 0 && w->macs * calls > 1e7;
}

/* Multiply-adds per second of several runs, in turns; of READING as many as
 * have their bytes read. */
static void measure(loop *const loops[RIVALS], reads *read_all,
                    const struct libraries *l, const struct work *w,
                    const struct tensors *t, double rate[RIVALS]) {
  int calls = (int)(2e7 / w->macs) + 1;
  volatile float sum = 0;
  static struct cpu_bench_speed speed[RIVALS];
  for (int i = 0; i < RIVALS; i++)
    speed[i].count = 0;
  bool has_library = call_library(l, w, t);
  struct onednn *matmul = open_matmul(w, t);
  bool has_matmul = matmul && cpu_bench_onednn_run(matmul);
  double ours = 0;
  for (int round = -CPU_BENCH_FIRST; round < CPU_BENCH_ROUNDS || ours < 0.2;
       round++)
    for (enum rival r = OURS; r < RIVALS; r++) {
      if ((r == LIBRARY && !has_library) || (r == MATMUL && !has_matmul) ||
          is_left_out(r, w, calls, round) || (r == POLLY && !loops[r]) ||
          (r == READING && w->read_bytes == 0))
        continue;
      double from = cpu_bench_seconds();
      for (int i = 0; i < calls; i++)
        if (r == LIBRARY)
          call_library(l, w, t);
        else if (r == MATMUL)
          cpu_bench_onednn_run(matmul);
        else if (r == READING)
          sum += read_all((long)(w->read_bytes / sizeof(float)), t->b);
        else
          loops[r](w->s, t->a, t->b, t->c);
      double took = cpu_bench_seconds() - from;
      ours += r == OURS ? took : 0;
      if (round >= 0)
        cpu_bench_add(&speed[r], w->macs * calls / took);
    }
  for (int i = 0; i < RIVALS; i++)
    rate[i] = cpu_bench_rate(&speed[i]);
  cpu_bench_onednn_close(matmul);
}

static void print_work(struct tool *tool, const struct work *w,
                       const double rate[RIVALS]) {
  struct text t = {0};
  bool is_integer = w->library == DNNL_S8 || w->library == DNNL_U8;
  text_printf(&t, "case=%s %s=%.1f", w->name, is_integer ? "gops" : "gflops",
              rate[OURS] * 2e-9);
  if (w->read_bytes > 0)
    text_printf(&t, " gbytes_per_second=%.1f bandwidth_share=%.3f",
                rate[OURS] / w->macs * w->read_bytes * 1e-9,
                rate[OURS] / rate[READING]);
  if (rate[LIBRARY] > 0)
    text_printf(&t, " %s=%.1f ratio=%.3f",
                w->library >= DNNL_S8 ? "onednn" : "openblas",
                rate[LIBRARY] * 2e-9, rate[OURS] / rate[LIBRARY]);
  if (rate[MATMUL] > 0)
    text_printf(&t, " onednn_matmul=%.1f matmul_ratio=%.3f",
                rate[MATMUL] * 2e-9, rate[OURS] / rate[MATMUL]);
  text_printf(&t, " clang=%.1f", rate[PLAIN] * 2e-9);
  if (rate[POLLY] > 0)
    text_printf(&t, " polly=%.1f", rate[POLLY] * 2e-9);
  text_puts(&t, "\n");
  keys_print(tool, "%s", text_string(&t));
  text_free(&t);
}

/* A loop from one of two libraries. */
static loop *find_loop(void *const library[2], const char *name) {
  loop *found = NULL;
  find(library[0], name, &found);
  if (!found)
    find(library[1], name, &found);
  return found;
}

enum { WORKS = sizeof works / sizeof *works };

/* The loop that reads is beside those that are not PolyBench's. */
static bool needs(const char *only, bool is_polybench) {
  for (int i = 0; i < WORKS; i++)
    if (cpu_bench_means(only, works[i].name) &&
        cpu_bench_means("polybench", works[i].name) == is_polybench)
      return true;
  return false;
}

/* Those of `source` and of `polybench`. */
struct compiled {
  void *by[RIVALS][2];
};

/* What the chosen cases need of it. */
static bool compile(struct tool *tool, const char *folder, const char *only,
                    struct compiled *c) {
  const struct cpu_bench_source s[2] = {{"works", source, {NULL}},
                                        {"polybench", polybench, {NULL}}};
  *c = (struct compiled){0};
  for (int i = 0; i < 2; i++) {
    if (!needs(only, i == 1))
      continue;
    c->by[OURS][i] = cpu_bench_compile(tool, folder, &s[i], true);
    if (!c->by[OURS][i])
      return false;
    c->by[PLAIN][i] = cpu_bench_compile(tool, folder, &s[i], false);
    if (!c->by[PLAIN][i])
      return false;
  }
  if (needs(only, true))
    c->by[POLLY][1] = cpu_bench_polly(tool, folder, &s[1]);
  return true;
}

static bool run(struct tool *tool, const struct compiled *c,
                const struct tensors *t, const char *only) {
  struct libraries l = find_libraries();
  reads *read_all = NULL;
  find(c->by[PLAIN][0], "read_all", &read_all);
  for (int i = 0; i < WORKS; i++) {
    if (!cpu_bench_means(only, works[i].name))
      continue;
    loop *loops[RIVALS] = {NULL};
    for (enum rival r = OURS; r < RIVALS; r++)
      loops[r] = find_loop(c->by[r], works[i].function);
    if (!loops[OURS] || !loops[PLAIN] || (works[i].read_bytes > 0 && !read_all))
      return diag_error(&tool->diag, loc_none(), "no function %s",
                        works[i].function);
    double rate[RIVALS];
    measure(loops, read_all, &l, &works[i], t, rate);
    print_work(tool, &works[i], rate);
  }
  return true;
}

bool cpu_bench_has_work(const char *only) {
  for (int i = 0; i < WORKS; i++)
    if (cpu_bench_means(only, works[i].name))
      return true;
  return false;
}

bool cpu_bench_works(struct tool *tool, const char *folder, const char *only) {
  if (!cpu_bench_has_work(only))
    return true;
  struct compiled c;
  if (!compile(tool, folder, only, &c))
    return false;
  struct tensors t;
  void **each[] = {&t.a, &t.b, &t.c, &t.unfolded};
  for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
    *each[i] = aligned_alloc(64, TENSOR_BYTES);
    if (!*each[i])
      out_of_memory(TENSOR_BYTES);
    memset(*each[i], 0, TENSOR_BYTES);
  }
  bool good = run(tool, &c, &t, only);
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    free(*each[i]);
  return good;
}
