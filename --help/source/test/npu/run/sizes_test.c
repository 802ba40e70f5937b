/* sizes_test.c -- a program that multiplies matrices of 50 sizes loads three
 * configurations of the array at most.
 *
 *   sizes_test [COUNT] [-v]   so many sizes instead; -v prints the traces
 */
#include "check.h"
#include "nest.h"
#include "nputeir-rt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZES = 50, MOST_LOADS = 3 };

static uint32_t seed = 7;

static int64_t random_extent(int64_t least, int64_t most) {
  seed = seed * 1664525 + 1013904223;
  return least + (int64_t)(seed >> 8) % (most - least + 1);
}

/* Any, square and skinny ones. */
static void draw(int i, int64_t extent[3]) {
  enum { LEAST = 16, MOST = 1000, SKINNY = 32 };
  for (int k = 0; k < 3; k++)
    extent[k] = random_extent(LEAST, MOST);
  if (i % 5 == 1)
    extent[0] = extent[1] = extent[2];
  if (i % 5 == 2)
    extent[0] = random_extent(1, SKINNY);
  if (i % 5 == 3)
    extent[1] = random_extent(1, SKINNY);
}

/* The number behind `key` in the call's trace; -1: the call was declined,
 * wrong, or did not say. */
static long long call(const int64_t extent[3], const char *key, bool verbose) {
  struct nest_work w;
  void *tensor[NEST_TENSORS];
  char trace[1024];
  nest_gemm(&w, DTYPE_BF16, false, extent[0], extent[1], extent[2]);
  nest_make(&w, true, 1);
  uint64_t count = nest_tensors(&w, tensor);
  FILE *file = tmpfile();
  int saved = dup(2);
  fflush(stderr);
  dup2(fileno(file), 2);
  bool good = nputeir_call_1(w.teir, NULL, "sizes_test.c", w.value,
                             (uint64_t)w.value_count, tensor, count) == 0;
  fflush(stderr);
  dup2(saved, 2);
  close(saved);
  rewind(file);
  trace[fread(trace, 1, sizeof trace - 1, file)] = 0;
  fclose(file);
  if (verbose)
    fputs(trace, stderr);
  good = good && nest_right(&w);
  nest_free(&w);
  const char *at = strstr(trace, key);
  return good && at ? atoll(at + strlen(key)) : -1;
}

int main(int argc, char **argv) {
  int count = argc > 1 ? atoi(argv[1]) : SIZES;
  bool verbose = argc > 2;
  long long loads = 0;
  setenv("NPUTEIR_DEVICE", "sim", 1);
  setenv("NPUTEIR_TRACE", "1", 1);
  unsetenv("NPUTEIR_OPTIONS");
  for (int i = 0; i < count; i++) {
    int64_t extent[3];
    draw(i, extent);
    long long configured = call(extent, " configured=", verbose);
    if (configured < 0)
      fprintf(stderr, "%lld x %lld x %lld\n", (long long)extent[0],
              (long long)extent[1], (long long)extent[2]);
    CHECK(configured >= 0);
    loads += configured;
  }
  printf("%d sizes, %lld configurations\n", count, loads);
  CHECK(loads >= 1 && loads <= MOST_LOADS);
  return check_result();
}
