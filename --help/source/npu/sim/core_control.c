/* The control register of a core tile, and the core that it starts: opened when
 * it is first needed, with the memories around it. */
#include "isa.h"
#include "tile.h"

static uint8_t *neighbour_memory(struct tile *t, int columns, int rows) {
  struct tile *n = tile_at(t->sim, t->column + columns, t->row + rows);
  return n && n->kind == TILE_CORE ? n->memory : NULL;
}

struct core *core_of(struct tile *t) {
  if (!t->core) {
    struct core_surroundings around = t->sim->around;
    around.isa = isa_find(t->sim->device->isa);
    around.context = t;
    around.program = t->program;
    around.memory[0] = neighbour_memory(t, 0, -1);
    around.memory[1] = neighbour_memory(t, -1, 0);
    around.memory[2] = neighbour_memory(t, 0, 1);
    around.memory[3] = t->memory;
    t->core = core_open(&around);
    core_strict(t->core, t->sim->options.strict);
    t->in_step = t->sim->options.strict;
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
    t->core_cycle = s->now;
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
