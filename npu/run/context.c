/* context.c -- configurations that a device has loaded, and launches on them.
 *
 * Loading a configuration takes a device longer than most launches, so plans
 * whose configurations are equal, byte by byte, share the loaded one: launches
 * on it come one after the other, each on the state of the array that the one
 * before has left.  What a failed launch leaves is not known; then the
 * configuration is loaded anew for the next.
 */
#include "parts.h"

#include <assert.h>
#include <string.h>

/* The hash comes first, so that others differ soon. */
struct key {
  uint64_t hash;
  char device[16], preset[32];
};

static uint64_t hash_of(const void *bytes, size_t length) {
  const unsigned char *b = bytes;
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < length; i++)
    h = (h ^ b[i]) * 1099511628211u;
  return h;
}

struct context_key context_key(struct arena *a, const struct run_device *device,
                               const struct run_options *o,
                               const struct run_plan *plan) {
  struct key *key;
  size_t length = sizeof *key + plan->xclbin_bytes;
  assert(strlen(device->name) < sizeof key->device);
  key = arena_alloc(a, length);
  memset(key, 0, sizeof *key);
  key->hash = hash_of(plan->xclbin, plan->xclbin_bytes);
  strcpy(key->device, device->name);
  strcpy(key->preset, o->preset);
  memcpy(key + 1, plan->xclbin, plan->xclbin_bytes);
  return (struct context_key){key, length};
}

/* One launch, on the context that is in the entry or gets there. */
struct job {
  const struct context_launch *launch;
  struct cache_entry *entry;
  struct run_counts *counts;
  struct diag *d;
  bool done;
};

static void unload(void *with) {
  struct cache_entry *e = ((const struct job *)with)->entry;
  if (e->context)
    e->device->unload(e->context);
  e->context = NULL;
}

static void run(void *with) {
  struct job *j = with;
  const struct context_launch *l = j->launch;
  struct cache_entry *e = j->entry;
  if (!e->context) {
    e->device = l->device;
    e->context = l->device->load(l->plan, l->options, j->d);
  }
  j->done =
      e->context && l->device->launch(l->session, e->context, j->counts, j->d);
}

bool context_launch(const struct context_launch *l, struct run_counts *counts,
                    struct diag *d) {
  if (!l->device->load)
    return l->device->launch(l->session, NULL, counts, d);
  struct cache_entry *e =
      cache_acquire(l->contexts, l->key.bytes, l->key.length);
  struct job j = {.launch = l, .entry = e, .counts = counts, .d = d};
  if (!e)
    return diag_declined(d, loc_none(), "no memory");
  pthread_mutex_lock(&e->lock);
  if (!memory_try(run, unload, &j))
    diag_declined(d, loc_none(), "no memory");
  else if (!j.done)
    unload(&j);
  pthread_mutex_unlock(&e->lock);
  cache_release(l->contexts, e);
  return j.done;
}
