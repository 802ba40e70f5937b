/* overlap.c -- out overlaps an input: the loop as written must run, because a
 * product that reads what it has written is another function. */
#include <stdint.h>
#include <stdio.h>

enum { N = 40 };

__attribute__((noinline)) static void product(const int8_t *a, const int8_t *b,
                                              int32_t *c) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        c[i * N + j] += a[i * N + k] * b[k * N + j];
}

int main(void) {
  static int32_t memory[3 * N * N];
  int8_t *bytes = (int8_t *)memory;
  for (int i = 0; i < 12 * N * N; i++)
    bytes[i] = (int8_t)(i * 37 % 11 - 5);
  product(bytes + 100, bytes + 8 * N * N, memory); /* out over in0 */
  uint32_t sum = 0;
  for (int i = 0; i < 3 * N * N; i++)
    sum = sum * 31 + (uint32_t)memory[i];
  printf("%08x\n", sum);
  return 0;
}
