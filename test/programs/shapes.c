/* shapes.c -- fifty products of different shapes, one after the other, as
 * layers of a network have them: bf16 and int8 in turn, rows of either input
 * along K or across it.
 *
 * usage: shapes [most extent [products]]
 *
 * Values are small, so that float sums are exact in any order.  A hash of each
 * result is printed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP(v, n) for (int v = 0; v < (n); v++)

/* C = A * B for one element type: plain, with A turned, and with B turned. */
#define PRODUCTS(name, T, R)                                                   \
  static void name##_nn(int m, int n, int k, const T *a, const T *b, R *c) {   \
    LOOP(i, m) LOOP(j, n) {                                                    \
      R sum = 0;                                                               \
      LOOP(l, k) sum += (R)a[i * k + l] * (R)b[l * n + j];                     \
      c[i * n + j] = sum;                                                      \
    }                                                                          \
  }                                                                            \
  static void name##_tn(int m, int n, int k, const T *a, const T *b, R *c) {   \
    LOOP(i, m) LOOP(j, n) {                                                    \
      R sum = 0;                                                               \
      LOOP(l, k) sum += (R)a[l * m + i] * (R)b[l * n + j];                     \
      c[i * n + j] = sum;                                                      \
    }                                                                          \
  }                                                                            \
  static void name##_nt(int m, int n, int k, const T *a, const T *b, R *c) {   \
    LOOP(i, m) LOOP(j, n) {                                                    \
      R sum = 0;                                                               \
      LOOP(l, k) sum += (R)a[i * k + l] * (R)b[j * k + l];                     \
      c[i * n + j] = sum;                                                      \
    }                                                                          \
  }

PRODUCTS(bf16, __bf16, float)
PRODUCTS(int8, int8_t, int32_t)

static uint32_t state = 5;
static unsigned random_below(unsigned n) {
  state = state * 1664525 + 1013904223;
  return (state >> 16) % n;
}

/* From 64 on, a multiple of 16, small ones as often as large ones. */
static int extent(int most) {
  int size = 64 << random_below(5);
  size += (int)random_below(4) * size / 4;
  size = size / 16 * 16;
  return size > most ? most : size;
}

static uint64_t hash(const void *p, size_t bytes) {
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u;
  return h;
}

static void *room(size_t bytes) {
  void *p = malloc(bytes);
  if (!p) {
    fprintf(stderr, "shapes: out of memory\n");
    exit(1);
  }
  return p;
}

/* Small whole numbers, which are exact; a float's upper half is a bf16. */
static void fill_bf16(__bf16 *to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float x = (float)random_below(16) - 8;
    memcpy(to + i, (char *)&x + 2, sizeof *to);
  }
}

static void fill_int8(int8_t *to, size_t count) {
  for (size_t i = 0; i < count; i++)
    to[i] = (int8_t)(random_below(256) - 128);
}

int main(int argc, char **argv) {
  int most = argc > 1 ? atoi(argv[1]) : 1024,
      count = argc > 2 ? atoi(argv[2]) : 50;
  if (argc > 3 || most < 64 || most > 4096 || count < 1) {
    fprintf(stderr, "usage: shapes [most extent [products]]\n");
    return 2;
  }
  static const char *const order[] = {"nn", "tn", "nt"};
  for (int i = 0; i < count; i++) {
    int m = extent(most), n = extent(most), k = extent(most),
        turned = (int)random_below(3);
    size_t mk = (size_t)m * k, kn = (size_t)k * n, mn = (size_t)m * n;
    void *a = room(2 * mk), *b = room(2 * kn), *c = room(4 * mn);
    if (i % 2) {
      fill_int8(a, mk), fill_int8(b, kn);
      if (turned == 0)
        int8_nn(m, n, k, a, b, c);
      else if (turned == 1)
        int8_tn(m, n, k, a, b, c);
      else
        int8_nt(m, n, k, a, b, c);
    } else {
      fill_bf16(a, mk), fill_bf16(b, kn);
      if (turned == 0)
        bf16_nn(m, n, k, a, b, c);
      else if (turned == 1)
        bf16_tn(m, n, k, a, b, c);
      else
        bf16_nt(m, n, k, a, b, c);
    }
    printf("%s %s %dx%dx%d %016llx\n", i % 2 ? "int8" : "bf16", order[turned],
           m, n, k, (unsigned long long)hash(c, 4 * mn));
    free(a), free(b), free(c);
  }
  return 0;
}
