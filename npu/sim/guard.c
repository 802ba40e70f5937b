/* guard.c -- which buffer a core's lock operation is about.
 *
 * A lock is only a counter.  But the descriptors that use it form a ring in
 * which a channel has come to a certain place; the core acquires and releases
 * the ring's buffers in the same order, and the value tells how far it is
 * ahead. Strict mode asks (core_strict.c).
 */
#include "tile.h"

enum { BDS = 16 }; /* of a core tile */

/* The descriptor `ahead` places behind the channel's own in its ring; -1: the
 * channel runs no ring. */
static int place_in_ring(const struct channel *c, int ahead) {
  uint32_t word, words;
  int bd = c->bd, n = 0;
  do {
    bd = descriptor_run(c->tile, bd, &word, &words);
    n++;
  } while (bd >= 0 && bd != c->bd && n < BDS);
  if (bd != c->bd)
    return -1;
  for (int i = (ahead % n + n) % n; i > 0; i--)
    bd = descriptor_run(c->tile, bd, &word, &words);
  return bd;
}

/* The core has just taken what the channel filled: of all that it finished,
 * `value` are left. */
static int taken_from(const struct channel *c, int value) {
  return place_in_ring(c, -value - 1);
}

/* The core is about to give what the channel will get when it has had the
 * `value` given before. */
static int given_to(const struct channel *c, int value) {
  bool holds = c->state == CHANNEL_MOVE || c->state == CHANNEL_FINISH;
  return place_in_ring(c, value + holds);
}

bool lock_guards(struct tile *t, int lock, bool acquire, uint32_t offset) {
  int value = t->lock[lock].value;
  for (int mm2s = 0; mm2s < 2; mm2s++)
    for (int i = 0; i < t->sim->device->tile[t->kind].channels; i++) {
      const struct channel *c = &t->channel[mm2s][i];
      const struct tile *at = acquire ? c->release_tile : c->acquire_tile;
      uint32_t word, words;
      if (c->state == CHANNEL_IDLE || at != t ||
          lock != (acquire ? c->release_lock : c->acquire_lock))
        continue;
      int bd = acquire ? taken_from(c, value) : given_to(c, value);
      if (bd < 0)
        return true;
      descriptor_run(t, bd, &word, &words);
      return offset >= 4 * word && offset < 4 * (word + words);
    }
  return true;
}
