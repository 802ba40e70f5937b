/* core_strict.c -- strict mode: the rules that the hardware does not enforce
 * (isa.md D), watched while a program runs.
 *
 * An instruction that reads too early gets the value that was there before.
 * Good code uses that, so an early read by itself is no error; it is one when
 * the value that program order gives to the reader is lost, that is overwritten
 * without having been read by anybody, or when there was no earlier value in a
 * vector or accumulator register.  For this every unit of register state keeps
 * the value that has landed and those in flight, each with the instruction that
 * wrote it.  npu/asm/check.c judges program text by the same rule.
 *
 * Further: two instructions that hold one unit in a cycle, accesses too close
 * to an operation on the lock that guards them, branches to unaligned places,
 * and the rules of the hardware loop.
 */
#include "core_state.h"

#include <stddef.h>
#include <stdlib.h>

enum {
  HISTORY = 16,           /* bundles, beyond every hold and latency */
  MAX_ACCESSES = 48,      /* to memory in so many bundles */
  MAX_FLIGHT = 24,        /* values of one unit in flight */
  MAX_EVENTS = 128,       /* reads, or landings, in one cycle */
  LOOP_SETUP_BYTES = 112, /* isa.md D7 */
  ACQUIRE_TO_ACCESS = 4,  /* bundles, isa.md D5 */
  PART_WORD_CYCLE = 11,
};

/* An operand of an issued instruction; id INSN_NONE: from before the start. */
struct access {
  enum insn_id id;
  uint8_t operand;
  uint32_t address; /* of its bundle */
  uint32_t issued;  /* pipeline cycle */
};

struct value {
  struct access writer;
  uint32_t lands; /* last cycle that does not see it */
  uint8_t bypass;
  bool read;
  struct access early; /* the closest reader that came too early */
};

struct unit_state {
  struct value landed;
  int flight_count;
  struct value flight[MAX_FLIGHT]; /* in the order of their issue */
  bool known;                      /* ever written, or given from outside */
};

struct read_event {
  struct access reader;
  int reg;
};

struct core_strict_state {
  struct unit_state unit[CORE_UNITS];
  struct {
    int reads, landings;
    struct read_event read[MAX_EVENTS];
    struct {
      int unit;
      uint32_t issued;
    } landing[MAX_EVENTS];
  } ring[HISTORY];
  struct {
    const struct core_bundle *bundle;
    uint32_t issued;
  } history[HISTORY];
  struct {
    enum insn_id id;
    uint32_t issued, address; /* address: of the data */
  } accessed[MAX_ACCESSES];
  unsigned accesses;   /* so far */
  uint32_t loop_setup; /* address of the last bundle that wrote ls, le or lc */
};

struct core_strict_state *core_strict_open(struct arena *a) {
  return arena_alloc(a, sizeof(struct core_strict_state));
}

void core_strict_reset(struct core_strict_state *s) { memset(s, 0, sizeof *s); }

/* A register was set from outside: it has a value. */
void core_strict_given(struct core_strict_state *s, const struct isa_reg *r) {
  for (int i = 0; i < r->unit_count; ++i)
    s->unit[r->unit[i]].known = true;
}

static const char *name_of(const struct core *c, enum insn_id id) {
  return isa_insn(c->around.isa, id)->mnemonic;
}

static int register_of(const struct core *c, const struct isa_op *op,
                       int operand) {
  const struct isa_operand *o =
      &isa_insn(c->around.isa, op->id)->operand[operand];
  if (o->fixed_reg >= 0)
    return o->fixed_reg;
  if (o->operand_class < 0 ||
      isa_class(c->around.isa, o->operand_class)->is_register)
    return (int)op->operand[operand];
  return -1;
}

/* ---- values ---- */

static bool is_visible(const struct value *v, uint32_t cycle, uint8_t bypass) {
  bool shortcut = bypass != BYPASS_NONE && bypass == v->bypass;
  return (int32_t)(cycle - v->lands) >= (shortcut ? 0 : 1);
}

static const char *unit_name(const struct core *c, int unit) {
  for (int r = 0; r < isa_reg_count(c->around.isa); ++r)
    if (isa_reg(c->around.isa, r)->unit_count == 1 &&
        isa_reg(c->around.isa, r)->unit[0] == unit)
      return isa_reg(c->around.isa, r)->name;
  return "?";
}

