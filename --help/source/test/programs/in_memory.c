/* in_memory.c -- sizes and addresses in memory that the nest's stores may
 * change, for all that the compiler knows.  A product is offered exactly if
 * none of their bytes lies where the nest writes. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { N = 40, ROW = 48, SIZES = 4 };

static int8_t a[N * N], b[N * N];

struct job {
  int rows, columns, depth;
  int32_t *c;
};

__attribute__((noinline)) static void sums(const struct job *p) {
  for (int i = 0; i < p->rows; i++)
    for (int j = 0; j < p->columns; j++) {
      int32_t sum = 0;
      for (int k = 0; k < p->depth; k++)
        sum += a[i * p->depth + k] * b[k * p->columns + j];
      p->c[i * ROW + j] = sum;
    }
}

__attribute__((noinline)) static void zeroed(const struct job *p) {
  for (int i = 0; i < p->rows; i++)
    for (int j = 0; j < p->columns; j++) {
      p->c[i * ROW + j] = 0;
      for (int k = 0; k < p->depth; k++)
        p->c[i * ROW + j] += a[i * p->depth + k] * b[k * p->columns + j];
    }
}

/* Four sizes in the memory of the result. */
__attribute__((noinline)) static void by_sizes(const int32_t *s, int32_t *c) {
  for (int i = 0; i < s[0]; i++)
    for (int j = 0; j < s[1]; j++)
      for (int k = 0; k < s[2]; k++)
        c[i * s[3] + j] += a[i * N + k] * b[k * N + j];
}

static int32_t memory[N * ROW + 2 * SIZES];

static void clear(void) {
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    memory[i] = (int)(i % 5) - 2;
}

static void print(void) {
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    sum = sum * 31 + (uint32_t)memory[i];
  printf("%08x\n", sum);
}

static void with_struct(void product(const struct job *)) {
  struct job p = {N, N - 3, N - 7, memory + SIZES};
  clear();
  product(&p);
  print();
}

static void with_sizes(ptrdiff_t where) {
  static const int32_t sizes[SIZES] = {N, N - 3, N - 7, ROW};
  clear();
  memcpy(memory + where, sizes, sizeof sizes);
  by_sizes(memory + where, memory + SIZES);
  print();
}

int main(void) {
  memset(a, -1, sizeof a); /* sizes only shrink */
  memset(b, 1, sizeof b);
  with_struct(sums);
  with_struct(zeroed);
  const ptrdiff_t end = SIZES + (N - 1) * ROW + (N - 3);
  with_sizes(0);       /* in front of the result */
  with_sizes(end);     /* behind it */
  with_sizes(1);       /* the loop as written: its first element is a size */
  with_sizes(SIZES);   /* all of them are */
  with_sizes(end - 1); /* its last element is the number of rows */
  with_sizes(SIZES + N); /* between its rows, which is not asked so closely */
  return 0;
}
