/* The processors of the core tiles: what each does to what is around it (locks,
 * streams, cascade, registers of its tile), and when it is stepped. */
#include "tile.h"

#include <string.h>

/* ---- locks ---- */

static struct tile *lock_of_core(struct tile *t, int id) {
  char name[32];
  struct tile *to = NULL;
  if (id >= 48 && id < 64)
    to = t;
  else if (id >= 32 && id < 48)
    to = tile_at(t->sim, t->column, t->row + 1);
  else if (id >= 16 && id < 32)
    to = tile_at(t->sim, t->column - 1, t->row);
  else if (id >= 0 && id < 16 && t->row > 2)
    to = tile_at(t->sim, t->column, t->row - 1);
  if (!to)
    sim_fail(t->sim, "%s uses lock %d at pc 0x%x; it has no such neighbour",
             tile_name(t, name), id, core_pc(t->core));
  return to;
}

static bool core_acquire(void *context, int id, int value) {
  struct tile *t = context;
  struct tile *at = lock_of_core(t, id);
  if (!at)
    return false;
  struct lock *l = &at->lock[id % 16];
  int hidden = l->hidden_until > t->sim->now ? l->hidden : 0;
  if (lock_try(l, l->value - hidden, value)) {
    sim_busy(t->sim);
    locks_changed(at);
    t->wait_lock = NULL;
    trace_event(t->sim, t, "core acquires lock=%d, now %d", id, l->value);
    return true;
  }
  t->wait_tile = at;
  t->wait_lock = l;
  t->wait_value = value;
  return false;
}

static void core_release(void *context, int id, int value) {
  struct tile *t = context;
  struct tile *at = lock_of_core(t, id);
  if (!at)
    return;
  lock_release(at, id % 16, value, false);
  t->released |= 1ull << id;
  trace_event(t->sim, t, "core releases lock=%d, now %d", id,
              at->lock[id % 16].value);
}

/* Of other tiles' locks nothing is known here. */
static bool core_guards(void *context, int id, bool acquire, uint32_t address) {
  enum { OWN_MEMORY = DEVICE_CORE_ADDRESS, OWN_LOCKS = DEVICE_CORE_LOCK };
  struct tile *t = context;
  return id < OWN_LOCKS || address < OWN_MEMORY ||
         lock_guards(t, id - OWN_LOCKS, acquire, address - OWN_MEMORY);
}

/* ---- streams: the core's ports of the tile's switch ----
 *
 * A core that uses them stays in step with the array from then on. */

static bool in_step(struct tile *t) {
  t->in_step = true;
  return !t->ahead;
}

static bool stream_read(void *context, uint32_t *word, bool *last) {
  struct tile *t = context;
  if (!in_step(t) || !t->core_in.count)
    return false;
  const struct beat *b = fifo_at(&t->core_in, 0);
  if (b->ready > t->sim->now)
    return false;
  *word = b->word;
  *last = b->last;
  fifo_drop(&t->core_in, 1);
  t->sim->progress = true;
  return true;
}

static bool stream_write(void *context, uint32_t word, bool last) {
  struct tile *t = context;
  struct slave *to = &t->port[port_slave(TILE_CORE, PORT_CORE, 0)];
  if (!in_step(t) || !fifo_has_room(&to->fifo, 1))
    return false;
  fifo_push(&to->fifo, (struct beat){.ready = t->sim->now + PORT_LOCAL_LATENCY,
                                     .word = word,
                                     .last = last});
  port_list(t->sim, to);
  t->sim->progress = true;
  return true;
}

/* ---- cascade: Accumulator_Control bit 0 reads from the west, else from the
 * north; bit 1 writes to the east, else to the south ---- */

static bool cascade_read(void *context, uint8_t value[64]) {
  struct tile *t = context;
  struct cascade *in = &t->cascade;
  if (!in_step(t) || !in->count || in->ready[in->head] > t->sim->now)
    return false;
  memcpy(value, in->value[in->head], 64);
  in->head = (in->head + 1) % CASCADE_DEPTH;
  in->count--;
  t->sim->progress = true;
  return true;
}