static void report(struct core *c, int unit, const struct value *v,
                   const struct access *reader) {
  core_fail(c, NULL,
            "%s of '%s' at 0x%x is lost: '%s' at 0x%x reads it %d bundles "
            "behind, which takes %d",
            unit_name(c, unit), name_of(c, v->writer.id), v->writer.address,
            name_of(c, reader->id), reader->address,
            (int)(reader->issued - v->writer.issued),
            isa_distance(c->around.isa, v->writer.id, v->writer.operand,
                         reader->id, reader->operand));
}

/* A reader meets a unit: it sees the last value that is visible, and wants the
 * last one issued before it. */
static void meet(struct core *c, int unit, const struct access *reader) {
  struct unit_state *u = &c->strict_state->unit[unit];
  const struct isa_operand *o =
      &isa_insn(c->around.isa, reader->id)->operand[reader->operand];
  struct value *wanted = &u->landed, *seen = &u->landed;
  for (int i = 0; i < u->flight_count; ++i) {
    struct value *v = &u->flight[i];
    if ((int32_t)(v->writer.issued - reader->issued) < 0)
      wanted = v;
    if (is_visible(v, c->now, (uint8_t)o->bypass))
      seen = v;
  }
  seen->read = true;
  if (seen == wanted)
    return;
  if (wanted->early.id == INSN_NONE)
    wanted->early = *reader;
  bool is_vector = c->unit[unit].bytes >= 32;
  if (is_vector && !u->known && wanted->writer.id != INSN_NONE)
    report(c, unit, wanted, reader);
}

static void land(struct core *c, int unit, uint32_t issued) {
  struct unit_state *u = &c->strict_state->unit[unit];
  int i = 0;
  while (i < u->flight_count && u->flight[i].writer.issued != issued)
    ++i;
  if (i == u->flight_count)
    return;
  if (!u->landed.read && u->landed.early.id != INSN_NONE)
    report(c, unit, &u->landed, &u->landed.early);
  u->landed = u->flight[i];
  u->known = true;
  memmove(u->flight + i, u->flight + i + 1,
          (size_t)(u->flight_count - i - 1) * sizeof u->flight[0]);
  u->flight_count--;
}

static void take_operands(struct core *c, const struct core_bundle *b,
                          const struct isa_op *op) {
  struct core_strict_state *s = c->strict_state;
  const struct insn *insn = isa_insn(c->around.isa, op->id);
  for (int i = 0; i < insn->operand_count; ++i) {
    const struct isa_operand *o = &insn->operand[i];
    int reg = register_of(c, op, i);
    struct access a = {op->id, (uint8_t)i, b->address, c->now};
    if (reg < 0)
      continue;
    const struct isa_reg *r = isa_reg(c->around.isa, reg);
    unsigned when = (c->now + (unsigned)o->read_cycle - 1) % HISTORY;
    if (o->read && s->ring[when].reads < MAX_EVENTS)
      s->ring[when].read[s->ring[when].reads++] = (struct read_event){a, reg};
    for (int k = 0; o->written && k < r->unit_count; ++k) {
      struct unit_state *u = &s->unit[r->unit[k]];
      uint32_t lands = c->now + (uint32_t)o->write_cycle - 1;
      int *landings = &s->ring[lands % HISTORY].landings;
      if (!(o->written_units >> k & 1) || u->flight_count == MAX_FLIGHT ||
          *landings == MAX_EVENTS)
        continue;
      u->flight[u->flight_count++] = (struct value){
          .writer = a, .lands = lands, .bypass = (uint8_t)o->bypass};
      s->ring[lands % HISTORY].landing[*landings].unit = r->unit[k];
      s->ring[lands % HISTORY].landing[(*landings)++].issued = c->now;
    }
  }
}

static void settle_values(struct core *c) {
  struct core_strict_state *s = c->strict_state;
  unsigned now = c->now % HISTORY;
  for (int i = 0; i < s->ring[now].reads; ++i) {
    const struct read_event *e = &s->ring[now].read[i];
    const struct isa_reg *r = isa_reg(c->around.isa, e->reg);
    for (int k = 0; k < r->unit_count; ++k)
      meet(c, r->unit[k], &e->reader);
  }
  for (int i = 0; i < s->ring[now].landings; ++i)
    land(c, s->ring[now].landing[i].unit, s->ring[now].landing[i].issued);
  s->ring[now].reads = s->ring[now].landings = 0;
}

