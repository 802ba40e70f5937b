/* run.c -- one call of a replaced nest, step by step. */
#include "parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Opened devices keep their buffers; those of idle ones may take this much. */
enum { CACHED_TEIRS = 48, CACHED_PLANS = 16, CACHED_BYTES = 256 << 20 };

struct run {
  const struct run_compiler *compiler;
  struct cache teirs;     /* by text */
  struct cache plans;     /* by launch shape, types and device */
  char *options, *device; /* from the environment; NULL: not set */
  bool trace;
  atomic_bool warned; /* the user has been told of a wrong word */
  atomic_int no_npu;  /* -1: nobody has looked yet */
};

static char *environment(const char *name) {
  const char *text = getenv(name);
  return text && *text ? strdup(text) : NULL;
}

struct run *run_open(const struct run_compiler *compiler) {
  struct run *r = calloc(1, sizeof *r);
  if (!r)
    return NULL;
  r->compiler = compiler;
  cache_open(&r->teirs, CACHED_TEIRS, CACHED_BYTES);
  cache_open(&r->plans, CACHED_PLANS, CACHED_BYTES);
  r->options = environment("NPUTEIR_OPTIONS");
  r->device = environment("NPUTEIR_DEVICE");
  const char *trace = getenv("NPUTEIR_TRACE");
  r->trace = trace && *trace && strcmp(trace, "0") != 0;
  r->no_npu = -1;
  return r;
}

void run_close(struct run *r) {
  if (!r)
    return;
  cache_close(&r->teirs);
  cache_close(&r->plans);
  free(r->options);
  free(r->device);
  free(r);
}

/* ---- steps ---- */

/* NPUTEIR_DEVICE names what has to be there. */
static bool asks_for_device(const struct run *r) {
  return r->device && strcmp(r->device, "auto") != 0 &&
         strcmp(r->device, "cpu") != 0;
}

/* A wrong word in the environment or in the options is said once, trace or
 * not, and so is the absence of a device that was asked for: it would look like
 * a program that never uses the NPU. */
static bool wrong_word(struct run *r, const struct diag *d, bool say) {
  const char *name = strncmp(d->text, "nputeir: ", 9) == 0 ? "" : "nputeir: ";
  say |= d->kind == DIAG_ERROR;
  if (say && !atomic_exchange(&r->warned, true))
    fprintf(stderr, "%s%s; the loops run on the CPU\n", name, d->text);
  return false;
}

