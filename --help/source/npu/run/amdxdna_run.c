/* amdxdna_run.c -- contexts of the NPU, and commands that run on them.
 *
 * A context is a place among few: a device has six for everybody.  At most
 * KEPT_CONTEXTS are ours.  When one more is needed, or when the driver has none
 * left, the idle one that was used longest ago is destroyed; the program that
 * had it takes another at its next launch.
 *
 * Several launches are one command chain where the driver takes chains: one
 * round trip for all.  Else they are as many commands in flight; the driver
 * lets a sender wait while there are too many.  A driver may say that it takes
 * no chain when one is sent, or look at it only when its turn comes: then it
 * ends at once, in the state in which it was sent.
 */
#include "amdxdna_parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
  ROWS = 4, /* cores of a column: a context asks for tiles */
  KEPT_CONTEXTS = 4,
};
/* The driver's own limit of a command is 60 s, or 2 s; ours lies behind. */
static const int64_t wait_ns = 90 * (int64_t)1000000000;

struct amdxdna_context {
  struct amdxdna_context *next; /* of the device's list */
  uint32_t handle, syncobj;     /* 0: it has no place now */
  int users;                    /* threads in a call on it */
  bool lost;                    /* its last command may still run */
  uint64_t last_use, loads;
  struct amdxdna_list *running;
};

enum list_state { LIST_IDLE, LIST_SENT, LIST_DONE, LIST_FAILED, LIST_LOST };
struct amdxdna_list {
  struct amdxdna *npu;
  enum list_state state; /* under the device's lock, while it is sent */
  struct diag diag;      /* why it failed */
  struct amdxdna_list *next;
  struct amdxdna_context *context; /* while it is sent */
  uint64_t sequence;               /* of its last command */
  int waiters;                     /* threads that wait for it */
  bool chained, stays;
  int64_t sent_ns;
  int count;                   /* launches of it */
  struct amdxdna_buffer chain; /* nothing until there is one */
  struct amdxdna_buffer command[AMDXDNA_LAUNCHES];
};

/* ---- contexts ---- */

static void destroy_context(struct amdxdna *x, struct amdxdna_context *c) {
  assert(!c->running && !c->users);
  if (!c->handle)
    return;
  if (c->syncobj) {
    struct xdna_syncobj_destroy s = {.handle = c->syncobj};
    amdxdna_call(x->fd, call_SYNCOBJ_DESTROY, &s);
  }
  struct xdna_destroy_context destroy = {.handle = c->handle};
  amdxdna_call(x->fd, call_DESTROY_CONTEXT, &destroy);
  c->handle = c->syncobj = 0;
}

static bool is_idle(const struct amdxdna_context *c) {
  return c->handle && !c->running && !c->users && !c->lost;
}

/* The one that was used longest ago of those that have a place and do nothing;
 * NULL: none. */
static struct amdxdna_context *oldest_idle(struct amdxdna *x) {
  struct amdxdna_context *oldest = NULL;
  for (struct amdxdna_context *c = x->contexts; c; c = c->next)
    if (is_idle(c) && (!oldest || c->last_use < oldest->last_use))
      oldest = c;
  return oldest;
}

static int places_taken(const struct amdxdna *x) {
  int count = 0;
  for (const struct amdxdna_context *c = x->contexts; c; c = c->next)
    count += c->handle != 0;
  return count;
}

int amdxdna_others(struct amdxdna *x) {
  struct amdxdna_status s;
  amdxdna_ask(x, &s);
  pthread_mutex_lock(&x->lock);
  int others = s.contexts - places_taken(x);
  pthread_mutex_unlock(&x->lock);
  return s.contexts < 0 ? -1 : others > 0 ? others : 0;
}

static bool configure(struct amdxdna *x, uint32_t handle,
                      const struct amdxdna_buffer *pdi, struct diag *d) {
  struct xdna_units units = {.count = 1, .unit = {{.buffer = pdi->handle}}};
  struct xdna_config_context config = {.handle = handle,
                                       .value = (uintptr_t)&units,
                                       .value_bytes = sizeof units};
  return amdxdna_call(x->fd, call_CONFIG_CONTEXT, &config) == 0 ||
         amdxdna_failed(d, "the configuration is not taken");
}

static void wait_locked(struct amdxdna_list *);

/* Whether one ends soon for whose end nobody waits; then it has ended. */
static bool wait_for_idle(struct amdxdna *x) {
  for (struct amdxdna_context *c = x->contexts; c; c = c->next)
    if (c->running && c->running->stays && !c->users && !c->lost) {
      wait_locked(c->running);
      return true;
    }
  return false;
}

/* Under the lock.  Any refusal may mean that all places are taken, by us or by
 * others: the driver says EINVAL for that, too. */
