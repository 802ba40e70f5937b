/* in_place.c -- what is added to the product is the result itself: its old
 * content if it is read before the result is written, else what was written. */
#include <stdint.h>
#include <stdio.h>

enum { N = 40 };

static int8_t a[N * N], b[N * N];

__attribute__((noinline)) static void read_first(const int32_t *d, int32_t *c) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      int32_t sum = 0;
      for (int k = 0; k < N; k++)
        sum += a[i * N + k] * b[k * N + j];
      c[i * N + j] = sum + d[i * N + j];
    }
}

__attribute__((noinline)) static void read_last(const int32_t *d, int32_t *c) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      c[i * N + j] = 0;
      for (int k = 0; k < N; k++)
        c[i * N + j] += a[i * N + k] * b[k * N + j];
      c[i * N + j] += d[i * N + j];
    }
}

__attribute__((noinline)) static void read_each_time(const int32_t *d,
                                                     int32_t *c) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < N; k++)
        c[i * N + j] += d[i * N + j] * a[i * N + k] * b[k * N + j];
}

static void run(void product(const int32_t *, int32_t *), int distance) {
  static int32_t memory[2 * N * N];
  uint32_t sum = 0;
  for (int i = 0; i < 2 * N * N; i++)
    memory[i] = i % 5 - 2;
  product(memory + distance, memory);
  for (int i = 0; i < 2 * N * N; i++)
    sum = sum * 31 + (uint32_t)memory[i];
  printf("%08x\n", sum);
}

int main(void) {
  for (int i = 0; i < N * N; i++) {
    a[i] = (int8_t)(i * 37 % 3 - 1);
    b[i] = (int8_t)(i * 37 % 11 - 5);
  }
  run(read_first, 0);
  run(read_first, N * N);
  run(read_last, 0); /* the loop as written */
  run(read_last, N * N);
  run(read_each_time, 0); /* the loop as written */
  run(read_each_time, N * N);
  return 0;
}
