/* The register map as seen from AXI: what a write to an address does, and what
 * a read returns.  Registers that have no part in moving data (events, clocks,
 * trace, isolation) take a write without effect and read as 0. */
#include "tile.h"

#include <string.h>

enum id {
  REG_MEMORY,
  REG_BD,
  REG_S2MM_CTRL,
  REG_S2MM_QUEUE,
  REG_MM2S_CTRL,
  REG_MM2S_QUEUE,
  REG_S2MM_STATUS,
  REG_MM2S_STATUS,
  REG_LOCK,
  REG_PROGRAM,
  REG_CONTROL,
  REG_STATUS,
  REG_ACCUMULATOR,
  REG_MASTER,
  REG_SLAVE,
  REG_SLOT,
  REG_LOCK_REQUEST,
  REG_MUX,
  REG_DEMUX,
  REG_CLEAR_MEMORY,  /* Memory_Control: bit 0 zeroises */
  REG_CLEAR_PROGRAM, /* the core module's Memory_Control */
  REG_PAD,           /* a mem tile's pad values, if the device has them */
  REG_TILE_CONTROL,
  REG_CORE, /* a register of the core */
  REG_NONE
};

static const struct row {
  enum tile_kind kind;
  enum id id;
  uint32_t offset, stride, count;
} rows[] = {
#define REGISTER(tile, id, offset, stride, count)                              \
  {TILE_##tile, REG_##id, offset, stride, count},
#include "regmap.def"
    {TILE_CORE, REG_CLEAR_MEMORY, 0x16010, 4, 1},
    {TILE_CORE, REG_CLEAR_PROGRAM, 0x36070, 4, 1},
    {TILE_MEM, REG_CLEAR_MEMORY, 0x96048, 4, 1},
};

struct place {
  struct tile *tile;
  enum id id;
  uint32_t offset; /* in the tile */
  uint32_t index;  /* which of the registers of this name */
  uint32_t rest;   /* byte in it */
};

/* What lies elsewhere on another device. */
static void find_of_device(const struct device *d, struct place *p) {
  char name[8];
  uint32_t at = p->offset - d->pad_register;
  if (p->offset == d->tile_control[p->tile->kind])
    p->id = REG_TILE_CONTROL;
  else if (p->tile->kind == TILE_MEM && d->pad_register &&
           p->offset >= d->pad_register && at / 4 < MAX_CHANNELS) {
    p->id = REG_PAD;
    p->index = at / 4;
  } else if (p->tile->kind == TILE_CORE &&
             device_core_register(d, p->offset, name))
    p->id = REG_CORE;
}

static bool find(struct sim *s, uint32_t address, struct place *p) {
  uint32_t column = address >> 25, row = address >> 20 & 31;
  p->tile = tile_at(s, (int)column, (int)row);
  p->offset = address & 0xFFFFF;
  p->id = REG_NONE;
  if (!p->tile)
    return sim_fail(s,
                    "address 0x%08x is in tile (%u,%u); the partition has %d "
                    "columns of %d rows",
                    address, column, row, s->columns, s->rows);
  if (address & 3)
    return sim_fail(s, "address 0x%08x is not a multiple of 4", address);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct row *r = &rows[i];
    uint32_t at = p->offset - r->offset;
    if (r->kind != p->tile->kind || p->offset < r->offset ||
        at / r->stride >= r->count)
      continue;
    if (at % r->stride >= 4 && r->id != REG_BD)
      continue; /* between two registers: those of another name */
    p->id = r->id;
    p->index = at / r->stride;
    p->rest = at % r->stride;
    return true;
  }
  find_of_device(s->device, p);
  return true;
}

/* A core's register that is no scalar of 32 bits reads as 0. */
static uint32_t core_register(const struct tile *t, uint32_t offset) {
  char name[8];
  uint32_t value = 0;
  device_core_register(t->sim->device, offset, name);
  if (t->core && strcmp(name, "pc") == 0)
    return core_pc(t->core);
  return t->core && core_read_register(t->core, name, &value) ? value : 0;
}

struct channel *register_queue(struct sim *s, uint32_t address) {
  struct place p;
  if (!find(s, address, &p))
    return NULL;
  if (p.id == REG_S2MM_QUEUE || p.id == REG_MM2S_QUEUE)
    return channel_of(p.tile, p.id == REG_MM2S_QUEUE, (int)p.index);
  return NULL;
}

struct channel *register_status(struct sim *s, uint32_t address) {
  struct place p;
  if (!find(s, address, &p))
    return NULL;
  if (p.id == REG_S2MM_STATUS || p.id == REG_MM2S_STATUS)
    return channel_of(p.tile, p.id == REG_MM2S_STATUS, (int)p.index);
  return NULL;
}

bool register_ready(struct sim *s, uint32_t address) {
  struct place p;
  return find(s, address, &p) && (p.id != REG_MEMORY || bank_bus_free(p.tile));
}

static void change_switch(struct tile *t, uint32_t *reg, uint32_t value) {
  *reg = value;
  t->switch_changed = t->sim->switches_changed = true;
}

/* A shim descriptor that a task still needs must not change: real devices hang
 * or move the wrong bytes (array.md section 10, timing.md P11). */
static void write_bd(const struct place *p, uint32_t value) {
  struct tile *t = p->tile;
  char name[48];
  if (p->rest / 4 >= 8)
    return;
  for (int c = 0; t->kind == TILE_SHIM && c < 4; c++) {
    const struct channel *user = channel_of(t, c & 1, c >> 1);
    if (channel_uses(user, (int)p->index)) {
      sim_fail(t->sim, "BD %u is written while %s still needs it", p->index,
               channel_name(user, name));
      return;
    }
  }
  t->bd[p->index][p->rest / 4] = value;
}