static bool cascade_write(void *context, const uint8_t value[64]) {
  struct tile *t = context;
  char name[32];
  if (!in_step(t))
    return false;
  bool east = t->accumulator & 2;
  struct tile *to = tile_at(t->sim, t->column + east, t->row - !east);
  if (!to || to->kind != TILE_CORE || (to->accumulator & 1) != east)
    return sim_fail(t->sim,
                    "%s writes its cascade to the %s at pc 0x%x, where "
                    "no core reads it",
                    tile_name(t, name), east ? "east" : "south",
                    core_pc(t->core));
  struct cascade *out = &to->cascade;
  if (out->count == CASCADE_DEPTH)
    return false;
  uint32_t tail = (out->head + out->count++) % CASCADE_DEPTH;
  memcpy(out->value[tail], value, 64);
  out->ready[tail] = t->sim->now + CASCADE_LATENCY;
  t->sim->progress = true;
  return true;
}

/* ---- registers of the own tile ---- */

static bool read_register(void *context, uint32_t offset, uint32_t *value) {
  struct tile *t = context;
  in_step(t);
  return register_read(t->sim, tile_address(t->column, t->row, offset), value);
}

static bool write_register(void *context, uint32_t offset, uint32_t value) {
  struct tile *t = context;
  in_step(t);
  return register_write(t->sim, tile_address(t->column, t->row, offset), value);
}

const struct core_surroundings cores_around = {
    .acquire = core_acquire,
    .release = core_release,
    .guards = core_guards,
    .stream_read = stream_read,
    .stream_write = stream_write,
    .cascade_read = cascade_read,
    .cascade_write = cascade_write,
    .register_read = read_register,
    .register_write = write_register,
};

/* ---- stepping cores ----
 *
 * Stepping all cores in every cycle would throw each one's state out of the
 * processor's cache each time.  So a core runs up to CORE_AHEAD cycles ahead of
 * the array, and the banks that it used are kept for others to meet (bank.c).
 * It acts on a lock in exactly its cycle, and stays in step for CORE_LOCKSTEP
 * cycles behind it, longer than any load or store is under way: whatever locks
 * guard is seen as if all went cycle by cycle.  Memory that a design shares
 * without locks may be seen up to CORE_AHEAD cycles early, except in strict
 * mode, where no core runs ahead. */

/* A bundle that waits for its own accesses is stepped to its end. */
static void step_core(struct tile *t) {
  bool goes_on = false;
  do {
    uint32_t banks = 0;
    core_step(t->core, &banks);
    bank_note(t,
              (struct bank_use){.banks = banks,
                                .wide = (uint16_t)core_wide(t->core),
                                .conflicts = (uint8_t)core_conflicts(t->core),
                                .goes_on = goes_on});
    t->core_cycle++;
    goes_on = core_at_bank(t->core);
  } while (goes_on);
}

static void run_ahead(struct sim *s, struct tile *t) {
  t->ahead = true;
  while (t->core_cycle < s->now + CORE_AHEAD && !t->in_step &&
         t->core_cycle >= t->lockstep_until && !core_at_lock(t->core) &&
         core_state(t->core) == CORE_RUNNING)
    step_core(t);
  t->ahead = false;
  if (s->last_busy < t->core_cycle - 1)
    s->last_busy = t->core_cycle - 1;
}

/* The core's turn in this cycle; false: it does not run any more. */
static bool turn(struct sim *s, struct tile *t) {
  char name[32];
  step_core(t);
  switch (core_state(t->core)) {
  case CORE_RUNNING:
    break;
  case CORE_FAILED:
    return sim_fail(s, "%s at pc 0x%x: %s", tile_name(t, name),
                    core_pc(t->core), core_diag(t->core)->text);
  case CORE_DONE:
    s->progress = true;
    trace_event(s, t, "core done");
    return false;
  case CORE_STOPPED:
    return false;
  }
  t->core_ran = true;
  enum core_stall stall = core_stalled(t->core);
  if (stall == STALL_LOCK || core_at_lock(t->core))
    t->lockstep_until = s->now + CORE_LOCKSTEP;
  if (stall != STALL_LOCK && stall != STALL_STREAM) {
    sim_mark_busy(s);
    run_ahead(s, t);
  }
  if (s->recording)
    record_core(t);
  return true;
}

void cores_step(struct sim *s) {
  for (int i = 0; i < s->core_count;) {
    struct tile *t = s->core[i];
    if (t->core_cycle > s->now || turn(s, t)) {
      i++;
      continue;
    }
    t->core_listed = false;
    s->core[i] = s->core[--s->core_count];
  }
}
