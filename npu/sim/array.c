/* The array: opened from an xclbin, configured by its CDO, stepped by the
 * cycle until a transaction is done, or until nothing can move any more.
 *
 * What is modelled: registers of section 2 of array.md that move data;
 * buffer descriptors with all dimensions, iteration, repetition, chains, locks,
 * packets and zero padding; circuit and packet switching; task tokens along
 * their route; the command processor's costs; DRAM bandwidth by run length,
 * shared by all shim channels; one access per memory bank and cycle; core
 * streams and cascade; control packets.
 * What is not: compression, out-of-order mode, counts of finish-on-TLAST mode
 * (a design that uses one of them fails with a message); trace units, events,
 * interrupts (they take writes and do nothing); DRAM has no jitter and no
 * warm-up; a shim task pays its start-up also when it was queued behind
 * another, which nobody has measured.
 */
#include "isa.h"
#include "tile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Hands the simulator's own failure to the caller. */
static bool report_failure(struct sim *s, struct diag *d) {
  if (s->failed)
    diag_error(d, s->diag.at, "%s", s->diag.text);
  return !s->failed;
}

/* ---- building ---- */

static void create_tile(struct sim *s, int column, int row) {
  struct tile *t = tile_at(s, column, row);
  t->sim = s;
  t->column = column;
  t->row = row;
  t->kind = tile_kind(row);
  const struct tile_resources *has = &s->device->tile[t->kind];
  if (has->memory_bytes)
    t->memory = arena_alloc(s->arena, has->memory_bytes);
  if (t->kind == TILE_CORE)
    t->program = arena_alloc(s->arena, s->device->program_bytes);
  t->core_control = 2;
  for (int mm2s = 0; mm2s < 2; mm2s++) {
    size_t count = (size_t)has->channels;
    t->channel[mm2s] = arena_array(s->arena, count, sizeof **t->channel);
    for (int c = 0; c < has->channels; c++) {
      t->channel[mm2s][c].tile = t;
      t->channel[mm2s][c].mm2s = mm2s;
      t->channel[mm2s][c].index = (uint8_t)c;
    }
  }
  t->switch_changed = s->switches_changed = true;
  streams_create(t);
}

struct sim *sim_create(const struct sim_options *options, int columns,
                       struct diag *d) {
  const struct device *device =
      options->preset ? device_find(options->preset->device) : NULL;
  if (!device) {
    diag_error(d, loc_none(), "the simulator needs a preset of a known device");
    return NULL;
  }
  if (columns < 1 || columns > device->columns || columns > MAX_COLUMNS) {
    diag_error(d, loc_none(), "a partition of %d columns; %s has 1 to %d",
               columns, device->name, device->columns);
    return NULL;
  }
  struct arena *a = arena_open();
  struct sim *s = arena_alloc(a, sizeof *s);
  s->arena = a;
  s->device = device;
  s->preset = options->preset;
  s->options = *options;
  s->around = cores_around;
  s->columns = columns;
  s->rows = 2 + device->core_rows;
  s->stream_words = (uint32_t)device->stream_words;
  s->bank_shift = (uint32_t)__builtin_ctz((unsigned)device->bank_word_bytes);
  assert(device->mem_banks <= MAX_BANKS &&
         2 * device->bank_word_bytes ==
             isa_access_bytes(isa_find(device->isa)));
  size_t tiles = (size_t)(s->columns * s->rows);
  s->tile = arena_array(a, tiles, sizeof *s->tile);
  s->core = arena_array(a, tiles, sizeof(struct tile *));
  s->port = arena_array(a, tiles * MAX_SLAVES, sizeof(struct slave *));
  s->channel =
      arena_array(a, tiles * 2 * MAX_CHANNELS, sizeof(struct channel *));
  for (int column = 0; column < s->columns; column++)
    for (int row = 0; row < s->rows; row++)
      create_tile(s, column, row);
  host_open(s);
  return s;
}

