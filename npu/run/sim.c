/* sim.c -- the device "sim": the simulated array, fed with the bytes that a
 * real device would get. */
#include "image.h"
#include "parts.h"
#include "record.h"
#include "seconds.h"

#include <assert.h>
#include <stdlib.h>

struct run_context {
  struct sim *sim;
  bool fresh; /* nothing has run on it */
};

struct run_session {
  struct arena *arena;         /* of what follows */
  const struct run_plan *plan; /* borrowed: it lives as long as we do */
  void *buffer[TENSORS];
  struct run_recording *recording; /* NULL: not wanted */
  bool recorded;                   /* the first launch was */
};

enum { ALIGNMENT = 64 };

static const char *target(const struct run_options *o, struct diag *d) {
  (void)d;
  return o->preset; /* a platform, and with it the NPU model */
}

static void close_session(struct run_session *s) { arena_close(s->arena); }

static void *aligned(struct arena *a, size_t bytes) {
  if (bytes > SIZE_MAX - ALIGNMENT)
    out_of_memory(bytes);
  char *memory = arena_alloc(a, bytes + ALIGNMENT);
  char *at = memory + ALIGNMENT - (uintptr_t)memory % ALIGNMENT;
  assert((uintptr_t)at % ALIGNMENT == 0 &&
         at + bytes <= memory + bytes + ALIGNMENT);
  return at;
}

/* Far more cycles than any launch of this shape needs, so that a core that
 * runs wild becomes an error: a core does 64 MACs and more per cycle, the array
 * moves several bytes per cycle. */
static uint64_t cycle_budget(const struct run_plan *p) {
  double cycles = 5e7 + (double)p->m * (double)p->n * (double)p->k;
  for (int i = 0; i < TENSORS; i++)
    cycles += 64.0 * (double)p->tensor[i].bytes;
  return cycles < 1e18 ? (uint64_t)cycles : 0;
}

static struct run_context *load(const struct run_plan *plan,
                                const struct run_options *o, struct diag *d) {
  struct sim_options options = {.preset = preset_find(o->preset),
                                .record = o->recording != NULL};
  if (o->recording)
    recording_begin(o->recording->to, &options);
  struct text xclbin = {0};
  struct sim *sim = plan_xclbin(plan, &xclbin, d)
                        ? sim_open(xclbin.data, xclbin.length, &options, d)
                        : NULL;
  text_free(&xclbin);
  struct run_context *c = sim ? malloc(sizeof *c) : NULL;
  if (c) {
    *c = (struct run_context){sim, true};
  } else if (sim) {
    sim_close(sim);
    diag_declined(d, loc_none(), "no memory");
  }
  return c;
}

static void unload(struct run_context *c) {
  sim_close(c->sim);
  free(c);
}

static struct run_session *open_session(const struct run_plan *plan,
                                        const struct run_options *o,
                                        struct diag *d) {
  (void)d;
  struct arena *a = arena_open();
  struct run_session *s = arena_alloc(a, sizeof *s);
  s->arena = a;
  s->plan = plan;
  if (o->recording)
    s->recording = arena_copy(a, o->recording, 1, 1, sizeof *o->recording);
  for (int i = 0; i < TENSORS; i++)
    s->buffer[i] = aligned(a, plan->tensor[i].bytes);
  return s;
}

static void *buffer(struct run_session *s, int i, int copy) {
  (void)copy; /* there is one */
  return s->buffer[i];
}

static bool launch(struct run_session *s, struct run_context *c,
                   const struct run_code *code, struct run_counts *counts,
                   struct diag *d) {
  const struct run_code own = {s->plan->txn, s->plan->txn_bytes, NULL, 0};
  struct sim_buffer argument[TENSORS + 1];
  int arguments = TENSORS;
  struct sim_report report = {0};
  for (int i = 0; i < TENSORS; i++)
    argument[i] = (struct sim_buffer){s->buffer[i], s->plan->tensor[i].bytes};
  double start = seconds_now();
  bool records = s->recording && !s->recorded;
  counts->configured |= c->fresh;
  c->fresh = false;
  sim_set_budget(c->sim, cycle_budget(s->plan));
  if (s->recording)
    recording_start(s->recording, s->plan);
  code = code ? code : &own;
  assert((int)CHANGE_ARGUMENT == arguments);
  if (code->data_bytes) /* it is read */
    argument[arguments++] =
        (struct sim_buffer){(void *)code->data, code->data_bytes};
  bool good = sim_run(c->sim, code->bytes, code->length, argument, arguments,
                      &report, d);
  counts->simulated_seconds += seconds_now() - start;
  if (records && sim_record(c->sim))
    recordings_add(s->recording, s->plan, sim_record(c->sim));
  if (s->recording)
    recording_end(s->recording);
  s->recorded = true;
  if (!good)
    return false;
  counts->cycles += report.cycles;
  counts->mac_cycles += report.mac_cycles;
  counts->core_cycles += report.core_cycles;
  return true;
}

const struct run_device run_sim = {.name = "sim",
                                   .change = RUN_CHANGE_KEPT,
                                   .target = target,
                                   .load = load,
                                   .unload = unload,
                                   .open = open_session,
                                   .buffer = buffer,
                                   .launch = launch,
                                   .close = close_session};
