/* run.c -- one call of a replaced nest, step by step. */
#include "parts.h"
#include "seconds.h"
#include "signals.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opened devices keep their buffers; those of idle ones may take this much. */
enum { CACHED_TEIRS = 48, CACHED_PLANS = 64, CACHED_BYTES = 256 << 20 };

struct run {
  const struct run_compiler *compiler;
  struct cache teirs; /* by text */
  struct cache plans; /* by launch shape, types and device */
  struct contexts contexts;
  char *options, *device;        /* from the environment; NULL: not set */
  bool trace;                    /* a line per call */
  struct summary *summary;       /* a line at the end; NULL: none */
  struct verify *verify;         /* nests run twice; NULL: once */
  struct recordings *recordings; /* of launches; NULL: none */
  struct gate *gate;             /* what calls took; NULL with verify */
  bool verify_what;              /* NPUTEIR_VERIFY says neither 1 nor first */
  bool hint;                     /* say once that there is no NPU */
  atomic_bool warned;            /* the user has been told of a wrong word */
  atomic_int no_npu;             /* -1: nobody has looked yet */
  _Atomic int64_t least_macs;    /* by the environment, or one of these: */
};
enum { LEAST_UNKNOWN = -2, LEAST_BY_GATE = -1 };

/* A copy of a variable that says something; false: no memory. */
static bool environment(const char *name, char **copy) {
  const char *text = getenv(name);
  *copy = text && *text ? strdup(text) : NULL;
  return *copy || !text || !*text;
}

struct run *run_open(const struct run_compiler *compiler) {
  struct run *r = calloc(1, sizeof *r);
  if (!r)
    return NULL;
  r->compiler = compiler;
  cache_open(&r->teirs, CACHED_TEIRS, CACHED_BYTES);
  cache_open(&r->plans, CACHED_PLANS, CACHED_BYTES);
  contexts_open(&r->contexts);
  if (!environment("NPUTEIR_OPTIONS", &r->options) ||
      !environment("NPUTEIR_DEVICE", &r->device)) {
    run_close(r);
    return NULL;
  }
  const char *trace = getenv("NPUTEIR_TRACE");
  bool said = trace && *trace;
  bool summary = said && strcmp(trace, "summary") == 0;
  r->trace = said && !summary && strcmp(trace, "0") != 0;
  r->summary = summary ? summary_open() : NULL;
  const char *verify = getenv("NPUTEIR_VERIFY");
  bool asked = verify && *verify && strcmp(verify, "0") != 0;
  r->verify_what =
      asked && strcmp(verify, "1") != 0 && strcmp(verify, "first") != 0;
  if (asked && !r->verify_what)
    r->verify = verify_open(verify, getenv("NPUTEIR_VERIFY_FILE"));
  r->gate = asked ? NULL : gate_open();
  const char *folder = getenv("NPUTEIR_PROFILE");
  if (folder && *folder)
    r->recordings = recordings_open(folder);
  r->hint = !said && isatty(STDERR_FILENO);
  r->no_npu = -1;
  r->least_macs = LEAST_UNKNOWN;
  return r;
}

void run_close(struct run *r) {
  if (!r)
    return;
  cache_close(&r->teirs);
  cache_close(&r->plans);
  contexts_close(&r->contexts);
  summary_close(r->summary);
  verify_close(r->verify);
  recordings_close(r->recordings);
  gate_close(r->gate);
  free(r->options);
  free(r->device);
  free(r);
}

/* ---- steps ---- */

/* One call on its way. */
struct call {
  struct run *run;
  const struct run_request *request;
  struct run_options options;
  const struct run_device *device;
  struct cache_entry *entry; /* with the TEIR that has been read */
  struct run_report *report;
  struct diag *d;
  bool done;
  struct verify_call *verify; /* where results go; NULL: to out */
  uint64_t gate_key;          /* 0: nobody asked what is faster */
  struct run_recording recording;
  double start; /* of a call that is recorded */
};

/* NPUTEIR_DEVICE names what has to be there. */
static bool asks_for_device(const struct run *r) {
  return r->device && strcmp(r->device, "auto") != 0 &&
         strcmp(r->device, "cpu") != 0;
}

/* A wrong word in the environment or in the options is said once, trace or
 * not, and so are a device that fails and the absence of one that was asked
 * for: it would look like a program that never uses the NPU. */
