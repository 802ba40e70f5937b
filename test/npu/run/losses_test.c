/* losses_test.c -- a plan that loses time with every launch, for having been
 * made for the configuration that the array held, is made again when it has
 * lost what the change saved. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <stdlib.h>

/* Calls of the first product and, where there are two, one of the second after
 * each. */
static void calls(struct run *r, struct nest_work *w, int products, int count) {
  for (int i = 0; i < count * products; i++) {
    struct nest_work *x = &w[i % products];
    struct run_report report;
    nest_free(x);
    nest_make(x, true, (uint32_t)i);
    CHECK(nest_call(x, r, NULL, &report) && nest_right(x));
  }
}

/* How often one is made in calls of products in turn.  What these seconds are
 * beside those that making it took is as good as nothing. */
static int compiles(double lost, double saved, int products, int count) {
  struct nest_work w[2];
  fake = (struct fake){.lost_seconds = lost, .saved_seconds = saved};
  struct run *r = nest_open("fake");
  for (int i = 0; i < products; i++) {
    nest_gemm(&w[i], DTYPE_BF16, false, 8 + 8 * i, 8, 8);
    nest_make(&w[i], true, 1);
  }
  calls(r, w, products, count);
  for (int i = 0; i < products; i++)
    nest_free(&w[i]);
  run_close(r);
  return fake.compiles;
}

int main(void) {
  unsetenv("NPUTEIR_OPTIONS");
  /* 1000, 2000 and 3000 seconds are lost, then the plan is another */
  CHECK(compiles(1000, 2500, 1, 3) == 1);
  CHECK(compiles(1000, 2500, 1, 4) == 2);
  CHECK(compiles(1000, 2500, 1, 6) == 2);
  CHECK(compiles(1000, 2500, 1, 7) == 3);
  CHECK(compiles(0, 2500, 1, 20) == 1);
  /* others in between would have paid the change each time */
  CHECK(compiles(1000, 2500, 2, 20) == 2);
  /* but not where there was none to save */
  CHECK(compiles(1000, 0, 2, 2) == 4);
  return check_result();
}
