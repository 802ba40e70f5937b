/* gate.c -- whether a nest goes to a device on which a launch costs time.
 *
 * A nest at its run-time values has a record: what its loop took, and what the
 * device took.  Where one of them is not known it is predicted, from a slow
 * loop and from what launches took so far, in this process or in earlier ones
 * (rates.c).  The first call runs the loop, unless even that would be long.
 * Building a launch costs about a tenth of a second, so the loop goes on until
 * the calls that the device would have done faster add up to that: a program
 * that ends before has lost nothing, and one that does not is never more than
 * twice as slow as the better choice.
 *
 * What stays with its loop for good is in a table of keys that is read without
 * a lock: a product that is small costs its loop no more than that.  A key that
 * is wrong there keeps a loop, which is right at any time.
 *
 * To read a call takes about two microseconds.  So a call is declined without
 * being read where its nest is known (nests.c) and its loop is shorter than any
 * launch; where it has a record, by that; and where it has none, because its
 * sizes are new, unless its loop is so long that reading is nothing beside it:
 * but for one in sixteen, so that sizes that come again get their record.
 */
#include "parts.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 512, PROBES = 8, KEPT = 1024, SURE = 3, SAMPLED = 16 };
enum { COPY_BYTES = 64 << 10 }; /* fewer say little of a copy's rate */

/* Where nothing has been measured; and seconds of a loop that is long. */
static const struct rates at_first = {
    .launch = 6e-5, .build = 0.1, .copy = 2e-10, .mac = 1e-12};
static const double loop_per_mac = 1e-9, long_loop = 0.1;
/* A loop beside which a call that is read is nothing; and a slow one's rate. */
static const double read_loop = 2e-4, slow_loop_per_mac = 4e-9;

struct record {
  uint64_t key; /* 0: free */
  uint64_t last_use;
  double loop, device; /* seconds, 0: not measured */
  double missed;       /* seconds that the device would have saved */
  double macs, bytes;  /* of a call */
  int loops, declined;
  int failures;            /* of the device */
  struct nest_known *nest; /* NULL: not known */
};

struct gate {
  pthread_mutex_t lock;
  const char *device; /* whose rates these are; NULL: nobody has asked */
  struct rates rates;
  bool launch_known, mac_known, copy_known; /* measured, now or earlier */
  uint64_t launches, write_at; /* at so many the rates are written */
  uint64_t clock;
  struct record record[RECORDS];
  _Atomic uint64_t kept[KEPT];
  struct nests *nests;
  _Atomic double least;     /* seconds of any launch */
  atomic_bool asked;        /* for a device */
  _Atomic unsigned sampled; /* calls with new sizes */
};

struct gate *gate_open(void) {
  struct gate *g = calloc(1, sizeof *g);
  struct nests *nests = g ? nests_open() : NULL;
  if (!nests) {
    free(g);
    return NULL;
  }
  pthread_mutex_init(&g->lock, NULL);
  g->nests = nests;
  g->rates = at_first;
  g->least = at_first.launch;
  g->write_at = 1;
  return g;
}

void gate_use(struct gate *g, const char *device) {
  pthread_mutex_lock(&g->lock);
  if (!g->device || strcmp(g->device, device) != 0) {
    g->device = device;
    g->asked = true;
    g->launches = 0;
    g->write_at = 1;
    bool known = rates_read(device, &g->rates);
    if (!known)
      g->rates = at_first;
    g->least = g->rates.launch;
    g->launch_known = g->mac_known = g->copy_known = known;
  }
  pthread_mutex_unlock(&g->lock);
}

void gate_close(struct gate *g) {
  if (!g)
    return;
  pthread_mutex_destroy(&g->lock);
  nests_close(g->nests);
  free(g);
}