static bool wrong_word(struct run *r, const struct diag *d, bool say) {
  const char *name = strncmp(d->text, "nputeir: ", 9) == 0 ? "" : "nputeir: ";
  say |= d->kind == DIAG_ERROR;
  if (say && !atomic_exchange(&r->warned, true))
    fprintf(stderr, "%s%s; the loops run on the CPU\n", name, d->text);
  return false;
}

static const struct run_device *find_device(const struct call *c) {
  const struct run_device *extra = c->run->compiler->device;
  const char *name = c->options.device;
  return extra && strcmp(extra->name, name) == 0 ? extra
                                                 : run_device_find(name, c->d);
}

static bool check_request(const struct run_request *q, const struct teir *t,
                          struct diag *d) {
  if (q->value_count != (uint64_t)t->symbol_count)
    return diag_error(d, loc_none(), "%llu values for %d symbols",
                      (unsigned long long)q->value_count, t->symbol_count);
  if (q->tensor_count != (uint64_t)t->tensor_count)
    return diag_error(d, loc_none(), "%llu addresses for %d tensors",
                      (unsigned long long)q->tensor_count, t->tensor_count);
  return true;
}

static double bytes_of(const struct product *p) {
  static const enum axis_role role[TENSORS][2] = {
      {AXIS_M, AXIS_K}, {AXIS_K, AXIS_N}, {AXIS_M, AXIS_N}};
  double sum = 0;
  for (int t = 0; t < TENSORS; t++)
    sum += (double)p->extent[role[t][0]] * (double)p->extent[role[t][1]] *
           dtype_bytes(p->type[t]);
  return sum * (double)p->extent[AXIS_C];
}

/* What measured times say. */
static bool faster(struct call *c, const struct product *p, uint64_t key,
                   double macs) {
  struct gate_times *t = &c->report->predicted;
  const struct run_device *device = c->device;
  gate_use(c->run->gate, device->identity ? device->identity() : device->name);
  bool pays = gate_pays(c->run->gate, key, macs, bytes_of(p), t);
  gate_read(c->run->gate, c->request, c->entry->path.product, -1);
  *(pays ? &c->gate_key : &c->report->timed) = key;
  return pays ||
         diag_declined(c->d, loc_none(),
                       "the loop is expected to take %.1f us, the device %.1f "
                       "us and what it takes to prepare it",
                       1e6 * t->loop, 1e6 * t->device);
}

static double multiply_adds(const struct product *p) {
  double macs = 1;
  for (int role = 0; role < AXIS_ROLES; role++)
    macs *= (double)p->extent[role];
  return macs;
}

/* What the device would not do faster stays with the loop, and what the user
 * calls too small. */
static bool worth_it(struct call *c, const struct product *p) {
  struct gate *g = c->run->gate;
  double macs = multiply_adds(p);
  int64_t least = c->options.min_macs;
  if (!c->device->real || !g)
    return true;
  uint64_t key = gate_key(c->request);
  if (least < 0)
    return faster(c, p, key, macs);
  gate_read(g, c->request, c->entry->path.product, (double)least);
  if (macs >= (double)least)
    return true;
  gate_keep(g, key);
  return diag_declined(c->d, loc_none(),
                       "%.0f multiply-adds; fewer than min-macs=%lld", macs,
                       (long long)least);
}

/* The addresses that a device gets: `to` where results are kept aside. */
static void *const *device_tensors(const struct call *c,
                                   const struct product *p,
                                   void *const tensor[], int count,
                                   void *to[]) {
  if (!c->verify || tensor[OUT] != c->request->tensor[OUT])
    return tensor;
  memcpy(to, tensor, (size_t)count * sizeof *to);
  to[OUT] = verify_out(c->verify, p);
  return to;
}

static bool run_host_teir(const struct call *c, const struct product *p) {
  const struct run_request *q = c->request;
  void *aside[TEIR_TENSORS];
  struct arena *a = arena_open();
  const struct teir *bound =
      teir_bind(a, c->entry->teir, q->value, (int)q->value_count, c->d);
  bool good =
      bound &&
      c->device->run_teir(
          bound, device_tensors(c, p, q->tensor, bound->tensor_count, aside),
          c->d);
  arena_close(a);
  return good;
}

static bool run_product(const struct call *c, const struct run_device *device,
                        const struct product *p, void *const tensor[]) {
  void *aside[PRODUCT_TENSORS];
  tensor = device_tensors(c, p, tensor, p->tensor_count, aside);
  return device->run_teir
             ? host_product(device, p, tensor, c->d)
             : launch_product(&c->run->plans, &c->run->contexts,
                              c->run->compiler, device, &c->options, p, tensor,
                              c->report, c->d);
}

