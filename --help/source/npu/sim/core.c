/* core.c -- one core's clock: fetch, issue, the ring of things to come, stalls,
 * branches and the hardware loop.  What instructions do is in the sem_*.c
 * files; core_state.h explains how time is kept.
 */
#include "core_state.h"

#include <stddef.h>

enum { DELAY_SLOTS = 5 };

enum { ALIGNMENT = 64 }; /* of vector registers */

struct core *core_open(const struct core_surroundings *around) {
  struct arena *a = arena_open();
  char *memory = arena_alloc(a, sizeof(struct core) + ALIGNMENT);
  struct core *c =
      (struct core *)(memory + ALIGNMENT - (uintptr_t)memory % ALIGNMENT);
  c->arena = a;
  c->code = arena_open();
  c->around = *around;
  c->arith = arith_best();
  c->sem = arena_array(a, (size_t)isa_insn_count(around->isa), sizeof *c->sem);
  c->access_bytes = (uint16_t)isa_access_bytes(around->isa);
  c->bank_shift = c->access_bytes == 32 ? 1 : 2;
  core_name_units(c);
  core_choose_set(c);
  core_reset(c, 0);
  return c;
}

void core_close(struct core *c) {
  if (!c)
    return;
  arena_close(c->code);
  arena_close(c->arena);
}

/* Operations in flight still point into the arena, so it goes with them, at
 * the next reset. */
void core_invalidate(struct core *c) {
  if (!c->decoded_any)
    return;
  core_fold_slots(c);
  c->at = NULL;
  c->stale = true;
}

static void clear_ring(struct core *c) {
  for (int i = 0; i < RING; ++i) {
    struct core_bucket *b = &c->ring[i];
    b->actions = b->stores = b->scalars = b->vectors = 0;
  }
}

static void forget_banks(struct core *c) {
  memset(c->bank_hits, 0, sizeof c->bank_hits);
  c->neighbour_hit = c->bank_wait = false;
  c->conflicts = c->wide = 0;
}

void core_reset(struct core *c, uint32_t pc) {
  if (c->stale) {
    arena_clear(c->code);
    c->stale = false;
  }
  core_reset_registers(c);
  clear_ring(c);
  if (c->strict_state)
    core_strict_reset(c->strict_state);
  c->pc = pc;
  c->at = NULL;
  c->delay = 0;
  forget_banks(c);
  c->stalled = STALL_NONE;
  c->pending_count = 0;
  c->waiting_lock = -1;
  c->done = c->failed = false;
  c->draining = 0;
  c->diag = (struct diag){0};
}

void core_enable(struct core *c, bool enabled) { c->enabled = enabled; }

void core_strict(struct core *c, bool strict) {
  if (strict && !c->strict_memory)
    c->strict_memory = core_strict_open(c->arena);
  c->strict_state = strict ? c->strict_memory : NULL;
  if (strict)
    core_strict_reset(c->strict_state);
}

/* ---- memory ---- */

/* A bank has at most this many accesses of one bundle's cycle. */
enum { MOST_HITS = 7 };
#define BANK_ONES 0x0101010101010101u

/* A bit for every byte that is not 0. */
static uint32_t banks_of(uint64_t hits) {
  assert((hits & ~(MOST_HITS * BANK_ONES)) == 0);
  uint64_t low = (hits | hits >> 1 | hits >> 2) & BANK_ONES;
  /* Bit 0 of each byte moves up to its place in the top byte. */
  return (uint32_t)(low * 0x0102040810204080u >> 56);
}

/* A bank serves one access per cycle: takes one from each bank's, and returns
 * the banks that were used. */
static uint32_t serve_banks(uint64_t *hits) {
  uint64_t low = (*hits | *hits >> 1 | *hits >> 2) & BANK_ONES;
  uint32_t used = banks_of(*hits);
  *hits -= low;
  return used;
}

/* The banks that serve the core in this cycle, by core_step's bits; what is
 * left makes it stand still (timing.md 3.3). */
