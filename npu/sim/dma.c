/* DMA channels: task queues, buffer descriptors, locks, words.
 *
 * A task runs the chain that begins at its descriptor, `repeat` times.  Each
 * descriptor is loaded, acquires its lock, moves its words, releases its lock.
 * A memory access moves up to DMA_GRANULE_WORDS that share 16 bytes (towards
 * DRAM, SHIM_GRANULE_WORDS that share 64), so a channel acts once in several
 * cycles while its stream moves a word in each.
 *
 * MM2S reads ahead into the FIFO of the slave port that it feeds, and is
 * finished with a descriptor when its last word is read (facts D4: 244 cycles
 * for 256 words).  S2MM writes a granule as soon as all of it has arrived.
 */
#include "tile.h"

#include <string.h>

/* ---- fields of a descriptor, from the table that also writes them ---- */

enum field {
#define BD_FIELD_NAME(id, name, coding) FIELD_##id,
#include "regmap.def"
  FIELD_COUNT
};
enum coding { PLAIN, LESS_ONE, SIGNED };

struct place {
  uint8_t word, high, low, known;
};

static const struct place places[TILE_KINDS][FIELD_COUNT] = {
#define BD_FIELD(kind, id, word, high, low)                                    \
  [TILE_##kind][FIELD_##id] = {word, high, low, 1},
#include "regmap.def"
};

static const uint8_t codings[FIELD_COUNT] = {
#define BD_FIELD_NAME(id, name, coding) [FIELD_##id] = coding,
#include "regmap.def"
};

/* A field that the tile kind does not have reads as `none`. */
static int64_t field(const struct tile *t, int bd, enum field f, int64_t none) {
  struct place p = places[t->kind][f];
  if (!p.known)
    return none;
  int width = p.high - p.low + 1;
  uint64_t v = (uint64_t)t->bd[bd][p.word] >> p.low & ((1ull << width) - 1);
  if (codings[f] == LESS_ONE)
    return (int64_t)v + 1;
  if (codings[f] == SIGNED && v >> (width - 1))
    return (int64_t)v - (1ll << width);
  return (int64_t)v;
}

static void set_field(struct tile *t, int bd, enum field f, uint32_t value) {
  struct place p = places[t->kind][f];
  uint32_t mask = (uint32_t)(((1ull << (p.high - p.low + 1)) - 1) << p.low);
  t->bd[bd][p.word] = (t->bd[bd][p.word] & ~mask) | (value << p.low & mask);
}

/* ---- channels and their registers ---- */

struct channel *channel_of(struct tile *t, bool mm2s, int index) {
  int count = t->sim->device->tile[t->kind].channels;
  return index >= 0 && index < count ? &t->channel[mm2s][index] : NULL;
}

/* ---- sleeping: a channel that nothing but another part can help is taken off
 * the list of those that are stepped ---- */

void channel_wake(struct channel *c) {
  struct sim *s = c->tile->sim;
  struct fifo *f = c->mm2s && c->port ? &c->port->fifo : &c->in;
  f->full = UINT32_MAX;
  f->empty = -1;
  c->asleep = false;
  if (c->listed)
    return;
  c->listed = true;
  s->channel[s->channel_count++] = c;
}

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

void locks_changed(struct tile *t) {
  while (t->waiting) {
    struct channel *c = t->waiting;
    t->waiting = c->next_waiting;
    c->waits = false;
    channel_wake(c);
  }
}

/* Takes the oldest task of the queue. */
static void start_task(struct channel *c) {
  struct sim *s = c->tile->sim;
  const struct preset *p = s->preset;
  uint32_t task = c->queue[0];
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
  c->wake = c->pace = s->now + (uint64_t)cost;
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

/* ---- loading a descriptor ---- */

/* Bytes of the contiguous runs of which the descriptor's words consist. */
static uint64_t run_bytes(const struct walk *w, uint32_t length) {
  uint64_t run = 1;
  for (int d = 0; d < 3; d++) {
    if (w->step[d] != run && length > run)
      break;
    if (!w->wrap[d] || run * w->wrap[d] >= length)
      return (uint64_t)length * 4;
    run *= w->wrap[d];
  }
  return run * 4;
}

/* The next memory access: words that share one granule. */
static void plan_access(struct channel *c) {
  const struct walk *w = &c->walk;
  uint32_t granule = c->tile->kind == TILE_SHIM && c->mm2s ? SHIM_GRANULE_WORDS
                                                           : DMA_GRANULE_WORDS;
  uint32_t most =
      w->zero ? granule : granule - ((uint32_t)w->address & (granule - 1));
  c->need = w->run < most ? w->run : most;
}

/* Even channels of a mem tile have the first half of the descriptors, odd
 * ones the second. */
static bool check_bd(struct channel *c) {
  const struct tile *t = c->tile;
  char name[48];
  int count = t->sim->device->tile[t->kind].bds;
  if (c->bd >= count)
    return sim_fail(t->sim, "%s: BD %d; the tile has %d", channel_name(c, name),
                    c->bd, count);
  if (t->kind == TILE_MEM && (c->bd >= count / 2) != (c->index & 1))
    return sim_fail(t->sim,
                    "%s: BD %d; even channels of a mem tile use BDs 0 to 23, "
                    "odd ones 24 to 47",
                    channel_name(c, name), c->bd);
  if (!field(t, c->bd, FIELD_VALID, 1))
    return sim_fail(t->sim, "%s: BD %d is not valid (Valid_BD is clear)",
                    channel_name(c, name), c->bd);
  if (field(t, c->bd, FIELD_COMPRESS, 0))
    return sim_fail(t->sim, "%s: BD %d wants compression, not modelled",
                    channel_name(c, name), c->bd);
  return true;
}

static void load_walk(struct channel *c) {
  struct tile *t = c->tile;
  struct walk *w = &c->walk;
  int bd = c->bd;
  w->base = field(t, bd, FIELD_BASE, 0);
  if (t->kind == TILE_SHIM) /* byte address bits 47:2 */
    w->base |= field(t, bd, FIELD_BASE_HIGH, 0) << 30;
  uint32_t now = (uint32_t)field(t, bd, FIELD_ITER_NOW, 0);
  uint32_t count = (uint32_t)field(t, bd, FIELD_ITER_COUNT, 1);
  w->base += now * field(t, bd, FIELD_ITER_STEP, 1);
  set_field(t, bd, FIELD_ITER_NOW, now + 1 >= count ? 0 : now + 1);
  w->left = (uint32_t)field(t, bd, FIELD_LENGTH, 0);
  for (int d = 0; d < 4; d++) {
    w->step[d] = (uint32_t)field(t, bd, FIELD_STEP0 + d, 0);
    w->wrap[d] = (uint32_t)field(t, bd, FIELD_WRAP0 + d, 0);
  }
  for (int d = 0; d < 3; d++) {
    w->before[d] = c->mm2s ? (uint32_t)field(t, bd, FIELD_BEFORE0 + d, 0) : 0;
    w->after[d] = c->mm2s ? (uint32_t)field(t, bd, FIELD_AFTER0 + d, 0) : 0;
  }
  walk_start(w);
  if (t->kind == TILE_SHIM)
    c->dram_cost = host_word_cost(t->sim, run_bytes(w, w->left));
}

/* Packet header word (facts section 6), odd parity over the whole. */
static uint32_t header_word(const struct tile *t, int id, int type) {
  uint32_t h = (uint32_t)id | (uint32_t)type << 12 | (uint32_t)t->row << 16 |
               (uint32_t)t->column << 21;
  return odd_parity(h);
}

static bool load_locks(struct channel *c) {
  struct tile *t = c->tile;
  int bd = c->bd;
  c->acquire_tile = c->release_tile = NULL;
  c->acquire_value = (int)field(t, bd, FIELD_ACQ_VALUE, 0);
  c->release_value = (int)field(t, bd, FIELD_REL_VALUE, 0);
  if (field(t, bd, FIELD_ACQ_ON, 0))
    c->acquire_tile =
        lock_of_dma(c, (int)field(t, bd, FIELD_ACQ_LOCK, 0), &c->acquire_lock);
  if (c->release_value)
    c->release_tile =
        lock_of_dma(c, (int)field(t, bd, FIELD_REL_LOCK, 0), &c->release_lock);
  return !t->sim->failed;
}

static bool load_bd(struct channel *c) {
  struct tile *t = c->tile;
  if (!check_bd(c))
    return false;
  int bd = c->bd;
  load_walk(c);
  plan_access(c);
  if (!load_locks(c))
    return false;
  c->next_bd =
      field(t, bd, FIELD_USE_NEXT, 0) ? (int)field(t, bd, FIELD_NEXT, 0) : -1;
  c->tlast = !field(t, bd, FIELD_NO_TLAST, 0);
  c->header_due = c->mm2s && field(t, bd, FIELD_PACKET, 0);
  if (c->header_due)
    c->header = header_word(t, (int)field(t, bd, FIELD_PACKET_ID, 0),
                            (int)field(t, bd, FIELD_PACKET_TYPE, 0));
  c->state = CHANNEL_ACQUIRE;
  return true;
}

/* ---- one cycle ---- */

static void try_acquire(struct channel *c) {
  struct sim *s = c->tile->sim;
  if (c->acquire_tile &&
      !lock_take(c->acquire_tile, c->acquire_lock, c->acquire_value)) {
    sleep_on_lock(c);
    return;
  }
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
  walk_take(&c->walk, c->need);
  sim_busy(s);
  if (c->walk.left) {
    plan_access(c);
    return;
  }
  c->state = CHANNEL_FINISH;
  c->wake = s->now + 1;
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
    if (!host_grant(c, c->need))
      return NULL;
    uint64_t *moved = c->mm2s ? &t->sim->bytes_read : &t->sim->bytes_written;
    *moved += c->need * 4;
    t->sim->last_outside = t->sim->now;
    return bytes;
  }
  struct tile *at;
  uint32_t offset;
  if (!memory_resolve(c, c->walk.address, c->need, &at, &offset))
    return NULL;
  if (!memory_grant(at, offset, c->lost == DMA_PATIENCE)) {
    c->conflicts++;
    c->lost++;
    t->sim->progress = true;
    return NULL;
  }
  c->lost = 0;
  return at->memory + offset;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

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
  if (shim && s->now < c->pace)
    return;
  uint64_t ready =
      s->now + PORT_LOCAL_LATENCY + (shim ? 0 : DMA_MEMORY_LATENCY);
  const uint8_t *bytes = NULL;
  if (!c->walk.zero) {
    bytes = grant(c);
    if (!bytes)
      return;
  }
  if (shim) /* a word per cycle, but time lost to others may be made up */
    c->pace = later(c->pace + SHIM_CATCH_UP, s->now) - SHIM_CATCH_UP + c->need;
  port_list(s, c->port);
  if (c->header_due)
    fifo_push(out, (struct beat){.ready = ready, .word = c->header});
  c->header_due = false;
  for (uint32_t i = 0; i < c->need; i++) {
    struct beat b = {.ready = ready};
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
  if (fifo_at(&c->in, c->need - 1)->ready > s->now)
    return;
  uint8_t *bytes = grant(c);
  if (!bytes)
    return;
  for (uint32_t i = 0; i < c->need; i++)
    memcpy(bytes + 4 * i, &fifo_at(&c->in, i)->word, 4);
  fifo_drop(&c->in, c->need);
  advance(c);
}

/* Releases the lock and goes on with the chain, the repetition or the next
 * task. */
static void finish_bd(struct channel *c) {
  struct sim *s = c->tile->sim;
  s->progress = true;
  c->finished = s->now;
  if (c->first_finished < c->started)
    c->first_finished = s->now;
  trace_event(s, c->tile, "%s%d bd=%d ends", c->mm2s ? "mm2s" : "s2mm",
              c->index, c->bd);
  if (c->release_tile)
    lock_give(c->release_tile, c->release_lock, c->release_value, true);
  if (c->next_bd < 0 && --c->repeat_left == 0) {
    if (c->token)
      stream_token(c);
    c->state = CHANNEL_IDLE;
    if (c->queue_count)
      start_task(c);
    return;
  }
  c->bd = c->next_bd < 0 ? c->start_bd : (uint8_t)c->next_bd;
  if (load_bd(c))
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
      if (load_bd(c))
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

void channels_visit(const struct sim *s,
                    void (*visit)(struct channel *, void *), void *context) {
  for (int i = 0; i < s->columns * s->rows; i++)
    for (int mm2s = 0; mm2s < 2; mm2s++)
      for (int c = 0; c < s->device->tile[s->tile[i].kind].channels; c++)
        if (s->tile[i].channel[mm2s][c].state != CHANNEL_IDLE)
          visit(&s->tile[i].channel[mm2s][c], context);
}