static void store_empty(const struct call *c, const struct product *p,
                        void *const tensor[]) {
  void *aside[PRODUCT_TENSORS];
  epilogue_store_empty(p, device_tensors(c, p, tensor, p->tensor_count, aside));
}

/* An element-wise product moves more than it computes, and stays here. */
static bool run_first(const struct call *c, const struct product *first,
                      void *const tensor[]) {
  return run_product(c, first->count[AXIS_K] ? c->device : &run_host, first,
                     tensor);
}

/* The first product's result, in memory of the arena, is one of the inputs of
 * the other. */
static bool run_two(struct arena *a, const struct call *c,
                    const struct product *first, const struct product *p) {
  const struct path *path = &c->entry->path;
  void *const *tensor = c->request->tensor;
  void *memory = path_intermediate(a, path, first, p, tensor, c->d);
  if (!memory)
    return false;
  void *const *in2 = tensor + p->tensor_count;
  void *const of_first[TENSORS] = {in2[0], in2[1], memory};
  void *of_second[PRODUCT_TENSORS];
  memcpy(of_second, tensor, (size_t)p->tensor_count * sizeof *of_second);
  of_second[path->to] = memory;
  if (!product_disjoint(p, of_second, c->d))
    return false;
  if (!p->empty_sum && !first->empty_sum)
    return run_first(c, first, of_first) &&
           run_product(c, c->device, p, of_second);
  store_empty(c, p, of_second);
  return true;
}

/* A product of three factors. */
static bool run_chain(const struct call *c, const struct product *first,
                      const struct product *p) {
  struct arena *a = arena_open();
  bool good = run_two(a, c, first, p);
  arena_close(a);
  return good;
}

/* The trace says what the host copied before the device's own copies. */
static void report_copies(const struct padded *x, struct run_report *report) {
  for (int t = IN0; t <= IN1; t++) {
    report->host_bytes += x->bytes[t];
    if (x->why[t]) {
      report->packed[t] = x->why[t];
      report->rule[t] = NULL;
    }
  }
}

static bool run_padded(const struct call *c, const struct product *p) {
  struct arena *a = arena_open();
  struct padded x;
  bool good = padded_make(a, &x, p, c->request->tensor, c->d) &&
              product_disjoint(&x.product, x.tensor, c->d) &&
              run_product(c, c->device, &x.product, x.tensor);
  report_copies(&x, c->report);
  arena_close(a);
  return good;
}

/* The work of a product that touches out. */
static bool run_nest(struct call *c, const struct product *first,
                     const struct product *p) {
  const struct run_request *q = c->request;
  if (first)
    return worth_it(c, p) && run_chain(c, first, p);
  if (!p->limit_count && !product_disjoint(p, q->tensor, c->d))
    return false;
  if (p->empty_sum) {
    store_empty(c, p, q->tensor);
    return true;
  }
  if (!worth_it(c, p))
    return false;
  if (padded_needed(p))
    return run_padded(c, p);
  if (c->device->run_teir && !p->epilogue)
    return run_host_teir(c, p);
  return run_product(c, c->device, p, q->tensor);
}

/* Results go aside, until the loop has run as well. */
static bool run_aside(struct call *c, const struct product *first,
                      const struct product *p) {
  const struct run_request *q = c->request;
  c->verify = verify_begin(p, q->tensor[OUT]);
  if (!c->verify)
    return diag_declined(c->d, loc_none(), "no memory to verify results in");
  if (!run_nest(c, first, p))
    return false;
  verify_describe(c->verify, p, c->report, q->where);
  return true;
}