static inline uint32_t settle_banks(struct core *c) {
  enum { OWN = 3 };
  if (!c->bank_hits[OWN] && !c->neighbour_hit)
    return 0;
  uint32_t used = serve_banks(&c->bank_hits[OWN]);
  uint32_t left = c->bank_hits[OWN] ? banks_of(c->bank_hits[OWN]) : 0;
  for (int i = 0; c->neighbour_hit && i < OWN; ++i) {
    used |= serve_banks(&c->bank_hits[i]) << 8 * (i + 1);
    left |= banks_of(c->bank_hits[i]) << 8 * (i + 1);
  }
  c->neighbour_hit = left >> 8;
  c->bank_wait = left;
  c->conflicts = left;
  return used;
}

/* ---- one cycle of the pipeline ---- */

static void write_back(struct core *c, struct core_bucket *b) {
  uint8_t *reg = (uint8_t *)&c->reg;
  for (unsigned i = 0; i < b->stores; ++i) {
    const struct core_store *s = &b->store[i];
    uint8_t *to = core_memory(c, s->op, s->address, s->bytes);
    if (to)
      core_copy(to, s->data, s->bytes);
  }
  for (unsigned i = 0; i < b->scalars; ++i)
    memcpy(reg + b->scalar[i].offset, &b->scalar[i].value, 4);
  for (unsigned i = 0; i < b->vectors; ++i)
    core_copy(reg + b->head[i].offset, b->vector[i], b->head[i].bytes);
  b->actions = b->stores = b->scalars = b->vectors = 0;
}

static void pipeline_cycle(struct core *c, const struct core_bundle *bundle) {
  struct core_bucket *b = core_bucket(c, 0);
  for (unsigned i = 0; i < b->actions; ++i)
    b->action[i].run(c, &b->action[i]);
  if (bundle)
    for (int i = 0; i < bundle->op_count; ++i)
      bundle->op[i].issue(c, &bundle->op[i]);
  write_back(c, b);
  c->now++;
}

/* Where the next bundle comes from (isa.md D6, D7).  loop_end: this one was the
 * last of a hardware loop when it was fetched. */
static void advance(struct core *c, struct core_bundle *bundle, bool loop_end) {
  assert(c->delay >= 0 && c->delay <= DELAY_SLOTS + 1);
  c->pc = bundle->address + bundle->size;
  c->at = bundle->next;
  if (c->delay) {
    if (--c->delay)
      return;
    c->pc = c->target;
    c->at = NULL;
  } else if (loop_end && --c->reg.lc) {
    c->pc = c->reg.ls;
    c->at = NULL;
  }
}

/* Many cores take turns in one cache: what the next bundle needs is asked for
 * while this one runs. */
static void prefetch_bundle(const struct core_bundle *b) {
  enum { LINES = 6 }; /* its head and five operations */
  for (int i = 0; b && i < LINES; ++i)
    __builtin_prefetch((const char *)b + 64 * i);
}

static struct core_bundle *next_bundle(struct core *c) {
  if (c->at)
    return c->at;
  return c->at = core_fetch(c, c->pc);
}

/* Tries what the last bundle waits for; true when the core may go on in this
 * cycle. */
static bool settle_pending(struct core *c) {
  int left = 0;
  bool lock = false;
  c->stalled = STALL_NONE;
  c->waiting_lock = -1;
  for (int i = 0; i < c->pending_count; ++i) {
    struct core_pending p = c->pending[i];
    bool served = p.attempt(c, &p);
    lock |= p.stall == STALL_LOCK;
    if (served)
      continue;
    c->stalled = p.stall;
    if (p.stall == STALL_LOCK)
      c->waiting_lock = (int)p.id;
    c->pending[left++] = p;
  }
  c->pending_count = left;
  /* A lock operation costs a cycle of its own (timing.md Q3). */
  if (c->stalled == STALL_NONE && lock)
    c->stalled = STALL_LOCK;
  return c->stalled == STALL_NONE;
}

/* The program has ended: what is in flight still lands, in its cycles. */
static void drain(struct core *c, uint32_t *banks) {
  c->stalled = STALL_NONE;
  if (!c->bank_wait) {
    pipeline_cycle(c, NULL);
    c->draining--;
  }
  *banks = settle_banks(c);
}

