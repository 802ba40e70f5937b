// beside.h -- what forms write beside C.
#ifndef BESIDE_H
#define BESIDE_H
#include <stdint.h>
#include <string.h>

static int32_t side[64], other[64 * 64];
static int8_t bytes[64];
// What a form leaves beside C is seen in C.
__attribute__((noinline)) static void look(int32_t *C) {
  for (int i = 0; i < 64 * 63; i++)
    C[i] = C[i] * 31 + other[i];
  for (int i = 0; i < 64; i++)
    C[64 * 63 + i] += side[i] + bytes[i];
  memset(side, 0, sizeof side);
  memset(other, 0, sizeof other);
  memset(bytes, 0, sizeof bytes);
}
static void tick(void) { __asm__ volatile("" : "+m"(side[0])); }
__attribute__((noinline)) void count(void) { tick(); }

#endif