static bool take_place(struct amdxdna *x, struct amdxdna_context *c,
                       const struct amdxdna_program *p, struct diag *d) {
  struct xdna_qos qos = {{0}};
  qos.word[XDNA_QOS_START_COLUMN] = XDNA_NO_START_COLUMN;
  for (;;) {
    struct xdna_create_context create = {
        .qos = (uintptr_t)&qos, .tiles = (uint32_t)(p->columns * ROWS)};
    struct amdxdna_context *idle = oldest_idle(x);
    bool full = places_taken(x) >= KEPT_CONTEXTS && idle;
    if (!full && amdxdna_call(x->fd, call_CREATE_CONTEXT, &create) == 0) {
      c->handle = create.handle;
      c->syncobj = create.syncobj;
      return true;
    }
    int error = errno;
    if (idle) {
      destroy_context(x, idle);
    } else if (!wait_for_idle(x)) {
      errno = error;
      return amdxdna_failed(d, "no context is free");
    }
  }
}

/* Under the lock: afterwards the context has a place. */
static bool start(struct amdxdna *x, struct amdxdna_context *c,
                  const struct amdxdna_program *p, struct diag *d) {
  c->last_use = ++x->clock;
  if (c->handle)
    return true;
  if (!take_place(x, c, p, d))
    return false;
  if (!configure(x, c->handle, p->pdi, d)) {
    destroy_context(x, c);
    return false;
  }
  c->loads++;
  return true;
}

struct amdxdna_context *amdxdna_context_open(struct amdxdna *x,
                                             struct diag *d) {
  struct amdxdna_context *c = calloc(1, sizeof *c);
  if (!c) {
    diag_declined(d, loc_none(), "no memory");
    return NULL;
  }
  pthread_mutex_lock(&x->lock);
  c->next = x->contexts;
  x->contexts = c;
  pthread_mutex_unlock(&x->lock);
  return c;
}

uint64_t amdxdna_context_loads(const struct amdxdna_context *c) {
  return c->loads;
}

/* ---- what a command says ---- */

static void put64(uint32_t *word, uint64_t value) {
  word[0] = (uint32_t)value;
  word[1] = (uint32_t)(value >> 32);
}

/* All of it, every time: a failed command overwrites its words. */
static void write_launch(const struct amdxdna_list *l, int launch,
                         const struct amdxdna_program *p) {
  uint32_t *packet = l->command[launch].memory, *word = packet + 1;
  unsigned words = XDNA_WORD_ARGUMENT + 2 * (unsigned)p->arguments;
  memset(packet, 0, XDNA_COMMAND_BYTES);
  packet[0] = xdna_header(XDNA_OPCODE_START_UNIT, words);
  word[XDNA_WORD_MASK] = 1;
  put64(word + XDNA_WORD_OPERATION, XDNA_OPERATION_TRANSACTION);
  put64(word + XDNA_WORD_TRANSACTION, p->transaction->address);
  word[XDNA_WORD_TRANSACTION_WORDS] = (uint32_t)(p->transaction_bytes / 4);
  for (int i = 0; i < p->arguments; i++)
    put64(word + XDNA_WORD_ARGUMENT + 2 * i, p->argument[launch][i]->address);
}

static void write_chain(const struct amdxdna_list *l, int count) {
  uint32_t *packet = l->chain.memory, *word = packet + 1;
  memset(packet, 0, XDNA_COMMAND_BYTES);
  packet[0] = xdna_header(XDNA_OPCODE_CHAIN,
                          XDNA_WORD_CHAIN_HANDLE + 2 * (unsigned)count);
  word[XDNA_WORD_CHAIN_COUNT] = (uint32_t)count;
  for (int i = 0; i < count; i++)
    put64(word + XDNA_WORD_CHAIN_HANDLE + 2 * i, l->command[i].handle);
}

static const char *state_name(unsigned state) {
  switch (state) {
  case XDNA_STATE_ERROR:
    return "an error";
  case XDNA_STATE_ABORT:
    return "an abort (is the firmware as new as the driver?)";
  case XDNA_STATE_TIMEOUT:
    return "a time-out";
  case XDNA_STATE_NO_RESPONSE:
    return "no response";
  default:
    return "an unknown state";
  }
}

static bool completed(const struct amdxdna_buffer *command, struct diag *d) {
  const volatile uint32_t *packet = command->memory;
  unsigned state = xdna_state(*packet);
  return state == XDNA_STATE_COMPLETED ||
         diag_error(d, loc_none(), "the NPU's command ended in %s",
                    state_name(state));
}

/* ---- sending and waiting ---- */

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Until the driver says that the command has ended, well or not.  A program
 * with a timer may interrupt that any number of times. */
