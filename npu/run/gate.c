/* gate.c -- whether a nest goes to a device on which a launch costs time.
 *
 * A nest at its run-time values has a record: what its loop took, and what the
 * device took.  Where one of them is not known it is predicted, from a slow
 * loop and from what launches took so far in this process.  The first call runs
 * the loop, unless even that would be long.  Building a launch costs about a
 * tenth of a second, so the loop goes on until the calls that the device would
 * have done faster add up to that: a program that ends before has lost nothing,
 * and one that does not is never more than twice as slow as the better choice.
 *
 * What stays with its loop for good is in a table of keys that is read without
 * a lock: a product that is small costs its loop no more than that.  A key that
 * is wrong there keeps a loop, which is right at any time.
 */
#include "parts.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { RECORDS = 512, PROBES = 8, KEPT = 1024, SURE = 3 };

/* Seconds, where nothing has been measured. */
static const double loop_per_mac = 1e-9, device_per_mac = 1e-12,
                    copy_per_byte = 2e-10, launch_at_first = 6e-5,
                    build_at_first = 0.1, long_loop = 0.1;

struct record {
  uint64_t key; /* 0: free */
  uint64_t last_use;
  double loop, device; /* seconds, 0: not measured */
  double missed;       /* seconds that the device would have saved */
  int loops, failures; /* of the device */
};

struct gate {
  pthread_mutex_t lock;
  double launch, build; /* seconds */
  bool launched;
  uint64_t clock;
  struct record record[RECORDS];
  _Atomic uint64_t kept[KEPT];
};

struct gate *gate_open(void) {
  struct gate *g = calloc(1, sizeof *g);
  if (!g)
    return NULL;
  pthread_mutex_init(&g->lock, NULL);
  g->launch = launch_at_first;
  g->build = build_at_first;
  return g;
}

void gate_close(struct gate *g) {
  if (!g)
    return;
  pthread_mutex_destroy(&g->lock);
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

/* The record of a key; the one used longest ago of those in its place is
 * given up for a new one. */
static struct record *find(struct gate *g, uint64_t key) {
  struct record *oldest = NULL;
  assert(key);
  for (uint64_t i = 0; i < PROBES; i++) {
    struct record *r = &g->record[(key + i) % RECORDS];
    if (r->key == key)
      return r;
    if (!oldest || r->last_use < oldest->last_use)
      oldest = r;
  }
  *oldest = (struct record){.key = key};
  return oldest;
}

static double predict_loop(const struct record *r, double macs) {
  return r->loop > 0 ? r->loop : macs * loop_per_mac;
}

static double predict_device(const struct gate *g, const struct record *r,
                             double macs, double bytes) {
  return r->device > 0
             ? r->device
             : g->launch + macs * device_per_mac + bytes * copy_per_byte;
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
  return saved > 0 && r->missed >= g->build;
}

bool gate_pays(struct gate *g, uint64_t key, double macs, double bytes,
               struct gate_times *t) {
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  r->last_use = ++g->clock;
  t->loop = predict_loop(r, macs);
  t->device = predict_device(g, r, macs, bytes);
  bool pays = wants_device(g, r, t);
  pthread_mutex_unlock(&g->lock);
  return pays;
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
  pthread_mutex_unlock(&g->lock);
}

void gate_device_took(struct gate *g, uint64_t key, double seconds,
                      bool built) {
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  if (built) {
    g->build = mix(g->build, seconds);
  } else {
    r->device = mix(r->device, seconds);
    if (!g->launched || seconds < g->launch)
      g->launch = seconds;
    g->launched = true;
  }
  pthread_mutex_unlock(&g->lock);
}

void gate_device_failed(struct gate *g, uint64_t key) {
  pthread_mutex_lock(&g->lock);
  struct record *r = find(g, key);
  r->failures++;
  if (r->failures >= SURE)
    gate_keep(g, key);
  pthread_mutex_unlock(&g->lock);
}
