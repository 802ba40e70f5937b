/* xrt_test.c -- the device "xrt" on classes that stand for XRT's: right
 * results, or the loop with out as it was, and nothing destroyed that a command
 * which did not complete may still use.
 *
 * A device that failed is left alone by its process, so each case is one. */
#include "check.h"
#include "fake.h"
#include "nest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct run_device run_xrt;

enum { DONE = 1, DECLINED = 2, WRONG = 4, UNRULY = 8 };

/* The type of the inputs is the configuration of the fake compiler. */
static int typed_product(struct run *r, enum dtype in, int64_t size) {
  struct nest_work w;
  struct run_report report;
  nest_gemm(&w, in, true, size, 10, 12);
  nest_make(&w, true, 1);
  size_t bytes = w.bytes[OUT] + 2 * NEST_GUARD;
  char *before = malloc(bytes);
  memcpy(before, w.memory[OUT], bytes);
  bool done = nest_call(&w, r, "min-macs=0", &report);
  bool good = done ? nest_right(&w) : memcmp(before, w.memory[OUT], bytes) == 0;
  free(before);
  nest_free(&w);
  return (done ? DONE : DECLINED) | (good ? 0 : WRONG);
}

static int product(struct run *r, int64_t size) {
  return typed_product(r, size % 2 ? DTYPE_I8 : DTYPE_BF16, size);
}

static int unruly(void) {
  const struct fake_xrt *x = &fake_xrt;
  return x->short_waits || x->destroyed_while_running || x->freed_while_running
             ? UNRULY
             : 0;
}

/* More shapes than there are contexts, twice, and what a forked child gets. */
static int body(struct run *r) {
  int status = 0;
  for (int i = 0; i < 14; i++)
    status |= product(r, 8 + i % 7);
  pid_t child = fork();
  if (child == 0)
    _exit(product(r, 8));
  int child_status;
  waitpid(child, &child_status, 0);
  if (!WIFEXITED(child_status) || WEXITSTATUS(child_status) != DECLINED)
    status |= WRONG;
  return status;
}

/* Many shapes of one configuration are on one context, which is loaded once. */
static int shared(struct run *r) {
  int status = 0;
  for (int i = 0; i < 14; i++)
    status |= typed_product(r, DTYPE_I8, 8 + i % 7);
  return fake_xrt.contexts_made == 1 ? status : status | UNRULY;
}

/* Others take all places and leave again: nothing is lost for good. */
static int others(struct run *r) {
  int most = fake_xrt.contexts_max, status = 0;
  for (int i = 0; i < 6; i++)
    status |= product(r, 8 + i);
  fake_xrt.contexts_max = 0;
  for (int i = 0; i < 2; i++)
    if (product(r, 8 + i) != DECLINED)
      status |= WRONG;
  fake_xrt.contexts_max = most;
  return status | product(r, 8) | product(r, 9);
}

static int run_body(struct fake_xrt how, int (*body)(struct run *)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    struct run_compiler compiler = fake_compiler;
    compiler.device = &run_xrt;
    fake_xrt = how;
    if (!how.contexts_max)
      fake_xrt.contexts_max = 6;
    setenv("NPUTEIR_DEVICE", "xrt", 1);
    struct run *r = run_open(&compiler);
    int status = body(r);
    run_close(r);
    if (!(status & DECLINED) && fake_xrt.contexts)
      status |= UNRULY;
    exit(status | unruly());
  }
  int status;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return -1;
  return WEXITSTATUS(status);
}

static int run(struct fake_xrt how) { return run_body(how, body); }

int main(void) {
  CHECK(run_body((struct fake_xrt){.contexts_max = 1}, others) == DONE);
  CHECK(run_body((struct fake_xrt){0}, shared) == DONE);
  CHECK(run_body((struct fake_xrt){.contexts_max = 1}, shared) == DONE);
  CHECK(run((struct fake_xrt){0}) == DONE);
  CHECK(run((struct fake_xrt){.contexts_max = 1}) == DONE);
  CHECK(run((struct fake_xrt){.fail_context = true}) == DECLINED);
  for (int n = 1; n <= 5; n += 2) {
    int some = n > 1 ? DONE | DECLINED : DECLINED;
    CHECK(run((struct fake_xrt){.hang_at = n}) == some);
    CHECK(run((struct fake_xrt){.throw_at = n}) == some);
  }
  return check_result();
}
