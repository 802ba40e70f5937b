/* shapes_test.c -- a program with several shapes on the simulated array:
 * batches of different length share a configuration, which is loaded once, and
 * each launch begins on the state of the array that another shape's has left;
 * and threads whose shapes have other blocks change it in turn.
 */
#include "check.h"
#include "nest.h"
#include "nputeir-rt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1 or 0: whether the call had to load its configuration; -1: it was declined,
 * wrong, or said neither. */
static int configured(int64_t products) {
  enum { M = 32, N = 32, K = 32, IN_BYTES = 2, OUT_BYTES = 4 };
  struct nest_work w;
  void *tensor[NEST_TENSORS];
  char trace[1024];
  nest_gemm(&w, DTYPE_BF16, false, M, N, K);
  w.axis[w.axis_count].role = AXIS_C;
  w.axis[w.axis_count].extent = products;
  w.axis[w.axis_count].stride[IN0] = M * K * IN_BYTES;
  w.axis[w.axis_count].stride[IN1] = K * N * IN_BYTES;
  w.axis[w.axis_count++].stride[OUT] = M * N * OUT_BYTES;
  nest_make(&w, true, 1);
  uint64_t count = nest_tensors(&w, tensor);
  FILE *file = tmpfile();
  int saved = dup(2);
  fflush(stderr);
  dup2(fileno(file), 2);
  bool good = nputeir_call_1(w.teir, NULL, "shapes_test.c", w.value,
                             (uint64_t)w.value_count, tensor, count) == 0;
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  rewind(file);
  trace[fread(trace, 1, sizeof trace - 1, file)] = 0;
  fclose(file);
  good = good && nest_right(&w);
  nest_free(&w);
  const char *at = strstr(trace, " configured=");
  return good && at ? atoi(at + strlen(" configured=")) : -1;
}

/* Three threads, each with sizes of its own and one that all have. */
enum { THREADS = 3, CALLS = 8 };

static void *call_some(void *with) {
  static const int64_t side[THREADS + 1] = {16, 40, 72, 64};
  int own = *(const int *)with, *right = with;
  *right = 0;
  for (int i = 0; i < CALLS; i++) {
    struct nest_work w;
    void *tensor[NEST_TENSORS];
    int64_t n = side[i % 3 == 2 ? THREADS : (own + i % 3) % THREADS];
    nest_gemm(&w, DTYPE_BF16, false, n, n, 32);
    nest_make(&w, true, 1);
    uint64_t count = nest_tensors(&w, tensor);
    *right += nputeir_call_1(w.teir, NULL, "shapes_test.c", w.value,
                             (uint64_t)w.value_count, tensor, count) == 0 &&
              nest_right(&w);
    nest_free(&w);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t id[THREADS];
  int word[THREADS];
  for (int i = 0; i < THREADS; i++) {
    word[i] = i;
    CHECK(pthread_create(&id[i], NULL, call_some, &word[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_join(id[i], NULL) == 0 && word[i] == CALLS);
}

int main(void) {
  static const int64_t products[] = {32, 64, 16};
  static const int order[] = {0, 1, 0, 2, 1, 2, 0, 0, 2, 1};
  setenv("NPUTEIR_DEVICE", "sim", 1);
  setenv("NPUTEIR_TRACE", "1", 1);
  unsetenv("NPUTEIR_OPTIONS");
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    CHECK(configured(products[order[i]]) == (i == 0));
  }
  test_threads();
  return check_result();
}
