/* verify_test.c -- nests run twice: the device writes aside, the loop's result
 * stays, and what differs is found and counted. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/nputeir-verify-test-XXXXXX";

static struct run *open_verify(const char *word) {
  setenv("NPUTEIR_VERIFY", word, 1);
  setenv("NPUTEIR_VERIFY_FILE", path, 1);
  struct run *r = nest_open("fake");
  unsetenv("NPUTEIR_VERIFY");
  unsetenv("NPUTEIR_VERIFY_FILE");
  return r;
}

/* The lines of a runtime, which is closed. */
static void close_verify(struct run *r, char text[2000]) {
  run_print_summary(r);
  run_close(r);
  FILE *f = fopen(path, "r");
  text[fread(text, 1, 1999, f)] = 0;
  fclose(f);
  CHECK(truncate(path, 0) == 0);
}

/* A call, and then the loop, which makes an element of `type` one larger where
 * it is told to. */
static void call_twice(struct nest_work *w, struct run *r, int64_t wrong) {
  struct run_report report;
  size_t bytes = w->bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes);
  memcpy(before, w->memory[OUT], bytes);
  CHECK(nest_call(w, r, NULL, &report) && report.verify);
  CHECK(memcmp(before, w->memory[OUT], bytes) == 0);
  memcpy(w->memory[OUT], w->expected, bytes);
  char *at = w->memory[OUT] + NEST_GUARD + wrong;
  if (wrong >= 0 && w->type[OUT] == DTYPE_I32)
    dtype_store_int(DTYPE_I32, at, dtype_load_int(DTYPE_I32, at) + 1);
  else if (wrong >= 0)
    dtype_store_float(DTYPE_F32, at, dtype_load_float(DTYPE_F32, at) + 1);
  run_verify(r, report.verify);
  CHECK((wrong < 0) == nest_right(w)); /* the loop's, whatever it is */
  memcpy(w->memory[OUT], before, bytes);
  free(before);
}

static void test_type(enum dtype in, bool accumulate) {
  struct nest_work w;
  char text[2000];
  fake = (struct fake){0};
  nest_gemm(&w, in, accumulate, 8, 16, 4);
  nest_make(&w, true, 1);
  struct run *r = open_verify("1");
  CHECK(run_has_summary(r));
  call_twice(&w, r, -1);
  call_twice(&w, r, 3 * 64 + 20); /* row 3, column 5 */
  call_twice(&w, r, 0);
  close_verify(r, text);
  CHECK(strstr(text, "where=\"nest.c:1 f\": element c=0 m=3 n=5 is "));
  CHECK(!strstr(text, "m=0 n=0")); /* only the first is told */
  CHECK(strstr(text, "\nnputeir: verify where=\"nest.c:1 f\" types="));
  CHECK(strstr(text, " compared=3 different=2 largest_error="));
  nest_free(&w);
}

static void test_first(void) {
  struct nest_work w;
  struct run_report report;
  char text[2000];
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_I8, false, 8, 16, 4);
  nest_make(&w, true, 1);
  struct run *r = open_verify("first");
  call_twice(&w, r, -1);
  CHECK(nest_call(&w, r, NULL, &report) && !report.verify && nest_right(&w));
  close_verify(r, text);
  CHECK(strstr(text, " compared=1 different=0 largest_error=0 allowed=0\n"));
  r = open_verify("first");
  close_verify(r, text);
  CHECK(strstr(text, "no nest ran on a device\n"));
  nest_free(&w);
}

/* Each nest has its line, however many there are. */
static void test_many(void) {
  enum { NESTS = 100 };
  struct nest_work w;
  char name[NESTS][16];
  fake = (struct fake){0};
  nest_gemm(&w, DTYPE_I8, false, 8, 16, 4);
  nest_make(&w, true, 1);
  struct run *r = open_verify("1");
  for (int i = 0; i < NESTS; i++) {
    snprintf(name[i], sizeof name[i], "f.c:%d f", i);
    w.where = name[i];
    call_twice(&w, r, -1);
  }
  run_print_summary(r);
  run_close(r);
  int lines = 0;
  FILE *f = fopen(path, "r");
  for (char line[300]; fgets(line, sizeof line, f);)
    lines +=
        strstr(line, "verify where=\"f.c:") && strstr(line, " compared=1 ");
  fclose(f);
  CHECK(lines == NESTS && truncate(path, 0) == 0);
  nest_free(&w);
}

/* What no device did is not compared, and a wrong word is declined. */
static void test_declined(void) {
  struct nest_work w;
  struct run_report report;
  char text[2000];
  fake = (struct fake){.fail_launch = 1};
  nest_gemm(&w, DTYPE_BF16, false, 8, 16, 4);
  nest_make(&w, true, 1);
  struct run *r = open_verify("1");
  CHECK(!nest_call(&w, r, NULL, &report) && !report.verify);
  close_verify(r, text);
  CHECK(strstr(text, "no nest ran on a device\n"));
  fake = (struct fake){0};
  r = open_verify("always");
  CHECK(!run_has_summary(r));
  CHECK(!nest_call(&w, r, NULL, &report));
  CHECK(strstr(report.reason.text, "NPUTEIR_VERIFY is 0, 1 or first"));
  run_close(r);
  nest_free(&w);
}

/* Any axes, layouts and tails: what devices compute is what loops do. */
static void test_random(void) {
  int compared = 0;
  for (uint32_t seed = 1; seed <= 40; seed++) {
    struct nest_work w;
    struct run_report report;
    char text[2000];
    fake = (struct fake){0};
    nest_random(&w, seed & 1, seed);
    nest_make(&w, true, seed);
    struct run *r = open_verify("1");
    if (nest_call(&w, r, NULL, &report)) {
      memcpy(w.memory[OUT], w.expected, w.bytes[OUT] + 2 * NEST_GUARD);
      compared += report.verify != NULL;
      if (report.verify)
        run_verify(r, report.verify);
    }
    close_verify(r, text);
    CHECK(!strstr(text, "element"));
    nest_free(&w);
  }
  CHECK(compared == 40);
}

int main(void) {
  close(mkstemp(path));
  test_type(DTYPE_I8, false);
  test_type(DTYPE_I8, true);
  test_type(DTYPE_BF16, false);
  test_first();
  test_many();
  test_declined();
  test_random();
  unlink(path);
  return check_result();
}