static const struct run_device *find_device(struct run *r, const char *name,
                                            struct diag *d) {
  const struct run_device *extra = r->compiler->device;
  return extra && strcmp(extra->name, name) == 0 ? extra
                                                 : run_device_find(name, d);
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

/* Work too small to pay for a launch stays with the loop. */
static bool worth_it(const struct product *p, const struct run_device *device,
                     const struct run_options *o, struct diag *d) {
  double macs = 1;
  for (int role = 0; role < AXIS_ROLES; role++)
    macs *= (double)p->extent[role];
  if (!device->real || macs >= (double)o->min_macs)
    return true;
  return diag_declined(d, loc_none(),
                       "%.0f multiply-adds; fewer than min-macs=%lld", macs,
                       (long long)o->min_macs);
}

static bool run_host_teir(const struct run_device *device,
                          const struct run_request *q, const struct teir *t,
                          struct diag *d) {
  struct arena *a = arena_open();
  const struct teir *bound = teir_bind(a, t, q->value, (int)q->value_count, d);
  bool good = bound && device->run_teir(bound, q->tensor, d);
  arena_close(a);
  return good;
}

static bool run_product(struct run *r, const struct run_device *device,
                        const struct run_options *o, const struct product *p,
                        void *const tensor[], struct run_report *report,
                        struct diag *d) {
  return device->run_teir ? host_product(device, p, tensor, d)
                          : launch_product(&r->plans, r->compiler, device, o, p,
                                           tensor, report, d);
}

/* An element-wise product moves more than it computes, and stays here. */
static bool run_first(struct run *r, const struct run_device *device,
                      const struct run_options *o, const struct product *first,
                      void *const tensor[], struct run_report *report,
                      struct diag *d) {
  return run_product(r, first->count[AXIS_K] ? device : &run_host, o, first,
                     tensor, report, d);
}

/* A product of three factors: first's and the rest. */
static bool run_chain(struct run *r, const struct run_device *device,
                      const struct run_options *o, const struct chain *c,
                      const struct product *first, const struct product *p,
                      void *const tensor[], struct run_report *report,
                      struct diag *d) {
  void *memory = chain_open(c, first, p, tensor, d);
  if (!memory)
    return false;
  void *const *in2 = tensor + p->tensor_count;
  void *const of_first[TENSORS] = {in2[0], in2[1], memory};
  void *of_rest[PRODUCT_TENSORS];
  memcpy(of_rest, tensor, (size_t)p->tensor_count * sizeof *of_rest);
  of_rest[c->to] = memory;
  bool good = product_disjoint(p, of_rest, d) &&
              (p->empty_sum || first->empty_sum
                   ? tail_store_empty(p, of_rest, d)
                   : run_first(r, device, o, first, of_first, report, d) &&
                         run_product(r, device, o, p, of_rest, report, d));
  free(memory);
  return good;
}

static bool run_padded(struct run *r, const struct run_device *device,
                       const struct run_options *o, const struct product *p,
                       void *const tensor[], struct run_report *report,
                       struct diag *d) {
  struct padded x;
  bool good = padded_open(&x, p, tensor, d) &&
              product_disjoint(&x.product, x.tensor, d) &&
              run_product(r, device, o, &x.product, x.tensor, report, d);
  padded_close(&x);
  return good;
}

/* The whole way for a TEIR that has been read. */
static bool run_teir(struct run *r, const struct run_request *q,
                     const struct teir *t, const struct chain *c,
                     const struct run_options *o, struct run_report *report,
                     struct diag *d) {
  struct product p, first;
  if (!check_request(q, t, d) ||
      (c->first && !product_read(c->first, q->value, &first, d)) ||
      !product_read(c->product, q->value, &p, d))
    return false;
  if (r->trace && c->first)
    product_describe(&first, report);
  if (r->trace)
    product_describe(&p, report);
  const struct run_device *device = find_device(r, o->device, d);
  if (!device)
    return wrong_word(r, d, asks_for_device(r));
  report->device = device->name;
  if (p.empty_out)
    return true;
  if (c->first)
    return worth_it(&p, device, o, d) &&
           run_chain(r, device, o, c, &first, &p, q->tensor, report, d);
  if (!p.limit_count && !product_disjoint(&p, q->tensor, d))
    return false;
  if (p.empty_sum)
    return tail_store_empty(&p, q->tensor, d);
  if (!worth_it(&p, device, o, d))
    return false;
  if (padded_needed(&p))
    return run_padded(r, device, o, &p, q->tensor, report, d);
  if (device->run_teir && !p.tail)
    return run_host_teir(device, q, t, d);
  return run_product(r, device, o, &p, q->tensor, report, d);
}

static void parse(struct cache_entry *e, const char *text) {
  e->teir = teir_parse(e->arena, "call", text, &e->diag);
  bool good = e->teir && chain_split(e->arena, e->teir, &e->chain, &e->diag);
  e->state = good ? CACHE_READY : CACHE_FAILED;
}

static bool run_text(struct run *r, const struct run_request *q,
                     const struct run_options *o, struct run_report *report,
                     struct diag *d) {
  struct cache_entry *e = cache_take(&r->teirs, q->teir, strlen(q->teir) + 1);
  if (!e)
    return diag_declined(d, loc_none(), "no memory");
  pthread_mutex_lock(&e->lock);
  if (e->state == CACHE_NEW)
    parse(e, q->teir);
  pthread_mutex_unlock(&e->lock);
  bool good = e->state == CACHE_READY;
  if (good)
    good = run_teir(r, q, e->teir, &e->chain, o, report, d);
  else
    *d = e->diag;
  cache_give(&r->teirs, e);
  return good;
}

/* A small product in a hot loop must not pay for a runtime that has no device
 * anyway: with nothing said and no NPU, a call ends here. */
static bool nothing_to_do(struct run *r, const struct run_request *q) {
  if (r->trace || r->device || r->options ||
      (q->options && strstr(q->options, "device=")))
    return false;
  int no_npu = r->no_npu;
  if (no_npu < 0) {
    struct diag d = {0};
    no_npu = !run_device_find("auto", &d);
    r->no_npu = no_npu;
  }
  return no_npu;
}

bool run_call(struct run *r, const struct run_request *q,
              struct run_report *report) {
  struct run_options o = run_options_weakest();
  struct diag *d = &report->reason;
  *report = (struct run_report){0};
  if (nothing_to_do(r, q))
    return diag_declined(d, loc_none(), "no NPU");
  if (!run_options_read("NPUTEIR_OPTIONS", r->options, &o, d) ||
      !run_options_read("the call's options", q->options, &o, d) ||
      !run_options_device(r->device, &o, d))
    wrong_word(r, d, false);
  else if (o.off)
    diag_declined(d, loc_none(), "switched off by the options");
  else
    report->done = run_text(r, q, &o, report, d);
  if (r->trace)
    trace_report(report, q->where);
  return report->done;
}