/* ---- pairs of instructions ---- */

/* Accesses to the stack are nobody else's business. */
static bool is_access(const struct core *c, const struct isa_op *op) {
  const struct insn *insn = isa_insn(c->around.isa, op->id);
  return insn->memory_cycle && !strstr(insn->syntax, "[sp");
}

static bool is_release(const struct core *c, const struct isa_op *op) {
  return strncmp(name_of(c, op->id), "rel", 3) == 0;
}

static void check_distance(struct core *c, enum insn_id a, enum insn_id b,
                           int distance, int needed) {
  if (distance < needed)
    core_fail(c, NULL, "'%s' is %d bundles behind '%s'; memory order needs %d",
              name_of(c, b), distance, name_of(c, a), needed);
}

/* b is issued `distance` bundles behind a. */
static void check_pair(struct core *c, const struct isa_op *a, uint32_t at,
                       const struct isa_op *b, int distance) {
  const struct insn *x = isa_insn(c->around.isa, a->id),
                    *y = isa_insn(c->around.isa, b->id);
  const char *unit = isa_unit_clash(c->around.isa, a, b, distance);
  if (unit)
    core_fail(c, NULL, "'%s' needs the %s while '%s' at 0x%x holds it",
              y->mnemonic, unit, x->mnemonic, at);
  if (c->around.guards)
    return;
  if (is_access(c, a) && y->flags & INSN_LOCK && is_release(c, b))
    check_distance(c, a->id, b->id, distance, x->memory_cycle - 1);
  else if (x->flags & INSN_LOCK && !is_release(c, a) && is_access(c, b))
    check_distance(c, a->id, b->id, distance, ACQUIRE_TO_ACCESS);
}

static void check_pairs(struct core *c, const struct core_bundle *b) {
  struct core_strict_state *s = c->strict_state;
  for (int slot = 0; slot < SLOT_COUNT; ++slot) {
    const struct isa_op *op = &b->decoded->slot[slot];
    if (!(b->slots >> slot & 1))
      continue;
    for (int other = 0; other < slot; ++other)
      if (b->slots >> other & 1)
        check_pair(c, &b->decoded->slot[other], b->address, op, 0);
    for (unsigned back = 1; back < HISTORY; ++back) {
      uint32_t issued = c->now - back;
      const struct core_bundle *old = s->history[issued % HISTORY].bundle;
      if (!old || s->history[issued % HISTORY].issued != issued)
        continue;
      for (int other = 0; other < SLOT_COUNT; ++other)
        if (old->slots >> other & 1)
          check_pair(c, &old->decoded->slot[other], old->address, op,
                     (int)back);
    }
  }
}

/* ---- locks whose buffers are known ---- */

static const struct isa_op *lock_operation(const struct core *c,
                                           const struct core_bundle *b) {
  const struct isa_op *op = &b->decoded->slot[SLOT_ALU];
  bool is_lock = b->slots >> SLOT_ALU & 1 &&
                 isa_insn(c->around.isa, op->id)->flags & INSN_LOCK;
  return is_lock ? op : NULL;
}

static bool guards(struct core *c, const struct isa_op *lock,
                   uint32_t address) {
  int operand = (int)lock->operand[0];
  if (isa_class(c->around.isa,
                isa_insn(c->around.isa, lock->id)->operand[0].operand_class)
          ->is_register)
    return true; /* whichever lock it is */
  return c->around.guards(c->around.context, operand, !is_release(c, lock),
                          address);
}

/* What an acquire got is known in the bundle behind it; so accesses are judged
 * in the bundle behind theirs. */
static void check_acquires(struct core *c, unsigned access) {
  const struct core_strict_state *s = c->strict_state;
  for (int back = 0; back < ACQUIRE_TO_ACCESS; ++back) {
    uint32_t issued = c->now - 1 - (uint32_t)back;
    if (!s->history[issued % HISTORY].bundle ||
        s->history[issued % HISTORY].issued != issued)
      continue;
    const struct isa_op *lock =
        lock_operation(c, s->history[issued % HISTORY].bundle);
    if (lock && !is_release(c, lock) &&
        guards(c, lock, s->accessed[access].address))
      check_distance(c, lock->id, s->accessed[access].id, back,
                     ACQUIRE_TO_ACCESS);
  }
}