static bool wait_for(const struct amdxdna *x, const struct amdxdna_context *c,
                     uint64_t sequence, struct diag *d) {
  struct xdna_timeline_wait wait = {.handles = (uintptr_t)&c->syncobj,
                                    .points = (uintptr_t)&sequence,
                                    .deadline_ns = now_ns() + wait_ns,
                                    .count = 1,
                                    .flags = XDNA_WAIT_FOR_SUBMIT};
  struct xdna_wait_command old = {.context = c->handle,
                                  .milliseconds = (uint32_t)(wait_ns / 1000000),
                                  .sequence = sequence};
  int result;
  do
    result = c->syncobj ? ioctl(x->fd, call_TIMELINE_WAIT, &wait)
                        : ioctl(x->fd, call_WAIT_COMMAND, &old);
  while (amdxdna_interrupted(result) && now_ns() < wait.deadline_ns);
  return result == 0 ||
         diag_error(d, loc_none(), "waiting for the NPU failed: %s",
                    strerror(errno));
}

/* Whether the driver did not send the chain to the device.  Older ones leave
 * the same state behind when the device hangs, but not at once. */
static bool is_refused(const struct amdxdna_list *l) {
  static const int64_t at_once_ns = 1000000000;
  const volatile uint32_t *packet = l->chained ? l->chain.memory : NULL;
  return packet && xdna_state(*packet) == XDNA_STATE_NEW &&
         now_ns() - l->sent_ns < at_once_ns;
}

/* Under the lock, with what the wait for its last command said. */
static void settle(struct amdxdna_list *l, bool ended) {
  struct amdxdna *x = l->npu;
  struct amdxdna_context *c = l->context;
  bool good = ended, refused = ended && is_refused(l);
  if (refused) {
    x->no_chains = true;
    good = diag_declined(&l->diag, loc_none(),
                         "the NPU's driver takes no command chains; the next "
                         "launches are commands of their own");
  }
  for (int i = 0; i < l->count && good; i++)
    good = completed(l->chained ? &l->chain : &l->command[i], &l->diag);
  l->state = good ? LIST_DONE : ended ? LIST_FAILED : LIST_LOST;
  c->lost |= !ended;
  x->dead |= !good && !refused;
  struct amdxdna_list **at = &c->running;
  while (*at != l)
    at = &(*at)->next;
  *at = l->next;
  l->context = NULL;
}

/* Under the lock, which it leaves while it waits.  Not only the list's own
 * thread may: others close the context, or want its place. */
static void wait_locked(struct amdxdna_list *l) {
  struct amdxdna *x = l->npu;
  struct amdxdna_context *c = l->context;
  uint64_t sequence = l->sequence;
  struct diag d = {0};
  c->users++;
  l->waiters++;
  pthread_mutex_unlock(&x->lock);
  bool ended = wait_for(x, c, sequence, &d);
  pthread_mutex_lock(&x->lock);
  c->users--;
  l->waiters--;
  if (l->state == LIST_SENT) {
    l->diag = d;
    settle(l, ended);
  }
  if (x->dead && is_idle(c))
    destroy_context(x, c);
  pthread_cond_broadcast(&x->waited);
}

bool amdxdna_context_close(struct amdxdna *x, struct amdxdna_context *c) {
  if (x->owner != getpid())
    return false;
  pthread_mutex_lock(&x->lock);
  while (c->running)
    wait_locked(c->running);
  while (c->users)
    pthread_cond_wait(&x->waited, &x->lock);
  bool lost = c->lost;
  if (!lost) {
    destroy_context(x, c);
    struct amdxdna_context **at = &x->contexts;
    while (*at != c)
      at = &(*at)->next;
    *at = c->next;
    free(c);
  }
  pthread_mutex_unlock(&x->lock);
  return !lost;
}

struct amdxdna_list *amdxdna_list_open(struct amdxdna *x, struct diag *d) {
  struct amdxdna_list *l = calloc(1, sizeof *l);
  if (l)
    l->npu = x;
  else
    diag_declined(d, loc_none(), "no memory");
  return l;
}

bool amdxdna_wait(struct amdxdna_list *l, struct diag *d) {
  struct amdxdna *x = l->npu;
  if (x->owner != getpid())
    return amdxdna_usable(x, d);
  pthread_mutex_lock(&x->lock);
  if (l->state == LIST_SENT)
    wait_locked(l);
  pthread_mutex_unlock(&x->lock);
  bool good = l->state == LIST_IDLE || l->state == LIST_DONE;
  if (!good)
    *d = l->diag;
  return good;
}

