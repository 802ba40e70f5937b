/* npu.c -- the device "npu": silicon by way of the kernel's own driver. */
#include "amdxdna.h"
#include "array.h"
#include "image.h"
#include "parts.h"
#include "resident.h"

#include <assert.h>
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

/* Two lists of launches take turns: the host prepares one while the device
 * works on the other. */
enum { LISTS = 2, COPIES = LISTS * AMDXDNA_LAUNCHES };
enum { MOST_COPIED_BYTES = 32 << 20 }; /* in all copies but the first */

struct list {
  struct amdxdna_list *commands;
  struct amdxdna_buffer code; /* a transaction in the place of the plan's */
  struct amdxdna_buffer data; /* and its data */
  int out[AMDXDNA_LAUNCHES];  /* copies; of a list under way */
  int count;                  /* 0: it is not under way */
};

struct run_session {
  struct run_session *next; /* of the lost ones */
  struct amdxdna *npu;
  struct amdxdna_buffer transaction;
  size_t transaction_bytes, bytes[TENSORS];
  int copies;
  struct amdxdna_buffer tensor[TENSORS][COPIES];
  bool dirty[TENSORS][COPIES];             /* the CPU may hold lines of it */
  struct amdxdna_buffer lent[OUT][COPIES]; /* in the place of these */
  int queued, queue[AMDXDNA_LAUNCHES][TENSORS]; /* copies */
  struct list list[LISTS];
  int turn;                  /* the list that is sent next */
  struct resident *resident; /* NULL: none */
  int resident_columns;      /* of a context for it */
  bool failed;               /* a launch; what was lent stays so */
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

static bool lend(struct run_session *s, int i, int copy, const void *memory,
                 size_t bytes) {
  struct amdxdna_buffer *lent = &s->lent[i][copy];
  amdxdna_buffer_close(s->npu, lent);
  s->dirty[i][copy] = true;
  return bytes >= WORTH_LENDING &&
         amdxdna_buffer_borrow(s->npu, memory, bytes, lent);
}

static void close_lent(struct run_session *s) {
  for (int i = IN0; i < OUT; i++)
    for (int k = 0; k < s->copies; k++)
      amdxdna_buffer_close(s->npu, &s->lent[i][k]);
}

/* False: a command may still run. */
static bool close_lists(struct run_session *s) {
  bool good = true;
  for (int i = 0; i < LISTS; i++) {
    if (s->list[i].commands && amdxdna_list_close(s->list[i].commands))
      s->list[i].commands = NULL;
    good = good && !s->list[i].commands;
  }
  return good;
}

static void close_session(struct run_session *s) {
  bool stays = !resident_close(s->resident);
  if (!close_lists(s) || stays) {
    keep(s);
    return;
  }
  amdxdna_buffer_close(s->npu, &s->transaction);
  for (int i = 0; i < LISTS; i++)
    amdxdna_buffer_close(s->npu, &s->list[i].code),
        amdxdna_buffer_close(s->npu, &s->list[i].data);
  for (int i = 0; i < TENSORS; i++)
    for (int k = 0; k < s->copies; k++)
      amdxdna_buffer_close(s->npu, &s->tensor[i][k]);
  close_lent(s);
  free(s);
}

/* Bytes that the device reads and the program never changes. */
static bool write_buffer(struct amdxdna *x, const void *bytes, size_t length,
                         bool in_heap, struct amdxdna_buffer *b,
                         struct diag *d) {
  if (!amdxdna_buffer_open(x, length, in_heap, b, d))
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
                         const struct run_options *o, struct diag *d) {
  struct text pdi = {0};
  bool good =
      pdi_write(plan->configuration, plan->configuration_bytes, &pdi, d) &&
      write_buffer(c->npu, pdi.data, pdi.length, true, &c->pdi, d);
  text_free(&pdi);
  if (!good)
    return false;
  c->columns = plan->columns;
  if (o->resident && plan->resident && plan->resident->columns > c->columns)
    c->columns = plan->resident->columns;
  c->context = amdxdna_context_open(c->npu, d);
  return c->context;
}

/* What the driver loads, when the context runs for the first time. */
static struct run_context *load(const struct run_plan *plan,
                                const struct run_options *o, struct diag *d) {
  struct amdxdna *x = amdxdna_find(d);
  struct run_context *c = x ? calloc(1, sizeof *c) : NULL;
  if (!c) {
    if (x)
      diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  c->npu = x;
  if (fill_context(c, plan, o, d))
    return c;
  unload(c);
  return NULL;
}

/* One more buffer of each argument.  A fresh one is flushed once: its zeros are
 * in the CPU's caches. */
static bool add_copy(struct run_session *s, struct diag *d) {
  int k = s->copies, i = 0;
  while (i < TENSORS &&
         amdxdna_buffer_open(s->npu, s->bytes[i], false, &s->tensor[i][k], d)) {
    s->dirty[i][k] = true;
    i++;
  }
  s->copies += i == TENSORS;
  while (i < TENSORS && i > 0)
    amdxdna_buffer_close(s->npu, &s->tensor[--i][k]);
  return s->copies > k;
}

static size_t bytes_of_copy(const struct run_session *s) {
  return s->bytes[IN0] + s->bytes[IN1] + s->bytes[OUT];
}

static int copies(struct run_session *s, int wanted) {
  struct diag ignored = {0};
  while (s->copies < wanted && s->copies < COPIES &&
         bytes_of_copy(s) <= MOST_COPIED_BYTES / (size_t)s->copies &&
         add_copy(s, &ignored))
    ;
  return s->copies;
}

static size_t bytes(const struct run_session *s) {
  return bytes_of_copy(s) * (size_t)s->copies;
}

static bool fill(struct run_session *s, const struct run_plan *plan,
                 struct diag *d) {
  if (!write_buffer(s->npu, plan->txn, plan->txn_bytes, true, &s->transaction,
                    d))
    return false;
  s->transaction_bytes = plan->txn_bytes;
  for (int i = 0; i < TENSORS; i++)
    s->bytes[i] = plan->tensor[i].bytes;
  for (int i = 0; i < LISTS; i++)
    if (!(s->list[i].commands = amdxdna_list_open(s->npu, d)))
      return false;
  return add_copy(s, d);
}

static struct run_session *open_session(const struct run_plan *plan,
                                        const struct run_options *o,
                                        struct diag *d) {
  struct amdxdna *x = amdxdna_find(d);
  struct run_session *s = x ? calloc(1, sizeof *s) : NULL;
  if (!s) {
    diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  s->npu = x;
  if (!fill(s, plan, d)) {
    close_session(s);
    return NULL;
  }
  s->resident = o->resident ? resident_open(x, plan) : NULL;
  s->resident_columns = s->resident ? plan->resident->columns : 0;
  return s;
}

static void *buffer(struct run_session *s, int i, int copy) {
  return s->tensor[i][copy].memory;
}

static void wrote(struct run_session *s, int i, int copy) {
  s->dirty[i][copy] = true;
}

static void queue(struct run_session *s, const int copy[TENSORS]) {
  assert(s->queued < AMDXDNA_LAUNCHES);
  memcpy(s->queue[s->queued++], copy, sizeof s->queue[0]);
}

/* What an argument of a launch is, without lines in the CPU's caches: a line of
 * an input would not be seen, one of out would go over results. */
static const struct amdxdna_buffer *flushed(struct run_session *s, int i,
                                            int copy, struct diag *d) {
  bool lent = i < OUT && s->lent[i][copy].handle;
  const struct amdxdna_buffer *b =
      lent ? &s->lent[i][copy] : &s->tensor[i][copy];
  if (s->dirty[i][copy] && !amdxdna_buffer_sync(s->npu, b, false, d))
    return NULL;
  s->dirty[i][copy] = false;
  return b;
}

/* What is a list's own, in its buffer of the last time if that is large enough.
 */
static const struct amdxdna_buffer *write_own(struct amdxdna *x,
                                              struct amdxdna_buffer *b,
                                              const void *bytes, size_t length,
                                              bool in_heap, struct diag *d) {
  if (!b->handle || b->bytes < length) {
    amdxdna_buffer_close(x, b);
    return write_buffer(x, bytes, length, in_heap, b, d) ? b : NULL;
  }
  memcpy(b->memory, bytes, length);
  return amdxdna_buffer_sync(x, b, false, d) ? b : NULL;
}

static void count_loads(struct run_context *c, struct run_counts *counts) {
  counts->configured |= amdxdna_context_loads(c->context) != c->loads;
  c->loads = amdxdna_context_loads(c->context);
}

/* One launch, by a transaction that is on the device or stays there. */
static bool launch_resident(struct run_session *s, struct run_context *c,
                            struct run_counts *counts, struct diag *d) {
  struct amdxdna_program p = {
      .columns = c->columns, .arguments = TENSORS + 1, .pdi = &c->pdi};
  for (int i = 0; i < TENSORS; i++)
    if (!(p.argument[0][i] = flushed(s, i, 0, d)))
      return false;
  bool good = resident_launch(s->resident, c->context, &p, d) &&
              amdxdna_buffer_sync(s->npu, &s->tensor[OUT][0], true, d);
  count_loads(c, counts);
  counts->resident += good;
  return good;
}

/* Sends what is queued. */
static bool send_list(struct run_session *s, struct run_context *c,
                      const struct run_code *code, struct run_counts *counts,
                      struct diag *d) {
  struct list *l = &s->list[s->turn];
  size_t data_bytes = code ? code->data_bytes : 0;
  const struct amdxdna_buffer *data =
      data_bytes ? write_own(s->npu, &l->data, code->data, data_bytes, false, d)
                 : NULL;
  struct amdxdna_program p = {
      .columns = c->columns,
      .arguments = TENSORS + (data != NULL),
      .pdi = &c->pdi,
      .transaction =
          code ? write_own(s->npu, &l->code, code->bytes, code->length, true, d)
               : &s->transaction,
      .transaction_bytes = code ? code->length : s->transaction_bytes,
      .count = s->queued};
  assert(!l->count);
  if (!p.transaction || (data_bytes && !data))
    return false;
  for (int k = 0; k < s->queued; k++)
    p.argument[k][CHANGE_ARGUMENT] = data;
  for (int k = 0; k < s->queued; k++)
    for (int i = 0; i < TENSORS; i++)
      if (!(p.argument[k][i] = flushed(s, i, s->queue[k][i], d)))
        return false;
  bool good = amdxdna_send(l->commands, c->context, &p, d);
  for (int k = 0; k < s->queued; k++)
    l->out[k] = s->queue[k][OUT];
  l->count = s->queued;
  s->queued = 0;
  s->turn = (s->turn + 1) % LISTS;
  count_loads(c, counts);
  return good;
}

/* To the end of a list; then the CPU must not believe what its caches hold. */
static bool wait_list(struct run_session *s, struct list *l, struct diag *d) {
  bool good = !l->count || amdxdna_wait(l->commands, d);
  for (int k = 0; k < l->count && good; k++)
    good = amdxdna_buffer_sync(s->npu, &s->tensor[OUT][l->out[k]], true, d);
  l->count = 0;
  return good;
}

static bool finish(struct run_session *s, struct diag *d) {
  bool good = true;
  for (int i = 0; i < LISTS; i++)
    good = wait_list(s, &s->list[(s->turn + i) % LISTS], d) && good;
  s->failed |= !good;
  return good;
}

static void take_back(struct run_session *s) {
  struct diag ignored = {0};
  if (finish(s, &ignored) && !s->failed) /* also after a failure elsewhere */
    close_lent(s);
}

/* What is lent comes and goes; the addresses of a transaction that stays do
 * not. */
static bool may_stay(const struct run_session *s, const struct run_context *c) {
  return s->resident && s->resident_columns <= c->columns &&
         !s->lent[IN0][0].handle && !s->lent[IN1][0].handle &&
         resident_pays(s->resident);
}

static bool launch(struct run_session *s, struct run_context *c,
                   const struct run_code *code, struct run_counts *counts,
                   struct diag *d) {
  static const int first[TENSORS];
  bool waits = !s->queued;
  if (waits && !code && may_stay(s, c)) {
    bool done = launch_resident(s, c, counts, d);
    s->failed |= !done;
    return done;
  }
  if (waits)
    queue(s, first);
  bool good = send_list(s, c, code, counts, d) &&
              (waits ? finish(s, d) : wait_list(s, &s->list[s->turn], d));
  s->failed |= !good;
  return good;
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
                                   .copies = copies,
                                   .bytes = bytes,
                                   .buffer = buffer,
                                   .wrote = wrote,
                                   .lend = lend,
                                   .take_back = take_back,
                                   .queue = queue,
                                   .launch = launch,
                                   .finish = finish,
                                   .close = close_session};
