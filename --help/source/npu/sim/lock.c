/* Locks, as DMAs and cores use them.
 *
 * A lock is a counter of 0..63.  Acquire with a negative value waits for at
 * least that much and takes it; with another value it waits for equality and
 * takes nothing.  A DMA's release reaches the core's side of a lock only after
 * LOCK_TO_CORE cycles; DMAs see it at once.
 */
#include "tile.h"

bool lock_try(struct lock *l, int visible, int value) {
  if (value < 0 ? visible < -value : visible != value)
    return false;
  if (value < 0)
    l->value += value;
  return true;
}

bool lock_acquire(struct tile *t, int id, int value) {
  if (!lock_try(&t->lock[id], t->lock[id].value, value))
    return false;
  t->sim->progress = true;
  locks_changed(t);
  return true;
}

void lock_release(struct tile *t, int id, int value, bool by_dma) {
  struct lock *l = &t->lock[id];
  struct sim *s = t->sim;
  char name[32];
  l->value += value;
  s->progress = true;
  if (l->value > LOCK_LIMIT || l->value < 0)
    sim_fail(s,
             "lock %d of %s: a release of %d makes it %d; a lock holds 0 to "
             "%d",
             id, tile_name(t, name), value, l->value, LOCK_LIMIT);
  locks_changed(t);
  if (by_dma && t->kind == TILE_CORE) {
    if (l->hidden_until <= s->now)
      l->hidden = 0;
    l->hidden += value;
    l->hidden_until = s->now + LOCK_TO_CORE;
  }
}

struct tile *lock_of_dma(struct channel *c, int id, int *own) {
  struct tile *t = c->tile;
  char name[48];
  *own = id;
  if (t->kind != TILE_MEM)
    return t;
  int side = id / 64 - 1;
  *own = id % 64;
  struct tile *to = side > 1 || (side && c->index > 3)
                        ? NULL
                        : tile_at(t->sim, t->column + side, t->row);
  if (!to)
    sim_fail(t->sim,
             "%s BD %d names lock %d, which it cannot reach (own locks are "
             "64..127; neighbours' only for channels 0 to 3)",
             channel_name(c, name), c->bd, id);
  return to;
}
