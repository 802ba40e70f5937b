/* memory_test.c -- every allocation that a call makes fails once: the call is
 * declined, out is as before, nothing leaks, and the next call works. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <stdlib.h>
#include <string.h>

/* The linker puts these in front of the allocator. */
static int countdown; /* this allocation from now fails; 0: none */
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);

static bool fails(void) { return countdown && --countdown == 0; }

void *__wrap_malloc(size_t bytes) {
  return fails() ? NULL : __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes) {
  return fails() ? NULL : __real_calloc(count, bytes);
}
void *__wrap_realloc(void *block, size_t bytes) {
  return fails() ? NULL : __real_realloc(block, bytes);
}

/* Some products do not count; but each element of in1 has one that does. */
static const struct nest_limit margin = {false, 4, {-1, 0, 1}};

static void test_each(const char *device, bool accumulate, const char *tail,
                      int64_t launch, const struct nest_limit *limit) {
  int failing = 1;
  for (bool done = false; !done && failing < 200; failing++) {
    struct run *r = nest_open(device);
    struct nest_work w;
    struct run_report report;
    fake = (struct fake){.m = launch, .n = launch, .k = launch};
    nest_gemm(&w, DTYPE_I8, accumulate, 9, 9, 9);
    w.tail = tail;
    w.acc = DTYPE_I32;
    w.limit_count = limit != NULL;
    if (limit)
      w.limit[0] = *limit;
    nest_make(&w, true, 1);
    size_t bytes = w.bytes[OUT] + 2 * NEST_GUARD;
    char *before = malloc(bytes);
    memcpy(before, w.memory[OUT], bytes);
    countdown = failing;
    done = nest_call(&w, r, NULL, &report);
    countdown = 0;
    CHECK(done || strstr(report.reason.text, "no memory"));
    CHECK(done || memcmp(before, w.memory[OUT], bytes) == 0);
    CHECK(done || nest_call(&w, r, NULL, &report));
    CHECK(nest_right(&w));
    free(before);
    nest_free(&w);
    run_close(r);
  }
  CHECK(failing > 10 && failing < 200);
}

/* Results are kept aside, for which memory may fail, too. */
static void test_verified(void) {
  int failing = 1;
  setenv("NPUTEIR_VERIFY", "1", 1);
  for (bool done = false; !done && failing < 200; failing++) {
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    fake = (struct fake){0};
    nest_gemm(&w, DTYPE_I8, true, 9, 9, 9);
    nest_make(&w, true, 1);
    size_t bytes = w.bytes[OUT] + 2 * NEST_GUARD;
    char *before = malloc(bytes);
    memcpy(before, w.memory[OUT], bytes);
    countdown = failing;
    done = nest_call(&w, r, NULL, &report);
    countdown = 0;
    CHECK(done || strstr(report.reason.text, "no memory"));
    CHECK(done == (report.verify != NULL));
    CHECK(memcmp(before, w.memory[OUT], bytes) == 0);
    run_verify_drop(report.verify);
    free(before);
    nest_free(&w);
    run_close(r);
  }
  unsetenv("NPUTEIR_VERIFY");
  CHECK(failing > 10 && failing < 200);
}

int main(void) {
  unsetenv("NPUTEIR_OPTIONS");
  unsetenv("NPUTEIR_VERIFY");
  test_each("fake", true, NULL, 0, NULL);
  test_each("fake", true, NULL, 5, NULL);
  test_each("fake", false, NULL, 4, NULL);
  test_each("fake", false, "max(add(sum,out),i32:0)", 0, NULL);
  test_each("fake", false, "max(add(sum,out),i32:0)", 4, NULL);
  test_each("fake", false, NULL, 4, &margin);
  test_each("host", true, NULL, 0, NULL);
  test_each("host", false, "max(add(sum,out),i32:0)", 0, NULL);
  test_each("host", false, NULL, 0, &margin);
  test_verified();
  return check_result();
}