static bool is_over(const struct core *c) {
  return c->done && !c->draining && !c->bank_wait;
}

void core_step(struct core *c, uint32_t *banks) {
  *banks = 0;
  c->conflicts = 0;
  if (!c->enabled || c->failed || is_over(c)) {
    c->stalled = STALL_NONE;
    return;
  }
  if (c->done) {
    drain(c, banks);
    return;
  }
  c->counts.cycles++;
  if (c->bank_wait) {
    c->stalled = STALL_MEMORY;
    *banks = settle_banks(c);
  } else if (c->pending_count) {
    settle_pending(c);
  } else {
    c->stalled = STALL_NONE;
  }
  if (c->stalled != STALL_NONE) {
    c->counts.stall[c->stalled]++;
    return;
  }
  struct core_bundle *bundle = next_bundle(c);
  if (!bundle)
    return;
  prefetch_bundle(bundle->next);
  bool loop_end = bundle->address == c->reg.le && c->reg.lc;
  if (c->strict_state)
    core_strict_bundle(c, bundle, loop_end);
  c->wide = 0;
  pipeline_cycle(c, bundle);
  *banks = settle_banks(c);
  c->counts.bundles++;
  c->counts.macs += bundle->macs;
  bundle->executions++;
  advance(c, bundle, loop_end);
  if (!c->at && !c->failed && c->pc == bundle->address + bundle->size &&
      !c->done)
    c->at = bundle->next = core_fetch(c, c->pc);
  if (c->done)
    c->draining = RING;
}

/* ---- questions ---- */

enum core_state core_state(const struct core *c) {
  if (c->failed)
    return CORE_FAILED;
  if (is_over(c))
    return CORE_DONE;
  return c->enabled ? CORE_RUNNING : CORE_STOPPED;
}
enum core_stall core_stalled(const struct core *c) { return c->stalled; }
int core_waiting_lock(const struct core *c) { return c->waiting_lock; }
bool core_at_lock(const struct core *c) { return c->pending_count > 0; }
bool core_at_bank(const struct core *c) {
  return c->bank_wait && core_state(c) == CORE_RUNNING;
}
uint32_t core_conflicts(const struct core *c) { return c->conflicts; }
unsigned core_wide(const struct core *c) { return c->wide; }
uint32_t core_pc(const struct core *c) { return c->pc; }
const struct core_counts *core_counts(const struct core *c) {
  return &c->counts;
}

uint64_t core_slot_bundles(const struct core *c, int slot) {
  uint64_t bundles = c->slot_counts[slot];
  for (size_t i = 0; i < sizeof c->bundle / sizeof c->bundle[0]; ++i)
    if (c->bundle[i] && c->bundle[i]->slots >> slot & 1)
      bundles += c->bundle[i]->executions;
  return bundles;
}

const struct diag *core_diag(const struct core *c) { return &c->diag; }

static bool scalar_register(const struct core *c, const char *name,
                            struct core_place *p, uint32_t *mask) {
  int reg = isa_reg_find(c->around.isa, name, strlen(name));
  return reg >= 0 && isa_reg(c->around.isa, reg)->unit_count == 1 &&
         core_place_of(c, reg, p, mask) && p->bytes == 4;
}

bool core_read_register(const struct core *c, const char *name,
                        uint32_t *value) {
  struct core_place p;
  uint32_t mask;
  if (!scalar_register(c, name, &p, &mask))
    return false;
  *value = core_get(c, p);
  return true;
}

bool core_write_register(struct core *c, const char *name, uint32_t value) {
  struct core_place p;
  uint32_t mask;
  if (!scalar_register(c, name, &p, &mask))
    return false;
  value &= mask;
  if (c->strict_state)
    core_strict_given(c->strict_state,
                      isa_reg(c->around.isa,
                              isa_reg_find(c->around.isa, name, strlen(name))));
  memcpy((uint8_t *)&c->reg + p.offset, &value, sizeof value);
  return true;
}
