// Quantised numbers less their zero points, multiplied by code for the
// processor: as the loops have it modulo 2^32, whatever is subtracted.  Inputs
// begin and end at pages that nobody may read.
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 %s -o %t -Rpass=nputeir 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu,min-macs=0 %clang -O2 -mavx2 -mfma %s -o %t
// RUN: %t | FileCheck %s
// RUN: env NPUTEIR_OPTIONS=device=cpu %clang -O2 %s -o %t
// RUN: %t | FileCheck %s
// TAKEN-COUNT-12: nest replaced by code for the processor
// TAKEN-NOT: nest replaced
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "room.h"

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;

struct work {
  long m, n, k;
  const void *x, *w;
  void *out;
  const int32_t *bias;
  const i8 *row_zero, *column_zero;
  int32_t x_zero, w_zero;
};

// The same with and without the plugin.
#define BODY(X, W, OUT, ...)                                                   \
  long m = g->m, n = g->n, k = g->k;                                           \
  const X *restrict x = g->x;                                                  \
  const W *restrict w = g->w;                                                  \
  OUT *restrict out = g->out;                                                  \
  int32_t a = g->x_zero, b = g->w_zero;                                        \
  __VA_ARGS__
#define FORM(NAME, ...)                                                        \
  __attribute__((noinline)) static void NAME(const struct work *g) {           \
    BODY(__VA_ARGS__)                                                          \
  }                                                                            \
  __attribute__((noinline, annotate("nputeir:off"))) static void NAME##_plain( \
      const struct work *g) {                                                  \
    BODY(__VA_ARGS__)                                                          \
  }
#define I for (long i = 0; i < m; i++)
#define J for (long j = 0; j < n; j++)
#define P for (long p = 0; p < k; p++)
#define SUM(PRODUCT)                                                           \
  I J {                                                                        \
    uint32_t s = 0;                                                            \
    P s += (uint32_t)(PRODUCT);                                                \
    out[i * n + j] = (int32_t)s;                                               \
  }
#define U(V) ((uint32_t)(V))

FORM(offset, i8, i8, int32_t, SUM((x[i * k + p] + U(a)) * U(w[p * n + j])))
FORM(weights, u8, i8, int32_t, SUM(U(x[i * k + p]) * (w[p * n + j] - U(b))))
FORM(both, u8, u8, int32_t, SUM((x[i * k + p] - U(a)) * (w[p * n + j] - U(b))))
FORM(shorts, i16, i8, int32_t, SUM((x[i * k + p] - U(a)) * (w[j * k + p] - U(b))))
FORM(transposed, i8, u8, int32_t, SUM((x[p * m + i] + U(a)) * (w[j * k + p] - U(b))))
FORM(adds, i8, i8, int32_t, {
  I P J out[i * n + j] = (int32_t)(U(out[i * n + j]) + (x[i * k + p] + U(a)) * U(w[p * n + j]));
})
FORM(by_row, u8, i8, int32_t, {
  const i8 *restrict rows = g->row_zero, *restrict columns = g->column_zero;
  SUM((x[i * k + p] - U(rows[i])) * (w[p * n + j] - U(columns[j])))
})
// A fully connected layer of TensorFlow Lite, whose results are rounded twice.
static inline int32_t scaled(int32_t sum, int32_t by, int up) {
  int shift = up > 0 ? 0 : -up;
  int32_t x = (int32_t)((uint32_t)sum * (uint32_t)(1 << (up > 0 ? up : 0)));
  int64_t product = (int64_t)x * by;
  int64_t half = product >= 0 ? 1 << 30 : 1 - (1 << 30);
  int32_t high = (int32_t)((product + half) / (1ll << 31));
  int32_t mask = (int32_t)((1ll << shift) - 1), rest = high & mask;
  high = (high >> shift) + (rest > (mask >> 1) + (high < 0));
  return x == by && x == INT32_MIN ? INT32_MAX : high;
}
FORM(connected, i8, i8, i8, {
  const int32_t *restrict bias = g->bias;
  int32_t by = 1234567 + g->x_zero % 2, least = -128 + (k > 64), up = n > 40 ? 1 : -3;
  int32_t most = 127 - (k > 64);
  I J {
    uint32_t s = 0;
    P s += (w[j * k + p] + U(b)) * (x[i * k + p] + U(a));
    int32_t v = scaled((int32_t)(s + U(bias[j])), by, up) + 3;
    v = v < least ? least : v;
    out[i * n + j] = (i8)(v > most ? most : v);
  }
})
FORM(row, u8, i8, int32_t, {
  (void)m;
  J {
    uint32_t s = 0;
    P s += (w[j * k + p] - U(b)) * (x[p] - U(a));
    out[j] = (int32_t)s;
  }
})
FORM(long_sums, i8, u8, int64_t, {
  I J {
    int64_t s = 0;
    P s += ((int64_t)x[i * k + p] + a) * (w[p * n + j] - (int64_t)b);
    out[i * n + j] = s;
  }
})
// Two tensors' axes.
FORM(batches, u8, u8, int32_t, {
  for (long c = 0; c < 3; c++)
    I J {
      uint32_t s = 0;
      P s += (x[(c * m + i) * k + p] - U(a)) * (w[(p * n + j) * 3 + c] - U(b));
      out[(i * 3 + c) * n + j] = (int32_t)s;
    }
})
enum { WINDOW = 3 };
FORM(windows, i8, i8, int32_t, {
  I J {
    uint32_t s = 0;
    for (long v = 0; v < WINDOW; v++)
      P s += (x[(i + v) * k + p] - U(a)) * (w[(j * WINDOW + v) * k + p] - U(b));
    out[i * n + j] = (int32_t)s;
  }
})

