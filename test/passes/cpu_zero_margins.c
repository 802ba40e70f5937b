// Convolutions of quantised numbers with margins, by code for the processor:
// what is beyond the edges counts as the zero point and is not read.  Where that
// is no number of the image's type, the loop runs.  Inputs begin and end at pages
// that nobody may read.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 %s -o %t -Rpass=nputeir 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -mavx2 -mfma %s -o %t
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O3 -march=native %s -o %t
// RUN: %t | FileCheck %s
// TAKEN-COUNT-6: nest replaced by code for the processor
// TAKEN-NOT: nest replaced
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "room.h"

enum { ROOM = 8 * ROOM_PAGE, OUT = 13, MOST = 40 };

struct work {
  long h, w, channels, step;
  const void *in, *by;
  void *out;
  int32_t in_zero, by_zero;
};

#define BODY(IN, WEIGHT, RESULT, SUM, PRODUCT, FINISH)                         \
  long h = g->h, width = g->w, channels = g->channels, step = g->step;         \
  const IN *restrict in = g->in;                                               \
  const WEIGHT *restrict by = g->by;                                           \
  RESULT *restrict out = g->out;                                               \
  SUM a = (SUM)g->in_zero, b = (SUM)g->by_zero;                                \
  (void)b;                                                                     \
  for (long y = 0; y < (h + step - 1) / step; y++)                             \
    for (long x = 0; x < (width + step - 1) / step; x++)                       \
      for (long o = 0; o < OUT; o++) {                                         \
        SUM sum = 0;                                                           \
        for (long v = 0; v < 3; v++)                                           \
          for (long u = 0; u < 3; u++) {                                       \
            long p = y * step + v - 1, q = x * step + u - 1;                   \
            if (p < 0 || p >= h || q < 0 || q >= width)                        \
              continue;                                                        \
            for (long i = 0; i < channels; i++) {                              \
              SUM e = (SUM)in[(p * width + q) * channels + i];                 \
              SUM f = (SUM)by[((o * 3 + v) * 3 + u) * channels + i];           \
              sum += PRODUCT;                                                  \
            }                                                                  \
          }                                                                    \
        out[(y * ((width + step - 1) / step) + x) * OUT + o] = FINISH;         \
      }
#define FORM(NAME, ...)                                                        \
  __attribute__((noinline)) static void NAME(const struct work *g) {           \
    BODY(__VA_ARGS__)                                                          \
  }                                                                            \
  __attribute__((noinline, annotate("nputeir:off"))) static void NAME##_plain( \
      const struct work *g) {                                                  \
    BODY(__VA_ARGS__)                                                          \
  }
FORM(offset, int8_t, int8_t, int32_t, uint32_t, (e + a) * f, (int32_t)sum)
FORM(both, uint8_t, uint8_t, int32_t, uint32_t, (e - a) * (f - b), (int32_t)sum)
FORM(mixed, int8_t, uint8_t, int32_t, uint32_t, (e - a) * (f - b), (int32_t)sum)
FORM(weights, uint8_t, int8_t, int32_t, uint32_t, e * (f - b), (int32_t)sum)
FORM(shorts, int16_t, int8_t, int8_t, uint32_t, (e - a) * f, (int8_t)((int32_t)sum >> 9))
FORM(longs, int8_t, uint8_t, int64_t, uint64_t, (e + a) * (f - b), (int64_t)sum)

static struct form {
  const char *name;
  void (*run)(const struct work *), (*plain)(const struct work *);
  int in_bytes;
} forms[] = {
    {"offset", offset, offset_plain, 1}, {"both", both, both_plain, 1},
    {"mixed", mixed, mixed_plain, 1},    {"weights", weights, weights_plain, 1},
    {"shorts", shorts, shorts_plain, 2}, {"longs", longs, longs_plain, 1},
};

int main(void) {
  static const long images[][3] = {{1, 1, 1},  {1, 8, 5},  {5, 1, 12}, {2, 3, 8},
                                   {3, 5, 3},  {8, 8, 9},  {7, 9, 33}, {4, 6, MOST}};
  static const int32_t zeros[][2] = {{128, 0}, {-127, 100}, {3, -1000000007}, {255, 255}, {1 << 20, 1}};
  static int64_t out[2][9 * 9 * OUT];
  char *in = room(ROOM), *by = room(ROOM);
  int tried = 0, different = 0;
  for (size_t f = 0; in && by && f < sizeof forms / sizeof *forms; f++)
    for (size_t s = 0; s < sizeof images / sizeof *images; s++)
      for (size_t z = 0; z < sizeof zeros / sizeof *zeros; z++)
        for (int way = 0; way < 4; way++, tried++) {
          const long *size = images[s];
          struct work g = {size[0], size[1], size[2], way / 2 + 1, in, by, NULL, zeros[z][0], zeros[z][1]};
          if (way % 2) {
            g.in = in + ROOM - g.h * g.w * g.channels * forms[f].in_bytes;
            g.by = by + ROOM - OUT * 9 * g.channels;
          }
          for (int i = 0; i < 2; i++) {
            memset(out[i], 1, sizeof *out);
            g.out = out[i];
            (i ? forms[f].plain : forms[f].run)(&g);
          }
          if (memcmp(out[0], out[1], sizeof *out)) {
            different++;
            printf("%s %ldx%ldx%ld, %d and %d\n", forms[f].name, g.h, g.w, g.channels, g.in_zero, g.by_zero);
          }
        }
  // CHECK-NOT: and
  // CHECK: 960 images, 0 different
  printf("%d images, %d different\n", tried, different);
}
