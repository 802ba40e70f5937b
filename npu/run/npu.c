/* npu.c -- the device "npu": silicon by way of the kernel's own driver. */
#include "amdxdna.h"
#include "array.h"
#include "image.h"
#include "parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct run_context {
  struct run_context *next; /* of the lost ones */
  struct amdxdna *npu;
  struct amdxdna_context *context;
  struct amdxdna_buffer pdi;
  int columns;
  uint64_t loads; /* of the last launch */
};

struct run_session {
  struct run_session *next; /* of the lost ones */
  struct amdxdna *npu;
  struct amdxdna_buffer transaction, tensor[TENSORS];
  struct amdxdna_buffer other;     /* transaction, of the last launch */
  struct amdxdna_buffer lent[OUT]; /* in the place of the session's own */
  bool failed;                     /* a launch; what was lent stays so */
  bool lost;                       /* it may still run */
  struct amdxdna_program program;
  size_t transaction_bytes;
};

/* Only models that we generate code for. */
static bool supported(const struct amdxdna *x, struct diag *d) {
  return device_find(amdxdna_model(x)) ||
         diag_declined(d, loc_none(),
                       "the NPU '%s' (%s) is of a kind that is not supported",
                       amdxdna_name(x), amdxdna_model(x));
}

static bool present(struct diag *d) {
  const struct amdxdna *x = amdxdna_find(d);
  return x && supported(x, d);
}

static const char *identity(void) {
  struct diag ignored = {0};
  const struct amdxdna *x = amdxdna_find(&ignored);
  return x ? amdxdna_identity(x) : "npu";
}

static const char *target(const struct run_options *o, struct diag *d) {
  (void)o;
  const struct amdxdna *x = amdxdna_find(d);
  return x && supported(x, d) ? amdxdna_model(x) : NULL;
}

/* What a lost command may still touch stays as it is until the process ends. */
static _Atomic(struct run_session *) lost;
static _Atomic(struct run_context *) lost_contexts;

static void keep(struct run_session *s) {
  s->next = lost;
  while (!atomic_compare_exchange_weak(&lost, &s->next, s))
    ;
}

static void keep_context(struct run_context *c) {
  c->next = lost_contexts;
  while (!atomic_compare_exchange_weak(&lost_contexts, &c->next, c))
    ;
}

/* Pinning less costs more than copying it. */
enum { WORTH_LENDING = 256 << 10 };

static bool lend(struct run_session *s, int i, const void *memory,
                 size_t bytes) {
  amdxdna_buffer_close(s->npu, &s->lent[i]);
  bool lent = bytes >= WORTH_LENDING &&
              amdxdna_buffer_borrow(s->npu, memory, bytes, &s->lent[i]);
  s->program.argument[i] = lent ? &s->lent[i] : &s->tensor[i];
  return lent;
}

static void take_back(struct run_session *s) {
  for (int i = IN0; i < OUT && !s->failed; i++) {
    amdxdna_buffer_close(s->npu, &s->lent[i]);
    s->program.argument[i] = &s->tensor[i];
  }
}

static void close_session(struct run_session *s) {
  if (s->lost) {
    keep(s);
    return;
  }
  amdxdna_buffer_close(s->npu, &s->transaction);
  amdxdna_buffer_close(s->npu, &s->other);
  for (int i = 0; i < TENSORS; i++)
    amdxdna_buffer_close(s->npu, &s->tensor[i]);
  for (int i = IN0; i < OUT; i++)
    amdxdna_buffer_close(s->npu, &s->lent[i]);
  free(s);
}

/* Bytes that the device reads and the program never changes. */
static bool write_buffer(struct amdxdna *x, const void *bytes, size_t length,
                         struct amdxdna_buffer *b, struct diag *d) {
  if (!amdxdna_buffer_open(x, length, true, b, d))
    return false;
  memcpy(b->memory, bytes, length);
  return amdxdna_buffer_sync(x, b, false, d);
}

