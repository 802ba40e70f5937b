/* guard.c -- which buffer a core's lock operation is about.
 *
 * A lock is only a counter.  But the descriptors that use it form a ring in
 * which a channel has come to a certain place; the core acquires and releases
 * the ring's buffers in the same order, and the value tells how far it is
 * ahead.  Descriptors of other locks, whose buffers come through the same
 * channel in between, do not count. Strict mode asks (core_strict.c).
 */
#include "tile.h"

enum { BDS = 16 }; /* of a core tile */

/* The descriptors of the channel's ring that acquire, or release, the lock,
 * from the channel's own on; 0: none, or the channel runs no ring. */
static int find_ring(struct channel *c, struct tile *t, int lock, bool acquires,
                     int ring[BDS]) {
  struct tile *at;
  uint32_t word, words;
  int bd = c->bd, count = 0, own;
  for (int n = 0; n < BDS && bd >= 0; n++) {
    if (descriptor_lock(c, bd, acquires, &at, &own) && at == t && own == lock)
      ring[count++] = bd;
    bd = descriptor_run(c->tile, bd, &word, &words);
    if (bd == c->bd)
      return count;
  }
  return 0;
}

/* The core has just taken what the channel filled: of all that it finished,
 * `value` are left. */
static int taken(const int *ring, int count, int value) {
  return ring[count - 1 - value % count];
}

/* The core is about to give what the channel will get when it has had the
 * `value` given before. */
static int given(const struct channel *c, const int *ring, int count,
                 int value) {
  bool holds = (c->state == CHANNEL_MOVE || c->state == CHANNEL_FINISH) &&
               ring[0] == c->bd;
  return ring[(value + holds) % count];
}

bool lock_guards(struct tile *t, int lock, bool acquire, uint32_t offset) {
  int value = t->lock[lock].value;
  if (value < 0)
    return true; /* the run has failed, and ends */
  for (int mm2s = 0; mm2s < 2; mm2s++)
    for (int i = 0; i < t->sim->device->tile[t->kind].channels; i++) {
      struct channel *c = &t->channel[mm2s][i];
      uint32_t word, words;
      int ring[BDS];
      int count =
          c->state == CHANNEL_IDLE ? 0 : find_ring(c, t, lock, !acquire, ring);
      if (!count)
        continue;
      int bd =
          acquire ? taken(ring, count, value) : given(c, ring, count, value);
      descriptor_run(t, bd, &word, &words);
      return offset >= 4 * word && offset < 4 * (word + words);
    }
  return true;
}
