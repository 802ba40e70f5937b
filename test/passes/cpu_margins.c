// Convolutions with margins, by code for the processor: in images of one pixel
// and more, of which whole rows of a window are beyond the edge, and of few and
// many channels, which are runs of columns that a pixel has or has not.  The
// input begins and ends at pages that nobody may read.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math %s -o %t
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math -mavx2 -mfma %s -o %t
// RUN: %t | FileCheck %s
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ROOM = 16 * PAGE, OUT = 12, MOST = 72 };

#define CONVOLVE(NAME, IN, WEIGHT, SUM)                                        \
  __attribute__((noinline)) static void NAME(                                  \
      long h, long w, long channels, const IN *restrict in,                    \
      const WEIGHT *restrict by, SUM *restrict out) {                          \
    for (long y = 0; y < h; y++)                                               \
      for (long x = 0; x < w; x++)                                             \
        for (long o = 0; o < OUT; o++) {                                       \
          SUM sum = 0;                                                         \
          for (long v = 0; v < 3; v++)                                         \
            for (long u = 0; u < 3; u++)                                       \
              for (long i = 0; i < channels; i++) {                            \
                long p = y + v - 1, q = x + u - 1;                             \
                if (p >= 0 && p < h && q >= 0 && q < w)                        \
                  sum += (SUM)in[(p * w + q) * channels + i] *                 \
                         (SUM)by[((v * 3 + u) * channels + i) * OUT + o];      \
              }                                                                \
          out[(y * w + x) * OUT + o] = sum;                                    \
        }                                                                      \
  }                                                                            \
  static int NAME##_differs(char *page, long h, long w, long channels) {       \
    static WEIGHT by[9 * MOST * OUT];                                          \
    static SUM out[ROOM];                                                      \
    size_t count = (size_t)(h * w * channels), different = 0;                  \
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)                        \
      by[i] = (WEIGHT)((int)(i * 7 % 11) - 5);                                 \
    for (int end = 0; end < 2; end++) {                                        \
      IN *in = (IN *)page + end * (ROOM / sizeof(IN) - count);                 \
      for (size_t i = 0; i < count; i++)                                       \
        in[i] = (IN)(i * 5 % 13);                                              \
      NAME(h, w, channels, in, by, out);                                       \
      for (long at = 0; at < h * w * OUT; at++) {                              \
        long y = at / OUT / w, x = at / OUT % w, sum = 0;                      \
        for (long t = 0; t < 9 * channels; t++) {                              \
          long p = y + t / channels / 3 - 1, q = x + t / channels % 3 - 1;     \
          if (p >= 0 && p < h && q >= 0 && q < w)                              \
            sum += (long)in[(p * w + q) * channels + t % channels] *           \
                   (long)by[t * OUT + at % OUT];                               \
        }                                                                      \
        different += (long)out[at] != sum;                                     \
      }                                                                        \
    }                                                                          \
    return different != 0;                                                     \
  }
CONVOLVE(floats, float, float, float)
CONVOLVE(doubles, double, double, double)
CONVOLVE(bytes, signed char, signed char, int)
CONVOLVE(positive, unsigned char, signed char, int)
CONVOLVE(shorts, short, short, int)

// Along a window, which is the run of columns here, pixels begin and end.
__attribute__((noinline)) static void along(long n, long window,
                                            const float *restrict in,
                                            const float *restrict by,
                                            float *restrict out) {
  for (long x = 0; x < n / 2; x++)
    for (long o = 0; o < OUT; o++) {
      float sum = 0;
      for (long t = 0; t < window; t++) {
        long p = 2 * x + t - window / 2;
        if (p >= 0 && p < n)
          sum += in[p] * by[t * OUT + o];
      }
      out[x * OUT + o] = sum;
    }
}

static int along_differs(char *page, long n, long window) {
  static float by[MOST * OUT], out[MOST * OUT];
  for (int i = 0; i < MOST * OUT; i++)
    by[i] = (float)(i * 7 % 11 - 5);
  float *in = (float *)(page + ROOM) - n;
  for (long i = 0; i < n; i++)
    in[i] = (float)(i * 5 % 13);
  along(n, window, in, by, out);
  for (long at = 0; at < n / 2 * OUT; at++) {
    float sum = 0;
    for (long t = 0; t < window; t++) {
      long p = 2 * (at / OUT) + t - window / 2;
      if (p >= 0 && p < n)
        sum += in[p] * by[t * OUT + at % OUT];
    }
    if (out[at] != sum)
      return 1;
  }
  return 0;
}

int main(void) {
  char *page = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || mprotect(page + PAGE, ROOM, PROT_READ | PROT_WRITE))
    return 1;
  page += PAGE;
  static const int sides[] = {1, 2, 3, 5, 8}, channels[] = {1, 7, 8, 9, 33, MOST};
  int tried = 0, different = 0;
  for (int y = 0; y < 5; y++)
    for (int x = 0; x < 5; x++)
      for (int i = 0; i < 6; i++, tried++) {
        long h = sides[y], w = sides[x], c = channels[i];
        different += floats_differs(page, h, w, c);
        different += doubles_differs(page, h, w, c);
        different += bytes_differs(page, h, w, c);
        different += positive_differs(page, h, w, c);
        different += shorts_differs(page, h, w, c);
      }
  for (long n = 2; n < MOST; n += 5, tried++)
    different += along_differs(page, n, 8) + along_differs(page, n, 27);
  // CHECK: 164 images, 0 different
  printf("%d images, %d different\n", tried, different);
}
