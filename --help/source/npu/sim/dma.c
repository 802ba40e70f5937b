/* DMA channels: task queues, buffer descriptors, locks, words.
 *
 * A task runs the chain that begins at its descriptor, `repeat` times.  Each
 * descriptor is loaded, acquires its lock, moves its words, releases its lock.
 * A memory access moves words that share one of a bank (reads from DRAM,
 * SHIM_GRANULE_WORDS that share 64 bytes), so a channel acts once in several
 * cycles while its stream moves a word, or two, in each.
 *
 * MM2S reads ahead into the FIFO of the slave port that it feeds, and is
 * finished with a descriptor when its last word is read (timing.md D4: 244
 * cycles for 256 words).  S2MM writes a granule as soon as all of it has
 * arrived.
 */
#include "tile.h"

#include <string.h>

/* ---- sleeping: a channel that nothing but another part can help is taken off
 * the list of those that are stepped ---- */

static void sleep_on_reads(struct channel *c) {
  struct fifo *f = &c->port->fifo;
  f->sleeper = c;
  f->empty = (int32_t)(f->depth - c->need - c->header_due);
  c->asleep = true;
}

static void sleep_on_writes(struct channel *c) {
  c->in.sleeper = c;
  c->in.full = c->need;
  c->asleep = true;
}

static void sleep_on_lock(struct channel *c) {
  if (c->waits) /* reset while it slept: its old entry is still there */
    return;
  c->waits = c->asleep = true;
  c->next_waiting = c->acquire_tile->waiting;
  c->acquire_tile->waiting = c;
}

/* Takes the oldest task of the queue. */
static void start_task(struct channel *c) {
  struct sim *s = c->tile->sim;
  const struct preset *p = s->preset;
  uint32_t task = c->queue[0];
  if (s->recording)
    record_channel(c, RECORD_IDLE);
  assert(c->queue_count > 0 && c->queue_count <= QUEUE_DEPTH);
  c->queue_count--;
  memmove(c->queue, c->queue + 1, sizeof c->queue - sizeof c->queue[0]);
  c->start_bd = c->bd = task & (c->tile->kind == TILE_MEM ? 0x3F : 0xF);
  c->repeat_left = (task >> 16 & 0xFF) + 1;
  c->token = task >> 31;
  int cost = DMA_START;
  if (c->tile->kind == TILE_SHIM)
    cost = c->mm2s    ? c->tasks ? p->mm2s_task_cycles : p->mm2s_first_cycles
           : c->tasks ? p->s2mm_task_cycles
                      : p->s2mm_first_cycles;
  c->tasks++;
  c->started = s->now;
  c->wake = s->now + (uint64_t)cost;
  c->pace = c->wake * CYCLE_PARTS;
  c->state = CHANNEL_START;
  trace_event(s, c->tile, "%s%d task bd=%d repeat=%d",
              c->mm2s ? "mm2s" : "s2mm", c->index, c->bd, c->repeat_left);
}

void channel_push(struct channel *c, uint32_t task) {
  struct sim *s = c->tile->sim;
  char name[48];
  if (c->control & 2 && c->tile->kind != TILE_SHIM) {
    sim_fail(s, "%s: a task is pushed while the channel is in reset",
             channel_name(c, name));
    return;
  }
  if (c->queue_count == QUEUE_DEPTH) {
    c->overflow = true;
    sim_fail(s,
             "%s: task queue overflow at cycle %llu; %d tasks wait already, "
             "the push of BD %d is lost",
             channel_name(c, name), (unsigned long long)s->now, QUEUE_DEPTH,
             task & 0x3F);
    return;
  }
  c->queue[c->queue_count++] = task;
  s->progress = true;
  channel_wake(c);
  if (c->state == CHANNEL_IDLE)
    start_task(c);
}

/* Ctrl: bit 1 resets, except on a shim; [15:8] is the controller id. */
void channel_control_write(struct channel *c, uint32_t value) {
  char name[48];
  c->control = value;
  if (!c->mm2s && value & 0x20000)
    sim_fail(c->tile->sim,
             "%s: the counts of finish-on-TLAST mode are not modelled",
             channel_name(c, name));
  if (!c->mm2s && value & 8)
    sim_fail(c->tile->sim, "%s: out-of-order mode is not modelled",
             channel_name(c, name));
  if (value & 0x10 && c->tile->kind != TILE_SHIM)
    sim_fail(c->tile->sim, "%s: compression is not modelled",
             channel_name(c, name));
  if (!(value & 2) || c->tile->kind == TILE_SHIM)
    return;
  c->state = CHANNEL_IDLE;
  c->queue_count = 0;
  c->overflow = false;
  fifo_drop(&c->in, c->in.count);
}

