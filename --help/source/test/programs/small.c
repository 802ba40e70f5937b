/* small.c -- SIDE REPEATS [NEW]: products of bytes of about SIDE x SIDE x SIDE,
 * again and again; with NEW of other sizes at every call.  What a program pays
 * for a runtime that leaves them to their loops. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 256 };
static int8_t a[MOST * MOST], b[MOST * MOST];
static int32_t c[MOST * MOST];

__attribute__((noinline)) static void product(int m, int n, int k) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      for (int l = 0; l < k; l++)
        c[i * MOST + j] += a[i * MOST + l] * b[l * MOST + j];
}

int main(int argc, char **argv) {
  int side = argc > 1 ? atoi(argv[1]) : 8,
      repeats = argc > 2 ? atoi(argv[2]) : 1000, other = argc > 3;
  if (side < 1 || side > MOST / 2)
    return 2;
  for (int i = 0; i < MOST * MOST; i++) {
    a[i] = (int8_t)(i * 7);
    b[i] = (int8_t)(i * 5);
  }
  for (int i = 0; i < repeats; i++) {
    int more = other ? i % (side / 2 + 1) : 0,
        less = other ? i / (side / 2 + 1) % (side / 2 + 1) : 0;
    product(side + more, side - less, side);
  }
  uint32_t sum = 0;
  for (int i = 0; i < MOST * MOST; i++)
    sum = sum * 31 + (uint32_t)c[i];
  printf("%u\n", (unsigned)sum);
  return 0;
}
