/* core_cache.c -- programs of cores that were made before.
 *
 * To schedule a kernel takes longer than all else of a design, and sizes whose
 * blocks are equal have the same program.  What it depends on is its key, and
 * is copied member by member, so that gaps between members do not matter.
 *
 * The lock is held for look-ups and copies only; nothing that may end for lack
 * of memory happens under it.
 */
#include "parts.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 128 };

/* So many steps are as good as more: they are counted at run time. */
enum { MANY_STEPS = 3 };

struct key {
  char device[16];
  enum dtype in0, in1, out, acc;
  bool in0_turned, in1_turned, out_turned, sums_turned, staged, joined,
      converted;
  int block_m, block_n, block_k, group_m, steps_k, joint, out_depth, cleared_k;
  enum map_clear clear[OUT];
  uint32_t place[9];
  int bias, bias_words, bias_blocks, relu, keeps_nan, saturate, shift;
};

struct entry {
  struct key key;
  void *elf; /* NULL: none */
  size_t bytes;
  uint64_t last_use;
};

struct core_cache {
  pthread_mutex_t lock;
  struct entry entry[PROGRAMS];
  uint64_t clock;
};

struct core_cache *core_cache_open(void) {
  struct core_cache *c = calloc(1, sizeof *c);
  if (c)
    pthread_mutex_init(&c->lock, NULL);
  return c;
}

void core_cache_close(struct core_cache *c) {
  if (!c)
    return;
  for (int i = 0; i < PROGRAMS; i++)
    free(c->entry[i].elf);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

static void make_key(const struct tile_program *p, struct key *key) {
  const struct map_core *core = &p->core;
  const struct teir_finish *f = &p->finish;
  memset(key, 0, sizeof *key);
  assert(strlen(p->device->name) < sizeof key->device);
  strcpy(key->device, p->device->name);
  key->in0 = p->transfer[IN0].type;
  key->in1 = p->transfer[IN1].type;
  key->out = p->transfer[OUT].type;
  key->acc = p->acc;
  key->in0_turned = p->transfer[IN0].turned;
  key->in1_turned = p->transfer[IN1].turned;
  key->out_turned = p->turns_out;
  key->sums_turned = p->turns_sums;
  key->staged = core->staged;
  key->joined = core->joined;
  key->converted = core->converted;
  key->block_m = p->block_m;
  key->block_n = p->block_n;
  key->block_k = p->block_k;
  key->group_m = p->group_m;
  int steps = map_products_k(p) - map_is_cleared(p); /* in one call */
  key->steps_k = steps < MANY_STEPS ? steps : MANY_STEPS;
  key->joint = core->joint;
  key->cleared_k = map_is_cleared(p) ? (int)map_last_k(p, 1) : 0;
  memcpy(key->clear, map_end(p).clear, sizeof key->clear);
  key->out_depth = core->out_depth;
  memcpy(key->place, core->in0, sizeof core->in0);
  memcpy(key->place + 2, core->in1, sizeof core->in1);
  memcpy(key->place + 4, core->out, sizeof core->out);
  key->place[6] = core->sums;
  memcpy(key->place + 7, core->blocks, sizeof core->blocks);
  key->bias = f->bias != 0;
  key->bias_words = f->bias ? map_bias_words(p) : 0;
  key->bias_blocks = f->bias ? design_buffer_steps(p, IN1) : 0;
  key->relu = f->relu;
  key->keeps_nan = f->keeps_nan;
  key->saturate = f->saturate;
  key->shift = f->shift;
}

static struct entry *find(struct core_cache *c, const struct key *key) {
  for (int i = 0; i < PROGRAMS; i++)
    if (c->entry[i].elf && memcmp(&c->entry[i].key, key, sizeof *key) == 0)
      return &c->entry[i];
  return NULL;
}

bool core_cache_has(struct core_cache *c, const struct tile_program *p) {
  struct key key;
  make_key(p, &key);
  pthread_mutex_lock(&c->lock);
  bool has = find(c, &key);
  pthread_mutex_unlock(&c->lock);
  return has;
}

bool core_cache_find(struct core_cache *c, struct arena *a,
                     const struct tile_program *p, struct design_core *core) {
  struct key key;
  make_key(p, &key);
  pthread_mutex_lock(&c->lock);
  struct entry *e = find(c, &key);
  size_t bytes = e ? e->bytes : 0;
  pthread_mutex_unlock(&c->lock);
  if (!bytes)
    return false;
  void *elf = arena_alloc(a, bytes);
  pthread_mutex_lock(&c->lock);
  e = find(c, &key); /* others may have dropped it; equal keys, equal bytes */
  if (e) {
    assert(e->bytes == bytes);
    memcpy(elf, e->elf, bytes);
    e->last_use = ++c->clock;
    *core = (struct design_core){.elf = elf, .elf_bytes = bytes};
  }
  pthread_mutex_unlock(&c->lock);
  return e;
}

void core_cache_add(struct core_cache *c, const struct tile_program *p,
                    const struct design_core *core) {
  struct key key;
  make_key(p, &key);
  void *elf = malloc(core->elf_bytes);
  if (!elf)
    return; /* it will be made again */
  memcpy(elf, core->elf, core->elf_bytes);
  pthread_mutex_lock(&c->lock);
  if (!find(c, &key)) {
    struct entry *oldest = &c->entry[0];
    for (int i = 1; i < PROGRAMS; i++)
      if (c->entry[i].last_use < oldest->last_use)
        oldest = &c->entry[i];
    void *dropped = oldest->elf;
    *oldest = (struct entry){key, elf, core->elf_bytes, ++c->clock};
    elf = dropped;
  }
  pthread_mutex_unlock(&c->lock);
  free(elf);
}
