/* record.c -- keeps what record.h promises.
 *
 * What runs says nothing cycle by cycle.  A lane remembers up to which cycle
 * all is told (`seen`) and is told the rest when something changes: a core
 * begins or ends a wait, a channel's access, lock or descriptor is done, the
 * command processor goes on.  The core's own counters then say what happened
 * meanwhile.  A channel's access moves several words at once but its stream
 * takes one per cycle, so the access pays for as many cycles (`owed`); what is
 * beyond them was waiting, for what had refused the channel or else for what
 * its state wants.
 */
#include "tile.h"

#include <string.h>

enum { FIRST_GRAIN = 32, MOST_UNTOLD = 256 };
enum { OTHERS = RECORD_ARGUMENTS, LAST_WAITS = 8 };

struct lane {
  struct record_lane told;
  uint64_t seen;
  uint64_t length; /* of the last span */
  /* channels and the command processor */
  uint64_t owed;
  uint32_t refused;
  enum record_cause refused_by;
  struct tile *tile;
  struct channel *channel;
  uint64_t locks; /* of the own tile that the channel used */
  uint64_t lock_wait[MAX_LOCKS];
  /* cores: counters up to `seen` */
  bool waits;
  int lock;
  uint64_t before[RECORD_CAUSES];
  bool multiplied;
  int last_count; /* waits since the last multiply */
  struct {
    int lock;
    uint64_t cycles;
  } last[LAST_WAITS];
};

struct recorder {
  struct record record;
  struct lane *lane;
  int count, control;
  unsigned *guarded; /* by tile and lock: arguments */
};

const char *record_cause_name(enum record_cause c) {
  static const char *const name[RECORD_CAUSES] = {"idle", "multiply", "work",
                                                  "move", "lock",     "stream",
                                                  "bank", "dram",     "token"};
  assert(c < RECORD_CAUSES);
  return name[c];
}

/* ---- spans ---- */

static uint64_t length_of(const struct record_span *s) {
  uint64_t n = 0;
  for (int i = 0; i < RECORD_CAUSES; i++)
    n += s->cycles[i];
  return n;
}

/* The only cause of a span's cycles, or -1. */
static int only_cause(const struct record_span *s, uint64_t length) {
  for (int i = 0; i < RECORD_CAUSES; i++)
    if (s->cycles[i])
      return s->cycles[i] == length ? i : -1;
  return -1;
}

static bool may_merge(const struct record_span *a, uint64_t a_length,
                      const struct record_span *b, uint64_t b_length,
                      uint64_t grain) {
  if (a_length + b_length > UINT32_MAX)
    return false;
  if (a_length + b_length <= grain)
    return true;
  int cause = only_cause(a, a_length);
  return cause >= 0 && cause == only_cause(b, b_length);
}

static void merge_neighbours(struct record_lane *l, uint64_t *last) {
  int kept = 0;
  uint64_t length = length_of(&l->span[0]);
  for (int i = 1; i < l->span_count; i++) {
    uint64_t next = length_of(&l->span[i]);
    if (may_merge(&l->span[kept], length, &l->span[i], next, l->grain)) {
      for (int c = 0; c < RECORD_CAUSES; c++)
        l->span[kept].cycles[c] += l->span[i].cycles[c];
      length += next;
      continue;
    }
    l->span[++kept] = l->span[i];
    length = next;
  }
  l->span_count = kept + 1;
  *last = length;
}

static struct record_span *new_span(struct sim *s, struct lane *l) {
  struct record_lane *r = &l->told;
  if (!r->span)
    r->span = arena_array(s->arena, RECORD_SPANS, sizeof *r->span);
  bool full = r->span_count == RECORD_SPANS;
  while (full && r->span_count > RECORD_SPANS / 2) {
    r->grain *= 2;
    merge_neighbours(r, &l->length);
  }
  struct record_span *span = &r->span[r->span_count++];
  memset(span, 0, sizeof *span);
  l->length = 0;
  return span;
}

