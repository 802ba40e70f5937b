/* Locks, and the cores that wait for them.
 *
 * A lock is a counter of 0..63.  Acquire with a negative value waits for at
 * least that much and takes it; with another value it waits for equality and
 * takes nothing.  A DMA's release reaches the core's side of a lock only after
 * LOCK_TO_CORE cycles; DMAs see it at once.
 */
#include "tile.h"

#include <string.h>

static bool take(struct lock *l, int visible, int value) {
  if (value < 0 ? visible < -value : visible != value)
    return false;
  if (value < 0)
    l->value += value;
  return true;
}

bool lock_take(struct tile *t, int id, int value) {
  if (!take(&t->lock[id], t->lock[id].value, value))
    return false;
  t->sim->progress = true;
  locks_changed(t);
  return true;
}

void lock_give(struct tile *t, int id, int value, bool by_dma) {
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

/* ---- the core's side ---- */

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
  if (take(l, l->value - hidden, value)) {
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
  lock_give(at, id % 16, value, false);
  trace_event(t->sim, t, "core releases lock=%d, now %d", id,
              at->lock[id % 16].value);
}

static uint8_t *neighbour_memory(struct tile *t, int columns, int rows) {
  struct tile *n = tile_at(t->sim, t->column + columns, t->row + rows);
  return n && n->kind == TILE_CORE ? n->memory : NULL;
}

struct core *core_of(struct tile *t) {
  if (!t->core) {
    struct core_surroundings around = {
        .context = t,
        .program = t->program,
        .memory = {neighbour_memory(t, 0, -1), neighbour_memory(t, -1, 0),
                   neighbour_memory(t, 0, 1), t->memory},
        .acquire = core_acquire,
        .release = core_release,
    };
    t->core = core_open(&around);
    core_strict(t->core, t->sim->options.strict);
    core_reset(t->core, 0);
  }
  return t->core;
}

/* Core_Control: bit 0 enable, bit 1 reset. */
void core_control_write(struct tile *t, uint32_t value) {
  struct sim *s = t->sim;
  struct core *core = core_of(t);
  if (value & 2)
    core_reset(core, 0);
  bool run = (value & 3) == 1;
  core_enable(core, run);
  t->core_control = value & 3;
  if (run && !t->core_listed) {
    t->core_listed = true;
    s->core[s->core_count++] = t;
  }
}

uint32_t core_status_read(const struct tile *t) {
  uint32_t status = t->core_control;
  if (!t->core)
    return status;
  if (core_state(t->core) == CORE_RUNNING &&
      core_stalled(t->core) == STALL_LOCK)
    status |= 1u << 9;
  if (core_state(t->core) == CORE_DONE)
    status |= 1u << 20;
  if (core_state(t->core) == CORE_FAILED)
    status |= 1u << 19;
  return status;
}

/* One cycle of a core; false: it does not run any more. */
static bool core_cycle(struct sim *s, struct tile *t) {
  unsigned banks = 0;
  core_step(t->core, &banks);
  t->banks_cycle = s->now;
  t->banks = banks;
  switch (core_state(t->core)) {
  case CORE_RUNNING: {
    enum core_stall stall = core_stalled(t->core);
    if (stall == STALL_NONE || stall == STALL_MEMORY)
      sim_busy(s);
    t->core_ran = true;
    return true;
  }
  case CORE_FAILED: {
    char name[32];
    return sim_fail(s, "%s at pc 0x%x: %s", tile_name(t, name),
                    core_pc(t->core), core_diag(t->core)->text);
  }
  case CORE_DONE:
    sim_busy(s);
    trace_event(s, t, "core done");
    return false;
  case CORE_STOPPED:
    break;
  }
  return false;
}

void cores_step(struct sim *s) {
  for (int i = 0; i < s->core_count;) {
    struct tile *t = s->core[i];
    if (core_cycle(s, t)) {
      i++;
      continue;
    }
    t->core_listed = false;
    s->core[i] = s->core[--s->core_count];
  }
}