uint64_t gate_key(const struct run_request *q) {
  const uint64_t prime = 0x9e3779b97f4a7c15u;
  uint64_t h = ((uintptr_t)q->teir * prime ^ (uintptr_t)q->where) * prime ^
               (uintptr_t)q->options;
  for (uint64_t i = 0; i < q->value_count; i++) {
    h = (h ^ (uint64_t)q->value[i]) * prime;
    h ^= h >> 29;
  }
  return h ? h : 1;
}

bool gate_keeps(const struct gate *g, uint64_t key) {
  return atomic_load_explicit(&g->kept[key % KEPT], memory_order_relaxed) ==
         key;
}

void gate_keep(struct gate *g, uint64_t key) {
  atomic_store_explicit(&g->kept[key % KEPT], key, memory_order_relaxed);
}

/* NULL: it has none. */
static struct record *find_known(struct gate *g, uint64_t key) {
  for (uint64_t i = 0; i < PROBES; i++) {
    struct record *r = &g->record[(key + i) % RECORDS];
    if (r->key == key)
      return r;
  }
  return NULL;
}

/* The record of a key; the one used longest ago of those in its place is
 * given up for a new one. */
static struct record *find(struct gate *g, uint64_t key) {
  struct record *oldest = NULL, *known = find_known(g, key);
  assert(key);
  if (known)
    return known;
  for (uint64_t i = 0; i < PROBES; i++) {
    struct record *r = &g->record[(key + i) % RECORDS];
    if (!oldest || r->last_use < oldest->last_use)
      oldest = r;
  }
  *oldest = (struct record){.key = key};
  return oldest;
}

double run_loop_guess(double macs) { return macs * loop_per_mac; }

static double predict_loop(const struct record *r, double macs) {
  return r->loop > 0 ? r->loop : run_loop_guess(macs);
}

static double predict_device(const struct rates *x, const struct record *r) {
  return r->device > 0 ? r->device
                       : x->launch + r->macs * x->mac + r->bytes * x->copy;
}

static bool wants_device(struct gate *g, struct record *r,
                         const struct gate_times *t) {
  double saved = t->loop - t->device;
  if (r->device > 0) /* it is built */
    return saved >= 0;
  if (!r->loops && t->loop < long_loop)
    return false; /* asks how long the loop takes */
  if (saved > 0)
    r->missed += saved;
  else if (r->loops >= SURE)
    gate_keep(g, r->key);
  return saved > 0 && r->missed >= g->rates.build;
}

/* Under the lock. */
static bool pays(struct gate *g, struct record *r, struct gate_times *t) {
  r->last_use = ++g->clock;
  t->loop = predict_loop(r, r->macs);
  t->device = predict_device(&g->rates, r);
  return wants_device(g, r, t);
}

bool gate_pays(struct gate *g, uint64_t key, double macs, double bytes,
               struct gate_times *t) {
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  r->macs = macs;
  r->bytes = bytes;
  bool good = pays(g, r, t);
  pthread_mutex_unlock(&g->lock);
  return good;
}

/* ---- calls that need not be read ---- */

void gate_read(struct gate *g, const struct run_request *q,
               const struct teir *t, double least) {
  nests_add(g->nests, q, t, least);
  pthread_mutex_lock(&g->lock);
  struct record *r = find_known(g, gate_key(q));
  if (r)
    r->nest = nests_find(g->nests, q);
  pthread_mutex_unlock(&g->lock);
}

/* With a record, by that. */
static bool declines_known(struct gate *g, uint64_t key, bool *known) {
  struct gate_times t;
  pthread_mutex_lock(&g->lock);
  struct record *r = find_known(g, key);
  *known = r && r->macs > 0;
  bool declines = *known && !pays(g, r, &t);
  pthread_mutex_unlock(&g->lock);
  return declines;
}

/* Whether no launch is as short as the call's loop, or it is too small as the
 * user says; *read: whether it should be read if it has no record. */