static void tell(struct sim *s, struct lane *l, enum record_cause cause,
                 uint64_t cycles) {
  struct record_lane *r = &l->told;
  l->seen += cycles;
  r->total[cause] += cycles;
  while (cycles) {
    struct record_span *last =
        r->span_count ? &r->span[r->span_count - 1] : NULL;
    bool same = last && (last->cycles[cause] == l->length ||
                         l->length + cycles <= r->grain);
    if (!same || l->length == UINT32_MAX)
      last = new_span(s, l);
    uint64_t room = UINT32_MAX - l->length;
    uint64_t part = cycles < room ? cycles : room;
    last->cycles[cause] += (uint32_t)part;
    l->length += part;
    cycles -= part;
  }
}

/* Cycles of several causes that took turns: one span, unless they are of one.
 */
static void tell_mixed(struct sim *s, struct lane *l,
                       const uint64_t part[RECORD_CAUSES]) {
  struct record_lane *r = &l->told;
  uint64_t sum = 0;
  int causes = 0, cause = 0;
  for (int c = 0; c < RECORD_CAUSES; c++) {
    sum += part[c];
    causes += part[c] > 0;
    cause = part[c] ? c : cause;
  }
  if (causes < 2) {
    tell(s, l, cause, sum);
    return;
  }
  bool joins = r->span_count && l->length + sum <= r->grain;
  assert(sum <= UINT32_MAX);
  struct record_span *to = joins ? &r->span[r->span_count - 1] : new_span(s, l);
  for (int c = 0; c < RECORD_CAUSES; c++) {
    to->cycles[c] += (uint32_t)part[c];
    r->total[c] += part[c];
  }
  l->length += sum;
  l->seen += sum;
}

/* ---- channels and the command processor ---- */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Tells all up to now; returns how many cycles went to `cause`. */
static uint64_t settle_lane(struct sim *s, struct lane *l,
                            enum record_cause paid, enum record_cause cause) {
  assert(l->seen <= s->now);
  uint64_t left = s->now - l->seen;
  uint64_t part = least(left, l->owed);
  l->owed -= part;
  tell(s, l, paid, part);
  left -= part;
  part = least(left, l->refused);
  l->refused = 0;
  tell(s, l, l->refused_by, part);
  tell(s, l, cause, left - part);
  return left - part;
}

void record_channel(struct channel *c, enum record_cause cause) {
  struct sim *s = c->tile->sim;
  struct lane *l = c->lane;
  uint64_t waited = settle_lane(s, l, RECORD_MOVE, cause);
  if (cause == RECORD_LOCK && c->acquire_tile == c->tile) {
    l->lock_wait[c->acquire_lock] += waited;
    l->locks |= 1ull << c->acquire_lock;
  }
}

void record_access(struct channel *c) {
  struct lane *l = c->lane;
  record_channel(c, RECORD_STREAM);
  l->owed += c->need;
  l->told.words += c->need;
  if (c->tile->kind != TILE_SHIM || c->walk.zero)
    return;
  unsigned argument = (unsigned)host_argument(c->walk.address);
  if (argument < RECORD_ARGUMENTS)
    l->told.argument_bytes[argument] += c->need * 4;
  l->told.dram_cycles += host_cycles(c->need * c->dram_cost);
}

void record_refusal(struct channel *c, enum record_cause by) {
  struct lane *l = c->lane;
  l->refused++;
  l->refused_by = by;
}

void record_release(struct channel *c) {
  if (c->release_tile == c->tile)
    c->lane->locks |= 1ull << c->release_lock;
}

void record_command(struct sim *s, enum record_cause waited, uint64_t cost) {
  struct lane *l = &s->recorder->lane[s->recorder->control];
  settle_lane(s, l, RECORD_WORK, waited);
  l->owed += cost;
}

/* ---- cores ---- */