void sim_close(struct sim *s) {
  if (!s)
    return;
  for (int i = 0; i < s->columns * s->rows; i++)
    if (s->tile[i].core)
      core_close(s->tile[i].core);
  arena_close(s->run);
  arena_close(s->arena);
}

/* ---- configuring: no time passes ---- */

static bool apply(struct sim *s, const struct command *c, int index) {
  uint32_t old;
  switch (c->kind) {
  case COMMAND_WRITE:
    return register_write(s, c->address, c->value);
  case COMMAND_MASK_WRITE:
    return register_read(s, c->address, &old) &&
           register_write(s, c->address,
                          (old & ~c->mask) | (c->value & c->mask));
  case COMMAND_BLOCK:
    return register_block(s, c->address, c->words, c->count);
  case COMMAND_MASK_POLL:
    if (!register_read(s, c->address, &old))
      return false;
    if ((old & c->mask) == (c->value & c->mask))
      return true;
    return sim_fail(s,
                    "configuration command %d polls 0x%08x for 0x%x under mask "
                    "0x%x; it reads 0x%x and nothing will change it",
                    index, c->address, c->value, c->mask, old);
  case COMMAND_DELAY:
    return true;
  case COMMAND_SYNC:
  case COMMAND_DDR_PATCH:
    return sim_fail(s, "configuration command %d belongs in a transaction",
                    index);
  }
  return false;
}

bool sim_apply(struct sim *s, const struct command_list *list, struct diag *d) {
  for (int i = 0; i < list->count; i++)
    if (!apply(s, &list->item[i], i))
      break;
  if (!s->failed)
    streams_rebuild(s);
  return report_failure(s, d);
}

struct sim *sim_open(const void *xclbin, size_t length,
                     const struct sim_options *options, struct diag *d) {
  struct arena *a = arena_open();
  struct xclbin_info info;
  const void *pdi, *cdo;
  size_t pdi_length, cdo_length;
  struct sim *s = NULL;
  if (xclbin_read(xclbin, length, &info, &pdi, &pdi_length, d) &&
      pdi_read(pdi, pdi_length, &cdo, &cdo_length, d)) {
    const struct command_list *list = cdo_read(a, cdo, cdo_length, d);
    s = list ? sim_create(options, info.columns, d) : NULL;
    if (s && !sim_apply(s, list, d)) {
      sim_close(s);
      s = NULL;
    }
  }
  arena_close(a);
  return s;
}

/* ---- stepping ---- */

