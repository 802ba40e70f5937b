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

static bool moves(enum axis_role role, int tensor) {
  static const bool table[4][TENSORS] = {{true, true, true},   /* C */
                                         {true, false, true},  /* M */
                                         {false, true, true},  /* N */
                                         {true, true, false}}; /* K */
  return table[role][tensor];
}

/* Strides of one tensor: its axes in random order, with random gaps. */
static void random_strides(struct nest_work *w, int tensor) {
  int order[NEST_AXES], count = 0;
  for (int i = 0; i < w->axis_count; i++)
    if (moves(w->axis[i].role, tensor)) {
      int at = (int)pick((uint32_t)++count);
      order[count - 1] = order[at];
      order[at] = i;
    }
  int64_t stride = dtype_bytes(w->type[tensor]);
  for (int i = 0; i < count; i++) {
    if (pick(3) == 0)
      stride += dtype_bytes(w->type[tensor]) * (int64_t)pick(4);
    w->axis[order[i]].stride[tensor] = stride;
    stride *= w->axis[order[i]].extent;
  }
}

static void random_nest(struct nest_work *w) {
  static const enum dtype types[][TENSORS] = {
      {DTYPE_BF16, DTYPE_BF16, DTYPE_F32}, {DTYPE_I8, DTYPE_I8, DTYPE_I32}};
  memset(w, 0, sizeof *w);
  memcpy(w->type, types[pick(2)], sizeof w->type);
  w->accumulate = pick(2);
  w->axis_count = 1 + (int)pick(6);
  for (int i = 0; i < w->axis_count; i++) {
    w->axis[i].role = (enum axis_role)(pick(8) ? 1 + pick(3) : 0);
    w->axis[i].extent = 1 + pick(pick(2) ? 4 : 12);
  }
  for (int t = 0; t < TENSORS; t++)
    random_strides(w, t);
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
  for (int i = 0; i < 3000 && check_failures < 5; i++) {
    struct run *r = nest_open("fake");
    struct nest_work w;
    struct run_report report;
    random_nest(&w);
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
  CHECK(launches > 10000);
}

/* The same through the host device, TEIR executed as it is. */
static void test_host(void) {
  struct run *r = nest_open("host");
  for (int i = 0; i < 300 && check_failures < 5; i++) {
    struct nest_work w;
    struct run_report report;
    random_nest(&w);
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