/* What the core's cycles went to since it began. */
static void count_core(const struct tile *t, uint64_t n[RECORD_CAUSES]) {
  const struct core_counts *c = core_counts(t->core);
  memset(n, 0, RECORD_CAUSES * sizeof *n);
  n[RECORD_MULTIPLY] = c->macs;
  n[RECORD_WORK] = c->bundles - c->macs;
  n[RECORD_LOCK] = c->stall[STALL_LOCK] + t->skipped[STALL_LOCK];
  n[RECORD_STREAM] = c->stall[STALL_STREAM] + t->skipped[STALL_STREAM];
  n[RECORD_BANK] = c->stall[STALL_MEMORY] + t->skipped[STALL_MEMORY];
  for (int i = 0; i < BANK_USERS; i++)
    n[RECORD_BANK] += t->lost[i];
}

static void count_lock_wait(struct lane *l, uint64_t cycles) {
  if (!l->multiplied) {
    l->told.start_wait += cycles;
    return;
  }
  if (!cycles)
    return;
  l->lock_wait[l->lock] += cycles;
  bool same = l->last_count && l->last[l->last_count - 1].lock == l->lock;
  if (!same && l->last_count == LAST_WAITS)
    memmove(l->last, l->last + 1, (size_t)--l->last_count * sizeof *l->last);
  if (!same) {
    l->last[l->last_count].lock = l->lock;
    l->last[l->last_count++].cycles = 0;
  }
  l->last[l->last_count - 1].cycles += cycles;
}

static void divide_end_wait(struct lane *l) {
  for (int i = 0; i < l->last_count; i++) {
    l->lock_wait[l->last[i].lock] -= l->last[i].cycles;
    l->told.end_wait += l->last[i].cycles;
  }
  l->last_count = 0;
}

/* Tells a core's cycles before `end`: what it waited for comes first if it
 * waited already, and last if it began to. */
static void settle_core(struct sim *s, struct tile *t, uint64_t end) {
  static const enum record_cause waits[] = {RECORD_LOCK, RECORD_STREAM};
  struct lane *l = t->lane;
  uint64_t n[RECORD_CAUSES], part[RECORD_CAUSES] = {0}, sum = 0;
  if (end <= l->seen)
    return;
  count_core(t, n);
  for (int i = 0; i < RECORD_CAUSES; i++) {
    part[i] = least(n[i] - l->before[i], end - l->seen - sum);
    l->before[i] += part[i];
    sum += part[i];
  }
  if (l->waits)
    count_lock_wait(l, part[RECORD_LOCK]);
  if (part[RECORD_MULTIPLY]) {
    l->multiplied = true;
    l->last_count = 0;
  }
  if (!l->waits)
    count_lock_wait(l, part[RECORD_LOCK]);
  uint64_t idle = end - l->seen - sum;
  for (int i = 0; i < 2 && l->waits; i++)
    tell(s, l, waits[i], part[waits[i]]);
  uint64_t runs[RECORD_CAUSES] = {[RECORD_MULTIPLY] = part[RECORD_MULTIPLY],
                                  [RECORD_WORK] = part[RECORD_WORK],
                                  [RECORD_BANK] = part[RECORD_BANK]};
  tell_mixed(s, l, runs);
  for (int i = 0; i < 2 && !l->waits; i++)
    tell(s, l, waits[i], part[waits[i]]);
  tell(s, l, RECORD_IDLE, idle);
}

void record_core(struct tile *t) {
  struct lane *l = t->lane;
  enum core_stall stall = core_stalled(t->core);
  bool waits = stall == STALL_LOCK || stall == STALL_STREAM;
  int id = stall == STALL_LOCK ? core_waiting_lock(t->core) : -1;
  if (waits != l->waits || t->core_cycle >= l->seen + MOST_UNTOLD) {
    if (id >= 0 && !l->waits) /* the first cycle of this wait */
      l->lock = (id + 16) % MAX_LOCKS;
    settle_core(t->sim, t, t->core_cycle);
  }
  if (id >= 0) /* own locks, 48 to 63, are 0 to 15 here */
    l->lock = (id + 16) % MAX_LOCKS;
  l->waits = waits;
}

