/* cache.c -- what was built for a key, kept for the next call.
 *
 * The cache's lock is held for look-ups only.  An entry has a lock of its own,
 * so that one thread builds a shape while others wait for that shape alone, and
 * a count of users, so that nothing in use is thrown out.  Failures are kept,
 * too: what did not compile is not tried again at every call.
 */
#include "parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  ENTRIES = sizeof((struct cache *)0)->entry / sizeof(struct cache_entry *)
};

void cache_open(struct cache *c, int most_entries, size_t most_bytes) {
  assert(most_entries >= 1 && most_entries <= ENTRIES);
  *c = (struct cache){.most_entries = most_entries, .most_bytes = most_bytes};
  pthread_mutex_init(&c->lock, NULL);
}

static void entry_close(struct cache_entry *e) {
  assert(e->users == 0);
  if (e->session)
    e->device->close(e->session);
  arena_close(e->arena);
  pthread_mutex_destroy(&e->lock);
  free(e->key);
  free(e);
}

void cache_close(struct cache *c) {
  for (int i = 0; i < c->count; i++)
    entry_close(c->entry[i]);
  pthread_mutex_destroy(&c->lock);
}

static struct cache_entry *find(struct cache *c, const void *key,
                                size_t bytes) {
  for (int i = 0; i < c->count; i++)
    if (c->entry[i]->key_bytes == bytes &&
        memcmp(c->entry[i]->key, key, bytes) == 0)
      return c->entry[i];
  return NULL;
}

/* Throws out the entry that nobody uses and that was used longest ago. */
static bool drop_oldest(struct cache *c) {
  int oldest = -1;
  for (int i = 0; i < c->count; i++)
    if (c->entry[i]->users == 0 &&
        (oldest < 0 || c->entry[i]->last_use < c->entry[oldest]->last_use))
      oldest = i;
  if (oldest < 0)
    return false;
  entry_close(c->entry[oldest]);
  c->entry[oldest] = c->entry[--c->count];
  return true;
}

static size_t bytes_held(const struct cache *c) {
  size_t bytes = 0;
  for (int i = 0; i < c->count; i++)
    if (c->entry[i]->users == 0) /* others may be changing */
      bytes += c->entry[i]->bytes;
  return bytes;
}

static struct cache_entry *add(struct cache *c, const void *key, size_t bytes) {
  if (c->count >= c->most_entries)
    drop_oldest(c);
  if (c->count == ENTRIES)
    return NULL;
  struct cache_entry *e = calloc(1, sizeof *e);
  void *copy = malloc(bytes);
  if (!e || !copy) {
    free(e);
    free(copy);
    return NULL;
  }
  memcpy(copy, key, bytes);
  e->key = copy;
  e->key_bytes = bytes;
  pthread_mutex_init(&e->lock, NULL);
  assert(!find(c, key, bytes));
  c->entry[c->count++] = e;
  return e;
}

struct cache_entry *cache_acquire(struct cache *c, const void *key,
                                  size_t bytes) {
  pthread_mutex_lock(&c->lock);
  struct cache_entry *e = find(c, key, bytes);
  if (!e)
    e = add(c, key, bytes);
  if (e) {
    e->users++;
    e->last_use = ++c->clock;
  }
  pthread_mutex_unlock(&c->lock);
  return e;
}

void cache_release(struct cache *c, struct cache_entry *e) {
  pthread_mutex_lock(&c->lock);
  assert(e->users > 0 && find(c, e->key, e->key_bytes) == e);
  e->users--;
  while ((c->count > c->most_entries || bytes_held(c) > c->most_bytes) &&
         drop_oldest(c))
    ;
  pthread_mutex_unlock(&c->lock);
}

/* ---- payloads ---- */

struct building {
  struct cache_entry *entry;
  void (*build)(struct cache_entry *, const void *with);
  const void *with;
};

static void build_payload(void *with) {
  const struct building *b = with;
  b->entry->arena = arena_open();
  b->build(b->entry, b->with);
  assert(b->entry->state != CACHE_NEW);
}

void cache_forget(struct cache_entry *e) {
  assert(!e->session);
  arena_close(e->arena);
  e->arena = NULL;
  e->state = CACHE_NEW;
  e->diag = (struct diag){0};
  e->teir = NULL;
  e->path = (struct path){0};
  e->plan = NULL;
  e->lost_seconds = 0;
}

static void drop_payload(void *with) {
  cache_forget(((const struct building *)with)->entry);
}

bool cache_build(struct cache_entry *e,
                 void (*build)(struct cache_entry *, const void *with),
                 const void *with) {
  assert(e->state == CACHE_NEW && !e->arena && !e->session);
  struct building b = {e, build, with};
  return memory_try(build_payload, drop_payload, &b);
}

void cache_searched(struct cache *c, double seconds) {
  pthread_mutex_lock(&c->lock);
  c->search_seconds = seconds;
  pthread_mutex_unlock(&c->lock);
}

double cache_search_seconds(struct cache *c) {
  pthread_mutex_lock(&c->lock);
  double seconds = c->search_seconds;
  pthread_mutex_unlock(&c->lock);
  return seconds;
}
