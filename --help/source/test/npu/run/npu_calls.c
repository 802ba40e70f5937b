/* npu_calls.c -- see npu_calls.h. */
#include "npu_calls.h"
#include "fake_driver.h"
#include "nputeir-rt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int npu_call_with(struct nest_work *w, const char *options) {
  void *tensor[NEST_TENSORS];
  uint64_t count = nest_tensors(w, tensor);
  return nputeir_call_1(w->teir, options, "npu_test.c", w->value,
                        (uint64_t)w->value_count, tensor, count);
}

int npu_call(struct nest_work *w) {
  return npu_call_with(w, "device=npu,min-macs=0");
}

int npu_nest(struct nest_work *w, uint32_t seed) {
  nest_make(w, true, seed);
  size_t bytes = w->bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes);
  memcpy(before, w->memory[OUT], bytes);
  int status = npu_call(w) == 0 ? DONE : DECLINED;
  bool good = status == DONE ? nest_right(w)
                             : memcmp(before, w->memory[OUT], bytes) == 0;
  free(before);
  nest_free(w);
  return good ? status : status | WRONG;
}

int npu_product(enum dtype in, int64_t m, int64_t n, int64_t k) {
  struct nest_work w;
  nest_gemm(&w, in, k % 2, m, n, k);
  return npu_nest(&w, 1);
}

int npu_batch(int64_t count) {
  struct nest_work w;
  nest_gemm(&w, DTYPE_I8, count % 2, 33, 17, 9);
  const int64_t bytes[TENSORS] = {33 * 9, 9 * 17, 33 * 17 * 4};
  struct nest_axis batch = {.role = AXIS_C, .extent = count};
  memcpy(batch.stride, bytes, sizeof bytes);
  w.axis[w.axis_count++] = batch;
  return npu_nest(&w, 1);
}

int npu_stays(int calls, int shapes) {
  struct nest_work w[2];
  int status = 0;
  for (int i = 0; i < shapes; i++) {
    nest_gemm(&w[i], DTYPE_I8, i, 20 + 8 * i, 24, 40);
    nest_make(&w[i], true, 1);
  }
  for (int i = 0; i < calls; i++) {
    struct nest_work *x = &w[i % shapes];
    nest_free(x);
    nest_make(x, true, (uint32_t)i);
    int asked = npu_call_with(x, "device=npu,min-macs=0,resident=on");
    status |= asked ? DECLINED : nest_right(x) ? DONE : WRONG;
  }
  for (int i = 0; i < shapes; i++)
    nest_free(&w[i]);
  return status;
}

int npu_run(const char *words, int (*body)(void), bool rules) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    fake_driver_say(words);
    int status = body();
    struct fake_driver_counts c = fake_driver_counts();
    if (rules && c.broken_rules)
      status |= UNRULY;
    exit(status);
  }
  int status;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return -1;
  return WEXITSTATUS(status);
}
