/* call_bench.c -- `nputeir bench calls`: nanoseconds that a call of the runtime
 * adds to a loop which it leaves to the program, and those of the shortest call
 * that does the work. */
#include "bench.h"
#include "keys.h"
#include "recognizer.h"
#include "run.h"
#include "seconds.h"
#include "teir_einsum.h"

#include <stdlib.h>

enum { CALLS = 1000000, SIDE = 8, LEAST = 4, MOST = 36 };

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

/* A nest whose sizes and strides are symbols, and others at every call: what a
 * program pays that never has the same product twice. */
static const char any_sizes[] =
    "tensor A i8\ntensor B i8\nloop i m\nloop j n\nloop k p\n"
    "C[i*c + j] += A[i*a + k] * B[k*b + j] : i32";

/* Its TEIR, and the names of its symbols; NULL: no memory. */
static const char *symbolic(struct tool *t, const struct contraction **of) {
  struct verdict v = {0};
  struct options o = options_default();
  struct nest *n = nest_parse(t->arena, "bench", any_sizes, &t->diag);
  struct contraction *c = n ? recognize(t->arena, n, &o, &v) : NULL;
  struct teir *x = c ? teir_from_contraction(t->arena, c, &t->diag) : NULL;
  struct text words = {0};
  if (!x)
    return NULL;
  teir_print(x, &words);
  *of = c;
  const char *text = arena_string(t->arena, text_string(&words));
  text_free(&words);
  return text;
}

static void set_values(const struct contraction *c, int call, int64_t *value) {
  const int range = MOST - LEAST;
  const int64_t m = LEAST + call % range, n = LEAST + call / range % range,
                p = LEAST + call / range / range % range;
  const int64_t size[] = {
      ['m'] = m, ['n'] = n, ['p'] = p, ['c'] = 4 * n, ['a'] = p, ['b'] = n};
  for (int i = 0; i < c->symbol_count; i++)
    value[i] = size[(int)c->symbol[i][0]];
}

static bool bench_any_sizes(struct tool *t, const char *name,
                            const char *options) {
  enum { RANGE = MOST - LEAST, SIZES = RANGE * RANGE * RANGE };
  static const struct run_compiler compiler = {.device = &slow};
  static int8_t in[2][MOST * MOST];
  static int32_t out[MOST * MOST];
  void *const tensor[] = {in[0], in[1], out};
  int64_t value[8];
  const struct contraction *c = NULL;
  const char *words = symbolic(t, &c);
  struct run *r = words ? run_open(&compiler) : NULL;
  if (!r)
    return false;
  struct run_request q = {.teir = words,
                          .options = options,
                          .where = "bench",
                          .tensor = tensor,
                          .tensor_count = TENSORS,
                          .value = value,
                          .value_count = (uint64_t)c->symbol_count};
  struct run_report report;
  double start = seconds_now();
  for (int i = 0; i < SIZES; i++) {
    set_values(c, i, value);
    if (!run_call(r, &q, &report) && report.timed)
      run_loop_took(r, report.timed, 1e-7);
  }
  keys_print(t, "case=%s ns=%.0f calls=%d\n", name,
             1e9 * (seconds_now() - start) / SIZES, SIZES);
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
      bench_any_sizes(t, "new-sizes", NULL) &&
      bench_any_sizes(t, "new-sizes-min-macs", "min-macs=1000000") &&
      bench(t, "host", "host", NULL, &q, CALLS / 100);
  text_free(&words);
  return good || diag_declined(&t->diag, loc_none(), "no memory");
}
