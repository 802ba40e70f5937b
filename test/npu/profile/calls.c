/* calls.c -- a program with three calls of two nests, for `nputeir profile`:
 * what the plugin would make of it. */
#include "nest.h"
#include "nputeir-rt.h"

#include <stdio.h>

static bool call(const char *where, int64_t m, int64_t n, int64_t k) {
  struct nest_work w;
  void *tensor[NEST_TENSORS];
  nest_gemm(&w, DTYPE_BF16, false, m, n, k);
  nest_make(&w, true, 1);
  uint64_t count = nest_tensors(&w, tensor);
  bool good = nputeir_call_1(w.teir, NULL, where, w.value,
                             (uint64_t)w.value_count, tensor, count) == 0 &&
              nest_right(&w);
  nest_free(&w);
  return good;
}

int main(int argc, char **argv) {
  bool good = call("a.c:1 first", 64, 64, 64) &&
              call("a.c:9 second", 128, 64, 96) &&
              call("a.c:9 second", 128, 64, 96);
  puts(good ? "right" : "wrong");
  return argc > 1 ? argv[1][0] - '0' : !good;
}
