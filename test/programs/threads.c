/* threads.c -- several threads multiply at once, each its own shape, and errno
 * stays what it was: loops do not set it. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 3 };

__attribute__((noinline)) static void product(int n, const int8_t *a,
                                              const int8_t *b, int32_t *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      int32_t sum = 0;
      for (int k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

static uint32_t result[THREADS];

static void *work(void *argument) {
  int id = (int)(intptr_t)argument;
  int n = 40 + 8 * (id % 2);
  size_t nn = (size_t)n * (size_t)n;
  int8_t *a = malloc(nn), *b = malloc(nn);
  int32_t *c = malloc(nn * sizeof *c);
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < nn; i++) {
      a[i] = (int8_t)((i * 7 + (size_t)id + (size_t)round) % 15);
      b[i] = (int8_t)((i * 5 + (size_t)id) % 13 - 6);
    }
    errno = EDOM;
    product(n, a, b, c);
    result[id] += (uint32_t)(errno != EDOM);
    for (size_t i = 0; i < nn; i++)
      result[id] = result[id] * 31 + (uint32_t)c[i];
  }
  free(a), free(b), free(c);
  return NULL;
}

int main(void) {
  pthread_t thread[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    pthread_create(&thread[i], NULL, work, (void *)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++)
    printf("%d %08x\n", i, result[i]);
  return 0;
}