/* ---- a run ---- */

static struct lane *add_lane(struct recorder *r, enum record_kind kind,
                             struct tile *t, int channel) {
  struct lane *l = &r->lane[r->count++];
  l->told.kind = kind;
  l->told.column = t->column;
  l->told.row = t->row;
  l->told.channel = channel;
  l->tile = t;
  return l;
}

static void open_recorder(struct sim *s) {
  struct recorder *r = arena_alloc(s->arena, sizeof *r);
  size_t tiles = (size_t)(s->columns * s->rows);
  r->lane = arena_array(s->arena, tiles * (1 + 2 * MAX_CHANNELS) + 1,
                        sizeof *r->lane);
  r->guarded = arena_array(s->arena, tiles * MAX_LOCKS, sizeof *r->guarded);
  r->control = 0;
  add_lane(r, RECORD_CONTROL, s->tile, 0);
  for (size_t i = 0; i < tiles; i++) {
    struct tile *t = &s->tile[i];
    if (t->kind == TILE_CORE)
      t->lane = add_lane(r, RECORD_CORE, t, 0);
    for (int c = 0; c < 2 * s->device->tile[t->kind].channels; c++) {
      struct channel *x = &t->channel[c & 1][c >> 1];
      x->lane = add_lane(r, c & 1 ? RECORD_MM2S : RECORD_S2MM, t, c >> 1);
      x->lane->channel = x;
    }
  }
  r->record.lane =
      arena_array(s->arena, (size_t)r->count, sizeof *r->record.lane);
  r->record.columns = s->columns;
  r->record.rows = s->rows;
  r->record.preset = s->preset;
  s->recorder = r;
}

void record_begin(struct sim *s) {
  if (!s->options.record)
    return;
  if (!s->recorder)
    open_recorder(s);
  s->recording = true;
  struct recorder *r = s->recorder;
  r->record.lane_count = 0;
  for (int i = 0; i < r->count; i++) {
    struct lane *l = &r->lane[i];
    struct record_lane fresh = {.kind = l->told.kind,
                                .column = l->told.column,
                                .row = l->told.row,
                                .channel = l->told.channel,
                                .span = l->told.span,
                                .grain = FIRST_GRAIN};
    l->told = fresh;
    l->seen = s->now;
    l->owed = l->refused = 0;
    memset(l->lock_wait, 0, sizeof l->lock_wait);
    l->multiplied = false;
    l->last_count = 0;
    struct tile *t = l->tile;
    if (fresh.kind != RECORD_CORE || !t->core)
      continue;
    count_core(t, l->before);
    l->waits = t->core_listed && core_stalled(t->core) == STALL_LOCK;
    if (t->core_listed && t->core_cycle > s->now) /* it ran ahead */
      tell(s, l, RECORD_WORK, t->core_cycle - s->now);
  }
}

/* ---- which argument's elements pass where ---- */

static unsigned *guarded_by(struct recorder *r, const struct tile *t,
                            int lock) {
  return &r->guarded[(size_t)(t - t->sim->tile) * MAX_LOCKS + (size_t)lock];
}

/* Both get what either has; true: that changed something. */
static bool share(unsigned *a, unsigned *b) {
  unsigned both = *a | *b;
  bool changed = *a != both || *b != both;
  *a = *b = both;
  return changed;
}

/* From a channel that sends, along the switches, to those that receive. */
static bool share_along(struct lane *from, const struct slave *p, int hops) {
  bool changed = false;
  for (int i = 0; i < p->sink_count && hops > 0; i++) {
    const struct sink *k = &p->sink[i];
    if (k->kind != SINK_FIFO)
      continue;
    if (k->port) {
      changed |= share_along(from, k->port, hops - 1);
      continue;
    }
    struct tile *t = p->tile;
    for (int c = 0; c < t->sim->device->tile[t->kind].channels; c++)
      if (k->fifo == &t->channel[0][c].in)
        changed |= share(&from->told.arguments,
                         &t->channel[0][c].lane->told.arguments);
  }
  return changed;
}

