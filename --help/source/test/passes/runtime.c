/* runtime.c -- a runtime of one call, for tests of the compiler alone: the TEIR
 * that the plugin embedded is executed by the oracle on host memory.
 *
 * Every tensor's reach is found first; when out meets an input the call
 * declines, as the real runtime does.  NPUTEIR_TEST_COUNT=1 prints the number
 * of calls done and declined at the end; NPUTEIR_TEST_DECLINE=1 declines all.
 */
#include "teir.h"

#include <stdlib.h>

__attribute__((visibility("default"))) uint64_t nputeir_least_macs_1;
static _Atomic int done, declined;

static void print_count(void) {
  fprintf(stderr, "calls done=%d declined=%d\n", done, declined);
}

__attribute__((constructor)) static void start(void) {
  if (getenv("NPUTEIR_TEST_COUNT"))
    atexit(print_count);
}

struct reach {
  intptr_t low, high;
};

static struct reach reach_of(const struct teir *t, int tensor, void *base) {
  struct reach r = {(intptr_t)base,
                    (intptr_t)base + dtype_bytes(t->tensor[tensor].type)};
  for (int i = 0; i < t->axis_count; i++) {
    intptr_t far = t->axis[i].stride_bytes[tensor].constant *
                   (t->axis[i].extent.constant - 1);
    *(far < 0 ? &r.low : &r.high) += far;
  }
  return r;
}

static bool overlaps(const struct teir *t, void *const tensor[]) {
  struct reach out = reach_of(t, 2, tensor[2]);
  for (int i = 0; i < t->tensor_count; i++) {
    if (i == 2)
      continue;
    struct reach in = reach_of(t, i, tensor[i]);
    if (in.low < out.high && out.low < in.high)
      return true;
  }
  return false;
}

/* Tensors without an address are intermediates: the runtime's own. */
static void **with_intermediates(struct arena *a, const struct teir *t,
                                 void *const *tensor) {
  size_t count = (size_t)t->tensor_count;
  void **all = arena_copy(a, tensor, count, count, sizeof *all);
  for (int i = 0; i < t->tensor_count; i++)
    if (!all[i])
      all[i] = arena_alloc(a, (size_t)reach_of(t, i, NULL).high);
  return all;
}

static bool run(struct arena *a, const char *text, const int64_t *value,
                uint64_t count, void *const *tensor, uint64_t tensor_count,
                struct diag *d) {
  struct teir *t = teir_parse(a, "call", text, d);
  if (t && (uint64_t)t->tensor_count != tensor_count)
    return diag_error(d, loc_none(), "%d tensors, but %d addresses",
                      t->tensor_count, (int)tensor_count);
  if (t && t->symbol_count > 0)
    t = teir_bind(a, t, value, (int)count, d);
  if (!t)
    return false;
  void **all = with_intermediates(a, t, tensor);
  return overlaps(t, all)
             ? diag_declined(d, loc_none(), "out overlaps an input")
             : teir_run(t, all, d);
}

__attribute__((visibility("default"))) int
nputeir_call_1(const char *teir, const char *options, const char *where,
               const int64_t *value, uint64_t value_count, void *const *tensor,
               uint64_t tensor_count) {
  (void)options;
  struct diag d = {0};
  struct arena *a = arena_open();
  bool ok = !getenv("NPUTEIR_TEST_DECLINE") &&
            run(a, teir, value, value_count, tensor, tensor_count, &d);
  arena_close(a);
  if (d.kind == DIAG_ERROR && getenv("NPUTEIR_TEST_COUNT"))
    fprintf(stderr, "%s: %s\n", where, d.text);
  ok ? done++ : declined++;
  return ok ? 0 : 1;
}
