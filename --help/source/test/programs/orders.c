/* orders.c -- all six loop orders, from zero and accumulating, flat and 2-D,
 * int and size_t, with guard zones around every array.
 *
 * usage: orders m n k
 *
 * Values are small, so that float sums are exact in any order; one line per
 * nest with a hash of the result.  A guard that changed is reported. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP(v, n) for (int v = 0; v < (n); v++)
#define LOOPZ(v, n) for (size_t v = 0; v < (size_t)(n); v++)

/* Accumulating nests of one element type in every order. */
#define ORDERS(T, R, W, name)                                                  \
  static void name##_ijk(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(i, m)                                                                 \
    LOOP(j, n) LOOP(l, k) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];   \
  }                                                                            \
  static void name##_ikj(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(i, m)                                                                 \
    LOOP(l, k) LOOP(j, n) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];   \
  }                                                                            \
  static void name##_jik(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(j, n)                                                                 \
    LOOP(i, m) LOOP(l, k) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];   \
  }                                                                            \
  static void name##_jki(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(j, n)                                                                 \
    LOOP(l, k) LOOP(i, m) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];   \
  }                                                                            \
  static void name##_kij(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(l, k)                                                                 \
    LOOP(i, m) LOOP(j, n) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];   \
  }                                                                            \
  static void name##_kji(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(l, k)                                                                 \
    LOOP(j, n) LOOP(i, m) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];   \
  }                                                                            \
  /* from zero: a scalar sum; zero in memory; 2-D with size_t */               \
  static void name##_sum(int m, int n, int k, const T *a, const T *b, R *c) {  \
    LOOP(i, m) LOOP(j, n) {                                                    \
      R s = 0;                                                                 \
      LOOP(l, k) s += (W)a[i * k + l] * (W)b[l * n + j];                       \
      c[i * n + j] = s;                                                        \
    }                                                                          \
  }                                                                            \
  static void name##_zero(int m, int n, int k, const T *a, const T *b, R *c) { \
    LOOP(j, n) LOOP(i, m) {                                                    \
      c[i * n + j] = 0;                                                        \
      LOOP(l, k) c[i * n + j] += (W)a[i * k + l] * (W)b[l * n + j];            \
    }                                                                          \
  }                                                                            \
  static void name##_vla(int m, int n, int k, const T *pa, const T *pb,        \
                         R *pc) {                                              \
    const T(*a)[k] = (const T(*)[k])pa;                                        \
    const T(*b)[n] = (const T(*)[n])pb;                                        \
    R(*c)[n] = (R(*)[n])pc;                                                    \
    LOOPZ(i, m) LOOPZ(l, k) LOOPZ(j, n) c[i][j] += (W)a[i][l] * (W)b[l][j];    \
  }

ORDERS(__bf16, float, float, bf)
ORDERS(int8_t, int32_t, int32_t, in)

enum { GUARD = 64 };

static uint32_t state = 7;
static int noise(void) { /* -8 .. 7 */
  state = state * 1664525 + 1013904223;
  return (int)(state >> 28) - 8;
}

static unsigned char *room(size_t bytes) {
  unsigned char *p = malloc(bytes + 2 * GUARD);
  if (!p)
    exit(1);
  memset(p, 0xA5, bytes + 2 * GUARD);
  return p + GUARD;
}

static int intact(const unsigned char *p, size_t bytes) {
  for (int i = 0; i < GUARD; i++)
    if (p[-1 - i] != 0xA5 || p[bytes + (size_t)i] != 0xA5)
      return 0;
  return 1;
}

/* Exact for these values: the upper half of the float.  (A cast would call
 * __truncsfbf2, which Debian 12's libgcc does not have.) */
static __bf16 to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint16_t half = (uint16_t)(bits >> 16);
  __bf16 b;
  memcpy(&b, &half, sizeof b);
  return b;
}

static uint64_t hash(const void *p, size_t bytes) {
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; i++)
    h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211u;
  return h;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: orders m n k\n");
    return 2;
  }
  int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
  size_t mk = (size_t)m * k, kn = (size_t)k * n, mn = (size_t)m * n;
  unsigned char *a = room(mk * 2), *b = room(kn * 2), *c = room(mn * 4);
  unsigned char *ia = room(mk), *ib = room(kn), *ic = room(mn * 4);
  for (size_t i = 0; i < mk; i++)
    ((__bf16 *)a)[i] = to_bf16((float)noise()), ia[i] = (unsigned char)noise();
  for (size_t i = 0; i < kn; i++)
    ((__bf16 *)b)[i] = to_bf16((float)noise()), ib[i] = (unsigned char)noise();
#define RUN(name, A, B, C, T, R)                                               \
  do {                                                                         \
    for (size_t i = 0; i < mn; i++)                                            \
      ((R *)C)[i] = (R)noise();                                                \
    name(m, n, k, (const T *)A, (const T *)B, (R *)C);                         \
    printf("%-8s %016llx%s\n", #name,                                          \
           (unsigned long long)hash(C, mn * sizeof(R)),                        \
           intact(C, mn * sizeof(R)) ? "" : " GUARD CHANGED");                 \
  } while (0)
#define RUN_BF(name) RUN(bf_##name, a, b, c, __bf16, float)
#define RUN_IN(name) RUN(in_##name, ia, ib, ic, int8_t, int32_t)
  RUN_BF(ijk);
  RUN_BF(ikj);
  RUN_BF(jik);
  RUN_BF(jki);
  RUN_BF(kij);
  RUN_BF(kji);
  RUN_BF(sum);
  RUN_BF(zero);
  RUN_BF(vla);
  RUN_IN(ijk);
  RUN_IN(ikj);
  RUN_IN(jik);
  RUN_IN(jki);
  RUN_IN(kij);
  RUN_IN(kji);
  RUN_IN(sum);
  RUN_IN(zero);
  RUN_IN(vla);
  int good = intact(a, mk * 2) && intact(b, kn * 2) && intact(ia, mk) &&
             intact(ib, kn);
  if (!good)
    printf("INPUT GUARD CHANGED\n");
  return !good;
}
