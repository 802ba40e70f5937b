/* run.c -- calls every form of the file it is linked with, and prints what each
 * leaves behind, guard zones included.  The numbers are small whole ones, so
 * that sums of floats are exact in every order. */
#include "forms/forms.h"

#include <stdio.h>

extern const struct form __start_forms[], __stop_forms[];

enum { ELEMENTS = 64 * 64, GUARD = 256 };
static union {
  int32_t i[ELEMENTS + 2 * GUARD];
  float f[ELEMENTS + 2 * GUARD];
} c;
static union {
  int8_t i[ELEMENTS];
  uint16_t f[ELEMENTS];
} a, b;

static uint32_t seed;
static int next(void) {
  return (int)((seed = seed * 1664525 + 1013904223) >> 16);
}

static uint16_t bf16(int v) {
  float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (uint16_t)(bits >> 16);
}

/* Plain clang calls this for __bf16, and the library of gcc 12 has it not. */
__attribute__((used)) __bf16 truncate_to_bf16(float f) __asm__("__truncsfbf2");
__bf16 truncate_to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  __bf16 result;
  memcpy(&result, &half, 2);
  return result;
}

static void fill(enum form_kind kind) {
  seed = 1;
  for (int i = 0; i < ELEMENTS + 2 * GUARD; i++)
    if (kind == FORM_INT)
      c.i[i] = next() % 1000;
    else
      c.f[i] = (float)(next() % 17);
  for (int i = 0; i < ELEMENTS; i++)
    if (kind == FORM_INT)
      a.i[i] = (int8_t)next(), b.i[i] = (int8_t)next();
    else
      a.f[i] = bf16(next() % 9 - 4), b.f[i] = bf16(next() % 9 - 4);
}

static uint64_t hash(void) {
  uint64_t h = 14695981039346656037u;
  for (int i = 0; i < ELEMENTS + 2 * GUARD; i++) {
    /* minus zero counts as zero: fast-math does not tell them apart */
    uint32_t v = (uint32_t)c.i[i] == 0x80000000u ? 0 : (uint32_t)c.i[i];
    h = (h ^ v) * 1099511628211u;
  }
  return h;
}

static void call(const struct form *f, int M, int N, int K, void *A, void *B) {
  ((void (*)(int, int, int, void *, void *, void *))f->function)(
      M, N, K, c.i + GUARD, A, B);
}

int main(void) {
  static const int size[][3] = {{1, 1, 1},   {3, 4, 5},  {8, 8, 8}, {17, 9, 13},
                                {33, 31, 7}, {0, 3, 3},  {3, 0, 3}, {3, 3, 0},
                                {-1, 2, 2},  {2, -1, 2}, {2, 2, -1}};
  for (const struct form *f = __start_forms; f < __stop_forms; f++) {
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
      int M = size[i][0], N = size[i][1], K = size[i][2];
      fill(f->kind);
      call(f, M, N, K, &a, &b);
      printf("%s %d %d %d %016llx\n", f->name, M, N, K,
             (unsigned long long)hash());
    }
    if (f->kind == FORM_INT) {
      fill(f->kind);
      call(f, 7, 6, 5, c.i + GUARD, &b); /* out is in0 */
      printf("%s in0 %016llx\n", f->name, (unsigned long long)hash());
      fill(f->kind);
      call(f, 7, 6, 5, &a, (char *)(c.i + GUARD) + 100); /* out meets in1 */
      printf("%s in1 %016llx\n", f->name, (unsigned long long)hash());
      fill(f->kind);
      call(f, 7, 6, 5, &a, &a); /* both inputs are one */
      printf("%s same %016llx\n", f->name, (unsigned long long)hash());
    }
  }
  return 0;
}