static void clear_memory(struct tile *t) {
  memset(t->memory, 0, t->sim->device->tile[t->kind].memory_bytes);
}

static void clear_program(struct tile *t) {
  memset(t->program, 0, t->sim->device->program_bytes);
  if (t->core)
    core_invalidate(t->core);
}

bool register_write(struct sim *s, uint32_t address, uint32_t value) {
  struct place p;
  if (!find(s, address, &p))
    return false;
  struct tile *t = p.tile;
  s->progress = true;
  switch (p.id) {
  case REG_MEMORY:
    memcpy(t->memory + p.offset, &value, 4);
    bank_bus(t, p.offset);
    break;
  case REG_PROGRAM:
    memcpy(t->program + 4 * p.index, &value, 4);
    if (t->core)
      core_invalidate(t->core);
    break;
  case REG_BD:
    write_bd(&p, value);
    break;
  case REG_S2MM_CTRL:
  case REG_MM2S_CTRL:
    channel_control_write(&t->channel[p.id == REG_MM2S_CTRL][p.index], value);
    break;
  case REG_S2MM_QUEUE:
  case REG_MM2S_QUEUE:
    channel_push(&t->channel[p.id == REG_MM2S_QUEUE][p.index], value);
    break;
  case REG_S2MM_STATUS:
  case REG_MM2S_STATUS:
    if (value >> 18 & 1)
      t->channel[p.id == REG_MM2S_STATUS][p.index].overflow = false;
    break;
  case REG_LOCK:
    t->lock[p.index] = (struct lock){.value = value & 0x3F};
    locks_changed(t);
    break;
  case REG_CONTROL:
    core_control_write(t, value);
    break;
  case REG_ACCUMULATOR:
    t->accumulator = value;
    break;
  case REG_MASTER:
    change_switch(t, &t->master[p.index], value);
    break;
  case REG_SLAVE:
    change_switch(t, &t->slave[p.index], value);
    break;
  case REG_SLOT:
    t->slot[p.index / MAX_SLOTS][p.index % MAX_SLOTS] = value;
    break;
  case REG_MUX:
    change_switch(t, &t->mux, value);
    break;
  case REG_DEMUX:
    change_switch(t, &t->demux, value);
    break;
  case REG_CLEAR_MEMORY:
    if (value & 1)
      clear_memory(t);
    break;
  case REG_CLEAR_PROGRAM:
    if (value & 1)
      clear_program(t);
    break;
  case REG_PAD:
    t->pad[p.index] = value;
    break;
  case REG_TILE_CONTROL:
    t->tile_control = value;
    break;
  case REG_CORE:
  case REG_STATUS:
  case REG_LOCK_REQUEST:
  case REG_NONE:
    break;
  }
  return !s->failed;
}

/* Lock_Request: a read that acquires or releases (array.md section 5). */
static uint32_t request_lock(struct tile *t, uint32_t offset) {
  uint32_t id = offset >> 10 & 63;
  int value = (int)(offset >> 2 & 0x7F);
  if (value > 63)
    value -= 128;
  if ((int)id >= t->sim->device->tile[t->kind].locks)
    return 0;
  if (offset >> 9 & 1)
    return lock_acquire(t, (int)id, value);
  lock_release(t, (int)id, value, false);
  return 1;
}

bool register_read(struct sim *s, uint32_t address, uint32_t *value) {
  struct place p;
  *value = 0;
  if (!find(s, address, &p))
    return false;
  struct tile *t = p.tile;
  switch (p.id) {
  case REG_MEMORY:
    memcpy(value, t->memory + p.offset, 4);
    bank_bus(t, p.offset);
    break;
  case REG_PROGRAM:
    memcpy(value, t->program + 4 * p.index, 4);
    break;
  case REG_BD:
    if (p.rest / 4 < 8)
      *value = t->bd[p.index][p.rest / 4];
    break;
  case REG_S2MM_CTRL:
  case REG_MM2S_CTRL:
    *value = t->channel[p.id == REG_MM2S_CTRL][p.index].control;
    break;
  case REG_S2MM_STATUS:
  case REG_MM2S_STATUS:
    *value = channel_status(&t->channel[p.id == REG_MM2S_STATUS][p.index]);
    break;
  case REG_LOCK:
    *value = (uint32_t)t->lock[p.index].value & 0x3F;
    break;
  case REG_CONTROL:
    *value = t->core_control;
    break;
  case REG_STATUS:
    *value = core_status_read(t);
    break;
  case REG_ACCUMULATOR:
    *value = t->accumulator;
    break;
  case REG_MASTER:
    *value = t->master[p.index];
    break;
  case REG_SLAVE:
    *value = t->slave[p.index];
    break;
  case REG_SLOT:
    *value = t->slot[p.index / MAX_SLOTS][p.index % MAX_SLOTS];
    break;
  case REG_MUX:
    *value = t->mux;
    break;
  case REG_DEMUX:
    *value = t->demux;
    break;
  case REG_LOCK_REQUEST:
    *value = request_lock(t, 4 * p.index);
    break;
  case REG_PAD:
    *value = t->pad[p.index];
    break;
  case REG_TILE_CONTROL:
    *value = t->tile_control;
    break;
  case REG_CORE:
    *value = core_register(t, p.offset);
    break;
  case REG_S2MM_QUEUE:
  case REG_MM2S_QUEUE:
  case REG_CLEAR_MEMORY:
  case REG_CLEAR_PROGRAM:
  case REG_NONE:
    break;
  }
  return !s->failed;
}

bool register_block(struct sim *s, uint32_t address, const uint32_t *words,
                    uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!register_write(s, address + 4 * i, words[i]))
      return false;
  return true;
}
