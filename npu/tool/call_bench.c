/* call_bench.c -- `nputeir bench calls`: nanoseconds that a call of the runtime
 * adds to a loop which it leaves to the program, and those of the shortest call
 * that does the work. */
#include "bench.h"
#include "keys.h"
#include "run.h"
#include "seconds.h"
#include "teir_einsum.h"

#include <stdlib.h>

enum { CALLS = 1000000, SIDE = 8 };

/* A device on which a launch would cost time: the gate decides. */
static const struct run_device slow = {.name = "slow", .real = true};

static double time_calls(struct run *r, const struct run_request *q,
                         int calls) {
  struct run_report report;
  double start = seconds_now();
  for (int i = 0; i < calls; i++)
    if (!run_call(r, q, &report) && report.timed)
      run_loop_took(r, report.timed, 1e-7); /* about that of the loop */
  return (seconds_now() - start) / calls;
}

/* false: no memory. */
static bool bench(struct tool *t, const char *name, const char *device,
                  const char *options, const struct run_request *request,
                  int calls) {
  static const struct run_compiler compiler = {.device = &slow};
  if (device)
    setenv("NPUTEIR_DEVICE", device, 1);
  else
    unsetenv("NPUTEIR_DEVICE");
  struct run *r = run_open(&compiler);
  if (!r)
    return false;
  struct run_request q = *request;
  q.options = options;
  time_calls(r, &q, 10); /* the first ones look and measure */
  keys_print(t, "case=%s ns=%.0f calls=%d\n", name,
             1e9 * time_calls(r, &q, calls), calls);
  run_close(r);
  return true;
}

bool bench_calls(struct tool *t, void *job) {
  (void)job;
  struct teir_einsum e = {
      .expression = "mk,kn->mn", .in = DTYPE_I8, .out = DTYPE_I32};
  const struct teir *work = teir_einsum_sizes(&e, "m=8,n=8,k=8", &t->diag)
                                ? teir_from_einsum(t->arena, &e, &t->diag)
                                : NULL;
  if (!work)
    return false;
  struct text words = {0};
  teir_print(work, &words);
  static int8_t in[2][SIDE * SIDE];
  static int32_t out[SIDE * SIDE];
  void *const tensor[] = {in[0], in[1], out};
  const struct run_request q = {.teir = text_string(&words),
                                .where = "bench",
                                .tensor = tensor,
                                .tensor_count = TENSORS};
  unsetenv("NPUTEIR_OPTIONS");
  unsetenv("NPUTEIR_TRACE");
  unsetenv("NPUTEIR_VERIFY");
  bool good =
      bench(t, "no-npu", NULL, NULL, &q, CALLS) &&
      bench(t, "loop-is-faster", "slow", NULL, &q, CALLS) &&
      bench(t, "min-macs", "slow", "min-macs=1000000", &q, CALLS / 10) &&
      bench(t, "host", "host", NULL, &q, CALLS / 100);
  text_free(&words);
  return good || diag_declined(&t->diag, loc_none(), "no memory");
}