/* A release that is issued now comes `distance` bundles behind the access. */
static void check_release(struct core *c, const struct core_bundle *b,
                          unsigned access, uint32_t distance) {
  const struct core_strict_state *s = c->strict_state;
  enum insn_id id = s->accessed[access].id;
  const struct isa_op *lock = lock_operation(c, b);
  if (lock && is_release(c, lock) && distance < HISTORY &&
      guards(c, lock, s->accessed[access].address))
    check_distance(c, id, lock->id, (int)distance,
                   isa_insn(c->around.isa, id)->memory_cycle - 1);
}

static void check_locks(struct core *c, const struct core_bundle *b) {
  const struct core_strict_state *s = c->strict_state;
  unsigned count = s->accesses < MAX_ACCESSES ? s->accesses : MAX_ACCESSES;
  for (unsigned i = 0; i < count; ++i) {
    if (s->accessed[i].issued == c->now - 1)
      check_acquires(c, i);
    check_release(c, b, i, c->now - s->accessed[i].issued);
  }
}

/* The bundle under way accesses memory. */
void core_strict_access(struct core *c, enum insn_id id, uint32_t address) {
  struct core_strict_state *s = c->strict_state;
  unsigned i = s->accesses++ % MAX_ACCESSES;
  s->accessed[i].id = id;
  s->accessed[i].issued = c->now;
  s->accessed[i].address = address;
  if (c->around.guards)
    check_release(c, s->history[c->now % HISTORY].bundle, i, 0);
}

/* ---- control flow ---- */

static bool has_flag(const struct core *c, const struct core_bundle *b,
                     unsigned flag) {
  for (int i = 0; i < b->op_count; ++i)
    if (isa_insn(c->around.isa, (enum insn_id)b->op[i].insn)->flags & flag)
      return true;
  return false;
}

static void check_loop_end(struct core *c, const struct core_bundle *b) {
  uint32_t setup = c->strict_state->loop_setup;
  if (c->reg.ls % 16 || b->address % 16 || b->size != 16)
    core_fail(
        c, NULL,
        "hardware loop from 0x%x to 0x%x, whose last bundle has %u bytes; "
        "both are aligned to 16 and the last has 16",
        c->reg.ls, b->address, b->size);
  if (setup <= b->address && b->address - setup < LOOP_SETUP_BYTES)
    core_fail(c, NULL,
              "the hardware loop's last bundle is %u bytes behind its setup at "
              "0x%x; it takes %d",
              b->address - setup, setup, LOOP_SETUP_BYTES);
  for (int i = 0; i < b->op_count; ++i)
    if (b->op[i].memory == PART_WORD_CYCLE)
      core_fail(c, NULL,
                "'%s' in the last bundle of a hardware loop, where the store "
                "is lost",
                name_of(c, (enum insn_id)b->op[i].insn));
}

static void check_control(struct core *c, const struct core_bundle *b,
                          bool loop_end) {
  bool in_loop =
      c->reg.lc > 1 && b->address >= c->reg.ls && b->address <= c->reg.le;
  if (loop_end && c->reg.lc > 1)
    check_loop_end(c, b);
  if (in_loop && (c->delay || has_flag(c, b, INSN_BRANCH)))
    core_fail(c, NULL, "a branch or its delay slots inside a hardware loop");
  for (int i = 0; i < b->op_count; ++i) {
    uint32_t d = b->op[i].d.bytes ? b->op[i].d.offset : 0;
    if (d &&
        (d == CORE_OFFSET(ls) || d == CORE_OFFSET(le) || d == CORE_OFFSET(lc)))
      c->strict_state->loop_setup = b->address;
  }
  if (c->delay == 1 && c->target % 16)
    core_fail(c, NULL, "branch to 0x%x, which is not aligned to 16 bytes",
              c->target);
}

void core_strict_bundle(struct core *c, const struct core_bundle *b,
                        bool loop_end) {
  struct core_strict_state *s = c->strict_state;
  check_control(c, b, loop_end);
  check_pairs(c, b);
  if (c->around.guards)
    check_locks(c, b);
  for (int slot = 0; slot < SLOT_COUNT; ++slot)
    if (b->slots >> slot & 1)
      take_operands(c, b, &b->decoded->slot[slot]);
  settle_values(c);
  s->history[c->now % HISTORY].bundle = b;
  s->history[c->now % HISTORY].issued = c->now;
}
