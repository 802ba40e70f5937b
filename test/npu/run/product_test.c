/* product_test.c -- random contractions through the runtime with a fake
 * device: any axes and layouts, padding, splitting, accumulation; every byte of
 * out and around it is compared with naive loops. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <stdlib.h>
#include <string.h>

static uint32_t state = 1;
static uint32_t pick(uint32_t below) {
  state = state * 1664525 + 1013904223;
  return (state >> 8) % below;
}

static void random_launch(void) {
  fake = (struct fake){0};
  if (pick(4) == 0)
    return;
  fake.m = 1 + pick(20);
  fake.n = 1 + pick(20);
  fake.k = 1 + pick(20);
  if (pick(2)) {
    fake.split = 2 + (int)pick(3);
    fake.m = (fake.m + fake.split) / fake.split * fake.split;
    fake.n = (fake.n + fake.split) / fake.split * fake.split;
    fake.k = (fake.k + fake.split) / fake.split * fake.split;
  }
}

static void test_random(void) {
  int64_t launches = 0;
  for (int i = 0; i < 2000 && check_failures < 5; i++) {
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    nest_random(&w, 1 + (uint32_t)i);
    random_launch();
    nest_make(&w, pick(2), 7 + (uint32_t)i);
    bool done = nest_call(&w, r, NULL, &report);
    if (!done)
      fprintf(stderr, "declined: %s\n%s", report.reason.text, w.teir);
    CHECK(done);
    CHECK(nest_right(&w));
    launches += report.launches;
    nest_free(&w);
    run_close(r);
  }
  CHECK(launches > 5000);
}

/* The same through the host device, TEIR executed as it is. */
static void test_host(void) {
  struct run *r = nest_open("host");
  for (int i = 0; i < 300 && check_failures < 5; i++) {
    struct nest_work w;
    struct run_report report;
    nest_random(&w, 1 + (uint32_t)i);
    nest_make(&w, pick(2), 7 + (uint32_t)i);
    CHECK(nest_call(&w, r, NULL, &report));
    CHECK(nest_right(&w));
    nest_free(&w);
  }
  run_close(r);
}

static void test_empty(void) {
  static const struct {
    int64_t m, n, k;
  } size[] = {{0, 5, 5}, {5, -3, 5}, {5, 5, 0}, {4, 4, -7}, {0, 0, 0}};
  struct run *r = nest_open("fake");
  fake = (struct fake){0};
  for (size_t i = 0; i < sizeof size / sizeof *size; i++)
    for (int accumulate = 0; accumulate < 2; accumulate++) {
      struct nest_work w;
      struct run_report report;
      nest_gemm(&w, DTYPE_BF16, accumulate, size[i].m, size[i].n, size[i].k);
      for (int x = 0; x < 3; x++)
        for (int t = 0; t < TENSORS; t++)
          if (w.axis[x].stride[t])
            w.axis[x].stride[t] = 64; /* out is 5 rows of 64 bytes */
      w.axis[1].stride[IN1] = w.axis[2].stride[IN0] = 2;
      w.axis[1].stride[OUT] = 4;
      nest_make(&w, true, 3);
      CHECK(nest_call(&w, r, NULL, &report));
      CHECK(nest_right(&w) && report.launches == 0);
      nest_free(&w);
    }
  CHECK(fake.compiles == 0);
  run_close(r);
}

int main(void) {
  unsetenv("NPUTEIR_OPTIONS");
  test_random();
  test_host();
  test_empty();
  return check_result();
}