enum { ROOM = 16 * ROOM_PAGE };

static struct form {
  const char *name;
  void (*run)(const struct work *), (*plain)(const struct work *);
  int x_bytes, batches, rows; // rows: of x beyond m
} forms[] = {
#define EACH(NAME, X, BATCHES, ROWS) {#NAME, NAME, NAME##_plain, sizeof(X), BATCHES, ROWS}
    EACH(offset, i8, 1, 0),     EACH(weights, u8, 1, 0),
    EACH(both, u8, 1, 0),       EACH(shorts, i16, 1, 0),
    EACH(transposed, i8, 1, 0), EACH(adds, i8, 1, 0),
    EACH(by_row, u8, 1, 0),     EACH(connected, i8, 1, 0),
    EACH(row, u8, 1, 0),        EACH(long_sums, i8, 1, 0),
    EACH(batches, u8, 3, 0),    EACH(windows, i8, 1, WINDOW - 1),
};

int main(void) {
  static const long sizes[][3] = {{1, 1, 1},    {1, 70, 40},  {2, 3, 5},
                                  {7, 33, 65},  {8, 8, 4},    {16, 48, 64},
                                  {50, 1, 33},  {61, 67, 71}, {3, 130, 129}};
  static const int32_t zeros[][2] = {
      {128, 0}, {-3, 7}, {-255, 255}, {1 << 30, -2000000001}, {0, 1}};
  static int64_t out[2][ROOM];
  static int32_t bias[256];
  char *x = room(ROOM), *w = room(ROOM);
  int tried = 0, different = 0;
  for (int i = 0; i < 256; i++)
    bias[i] = i * 7919 % 100003 - 50000;
  for (size_t f = 0; x && w && f < sizeof forms / sizeof *forms; f++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (size_t z = 0; z < sizeof zeros / sizeof *zeros; z++)
        for (int end = 0; end < 2; end++, tried++) {
          long m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
          long x_bytes = (m + forms[f].rows) * k * forms[f].x_bytes * forms[f].batches;
          long w_bytes = n * k * (forms[f].rows + 1) * forms[f].batches;
          struct work g = {m, n, k, x, w, NULL, bias, (i8 *)x, (i8 *)w, zeros[z][0], zeros[z][1]};
          if (end)
            g.x = x + ROOM - x_bytes, g.w = w + ROOM - w_bytes;
          for (int i = 0; i < 2; i++) {
            memset(out[i], 1, sizeof *out);
            g.out = out[i];
            (i ? forms[f].plain : forms[f].run)(&g);
          }
          if (memcmp(out[0], out[1], sizeof *out)) {
            different++;
            printf("%s %ldx%ldx%ld, %d and %d\n", forms[f].name, m, n, k, zeros[z][0], zeros[z][1]);
          }
        }
  // CHECK-NOT: and
  // CHECK: 1080 products, 0 different
  printf("%d products, %d different\n", tried, different);
}
