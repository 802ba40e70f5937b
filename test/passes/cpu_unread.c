// Elements of a factor that conditions on counters leave out of all products:
// of a filter that reaches beyond a small image on either side, of gradients
// beyond its last row, and of a sum that is never as long as the matrix.  They
// lie in pages that nobody may read.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -ffast-math %s -o %t
// RUN: %t | FileCheck %s
#include "room.h"
#include <stdio.h>

enum { TAPS = 5, OUT = 8, ROW = ROOM_PAGE / (int)sizeof(float) };

// by: a page for each tap.
__attribute__((noinline)) static void filter(long h, const float *restrict in,
                                             const float *restrict by,
                                             float *restrict out) {
  for (long y = 0; y < h; y++)
    for (long o = 0; o < OUT; o++) {
      float sum = 0;
      for (long v = 0; v < TAPS; v++)
        for (long i = 0; i < ROW / OUT; i++) {
          long p = y + v - 2;
          if (p >= 0 && p < h)
            sum += in[p * (ROW / OUT) + i] * by[v * ROW + i * OUT + o];
        }
      out[y * OUT + o] = sum;
    }
}

// The image's rows are of two dimensions, too.
__attribute__((noinline)) static void tiled(long n, const float *restrict in,
                                            const float *restrict by,
                                            float *restrict out) {
  for (long t = 0; t < n; t++)
    for (long y = 0; y < 2; y++)
      for (long o = 0; o < OUT; o++) {
        float sum = 0;
        for (long v = 0; v < TAPS; v++)
          for (long i = 0; i < ROW / OUT; i++) {
            long p = 2 * t + y + v - 2;
            if (p >= 0 && p < 2 * n)
              sum += in[p * (ROW / OUT) + i] * by[v * ROW + i * OUT + o];
          }
        out[(2 * t + y) * OUT + o] = sum;
      }
}

// gradient: a page for each row.
__attribute__((noinline)) static void gradient(long n, long h,
                                               const float *restrict in,
                                               const float *restrict gradient,
                                               float *restrict out) {
  for (long v = 0; v < 3; v++)
    for (long i = 0; i < 8; i++)
      for (long y = 0; y < n; y++)
        for (long o = 0; o < ROW; o++)
          if (y * 2 + v - 1 >= 0 && y * 2 + v - 1 < h)
            out[(v * 8 + i) * ROW + o] +=
                in[(y * 2 + v - 1) * 8 + i] * gradient[y * ROW + o];
}

__attribute__((noinline)) static void triangle(long n, long m,
                                               const float *restrict in,
                                               const float *restrict by,
                                               float *restrict out) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < ROW; j++) {
      float sum = 0;
      for (long k = 0; k < (i < m ? i : m); k++)
        sum += in[i * m + k] * by[k * ROW + j];
      out[i * ROW + j] = sum;
    }
}

static float in[4096], out[24 * ROW];

static double sum(void) {
  double all = 0;
  for (int i = 0; i < 24 * ROW; i++) {
    all += out[i] * (i % 7 + 1);
    out[i] = 0;
  }
  return all;
}

int main(void) {
  for (int i = 0; i < 4096; i++)
    in[i] = (float)(i * 5 % 7 - 3);
  for (int h = 1; h <= 4; h++) {
    int first = h < 3 ? 3 - h : 0, pages = h < 3 ? 2 * h - 1 : TAPS;
    float *by = (float *)room((size_t)pages * ROOM_PAGE);
    for (int i = 0; i < pages * ROW; i++)
      by[i] = (float)((i + first * ROW) * 3 % 11 - 5);
    filter(h, in, by - first * ROW, out);
    // CHECK: filter 1
    // CHECK: filter 2 [[TWO:.*]]
    // CHECK: filter 3
    // CHECK: filter 4 [[FOUR:.*]]
    printf("filter %d %g\n", h, sum());
  }
  for (int n = 1; n <= 2; n++) {
    int first = n == 1, pages = n == 1 ? 3 : TAPS;
    float *by = (float *)room((size_t)pages * ROOM_PAGE);
    for (int i = 0; i < pages * ROW; i++)
      by[i] = (float)((i + first * ROW) * 3 % 11 - 5);
    tiled(n, in, by - first * ROW, out);
    // CHECK: tiled 2 [[TWO]]
    // CHECK: tiled 4 [[FOUR]]
    printf("tiled %d %g\n", 2 * n, sum());
  }
  float *rows = (float *)room(3 * ROOM_PAGE);
  for (int i = 0; i < 3 * ROW; i++)
    rows[i] = (float)(i * 3 % 11 - 5);
  gradient(3, 5, in, rows, out);
  double exact = sum();
  gradient(9, 5, in, rows, out); // other rows are beyond the image
  // CHECK: gradient 1
  printf("gradient %d\n", sum() == exact);
  // CHECK: triangle 1
  triangle(4, 3, in, rows, out);
  exact = sum();
  for (int i = 3; i >= 0; i--) // as wide, of which three are read
    for (int k = 0; k < 3; k++)
      in[i * 5 + k] = in[i * 3 + k];
  triangle(4, 5, in, rows, out);
  printf("triangle %d\n", sum() == exact);
}
