/* resident.c -- see resident.h.
 *
 * The transaction serves a number of runs, and ends by itself some hundred
 * microseconds after it was sent.  What is left of its runs then comes without
 * having been asked for, on the buffers as they are: on the same inputs, with
 * the same results, while the host has not changed these; and where it has, the
 * device's answer says that the end came, and the launch is asked for again, as
 * the first run of another command.  The first run is always asked for: before
 * its command is sent.
 *
 * Where launches come so rarely that a command serves one of them, commands of
 * their own are better: more and more of these are sent before the next try.
 * So they are while other processes have contexts on the device: these wait for
 * the end of a command, and nothing that is sent later brings it nearer, for
 * the reads that it waits for are in a channel's queue.  How many contexts there
 * are is asked, not whether anything runs on them; older drivers do not say, and
 * then others wait half a millisecond at most.
 */
#include "resident.h"

#include "image.h"
#include "seconds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  RUNS = 24,            /* about as many as come before the end */
  MOST_MACS = 1 << 24,  /* of a launch; more take longer than what is */
  MOST_BYTES = 1 << 20, /* gained, and leave more to be done at the end */
  MOST_CODE_BYTES = 256 << 10, /* of a transaction */
  MOST_OTHERS = 63,            /* launches between two tries */
  SHARED = 15                  /* and between two questions who else is there */
};
static const double look_seconds = 0.1; /* far more than a run takes */

struct resident {
  struct amdxdna *npu;
  struct resident_ring ring;
  struct amdxdna_buffer lines, code;
  size_t code_bytes;
  struct amdxdna_list *commands;
  bool under_way;
  uint32_t run;     /* of the command, that was asked for last, from 1 */
  uint32_t served;  /* runs of it that were of use */
  bool ended;       /* it is known that the end came */
  int others, rest; /* launches between tries; until the next */
};

static bool is_short(const struct run_plan *p) {
  double macs = (double)p->m * (double)p->n * (double)p->k *
                (double)(p->batch ? p->batch : 1);
  size_t bytes = 0;
  for (int i = 0; i < TENSORS; i++)
    bytes += p->tensor[i].bytes;
  return macs <= MOST_MACS && bytes <= MOST_BYTES &&
         p->txn_bytes <= MOST_CODE_BYTES / RUNS;
}

static bool write_code(struct resident *r, const struct run_plan *plan,
                       struct diag *d) {
  struct arena *a = arena_open();
  struct text code = {0};
  int columns;
  const struct device *model = device_find(amdxdna_model(r->npu));
  const struct command_list *run =
      txn_read(a, plan->txn, plan->txn_bytes, &columns, d);
  struct command_list *all = command_list(a);
  bool good = model && run;
  if (good) {
    resident_write(plan->resident, run, RUNS, all);
    good = txn_write(all, model, plan->resident->columns, &code, d) &&
           amdxdna_buffer_open(r->npu, code.length, true, &r->code, d);
  }
  if (good) {
    memcpy(r->code.memory, code.data, code.length);
    r->code_bytes = code.length;
    good = amdxdna_buffer_sync(r->npu, &r->code, false, d);
  }
  text_free(&code);
  arena_close(a);
  return good;
}

struct resident *resident_open(struct amdxdna *x, const struct run_plan *plan) {
  struct diag ignored = {0};
  if (!plan->resident || !is_short(plan))
    return NULL;
  struct resident *r = calloc(1, sizeof *r);
  if (!r)
    return NULL;
  r->npu = x;
  r->ring = resident_ring(plan->resident);
  r->commands = amdxdna_list_open(x, &ignored);
  if (r->commands && write_code(r, plan, &ignored) &&
      amdxdna_buffer_open(x, r->ring.bytes, false, &r->lines, &ignored))
    return r;
  resident_close(r);
  return NULL;
}

bool resident_close(struct resident *r) {
  if (!r)
    return true;
  if (r->commands && !amdxdna_list_close(r->commands))
    return false;
  amdxdna_buffer_close(r->npu, &r->lines);
  amdxdna_buffer_close(r->npu, &r->code);
  free(r);
  return true;
}

bool resident_pays(struct resident *r) {
  if (r->under_way)
    return true;
  if (!r->rest && amdxdna_others(r->npu) > 0)
    r->rest = SHARED;
  if (!r->rest)
    return true;
  r->rest--;
  return false;
}

static volatile uint32_t *word(const struct resident *r, size_t offset) {
  return (volatile uint32_t *)(void *)((char *)r->lines.memory + offset);
}

static bool sync_line(struct resident *r, size_t offset, bool from_device,
                      struct diag *d) {
  size_t line = offset / RESIDENT_LINE_BYTES * RESIDENT_LINE_BYTES;
  return amdxdna_buffer_sync_part(r->npu, &r->lines, line, RESIDENT_LINE_BYTES,
                                  from_device, d);
}

/* To the end of the command. */
static bool leave(struct resident *r, struct diag *d) {
  if (!r->under_way)
    return true;
  r->under_way = false;
  bool good = amdxdna_wait(r->commands, d);
  bool early = r->served <= 1;
  r->others = !early                            ? 0
              : 2 * r->others + 1 < MOST_OTHERS ? 2 * r->others + 1
                                                : MOST_OTHERS;
  r->rest = r->others;
  return good;
}

static bool send(struct resident *r, struct amdxdna_context *c,
                 const struct amdxdna_program *given, struct diag *d) {
  struct amdxdna_program p = *given;
  memset(r->lines.memory, 0, r->ring.bytes);
  *word(r, r->ring.end) = UINT32_MAX;
  *word(r, r->ring.asked) = 1;
  r->run = 1;
  r->served = 0;
  r->ended = false;
  p.transaction = &r->code;
  p.transaction_bytes = r->code_bytes;
  p.count = 1;
  p.stays = true;
  p.argument[0][RESIDENT_ARGUMENT] = &r->lines;
  r->under_way = amdxdna_buffer_sync(r->npu, &r->lines, false, d) &&
                 amdxdna_send(r->commands, c, &p, d);
  return r->under_way;
}

static bool ask(struct resident *r, struct diag *d) {
  r->run++;
  *word(r, r->ring.asked) = (1u << r->run) - 1;
  return sync_line(r, r->ring.asked, false, d);
}

/* Whether the device has done as many runs as were asked for. */
static bool is_done(struct resident *r, bool *good, struct diag *d) {
  *good = sync_line(r, r->ring.done, true, d);
  r->ended = *word(r, r->ring.done) == UINT32_MAX;
  return *good && *word(r, r->ring.done + RESIDENT_RUNS) >= r->run;
}

static bool wait_run(struct resident *r, struct diag *d) {
  double start = seconds_now();
  bool good = true;
  while (!is_done(r, &good, d)) {
    if (!good)
      return false;
    if (seconds_now() - start < look_seconds)
      continue;
    return leave(r, d) &&
           (is_done(r, &good, d) ||
            (good && diag_error(d, loc_none(), "the NPU has lost a run")));
  }
  return true;
}

bool resident_launch(struct resident *r, struct amdxdna_context *c,
                     const struct amdxdna_program *p, struct diag *d) {
  bool again = r->under_way && !r->ended && r->run < RUNS;
  if (again && (!ask(r, d) || !wait_run(r, d)))
    return false;
  if (!again || r->ended) /* perhaps on half of the inputs */
    if (!leave(r, d) || !send(r, c, p, d) || !wait_run(r, d))
      return false;
  r->served = r->run;
  return true;
}