/* The whole way for a TEIR that has been read. */
static bool run_teir(struct call *c) {
  const struct run_request *q = c->request;
  const struct path *path = &c->entry->path;
  struct verify *verify = c->run->verify;
  struct product p, first;
  if (!check_request(q, c->entry->teir, c->d) ||
      (path->first && !product_read(path->first, q->value, &first, c->d)) ||
      !product_read(path->product, q->value, &p, c->d))
    return false;
  if (c->run->trace && path->first)
    product_describe(&first, c->report);
  if (c->run->trace || verify || c->run->recordings)
    product_describe(&p, c->report);
  if (c->run->recordings) {
    c->recording.to = c->run->recordings;
    recording_name(&c->recording, q->where, c->report);
    c->recording.macs = multiply_adds(&p);
    c->options.recording = &c->recording;
  }
  c->device = find_device(c);
  if (!c->device) { /* nor will it be there for others of the nest */
    if (c->run->gate && c->d->kind == DIAG_DECLINED)
      gate_read(c->run->gate, q, path->product, INFINITY);
    if (c->run->device || strcmp(c->options.device, "auto") == 0)
      c->run->least_macs = INT64_MAX;
    return wrong_word(c->run, c->d, asks_for_device(c->run));
  }
  c->report->device = c->device->name;
  c->report->real = c->device->real;
  if (p.empty_out)
    return true;
  double start = seconds_now();
  bool good = (verify && verify_wants(verify, q->where) ? run_aside : run_nest)(
      c, path->first ? &first : NULL, &p);
  if (c->gate_key && good)
    gate_device_took(c->run->gate, c->gate_key, seconds_now() - start,
                     &c->report->seconds, c->report->host_bytes);
  else if (c->gate_key)
    gate_device_failed(c->run->gate, c->gate_key);
  return good;
}

static void try_teir(void *with) {
  struct call *c = with;
  c->done = run_teir(c);
}

static void parse(struct cache_entry *e, const void *with) {
  const char *text = with;
  e->teir = teir_parse(e->arena, "call", text, &e->diag);
  bool good = e->teir && path_read(e->arena, e->teir, &e->path, &e->diag);
  e->state = good ? CACHE_READY : CACHE_FAILED;
}

static bool no_memory(struct diag *d) {
  return diag_declined(d, loc_none(), "no memory");
}

/* Reads the text of an entry unless that has been done. */
static bool read_text(struct cache_entry *e, const char *text, struct diag *d) {
  pthread_mutex_lock(&e->lock);
  bool good = e->state != CACHE_NEW || cache_build(e, parse, text);
  pthread_mutex_unlock(&e->lock);
  if (!good)
    return no_memory(d);
  if (e->state == CACHE_FAILED)
    *d = e->diag;
  return e->state == CACHE_READY;
}

static void run_text(struct call *c) {
  struct cache *teirs = &c->run->teirs;
  const char *text = c->request->teir;
  c->entry = cache_acquire(teirs, text, strlen(text) + 1);
  if (!c->entry) {
    no_memory(c->d);
    return;
  }
  if (read_text(c->entry, text, c->d) && !memory_try(try_teir, NULL, c))
    no_memory(c->d);
  if (!c->done) {
    verify_drop(c->verify);
    c->verify = NULL;
  }
  cache_release(teirs, c->entry);
}

/* A person at a terminal may wonder why the NPU does nothing; a script reads
 * nothing new, because its stderr is no terminal. */
static void hint(const struct diag *d) {
  fprintf(stderr,
          "nputeir: %s; the loops run on the CPU as written. "
          "NPUTEIR_DEVICE=sim simulates an NPU, `nputeir doctor` says what is "
          "missing, NPUTEIR_TRACE=0 hides this line.\n",
          d->text);
}

/* Whether everything depends on whether there is an NPU. */
static bool only_npu(const struct run *r, const struct run_request *q) {
  return !r->trace && !r->device && !r->options &&
         (!q->options || !strstr(q->options, "device="));
}

/* A small product in a hot loop must not pay for a runtime that has no device
 * anyway: with nothing said and no NPU, a call ends here. */
static bool nothing_to_do(struct run *r, const struct run_request *q) {
  if (!only_npu(r, q))
    return false;
  int no_npu = r->no_npu;
  if (no_npu < 0) {
    struct diag d = {0};
    signals_hold(); /* until the call ends */
    no_npu = !run_device_find("auto", &d);
    int unknown = -1;
    if (atomic_compare_exchange_strong(&r->no_npu, &unknown, no_npu) &&
        no_npu && r->hint)
      hint(&d);
  }
  return no_npu;
}

/* How much work a call must be that adds no options of its own. */
static bool read_least(struct run *r, const struct run_options *environment,
                       struct diag *d) {
  struct run_options o = *environment;
  if (r->least_macs != LEAST_UNKNOWN)
    return true;
  if (!run_options_device(r->device, &o, d))
    return false;
  r->least_macs = o.off                           ? INT64_MAX
                  : run_device_declines(o.device) ? o.min_macs
                                                  : 0;
  return true;
}