static bool share_once(struct recorder *r) {
  enum { MOST_HOPS = 32 };
  bool changed = false;
  for (int i = 0; i < r->count; i++) {
    struct lane *l = &r->lane[i];
    if (!l->channel)
      continue;
    if (l->channel->mm2s && l->channel->port)
      changed |= share_along(l, l->channel->port, MOST_HOPS);
    for (int k = 0; k < MAX_LOCKS; k++)
      if (l->locks >> k & 1)
        changed |= share(&l->told.arguments, guarded_by(r, l->tile, k));
  }
  return changed;
}

static void find_arguments(struct sim *s, struct recorder *r) {
  memset(r->guarded, 0,
         (size_t)(s->columns * s->rows) * MAX_LOCKS * sizeof *r->guarded);
  for (int i = 0; i < r->count; i++)
    for (unsigned a = 0; a < RECORD_ARGUMENTS; a++)
      if (r->lane[i].told.argument_bytes[a])
        r->lane[i].told.arguments |= 1u << a;
  for (int round = 0; round < 64 && share_once(r); round++)
    ;
}

static void divide_lock_waits(struct recorder *r, struct lane *l) {
  for (int k = 0; k < MAX_LOCKS; k++) {
    bool own = l->told.kind != RECORD_CORE || k < 16;
    unsigned a = own ? *guarded_by(r, l->tile, k) : 0;
    int to = a && !(a & (a - 1)) ? __builtin_ctz(a) : OTHERS;
    l->told.lock_for[to] += l->lock_wait[k];
  }
}

static const enum record_cause state_cause[] = {
    [CHANNEL_IDLE] = RECORD_IDLE,    [CHANNEL_START] = RECORD_WORK,
    [CHANNEL_ACQUIRE] = RECORD_LOCK, [CHANNEL_MOVE] = RECORD_STREAM,
    [CHANNEL_FINISH] = RECORD_WORK,
};

/* A core ran ahead of the last cycle; what it did there is not of this run. */
static void cut_lane(struct sim *s, struct lane *l) {
  struct record_lane *r = &l->told;
  while (l->seen > s->now) {
    assert(r->span_count > 0);
    struct record_span *last = &r->span[r->span_count - 1];
    for (int c = 0; c < RECORD_CAUSES && l->seen > s->now; c++) {
      uint64_t part = least(last->cycles[c], l->seen - s->now);
      last->cycles[c] -= (uint32_t)part;
      r->total[c] -= part;
      l->seen -= part;
    }
    if (!length_of(last))
      r->span_count--;
  }
}

void record_end(struct sim *s, const struct sim_report *report) {
  if (!s->recording)
    return;
  s->recording = false;
  struct recorder *r = s->recorder;
  for (int i = 0; i < r->count; i++) {
    struct lane *l = &r->lane[i];
    if (l->channel)
      record_channel(l->channel, state_cause[l->channel->state]);
    else if (l->told.kind == RECORD_CORE && l->tile->core) {
      settle_core(s, l->tile, s->now);
      cut_lane(s, l);
    } else
      settle_lane(s, l, RECORD_WORK, i ? RECORD_IDLE : RECORD_TOKEN);
  }
  find_arguments(s, r);
  r->record.report = *report;
  for (int i = 0; i < r->count; i++) {
    struct lane *l = &r->lane[i];
    assert(l->seen == s->now);
    divide_end_wait(l);
    divide_lock_waits(r, l);
    if (i == r->control || l->told.total[RECORD_IDLE] < report->cycles)
      r->record.lane[r->record.lane_count++] = l->told;
  }
}

const struct record *sim_record(const struct sim *s) {
  const struct recorder *r = s->recorder;
  return r && r->record.report.cycles ? &r->record : NULL;
}