static void sim_step(struct sim *s) {
  s->progress = false;
  if (s->switches_changed)
    streams_rebuild(s);
  control_step(s);
  cores_step(s);
  banks_share(s);
  channels_step(s);
  banks_step_bus(s);
  banks_count(s);
  streams_step(s);
  packets_step(s);
  if (s->progress)
    s->last_progress = s->now;
  s->now++;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void earlier(uint64_t *next, uint64_t candidate, uint64_t now) {
  if (candidate >= now && candidate < *next)
    *next = candidate;
}

/* The first cycle from now on in which a timer allows something; UINT64_MAX:
 * there is none, and nothing moved in the last cycle: deadlock. */
static uint64_t next_timer(const struct sim *s) {
  uint64_t next = UINT64_MAX;
  const struct control *p = &s->control;
  bool token_wait = p->waiting && p->polled <= p->ready &&
                    p->at < p->list->count &&
                    p->list->item[p->at].kind == COMMAND_SYNC;
  bool poll_wait = p->waiting && !token_wait;
  if (!token_wait && (!poll_wait || p->polled <= s->last_progress))
    earlier(&next, p->ready, s->now);
  for (int i = 0; i < s->channel_count; i++) {
    const struct channel *c = s->channel[i];
    if (c->state == CHANNEL_START || c->state == CHANNEL_FINISH)
      earlier(&next, c->wake, s->now);
    if (c->state == CHANNEL_MOVE && !c->mm2s && c->need &&
        c->in.count >= c->need)
      earlier(&next, fifo_at(&c->in, c->need - 1)->ready, s->now);
    if (c->state == CHANNEL_MOVE && c->tile->kind == TILE_SHIM)
      earlier(&next, (c->pace + CYCLE_PARTS - 1) / CYCLE_PARTS, s->now);
  }
  for (int i = 0; i < s->port_count; i++)
    earlier(&next, fifo_at(&s->port[i]->fifo, 0)->ready, s->now);
  for (int i = 0; i < s->core_count; i++) {
    const struct tile *t = s->core[i];
    enum core_stall stall = core_stalled(t->core);
    if (t->core_cycle > s->now && banks_are_watched(s))
      next = s->now;
    if (stall != STALL_LOCK && stall != STALL_STREAM)
      earlier(&next, t->core_cycle, s->now);
    if (stall == STALL_LOCK && t->wait_lock)
      earlier(&next, t->wait_lock->hidden_until, s->now);
    if (stall == STALL_STREAM && t->core_in.count)
      earlier(&next, fifo_at(&t->core_in, 0)->ready, s->now);
    if (stall == STALL_STREAM && t->cascade.count)
      earlier(&next, t->cascade.ready[t->cascade.head], s->now);
  }
  return next;
}

/* Jumps over cycles in which cores only wait for locks or ran ahead. */
static void skip_to(struct sim *s, uint64_t cycle) {
  for (int i = 0; i < s->core_count; i++) {
    struct tile *t = s->core[i];
    if (t->core_cycle >= cycle)
      continue;
    t->skipped[core_stalled(t->core)] += cycle - t->core_cycle;
    t->core_cycle = cycle;
  }
  s->now = cycle;
}

/* The transaction may wait for so long without a word from or to host memory;
 * then cores or rings that still run are taken to do so for ever. */
enum { SILENT_CYCLES = 20000000 };

static bool is_silent(const struct sim *s) {
  return s->control.waiting && s->now - s->last_outside > SILENT_CYCLES;
}

static bool report_deadlock(struct sim *s) {
  struct text t = {0};
  text_printf(&t, "deadlock at cycle %llu: ", (unsigned long long)s->now);
  waits_print(s, &t, sizeof s->diag.text - 1);
  sim_fail(s, "%s", text_string(&t));
  text_free(&t);
  waits_print(s, &t, SIZE_MAX);
  s->waits = arena_string(s->arena, text_string(&t));
  text_free(&t);
  explain_print(s, &t);
  s->deadlock = arena_string(s->arena, text_string(&t));
  text_free(&t);
  return false;
}

/* Whether the run may go on. */
static bool report_progress(struct sim *s, uint64_t start) {
  const struct control *p = &s->control;
  struct sim_progress at = {s->now - start, p->at, p->list->count};
  return s->options.progress(s->options.progress_context, &at) ||
         sim_fail(s, "stopped in cycle %llu, at transaction op %d of %d",
                  (unsigned long long)at.cycles, p->at, p->list->count);
}

/* Steps until the transaction is done, or to cycle `until`; false: failed. */
static bool run_control(struct sim *s, uint64_t until) {
  enum { STEPS = 1 << 13 }; /* between two reports */
  uint64_t budget = s->options.cycle_budget, start = s->start;
  uint64_t end = budget ? start + budget : UINT64_MAX;
  for (uint64_t steps = 1; !control_done(s) && s->now < until; steps++) {
    if (s->options.progress && steps % STEPS == 0 && !report_progress(s, start))
      return false;
    if (s->now >= end)
      return sim_fail(s, "cycle budget of %llu used up at transaction op %d",
                      (unsigned long long)budget, s->control.at);
    sim_step(s);
    if (s->failed)
      return false;
    if (is_silent(s))
      return report_deadlock(s);
    if (s->progress)
      continue;
    uint64_t next = next_timer(s);
    if (next == UINT64_MAX)
      return report_deadlock(s);
    if (next > s->now)
      skip_to(s, smaller(next, smaller(end, until)));
  }
  return true;
}

/* Between two runs the array goes on for as long as a launch takes, which
 * brings cores and ring descriptors back to where they wait. */
static bool settle(struct sim *s) {
  uint64_t end = s->now + (uint64_t)(s->preset->launch_seconds *
                                     s->preset->clock_ghz * 1e9);
  while (s->now < end) {
    sim_step(s);
    if (s->failed)
      return false;
    if (s->progress)
      continue;
    uint64_t next = next_timer(s);
    if (next >= end)
      break;
    if (next > s->now)
      skip_to(s, next);
  }
  return true;
}

/* ---- a run ---- */

static void start_counts(struct sim *s) {
  for (int i = 0; i < s->columns * s->rows; i++) {
    struct tile *t = &s->tile[i];
    memset(t->skipped, 0, sizeof t->skipped);
    memset(t->lost, 0, sizeof t->lost);
    t->conflicts = 0;
    if (t->core)
      t->counts = *core_counts(t->core);
    for (int c = 0; c < 2 * s->device->tile[t->kind].channels; c++)
      t->channel[c & 1][c >> 1].tasks = 0;
  }
  s->bytes_read = s->bytes_written = 0;
  s->was_busy = false;
  s->first_busy = s->last_busy = s->now;
  memset(&s->lost, 0, sizeof s->lost);
}

/* Cycles of the run in which a core stalled while the array was busy: outside
 * that window it only waited, as long as it ran at all. */
static uint64_t stalls(const struct tile *t, enum core_stall kind,
                       uint64_t idle) {
  uint64_t n = core_counts(t->core)->stall[kind] - t->counts.stall[kind] +
               t->skipped[kind];
  bool waited = t->core_listed && core_stalled(t->core) == kind;
  return waited && n > idle ? n - idle : n;
}

static void fill_report(struct sim *s, uint64_t start, struct sim_report *r) {
  *r = (struct sim_report){.cycles = s->now - start,
                           .bytes_read = s->bytes_read,
                           .bytes_written = s->bytes_written};
  uint64_t last = s->last_busy < s->now ? s->last_busy : s->now - 1;
  if (s->was_busy)
    r->busy_cycles = last - s->first_busy + 1;
  uint64_t idle = r->cycles - r->busy_cycles;
  for (int i = 0; i < s->columns * s->rows; i++) {
    const struct tile *t = &s->tile[i];
    r->bank_conflicts += t->conflicts;
    if (!t->core_ran)
      continue;
    r->cores++;
    r->mac_cycles += core_counts(t->core)->macs - t->counts.macs;
    r->stall_lock += stalls(t, STALL_LOCK, idle);
    r->stall_memory_own += stalls(t, STALL_MEMORY, idle);
    r->stall_memory_dma += t->lost[BANK_DMA];
    r->stall_memory_neighbour += t->lost[BANK_CORE];
    r->stall_memory_bus += t->lost[BANK_BUS];
    r->stall_stream += stalls(t, STALL_STREAM, idle);
  }
  r->stall_memory = r->stall_memory_own + r->stall_memory_dma +
                    r->stall_memory_neighbour + r->stall_memory_bus;
  r->core_cycles = (uint64_t)r->cores * r->busy_cycles;
}

static void visit_unfinished(struct channel *c, void *context) {
  struct sim *s = context;
  if (c->tile->kind == TILE_SHIM && !c->mm2s)
    sim_fail(s,
             "the transaction ends while column %d S2MM%d still writes host "
             "memory (BD %d, %u words to come); nothing waits for its token",
             c->tile->column, c->index, c->bd, c->walk.left);
}

/* What would still be written to host memory when the host believes that the
 * run is over is a race on a real device. */
static bool check_finished(struct sim *s) {
  channels_visit(s, visit_unfinished, s);
  return !s->failed;
}

/* The list and the buffers are borrowed until the run has ended. */
static bool begin(struct sim *s, const struct command_list *list,
                  const struct sim_buffer *argument, int argument_count,
                  struct diag *d) {
  assert(!s->running);
  if (s->failed)
    return diag_error(d, loc_none(), "an earlier run failed: %s", s->diag.text);
  s->start = s->last_outside = s->now;
  s->argument = argument;
  s->argument_count = argument_count;
  start_counts(s);
  control_start(s, list);
  s->running = true;
  record_begin(s);
  return true;
}

static bool end(struct sim *s, struct sim_report *report, struct diag *d) {
  struct sim_report filled;
  fill_report(s, s->start, &filled);
  record_end(s, &filled);
  if (report)
    *report = filled;
  if (!s->failed && check_finished(s))
    settle(s);
  s->running = false;
  static const struct command_list none;
  control_start(s, &none);
  s->argument = NULL;
  s->argument_count = 0;
  return report_failure(s, d);
}

bool sim_execute(struct sim *s, const struct command_list *list,
                 const struct sim_buffer *argument, int argument_count,
                 struct sim_report *report, struct diag *d) {
  if (!begin(s, list, argument, argument_count, d))
    return false;
  run_control(s, UINT64_MAX);
  return end(s, report, d);
}

void sim_set_budget(struct sim *s, uint64_t cycles) {
  s->options.cycle_budget = cycles;
}

/* The columns that the header names are not asked: mlir-aie writes those of the
 * device.  Every address is (register.c). */
static const struct command_list *read_run(const struct sim *s, struct arena *a,
                                           const void *txn, size_t length,
                                           struct diag *d) {
  const struct device *of = txn_device(txn, length), *dev = s->device;
  if (of && of->txn_generation != dev->txn_generation) {
    diag_error(d, loc_none(),
               "the transaction is for %s (generation %d in its header); the "
               "preset %s is of %s",
               of->name, of->txn_generation, s->options.preset->name,
               dev->name);
    return NULL;
  }
  int columns;
  return txn_read(a, txn, length, &columns, d);
}

bool sim_run(struct sim *s, const void *txn, size_t length,
             const struct sim_buffer *argument, int argument_count,
             struct sim_report *report, struct diag *d) {
  struct arena *a = arena_open();
  const struct command_list *list = read_run(s, a, txn, length, d);
  bool done = list && sim_execute(s, list, argument, argument_count, report, d);
  arena_close(a);
  return done;
}

bool sim_begin(struct sim *s, const void *txn, size_t length,
               const struct sim_buffer *argument, int argument_count,
               struct diag *d) {
  s->run = arena_open();
  argument = arena_copy(s->run, argument, (size_t)argument_count,
                        (size_t)argument_count, sizeof *argument);
  const struct command_list *list = read_run(s, s->run, txn, length, d);
  if (list && begin(s, list, argument, argument_count, d))
    return true;
  arena_close(s->run);
  s->run = NULL;
  return false;
}

bool sim_advance(struct sim *s, uint64_t cycles) {
  assert(s->run);
  uint64_t until = cycles < UINT64_MAX - s->now ? s->now + cycles : UINT64_MAX;
  return !run_control(s, until) || control_done(s);
}

bool sim_end(struct sim *s, struct sim_report *report, struct diag *d) {
  assert(s->run && (s->failed || control_done(s)));
  bool good = end(s, report, d);
  arena_close(s->run);
  s->run = NULL;
  return good;
}

const char *sim_failure(const struct sim *s) {
  return s->failed ? s->diag.text : NULL;
}

void sim_print_waits(const struct sim *s, struct text *t) {
  text_puts(t, s->waits ? s->waits : "");
}

void sim_print_deadlock(const struct sim *s, struct text *t) {
  text_puts(t, s->deadlock ? s->deadlock : "");
}