/* The options of all sources; no lock is held and nothing was written. */
static void read_options(void *with) {
  struct call *c = with;
  struct run *r = c->run;
  c->options = run_options_weakest();
  if (r->verify_what) {
    diag_error(c->d, loc_none(), "NPUTEIR_VERIFY is 0, 1 or first");
    return;
  }
  c->done =
      run_options_read("NPUTEIR_OPTIONS", r->options, &c->options, c->d) &&
      read_least(r, &c->options, c->d) &&
      run_options_read("the call's options", c->request->options, &c->options,
                       c->d) &&
      run_options_device(r->device, &c->options, c->d);
}

static void trace(void *with) {
  const struct call *c = with;
  trace_report(c->report, c->request->where);
}

static void run_with_options(struct call *c) {
  if (!memory_try(read_options, NULL, c)) {
    no_memory(c->d);
    return;
  }
  if (!c->done) {
    wrong_word(c->run, c->d, false);
    return;
  }
  c->done = false;
  if (c->options.off)
    diag_declined(c->d, loc_none(), "switched off by the options");
  else
    run_text(c);
  if (!c->done && c->d->kind == DIAG_ERROR)
    wrong_word(c->run, c->d, true);
}

static void run_steps(void *with) {
  struct call *c = with;
  run_with_options(c);
  c->report->done = c->done;
  c->report->verify = c->verify;
  if (c->recording.to && c->done)
    recordings_count(&c->recording, c->report, c->start,
                     seconds_now() - c->start);
  if (c->run->trace)
    memory_try(trace, NULL, c);
}

/* A nest whose loop is known to be faster, or the only one to run, must not
 * cost more than this look, unless somebody reads what became of it. */
/* What need not be read; with a line or a count of each call all are. */
static bool loop_is_faster(const struct run *r, const struct run_request *q,
                           uint64_t *timed) {
  if (!r->gate || r->trace || r->summary || r->recordings)
    return false;
  return (atomic_load_explicit(&r->no_npu, memory_order_relaxed) > 0 &&
          only_npu(r, q)) ||
         gate_declines(r->gate, q, timed);
}

static bool run_once(struct run *r, const struct run_request *q,
                     struct run_report *report) {
  *report = (struct run_report){0};
  struct call c = {
      .run = r, .request = q, .report = report, .d = &report->reason};
  if (nothing_to_do(r, q))
    return diag_declined(c.d, loc_none(), "no NPU");
  if (r->recordings)
    c.start = seconds_now();
  if (!stack_run(run_steps, &c))
    return diag_declined(c.d, loc_none(), "no memory for a stack");
  return report->done;
}

bool run_call(struct run *r, const struct run_request *q,
              struct run_report *report) {
  uint64_t timed = 0;
  if (loop_is_faster(r, q, &timed)) {
    report->done = false;
    report->verify = NULL;
    report->timed = timed;
    return false;
  }
  if (!r->summary) {
    bool done = run_once(r, q, report);
    if (!done && !report->timed && r->gate &&
        report->reason.kind == DIAG_DECLINED)
      gate_declined(r->gate, gate_key(q));
    return done;
  }
  double start = seconds_now();
  bool done = run_once(r, q, report);
  summary_add(r->summary, report, seconds_now() - start);
  return done;
}

uint64_t run_least_macs(const struct run *r) {
  if (!r->gate || r->trace || r->summary || r->recordings)
    return 0;
  if (atomic_load_explicit(&r->no_npu, memory_order_relaxed) > 0)
    return INT64_MAX;
  int64_t least = atomic_load_explicit(&r->least_macs, memory_order_relaxed);
  if (least == LEAST_BY_GATE)
    return (uint64_t)gate_least_macs(r->gate);
  return least > 0 ? (uint64_t)least : 0;
}

void run_loop_took(struct run *r, uint64_t timed, double seconds) {
  if (r->gate)
    gate_loop_took(r->gate, timed, seconds);
}

void run_verify(struct run *r, struct verify_call *c) {
  verify_compare(r->verify, c);
}

void run_verify_drop(struct verify_call *c) { verify_drop(c); }

bool run_has_summary(const struct run *r) {
  return r->summary || r->verify || r->recordings;
}

void run_print_summary(struct run *r) {
  if (r->verify)
    verify_print(r->verify);
  if (r->summary)
    summary_print(r->summary);
  if (r->recordings)
    recordings_write(r->recordings);
}