uint32_t channel_status(const struct channel *c) {
  uint32_t status = (uint32_t)c->bd << 24 | (uint32_t)c->queue_count << 20;
  if (c->overflow)
    status |= 1u << 18;
  if (c->state == CHANNEL_IDLE)
    return status;
  status |= 1u << 19 | 2;
  if (c->state == CHANNEL_ACQUIRE)
    status |= 1u << 2;
  if (c->state == CHANNEL_MOVE)
    status |= 1u << 4;
  return status;
}

bool channel_uses(const struct channel *c, int bd) {
  for (int i = 0; i < c->queue_count; i++)
    if ((c->queue[i] & 0x3F) == (uint32_t)bd)
      return true;
  return c->state != CHANNEL_IDLE && (c->bd == bd || c->start_bd == bd);
}

/* ---- one cycle ---- */

static void try_acquire(struct channel *c) {
  struct sim *s = c->tile->sim;
  if (c->acquire_tile &&
      !lock_acquire(c->acquire_tile, c->acquire_lock, c->acquire_value)) {
    sleep_on_lock(c);
    return;
  }
  if (s->recording)
    record_channel(c, RECORD_LOCK);
  s->progress = true;
  c->granted = s->now;
  trace_event(s, c->tile, "%s%d bd=%d begins", c->mm2s ? "mm2s" : "s2mm",
              c->index, c->bd);
  c->state = CHANNEL_MOVE;
  if (!c->walk.left) {
    c->state = CHANNEL_FINISH;
    c->wake = s->now + 1;
  }
}

/* The access to `words` of the walk is done: on to the next, or the end. */
static void advance(struct channel *c) {
  struct sim *s = c->tile->sim;
  assert(c->state == CHANNEL_MOVE && c->need <= c->walk.left);
  if (s->recording)
    record_access(c);
  walk_take(&c->walk, c->need);
  sim_busy(s);
  if (c->walk.left) {
    descriptor_plan(c);
    return;
  }
  c->state = CHANNEL_FINISH;
  c->wake = s->now + 1;
}

/* Whether the stream would soon stand still: a writer has room for a few beats
 * only, a reader has only a few ahead of those that are on their way to the
 * port. */
static bool is_urgent(const struct channel *c) {
  enum { UNDER_WAY = DMA_MEMORY_LATENCY + PORT_LOCAL_LATENCY };
  uint32_t words = c->tile->sim->stream_words;
  if (c->lost >= DMA_PATIENCE)
    return true;
  return c->mm2s ? c->port->fifo.count < (DMA_MARGIN + UNDER_WAY) * words
                 : c->in.depth - c->in.count < DMA_MARGIN * words;
}

/* Bytes for the next access, once a bank or DRAM grants it.  NULL: not now, or
 * failed. */
