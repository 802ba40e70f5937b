/* The command processor: the operations of a transaction, one after the other,
 * each with its cost (timing.md, section 8).
 *
 * A push to a shim channel's queue keeps a distance to the push before it on
 * that channel (P7).  The wait for a token costs its firmware round trip once
 * per transaction, at the last one (P9).
 */
#include "tile.h"

void control_start(struct sim *s, const struct command_list *list) {
  s->control = (struct control){.list = list, .ready = s->now, .last_sync = -1};
  for (int i = 0; i < list->count; i++)
    if (list->item[i].kind == COMMAND_SYNC)
      s->control.last_sync = i;
}

bool control_done(const struct sim *s) {
  const struct control *p = &s->control;
  return p->at == p->list->count && s->now >= p->ready;
}

static uint64_t write_cost(struct sim *s, const struct command *c) {
  const struct channel *queue = register_queue(s, c->address);
  return queue && queue->tile->kind == TILE_SHIM
             ? (uint64_t)s->preset->queue_push_cycles
             : (uint64_t)s->preset->write32_cycles;
}

/* Whether a queue push must still wait for its distance. */
static bool push_waits(struct sim *s, const struct command *c) {
  struct channel *queue = register_queue(s, c->address);
  if (!queue || queue->tile->kind != TILE_SHIM)
    return false;
  if (s->now < queue->next_push) {
    s->control.ready = queue->next_push;
    return true;
  }
  queue->next_push = s->now + (uint64_t)s->preset->queue_period_cycles;
  return false;
}

static bool mask_write(struct sim *s, const struct command *c) {
  uint32_t old;
  return register_read(s, c->address, &old) &&
         register_write(s, c->address, (old & ~c->mask) | (c->value & c->mask));
}

/* Whether the polled condition holds. */
static bool poll(struct sim *s, const struct command *c) {
  uint32_t value;
  return register_read(s, c->address, &value) &&
         (value & c->mask) == (c->value & c->mask);
}

static bool take_token(struct sim *s, const struct command *c) {
  int channels = tile_at(s, c->column, c->row)
                     ? s->device->tile[tile_kind(c->row)].channels
                     : 0;
  if (c->channel < 0 || c->channel >= channels)
    return sim_fail(s,
                    "transaction op %d waits for a token of column %d row %d "
                    "channel %d, which the partition does not have",
                    s->control.at, c->column, c->row, c->channel);
  uint32_t *count = &s->token[c->column][c->row][c->mm2s][c->channel];
  if (!*count)
    return false;
  --*count;
  return true;
}

/* Puts the address of an argument into words 1 and 2 of a shim descriptor. */
static bool patch(struct sim *s, const struct command *c) {
  uint32_t low, high;
  if (c->argument < 0 || c->argument >= s->argument_count)
    return sim_fail(s,
                    "transaction op %d patches argument %d; %d arguments were "
                    "passed",
                    s->control.at, c->argument, s->argument_count);
  uint64_t address = host_address(c->argument, c->offset_bytes);
  if (!register_read(s, c->address, &low) ||
      !register_read(s, c->address + 4, &high))
    return false;
  return register_write(s, c->address,
                        (uint32_t)(address & ~3ull) | (low & 3)) &&
         register_write(s, c->address + 4,
                        (high & 0xFFFF0000u) |
                            (uint32_t)(address >> 32 & 0xFFFF));
}

/* Whether the operation accesses a register or memory that the bus cannot get
 * at now. */
static bool bus_waits(struct sim *s, const struct command *c) {
  bool accesses = c->kind == COMMAND_WRITE || c->kind == COMMAND_BLOCK ||
                  c->kind == COMMAND_MASK_WRITE || c->kind == COMMAND_MASK_POLL;
  return accesses && !register_ready(s, c->address);
}

/* Does one operation; *cost gets its cycles.  false: it waits, or failed. */
static bool execute(struct sim *s, const struct command *c, uint64_t *cost) {
  const struct preset *p = s->preset;
  if (bus_waits(s, c))
    return false;
  switch (c->kind) {
  case COMMAND_WRITE:
    *cost = write_cost(s, c);
    return !push_waits(s, c) && register_write(s, c->address, c->value);
  case COMMAND_BLOCK:
    *cost = (uint64_t)p->write32_cycles +
            (uint64_t)p->blockwrite_word_cycles * c->count;
    return register_block(s, c->address, c->words, c->count);
  case COMMAND_MASK_WRITE:
    *cost = (uint64_t)p->maskwrite_cycles;
    return mask_write(s, c);
  case COMMAND_MASK_POLL:
    *cost = POLL_CYCLES;
    if (poll(s, c))
      return true;
    s->control.waiting = true;
    s->control.polled = s->now;
    s->control.ready = s->now + POLL_CYCLES;
    return false;
  case COMMAND_SYNC:
    *cost =
        (uint64_t)(s->control.at == s->control.last_sync ? p->sync_cycles
                                                         : p->write32_cycles);
    if (take_token(s, c))
      return true;
    s->control.waiting = true;
    return false;
  case COMMAND_DDR_PATCH:
    *cost = (uint64_t)p->patch_cycles;
    return patch(s, c);
  case COMMAND_DELAY:
    *cost = c->value;
    return true;
  }
  return false;
}

static void trace_command(struct sim *s, const struct command *c) {
  int at = s->control.at;
  switch (c->kind) {
  case COMMAND_WRITE:
    trace_event(s, NULL, "op %d write 0x%08x 0x%x", at, c->address, c->value);
    break;
  case COMMAND_BLOCK:
    trace_event(s, NULL, "op %d block 0x%08x words=%u", at, c->address,
                c->count);
    break;
  case COMMAND_MASK_WRITE:
    trace_event(s, NULL, "op %d mask-write 0x%08x 0x%x mask=0x%x", at,
                c->address, c->value, c->mask);
    break;
  case COMMAND_MASK_POLL:
    trace_event(s, NULL, "op %d polled 0x%08x 0x%x mask=0x%x", at, c->address,
                c->value, c->mask);
    break;
  case COMMAND_SYNC:
    trace_event(s, NULL, "op %d token column=%d row=%d %s%d", at, c->column,
                c->row, c->mm2s ? "mm2s" : "s2mm", c->channel);
    break;
  case COMMAND_DDR_PATCH:
    trace_event(s, NULL, "op %d patch 0x%08x argument=%d offset=%llu", at,
                c->address, c->argument, (unsigned long long)c->offset_bytes);
    break;
  case COMMAND_DELAY:
    trace_event(s, NULL, "op %d delay %u", at, c->value);
    break;
  }
}

void control_step(struct sim *s) {
  struct control *p = &s->control;
  if (p->at == p->list->count || s->now < p->ready)
    return;
  const struct command *c = &p->list->item[p->at];
  uint64_t cost = 0;
  p->waiting = false;
  if (!execute(s, c, &cost) || s->failed)
    return;
  if (s->options.trace)
    trace_command(s, c);
  if (s->recording)
    record_command(s,
                   c->kind == COMMAND_SYNC || c->kind == COMMAND_MASK_POLL
                       ? RECORD_TOKEN
                       : RECORD_WORK,
                   cost);
  p->at++;
  p->ready = s->now + cost;
  s->progress = true;
}
