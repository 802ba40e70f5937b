/* emit.c -- a design as register writes, in the order that is known to work
 * (array.md section 8): stop cores and reset their channels, load
 * programs, locks, descriptors, queues, switches, at last enable the cores. */
#include "emit.h"

#include <assert.h>

/* Register offsets and distances, from the one table of them. */
enum {
#define REGISTER(tile, id, offset, stride, count)                              \
  tile##_##id = (offset), tile##_##id##_STRIDE = (stride),
#include "regmap.def"
#undef REGISTER
};

enum {
  QUEUE = 4, /* behind the channel's control register */
  CHANNEL_RESET = 2,
  CORE_ENABLE = 1,
  CORE_RESET = 2,
};

struct tile_registers {
  uint32_t bd, s2mm, mm2s, lock, master, slave;
};
static const struct tile_registers registers[TILE_KINDS] = {
#define ROW(tile)                                                              \
  [TILE_##tile] = {tile##_BD,   tile##_S2MM_CTRL, tile##_MM2S_CTRL,            \
                   tile##_LOCK, tile##_MASTER,    tile##_SLAVE}
    ROW(SHIM), ROW(MEM), ROW(CORE)
#undef ROW
};

static uint32_t channel_address(int column, int row, bool mm2s, int channel) {
  const struct tile_registers *r = &registers[tile_kind(row)];
  return tile_address(column, row,
                      (mm2s ? r->mm2s : r->s2mm) +
                          (uint32_t)channel * CORE_S2MM_CTRL_STRIDE);
}

static void reset_channels(const struct design_core *c, struct command_list *l,
                           uint32_t value) {
  for (int i = 0; i < 4; i++)
    command_mask_write(l, channel_address(c->column, c->row, i < 2, i % 2),
                       CHANNEL_RESET, value);
}

/* The blocks of a core's program; most have that of the core before. */
static bool load_core(const struct design *x, int i, struct command_list *load,
                      struct command_list *l, struct diag *d) {
  const struct design_core *c = &x->core[i];
  if (!i || c[-1].elf != c->elf) {
    load->count = 0;
    if (!elf_load(x->program->device, c->elf, c->elf_bytes, c->column, c->row,
                  load, d))
      return false;
  }
  for (int j = 0; j < load->count; j++)
    command_move(l, &load->item[j], tile_address(c->column, c->row, 0));
  return true;
}

static bool load_cores(const struct design *x, struct command_list *l,
                       struct diag *d) {
  struct command_list *load = command_list(l->arena);
  for (int i = 0; i < x->core_count; i++) {
    const struct design_core *c = &x->core[i];
    command_mask_write(l, tile_address(c->column, c->row, CORE_CONTROL),
                       CORE_ENABLE, 0);
    reset_channels(c, l, CHANNEL_RESET);
    if (!load_core(x, i, load, l, d))
      return false;
    reset_channels(c, l, 0);
  }
  for (int i = 0; i < x->core_count; i++) {
    uint32_t control =
        tile_address(x->core[i].column, x->core[i].row, CORE_CONTROL);
    command_mask_write(l, control, CORE_RESET, CORE_RESET);
    command_mask_write(l, control, CORE_RESET, 0);
  }
  return true;
}

static uint32_t lock_address(const struct design_lock *k) {
  return tile_address(k->column, k->row,
                      registers[tile_kind(k->row)].lock +
                          (uint32_t)k->id * CORE_LOCK_STRIDE);
}

static void set_locks(const struct design *x, struct command_list *l) {
  for (int i = 0; i < x->lock_count; i++)
    command_write(l, lock_address(&x->lock[i]), (uint32_t)x->lock[i].value);
}

static bool write_bd(const struct design_bd *b, struct command_list *l,
                     struct diag *d) {
  uint32_t words[8];
  int count = bd_pack(tile_kind(b->row), &b->bd, words, d);
  if (!count)
    return false;
  uint32_t base = registers[tile_kind(b->row)].bd;
  command_block(
      l,
      tile_address(b->column, b->row, base + (uint32_t)b->id * CORE_BD_STRIDE),
      words, (uint32_t)count);
  return true;
}

static bool set_chains(const struct design *x, struct command_list *l,
                       struct diag *d) {
  for (int i = 0; i < x->bd_count; i++)
    if (tile_kind(x->bd[i].row) != TILE_SHIM && !write_bd(&x->bd[i], l, d))
      return false;
  for (int i = 0; i < x->start_count; i++) {
    const struct design_start *s = &x->start[i];
    command_write(
        l, channel_address(s->column, s->row, s->mm2s, s->channel) + QUEUE,
        (uint32_t)s->bd);
  }
  return true;
}

/* A circuit: the master names the slave, the slave is enabled. */
static void set_routes(const struct design *x, struct command_list *l) {
  for (int i = 0; i < x->route_count; i++) {
    const struct design_route *r = &x->route[i];
    enum tile_kind kind = tile_kind(r->row);
    const struct tile_registers *g = &registers[kind];
    uint32_t master = (uint32_t)port_master(kind, r->to, r->to_channel);
    uint32_t slave = (uint32_t)port_slave(kind, r->from, r->from_channel);
    command_write(l, tile_address(r->column, r->row, g->master + 4 * master),
                  0x80000000u | slave);
    command_write(l, tile_address(r->column, r->row, g->slave + 4 * slave),
                  0x80000000u);
  }
}

/* Tokens leave the control port as packets and go to South 0, header kept;
 * the shim's DMA takes its South ports from the array (sections 6 and 7).  The
 * packets' id belongs to the channel and stays, so no run has to set it. */
static void set_shim(const struct device *device, int column,
                     struct command_list *l) {
  uint32_t slave = (uint32_t)port_slave(TILE_SHIM, PORT_CONTROL, 0);
  uint32_t master = (uint32_t)port_master(TILE_SHIM, PORT_SOUTH, 0);
  command_write(l, tile_address(column, 0, SHIM_MASTER + 4 * master),
                0xC0000008u); /* arbiter 0, msel 0 */
  command_write(l, tile_address(column, 0, SHIM_SLAVE + 4 * slave),
                0xC0000000u);
  command_write(l, tile_address(column, 0, SHIM_SLOT + 4 * 4 * slave),
                (uint32_t)DESIGN_TOKEN_ID << 24 | 0x1Fu << 16 | 1u << 8);
  command_mask_write(l, tile_address(column, 0, SHIM_MUX), 0xCC00, 0x4400);
  command_mask_write(l, tile_address(column, 0, SHIM_DEMUX), 0xF0, 0x50);
  for (int i = 0; i < device->tile[TILE_SHIM].channels; i++)
    command_mask_write(l, channel_address(column, 0, false, i), 0x1F00,
                       (uint32_t)DESIGN_TOKEN_ID << 8);
}

/* About: a core's program, its channels' resets, and the way to it. */
static int commands_of(const struct design *x) {
  enum { FOR_CORE = 24 };
  return x->lock_count + x->bd_count + x->start_count + 2 * x->route_count +
         FOR_CORE * x->core_count;
}

bool emit_configuration(const struct design *x, struct command_list *l,
                        struct diag *d) {
  command_expect(l, commands_of(x));
  if (!load_cores(x, l, d))
    return false;
  set_locks(x, l);
  if (!set_chains(x, l, d))
    return false;
  set_routes(x, l);
  for (int column = 0; column < x->program->grid.columns; column++)
    set_shim(x->program->device, column, l);
  way_keep(x->program->grid.columns, design_rows(x->program), l);
  for (int i = 0; i < x->core_count; i++)
    command_mask_write(
        l, tile_address(x->core[i].column, x->core[i].row, CORE_CONTROL),
        CORE_ENABLE, CORE_ENABLE);
  return true;
}

static const struct design_bd *find_bd(const struct design *x, int column,
                                       int row, int id) {
  for (int i = 0; i < x->bd_count; i++)
    if (x->bd[i].column == column && x->bd[i].row == row && x->bd[i].id == id)
      return &x->bd[i];
  return NULL;
}

/* The descriptors of a shim task, one behind the other, which begin at its
 * place in the argument. */
static bool aim_task(const struct design *x, const struct design_task *k,
                     struct command_list *l, struct diag *d) {
  for (int id = k->bd; id >= 0;) {
    const struct design_bd *b = find_bd(x, k->column, k->row, id);
    uint32_t address =
        tile_address(k->column, 0, SHIM_BD + (uint32_t)id * CORE_BD_STRIDE);
    if (!write_bd(b, l, d))
      return false;
    uint64_t offset = k->offset_bytes + (uint64_t)b->offset_bytes;
    if (offset > UINT32_MAX)
      return diag_declined(d, loc_none(),
                           "argument %d (%s) has data behind %llu bytes; a "
                           "transaction reaches 4 GiB of each",
                           k->argument, tensor_name(k->argument),
                           (unsigned long long)offset);
    command_ddr_patch(l, address + 4, k->argument, offset);
    id = b->bd.next;
  }
  return true;
}

/* Whether the descriptor has its place already, from the task before that had
 * it; it is not rewritten then. */
static bool is_aimed(const struct design *x, const struct design_task *k) {
  for (const struct design_task *o = k; o-- > x->task;)
    if (o->column == k->column && o->row == k->row && o->bd == k->bd)
      return o->offset_bytes == k->offset_bytes && o->argument == k->argument;
  return false;
}

/* Four tasks are all that a queue holds. */
static void wait_queue(const struct design_task *k, struct command_list *l) {
  enum { QUEUE_FULL = 4 << 20 };
  uint32_t status = k->mm2s ? SHIM_MM2S_STATUS : SHIM_S2MM_STATUS;
  command_mask_poll(
      l,
      tile_address(k->column, 0,
                   status + (uint32_t)k->channel * SHIM_S2MM_STATUS_STRIDE),
      QUEUE_FULL, 0, 0);
}

static bool push_task(const struct design *x, const struct design_task *k,
                      struct command_list *l, struct diag *d) {
  bool aimed = tile_kind(k->row) != TILE_SHIM || is_aimed(x, k);
  if (!aimed && !aim_task(x, k, l, d))
    return false;
  if (k->queued)
    wait_queue(k, l);
  uint32_t channel = channel_address(k->column, k->row, k->mm2s, k->channel);
  command_write(l, channel + QUEUE,
                (k->token ? 0x80000000u : 0) | (uint32_t)(k->repeat - 1) << 16 |
                    (uint32_t)k->bd);
  return true;
}

/* The numbers of the launch, to the first row of cores. */
static void start_cores(const struct design *x, struct command_list *l) {
  const uint32_t number[] = {x->launch.steps, x->launch.rounds,
                             x->launch.above};
  for (int i = 0; i < x->core_count; i++) {
    int column = x->core[i].column, row = x->core[i].row;
    if (row != CORE_ROW)
      continue;
    const struct design_buffer *out =
        design_find_buffer(x, column, row, "out_0");
    const struct design_lock *lock = design_find_lock(x, column, row, "launch");
    assert(out && out->bytes >= sizeof number && lock);
    command_block(l, tile_address(column, row, out->offset), number, 3);
    command_write(l, lock_address(lock), 1);
  }
}

/* Tasks by phase, those of one in the design's order. */
struct by_phase {
  const struct design_task **task;
  int *end; /* behind the last of each phase */
};

static void sort_tasks(struct arena *a, const struct design *x,
                       struct by_phase *o) {
  o->task = arena_array(a, (size_t)x->task_count + 1, sizeof *o->task);
  o->end = arena_array(a, (size_t)x->phases + 1, sizeof *o->end);
  for (int i = 0; i < x->task_count; i++) {
    assert(x->task[i].phase >= 0 && x->task[i].phase < x->phases);
    o->end[x->task[i].phase + 1]++;
  }
  for (int phase = 0; phase < x->phases; phase++)
    o->end[phase + 1] += o->end[phase];
  for (int i = 0; i < x->task_count; i++) /* from each start to its end */
    o->task[o->end[x->task[i].phase]++] = &x->task[i];
}

static int first_of(const struct by_phase *o, int phase) {
  return phase ? o->end[phase - 1] : 0;
}

static void wait_phase(const struct by_phase *o, int phase,
                       struct command_list *l) {
  for (int i = first_of(o, phase); i < o->end[phase]; i++)
    if (o->task[i]->token)
      command_sync(l, o->task[i]->column, 0, o->task[i]->mm2s,
                   o->task[i]->channel);
}

static bool has_writes(const struct design *x, int column, int channel) {
  for (int i = 0; i < x->task_count; i++) {
    const struct design_task *k = &x->task[i];
    if (tile_kind(k->row) == TILE_SHIM && !k->mm2s && k->column == column &&
        k->channel == channel)
      return true;
  }
  return false;
}

/* The end of all tasks that write, as AMD's own transactions wait for it: a
 * look at a channel's status costs a read, while a token comes to the command
 * processor late (timing.md P4, P9).  After a failure this does not end. */
static void wait_idle(const struct design *x, struct command_list *l) {
  const struct device *device = x->program->device;
  for (int column = 0; column < x->program->grid.columns; column++)
    for (int i = 0; i < device->tile[TILE_SHIM].channels; i++)
      if (has_writes(x, column, i))
        command_mask_poll(
            l,
            tile_address(column, 0,
                         SHIM_S2MM_STATUS +
                             (uint32_t)i * SHIM_S2MM_STATUS_STRIDE),
            CHANNEL_BUSY | CHANNEL_FAILED, 0, 0);
}

/* Whether cores had better start before a task of the first phase: it takes
 * results, or brings more of a tensor behind another one on its channel. */
static bool has_time(const struct by_phase *o, int i) {
  const struct design_task *k = o->task[i];
  if (k->argument == OUT)
    return true;
  for (int j = 0; j < i; j++) {
    const struct design_task *before = o->task[j];
    if (tile_kind(k->row) == TILE_SHIM && before->row == k->row &&
        before->column == k->column && before->mm2s == k->mm2s &&
        before->channel == k->channel && before->argument == k->argument)
      return true;
  }
  return false;
}

/* Cores start while the first blocks of the inputs are on their way. */
static bool push_phases(const struct design *x, const struct by_phase *o,
                        struct command_list *l, struct diag *d) {
  bool started = false;
  for (int phase = 0; phase < x->phases; phase++) {
    if (phase >= x->phases_ahead)
      wait_phase(o, phase - x->phases_ahead, l);
    for (int i = first_of(o, phase); i < o->end[phase]; i++) {
      if (!started && has_time(o, i)) {
        start_cores(x, l);
        started = true;
      }
      if (!push_task(x, o->task[i], l, d))
        return false;
    }
  }
  assert(started);
  return true;
}

bool emit_run(const struct design *x, struct command_list *l, struct diag *d) {
  struct by_phase order;
  sort_tasks(l->arena, x, &order);
  if (!push_phases(x, &order, l, d))
    return false;
  wait_idle(x, l);
  return true;
}