static void unload(struct run_context *c) {
  if (c->context && !amdxdna_context_close(c->npu, c->context)) {
    keep_context(c);
    return;
  }
  amdxdna_buffer_close(c->npu, &c->pdi);
  free(c);
}

static bool fill_context(struct run_context *c, const struct run_plan *plan,
                         struct diag *d) {
  struct xclbin_info info;
  const void *pdi;
  size_t pdi_bytes;
  if (!xclbin_read(plan->xclbin, plan->xclbin_bytes, &info, &pdi, &pdi_bytes,
                   d) ||
      !write_buffer(c->npu, pdi, pdi_bytes, &c->pdi, d))
    return false;
  c->columns = info.columns;
  c->context = amdxdna_context_open(c->npu, d);
  return c->context;
}

/* What the driver loads, when the context runs for the first time. */
static struct run_context *load(const struct run_plan *plan,
                                const struct run_options *o, struct diag *d) {
  (void)o;
  struct amdxdna *x = amdxdna_find(d);
  struct run_context *c = x ? calloc(1, sizeof *c) : NULL;
  if (!c) {
    if (x)
      diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  c->npu = x;
  if (fill_context(c, plan, d))
    return c;
  unload(c);
  return NULL;
}

static bool fill(struct run_session *s, const struct run_plan *plan,
                 struct diag *d) {
  if (!write_buffer(s->npu, plan->txn, plan->txn_bytes, &s->transaction, d))
    return false;
  s->transaction_bytes = plan->txn_bytes;
  for (int i = 0; i < TENSORS; i++) {
    s->program.argument[i] = &s->tensor[i];
    if (!amdxdna_buffer_open(s->npu, plan->tensor[i].bytes, false,
                             &s->tensor[i], d))
      return false;
  }
  return true;
}

static struct run_session *open_session(const struct run_plan *plan,
                                        const struct run_options *o,
                                        struct diag *d) {
  (void)o;
  struct amdxdna *x = amdxdna_find(d);
  struct run_session *s = x ? calloc(1, sizeof *s) : NULL;
  if (!s) {
    diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  s->npu = x;
  if (fill(s, plan, d))
    return s;
  close_session(s);
  return NULL;
}

static void *buffer(struct run_session *s, int i) {
  return s->tensor[i].memory;
}

/* A line of out that the CPU still holds would be written over the results. */
static bool launch(struct run_session *s, struct run_context *c,
                   const struct run_code *code, struct run_counts *counts,
                   struct diag *d) {
  s->failed = true;
  amdxdna_buffer_close(s->npu, &s->other);
  if (code && !write_buffer(s->npu, code->bytes, code->length, &s->other, d))
    return false;
  s->program.transaction = code ? &s->other : &s->transaction;
  s->program.transaction_bytes = code ? code->length : s->transaction_bytes;
  s->program.columns = c->columns;
  s->program.pdi = &c->pdi;
  for (int i = 0; i < TENSORS; i++)
    if (!amdxdna_buffer_sync(s->npu, s->program.argument[i], false, d))
      return false;
  bool good = amdxdna_run(s->npu, c->context, &s->program, d);
  s->lost = amdxdna_context_lost(c->context);
  counts->configured |= amdxdna_context_loads(c->context) != c->loads;
  c->loads = amdxdna_context_loads(c->context);
  s->failed = !good || !amdxdna_buffer_sync(s->npu, &s->tensor[OUT], true, d);
  return !s->failed;
}

const struct run_device run_npu = {.name = "npu",
                                   .change = RUN_CHANGE_SHARED,
                                   .real = true,
                                   .present = present,
                                   .identity = identity,
                                   .target = target,
                                   .load = load,
                                   .unload = unload,
                                   .open = open_session,
                                   .buffer = buffer,
                                   .lend = lend,
                                   .take_back = take_back,
                                   .launch = launch,
                                   .close = close_session};