bool amdxdna_list_close(struct amdxdna_list *l) {
  struct diag ignored = {0};
  amdxdna_wait(l, &ignored);
  if (l->state == LIST_LOST || l->npu->owner != getpid())
    return false;
  pthread_mutex_lock(&l->npu->lock);
  while (l->waiters)
    pthread_cond_wait(&l->npu->waited, &l->npu->lock);
  pthread_mutex_unlock(&l->npu->lock);
  amdxdna_buffer_close(l->npu, &l->chain);
  for (int i = 0; i < AMDXDNA_LAUNCHES; i++)
    amdxdna_buffer_close(l->npu, &l->command[i]);
  free(l);
  return true;
}

/* A command with the buffers of all launches from `first` on. */
static bool execute(struct amdxdna_list *l,
                    const struct amdxdna_buffer *command,
                    const struct amdxdna_program *p, int first, int count) {
  uint32_t used[2 + AMDXDNA_LAUNCHES * AMDXDNA_ARGUMENTS] = {
      p->pdi->handle, p->transaction->handle};
  uint32_t n = 2;
  for (int i = first; i < first + count; i++)
    for (int k = 0; k < p->arguments; k++) {
      uint32_t handle = p->argument[i][k]->handle, at = 0;
      while (at < n && used[at] != handle)
        at++;
      used[at] = handle;
      n += at == n;
    }
  struct xdna_execute e = {.context = l->context->handle,
                           .command = command->handle,
                           .buffers = (uintptr_t)used,
                           .command_count = 1,
                           .buffer_count = n};
  if (amdxdna_call(l->npu->fd, call_EXECUTE, &e) != 0)
    return false;
  l->sequence = e.sequence;
  return true;
}

static bool is_refusal(int error) {
  return error == EINVAL || error == EOPNOTSUPP || error == E2BIG;
}

/* Sends all launches; afterwards l->count is that of those which were taken. */
static bool submit(struct amdxdna_list *l, const struct amdxdna_program *p) {
  struct amdxdna *x = l->npu;
  l->count = 0;
  l->chained = p->count > 1 && !x->no_chains;
  if (l->chained) {
    write_chain(l, p->count);
    bool good = execute(l, &l->chain, p, 0, p->count);
    l->count = good ? p->count : 0;
    if (good || !is_refusal(errno))
      return good;
  }
  bool refused = l->chained;
  l->chained = false;
  while (l->count < p->count &&
         execute(l, &l->command[l->count], p, l->count, 1))
    l->count++;
  if (refused && l->count) /* one alone is taken */
    x->no_chains = true;
  return l->count == p->count;
}

static bool open_commands(struct amdxdna_list *l, int count, struct diag *d) {
  if (count > 1 && !l->chain.handle && !l->npu->no_chains &&
      !amdxdna_open_typed(l->npu, XDNA_BUFFER_COMMAND, XDNA_COMMAND_BYTES,
                          &l->chain, d))
    return false;
  for (int i = 0; i < count; i++)
    if (!l->command[i].handle &&
        !amdxdna_open_typed(l->npu, XDNA_BUFFER_COMMAND, XDNA_COMMAND_BYTES,
                            &l->command[i], d))
      return false;
  return true;
}

/* Under the lock, which it leaves while it sends. */
static bool send_locked(struct amdxdna_list *l, struct amdxdna_context *c,
                        const struct amdxdna_program *p, struct diag *d) {
  struct amdxdna *x = l->npu;
  if (!start(x, c, p, d))
    return false;
  l->context = c;
  c->users++; /* the driver may let us wait */
  pthread_mutex_unlock(&x->lock);
  bool good = submit(l, p) || amdxdna_failed(d, "the command is not taken");
  pthread_mutex_lock(&x->lock);
  c->users--;
  if (l->count) {
    l->state = LIST_SENT;
    l->next = c->running;
    c->running = l;
  } else if (is_idle(c)) { /* nothing runs: the next may work */
    destroy_context(x, c);
  }
  if (!good && l->count)
    wait_locked(l);
  return good;
}

bool amdxdna_send(struct amdxdna_list *l, struct amdxdna_context *c,
                  const struct amdxdna_program *p, struct diag *d) {
  struct amdxdna *x = l->npu;
  assert(l->state != LIST_SENT && l->state != LIST_LOST);
  assert(p->count >= 1 && p->count <= AMDXDNA_LAUNCHES);
  assert(p->arguments >= 1 && p->arguments <= AMDXDNA_ARGUMENTS);
  if (!amdxdna_usable(x, d) || !open_commands(l, p->count, d))
    return false;
  for (int i = 0; i < p->count; i++)
    write_launch(l, i, p);
  l->state = LIST_IDLE;
  l->stays = p->stays;
  l->sent_ns = now_ns();
  l->diag = (struct diag){0};
  pthread_mutex_lock(&x->lock);
  bool good = send_locked(l, c, p, d);
  pthread_mutex_unlock(&x->lock);
  return good;
}