static bool is_small(const struct gate *g, const struct nest_known *nest,
                     double macs, bool *read) {
  double least = nest_least(nest), rate = nest_rate(nest);
  double loop = macs * (rate > 0 ? rate : slow_loop_per_mac);
  *read = least >= 0 || loop >= read_loop;
  return least >= 0 ? macs < least : 2 * loop < g->least;
}

double gate_least_macs(const struct gate *g) {
  return g->asked ? g->least / (2 * slow_loop_per_mac) : 0;
}

bool gate_declines(struct gate *g, const struct run_request *q,
                   uint64_t *timed) {
  const struct nest_known *nest = nests_find(g->nests, q);
  double macs = nest ? nest_macs(nest, q) : -1;
  bool read = true, known = false;
  *timed = 0;
  if (macs >= 0 && is_small(g, nest, macs, &read))
    return true;
  uint64_t key = gate_key(q);
  if (gate_keeps(g, key))
    return true;
  if (macs < 0 || nest_least(nest) >= 0)
    return false;
  if (declines_known(g, key, &known))
    *timed = key;
  return known ? *timed != 0
               : !read && atomic_fetch_add_explicit(&g->sampled, 1,
                                                    memory_order_relaxed) %
                                  SAMPLED !=
                              0;
}

/* Some reasons are not of the sizes alone: addresses, or memory. */
void gate_declined(struct gate *g, uint64_t key) {
  enum { OFTEN = 16 };
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  r->last_use = ++g->clock;
  if (++r->declined >= OFTEN)
    gate_keep(g, key);
  pthread_mutex_unlock(&g->lock);
}

/* The shortest, but for what lasts longer again and again: one call that was
 * interrupted says little. */
static double mix(double old, double now) {
  if (!(old > 0) || now < old)
    return now;
  double more = now - old;
  return old + (more < old ? more : old) / 8;
}

void gate_loop_took(struct gate *g, uint64_t key, double seconds) {
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  r->loop = mix(r->loop, seconds);
  r->loops += r->loops < SURE;
  if (r->nest && r->macs > 0)
    nest_loop_took(r->nest, r->macs, r->loop);
  pthread_mutex_unlock(&g->lock);
}

static void learn_rate(double *rate, bool *known, double now) {
  *rate = *known ? mix(*rate, now) : now;
  *known = true;
}

/* Rates from a launch that was built before.  One that is mostly work says
 * nothing of what the shortest takes; what it took beyond that is work, but for
 * a change of the configuration. */
static void learn(struct gate *g, const struct record *r,
                  const struct run_seconds *s, int64_t copied) {
  struct rates *x = &g->rates;
  double launch = s->launch - s->change, least = launch - r->macs * x->mac;
  if (2 * least > launch && (!g->launch_known || least < x->launch)) {
    x->launch = g->least = least;
    g->launch_known = true;
  }
  double work = launch - x->launch;
  if (work > x->launch && r->macs > 0)
    learn_rate(&x->mac, &g->mac_known, work / r->macs);
  if (copied >= COPY_BYTES && s->copy > 0)
    learn_rate(&x->copy, &g->copy_known, s->copy / (double)copied);
  g->launches++;
}

void gate_device_took(struct gate *g, uint64_t key, double seconds,
                      const struct run_seconds *s, int64_t copied) {
  struct rates now = {0};
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  if (s->build > 0) {
    g->rates.build = mix(g->rates.build, s->build);
  } else {
    r->device = mix(r->device, seconds);
    learn(g, r, s, copied);
    if (g->device && g->launches == g->write_at) {
      now = g->rates;
      g->write_at *= 8; /* rarely: nobody waits for these */
    }
  }
  const char *device = g->device;
  pthread_mutex_unlock(&g->lock);
  if (now.launch > 0)
    rates_write(device, &now);
}

void gate_device_failed(struct gate *g, uint64_t key) {
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  r->failures++;
  if (r->failures >= SURE)
    gate_keep(g, key);
  pthread_mutex_unlock(&g->lock);
}