static uint8_t *grant(struct channel *c) {
  struct tile *t = c->tile;
  if (t->kind == TILE_SHIM) {
    uint8_t *bytes = host_resolve(c, c->walk.address, c->need);
    if (!bytes)
      return NULL;
    t->sim->progress = true; /* DRAM time passes */
    if (!host_grant(c, c->need)) {
      if (t->sim->recording)
        record_refusal(c, RECORD_DRAM);
      return NULL;
    }
    uint64_t *moved = c->mm2s ? &t->sim->bytes_read : &t->sim->bytes_written;
    *moved += c->need * 4;
    t->sim->last_outside = t->sim->now;
    return bytes;
  }
  struct tile *at;
  uint32_t offset;
  if (!memory_resolve(c, c->walk.address, c->need, &at, &offset))
    return NULL;
  if (!bank_grant(at, offset, BANK_DMA, is_urgent(c))) {
    c->conflicts++;
    c->lost++;
    t->sim->progress = true;
    if (t->sim->recording)
      record_refusal(c, RECORD_BANK);
    return NULL;
  }
  bank_served(at, offset, BANK_DMA);
  c->lost = 0;
  return at->memory + offset;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* A shim channel has a rate of its own, but time lost to others may be made
 * up. */
static bool is_due(const struct channel *c) {
  return c->tile->kind != TILE_SHIM ||
         c->tile->sim->now * CYCLE_PARTS >= c->pace;
}

static void pace(struct channel *c) {
  const uint64_t made_up = (uint64_t)SHIM_CATCH_UP * CYCLE_PARTS;
  struct sim *s = c->tile->sim;
  if (c->tile->kind == TILE_SHIM)
    c->pace = later(c->pace + made_up, s->now * CYCLE_PARTS) - made_up +
              c->need * s->word_cost[c->mm2s];
}

static void move_mm2s(struct channel *c) {
  struct sim *s = c->tile->sim;
  if (!c->port)
    return;
  struct fifo *out = &c->port->fifo;
  if (!fifo_has_room(out, c->need + c->header_due)) {
    sleep_on_reads(c);
    return;
  }
  bool shim = c->tile->kind == TILE_SHIM;
  if (!is_due(c))
    return;
  uint64_t ready =
      s->now + PORT_LOCAL_LATENCY + (shim ? 0 : DMA_MEMORY_LATENCY);
  const uint8_t *bytes = NULL;
  if (!c->walk.zero) {
    bytes = grant(c);
    if (!bytes)
      return;
  }
  pace(c);
  port_list(s, c->port);
  if (c->header_due)
    fifo_push(out, (struct beat){.ready = ready, .word = c->header});
  c->header_due = false;
  for (uint32_t i = 0; i < c->need; i++) {
    struct beat b = {.ready = ready, .word = c->tile->pad[c->index]};
    if (bytes)
      memcpy(&b.word, bytes + 4 * i, 4);
    b.last = c->tlast && i + 1 == c->walk.left;
    fifo_push(out, b);
  }
  advance(c);
}

/* Finish-on-TLAST mode: the access ends with the word that has TLAST, and so
 * does the descriptor. */
static void cut_at_tlast(struct channel *c) {
  uint32_t words = c->need < c->in.count ? c->need : c->in.count;
  for (uint32_t i = 0; i < words; i++)
    if (fifo_at(&c->in, i)->last) {
      c->need = c->walk.left = i + 1;
      return;
    }
}

static void move_s2mm(struct channel *c) {
  struct sim *s = c->tile->sim;
  bool until_tlast = c->control >> 16 & 1;
  if (until_tlast)
    cut_at_tlast(c);
  if (c->in.count < c->need) {
    if (!until_tlast) /* else any word may be the last */
      sleep_on_writes(c);
    return;
  }
  if (fifo_at(&c->in, c->need - 1)->ready > s->now || !is_due(c))
    return;
  uint8_t *bytes = grant(c);
  if (!bytes)
    return;
  pace(c);
  for (uint32_t i = 0; i < c->need; i++)
    memcpy(bytes + 4 * i, &fifo_at(&c->in, i)->word, 4);
  fifo_drop(&c->in, c->need);
  advance(c);
}

/* Releases the lock and goes on with the chain, the repetition or the next
 * task. */
static void finish_bd(struct channel *c) {
  struct sim *s = c->tile->sim;
  assert(!c->walk.left && c->repeat_left > 0);
  s->progress = true;
  c->finished = s->now;
  if (c->first_finished < c->started)
    c->first_finished = s->now;
  trace_event(s, c->tile, "%s%d bd=%d ends", c->mm2s ? "mm2s" : "s2mm",
              c->index, c->bd);
  if (s->recording) {
    record_channel(c, RECORD_WORK);
    record_release(c);
  }
  if (c->release_tile)
    lock_release(c->release_tile, c->release_lock, c->release_value, true);
  if (c->next_bd < 0 && --c->repeat_left == 0) {
    if (c->token)
      stream_token(c);
    c->state = CHANNEL_IDLE;
    if (c->queue_count)
      start_task(c);
    return;
  }
  c->bd = c->next_bd < 0 ? c->start_bd : (uint8_t)c->next_bd;
  if (descriptor_load(c))
    try_acquire(c);
}

static void step_channel(struct channel *c) {
  struct sim *s = c->tile->sim;
  switch (c->state) {
  case CHANNEL_IDLE:
    break;
  case CHANNEL_START:
    if (s->now >= c->wake) {
      s->progress = true;
      if (s->recording)
        record_channel(c, RECORD_WORK);
      if (descriptor_load(c))
        try_acquire(c);
    }
    break;
  case CHANNEL_ACQUIRE:
    try_acquire(c);
    break;
  case CHANNEL_MOVE:
    if (c->mm2s)
      move_mm2s(c);
    else
      move_s2mm(c);
    break;
  case CHANNEL_FINISH:
    if (s->now >= c->wake)
      finish_bd(c);
    break;
  }
}

/* The first channel to be served moves on every cycle, which shares banks
 * fairly.  Who is woken meanwhile is served from the next cycle on. */
void channels_step(struct sim *s) {
  int count = s->channel_count, kept = 0;
  if (++s->turn >= count)
    s->turn = 0;
  for (int i = s->turn; i < count; i++)
    step_channel(s->channel[i]);
  for (int i = 0; i < s->turn && i < count; i++)
    step_channel(s->channel[i]);
  for (int i = 0; i < s->channel_count; i++) {
    struct channel *c = s->channel[i];
    c->listed = c->state != CHANNEL_IDLE && !c->asleep;
    if (c->listed)
      s->channel[kept++] = c;
  }
  s->channel_count = kept;
}
