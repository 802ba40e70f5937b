/* sched.c -- gives every operation of a trace its cycle.
 *
 * The textbook way is modulo scheduling (Rau): pick an initiation interval,
 * place the operations of one loop iteration in a table that wraps around at
 * that interval, repeat with a larger one on failure, then derive prologue and
 * epilogue.  It does not fit here.  A matrix kernel is a nest (blocks of C,
 * then steps of K) whose inner trip counts are small: three quarters of the
 * cycles that the published 64x80x64 kernel loses lie where one C block hands
 * over to the next, most of the rest in ramp, drain and call.  All of that is
 * outside a modulo schedule of the inner loop.
 *
 * So we turn it round.  The generator writes the whole run of the kernel,
 * every block and every K step, as one straight trace of a few thousand
 * operations; we place all of it; afterwards fold.c looks for the repetition
 * in the finished bundles and rolls it up ("kernel recognition" in the
 * literature, Aiken and Nicolau 1988).  Hand-over, ramp and drain are then
 * scheduled like everything else, a loop costs nothing that the straight code
 * would not have cost, and rolling up cannot make a mistake: only equal bundles
 * are folded, so the executed sequence stays what was placed here.
 *
 * Placing is greedy, in program order, one operation at a time, each in the
 * first cycle that is allowed, also in gaps left before operations that are
 * placed already.  Allowed means:
 *
 *   - operands: not before the values are readable (facts D1), not so early
 *     that a result would land before the last reader of the register's old
 *     value or before the previous writer, and not before that writer is
 *     issued.  A load lands six bundles after its issue, so it may issue while
 *     its register is still being read: this shadow is what lets twelve vector
 *     registers suffice.
 *   - resources: the slot, the units (facts D3), and the memory bank of the
 *     operation's stream in the cycle in which it touches memory (facts D4).
 *
 * Because the generator emits a load right before the first multiply that
 * needs it, program order is order of need, and the greedy choice is earliest
 * deadline first.  An operation that can use two slots (loads of A) takes the
 * second one only when the first would be late for its multiply.
 *
 * Greedy placing has one weak spot: where two kinds of operations together fill
 * a resource (loads and stores of C their bank; loads of C and shuffles the
 * write port of the accumulators), they have to interlock, and early ones of
 * one kind push the other out.  The generator can confine operations to some
 * cycles modulo four (trace_op.phase) and keeps what turns out shorter.
 *
 * The result repeats because the trace does: all decisions depend on a finite
 * window of the past.  The cost is linear in the cycles of the kernel; a
 * 64x80x64 kernel takes about ten milliseconds.
 */
#include "kernel_trace.h"

enum {
  CLASH_REACH = 12,
  CLASH_IDS = 48,
  TAKE_TO_ACCESS = 4 /* bundles, facts D5 */
};

/* What the past of the trace says about one piece of register state. */
struct unit_state {
  int def_cycle, def_operand, def_end; /* issue, and the cycle it lands */
  enum insn_id def;                    /* INSN_NONE: as at entry */
  int read_end;                        /* last cycle that reads it */
};

/* The last access through a stream, and the last time its buffer was taken. */
struct stream_state {
  int issued, done; /* cycle of issue, of the access itself */
  int left;         /* done, of a product's last access */
  int taken, given;
};

struct placer {
  const struct trace *t;
  struct schedule *s;
  int capacity;
  uint8_t *bank; /* per cycle of memory: bit per bank in use */
  struct unit_state *unit;
  uint8_t clash_index[INSN_COUNT]; /* 0: none yet */
  int clash_ids;
  uint8_t clash[CLASH_IDS][CLASH_IDS][CLASH_REACH + 1];
  int last_mac;
  struct stream_state stream[TRACE_STREAMS];
};

static void grow(struct placer *p, int cycle) {
  if (cycle + 16 >= p->capacity) {
    int n = p->capacity, to = 2 * (cycle + 64);
    struct arena *a = p->t->arena;
    p->s->cycle = arena_copy(a, p->s->cycle, n, to, sizeof *p->s->cycle);
    p->bank = arena_copy(a, p->bank, n, to, sizeof *p->bank);
    p->capacity = to;
  }
}

/* The register of operand i, or -1.  Status flags are sticky: their writers
 * may come in any order and no kernel reads them. */
static int operand_reg(const struct isa_op *op, int i) {
  const struct isa_operand *o = &isa_insn(op->id)->operand[i];
  if (o->fixed_reg >= 0) {
    const char *name = isa_reg(o->fixed_reg)->name;
    return name[0] == 's' && name[1] == 'r' ? -1 : o->fixed_reg;
  }
  if (o->tied_to >= 0)
    return (int)op->operand[o->tied_to];
  if (o->operand_class < 0 || !isa_class(o->operand_class)->is_register)
    return -1;
  return (int)op->operand[i];
}

static int max(int a, int b) { return a > b ? a : b; }

/* The first cycle that the operands allow. */
static int ready_cycle(const struct placer *p, const struct isa_op *op) {
  const struct insn *insn = isa_insn(op->id);
  int cycle = 0;
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_operand *o = &insn->operand[i];
    int reg = operand_reg(op, i);
    if (reg < 0)
      continue;
    for (int u = 0; u < isa_reg(reg)->unit_count; u++) {
      const struct unit_state *s = &p->unit[isa_reg(reg)->unit[u]];
      if (o->read && s->def)
        cycle = max(cycle, s->def_cycle +
                               isa_distance(s->def, s->def_operand, op->id, i));
      if (o->written) {
        if (s->def)
          cycle =
              max(cycle, max(s->def_cycle, s->def_end + 2 - o->write_cycle));
        cycle = max(cycle, s->read_end + 1 - o->write_cycle);
      }
    }
  }
  return cycle;
}

/* The first cycle that other streams and locks allow. */
static int wait_cycle(const struct placer *p, const struct trace_op *o) {
  const struct stream_state *s = &p->stream[o->wait_for];
  switch (o->wait) {
  case WAIT_NOTHING:
    return 0;
  case WAIT_ISSUED:
    return s->issued;
  case WAIT_GIVEN:
    return max(s->issued, s->given + 1);
  case WAIT_DONE:
    return s->done;
  case WAIT_LEFT:
    return s->left;
  case WAIT_TAKEN:
    return s->taken + TAKE_TO_ACCESS;
  }
  return 0;
}

static void record(struct placer *p, const struct isa_op *op, int cycle) {
  const struct insn *insn = isa_insn(op->id);
  for (int written = 0; written < 2; written++)
    for (int i = 0; i < insn->operand_count; i++) {
      const struct isa_operand *o = &insn->operand[i];
      int reg = operand_reg(op, i);
      if (reg < 0 || !(written ? o->written : o->read))
        continue;
      for (int u = 0; u < isa_reg(reg)->unit_count; u++) {
        struct unit_state *s = &p->unit[isa_reg(reg)->unit[u]];
        if (written)
          *s = (struct unit_state){cycle, i, cycle + o->write_cycle - 1, op->id,
                                   -1};
        else
          s->read_end = max(s->read_end, cycle + o->read_cycle - 1);
      }
    }
}

static bool slot_free(const struct cycle *c, enum isa_slot slot) {
  if (c->slot[slot])
    return false;
  if (slot == SLOT_LNG)
    return !c->slot[SLOT_ALU] && !c->slot[SLOT_MV];
  return !(slot == SLOT_ALU || slot == SLOT_MV) || !c->slot[SLOT_LNG];
}

/* Units that an operation holds depend on its registers only if it writes
 * scalar or address registers. */
static bool fixed_units(enum insn_id id) {
  const struct insn *insn = isa_insn(id);
  return insn->slot != SLOT_ALU && insn->slot != SLOT_LNG &&
         insn->mnemonic[0] == 'v';
}

/* A small number for an instruction, for the table of clashes; -1: none. */
static int clash_index(struct placer *p, enum insn_id id) {
  if (!p->clash_index[id] && p->clash_ids < CLASH_IDS && fixed_units(id))
    p->clash_index[id] = ++p->clash_ids;
  return p->clash_index[id] - 1;
}

/* isa_unit_clash, remembered where it does not depend on registers. */
static bool clash(struct placer *p, const struct isa_op *a,
                  const struct isa_op *b, int distance) {
  enum { UNKNOWN, FREE, CLASH };
  int i = clash_index(p, a->id), j = clash_index(p, b->id);
  if (i < 0 || j < 0)
    return isa_unit_clash(a, b, distance) != NULL;
  uint8_t *known = &p->clash[i][j][distance];
  if (*known == UNKNOWN)
    *known = isa_unit_clash(a, b, distance) ? CLASH : FREE;
  return *known == CLASH;
}

static bool units_free(struct placer *p, const struct isa_op *op, int cycle) {
  for (int c = max(0, cycle - CLASH_REACH); c <= cycle + CLASH_REACH; c++) {
    if (c >= p->s->count)
      break;
    for (int i = 0; i < SLOT_COUNT; i++) {
      const struct isa_op *other = p->s->cycle[c].slot[i];
      if (other && (c <= cycle ? clash(p, other, op, cycle - c)
                               : clash(p, op, other, c - cycle)))
        return false;
    }
  }
  return true;
}

static unsigned bank_bit(const struct placer *p, const struct trace_op *o) {
  return o->stream < 0 ? 0 : 1u << p->t->stream[o->stream].bank;
}

static int first_free(struct placer *p, const struct trace_op *o,
                      const struct isa_op *op, int cycle) {
  const struct insn *insn = isa_insn(op->id);
  for (;; cycle++) {
    grow(p, cycle);
    if (op == &o->op && o->phase && !(o->phase >> cycle % 4 & 1))
      continue;
    if (slot_free(&p->s->cycle[cycle], insn->slot) &&
        !(p->bank[cycle + insn->memory_cycle] & bank_bit(p, o)) &&
        units_free(p, op, cycle))
      return cycle;
  }
}

static void put(struct placer *p, const struct trace_op *o,
                const struct isa_op *op, int cycle) {
  const struct insn *insn = isa_insn(op->id);
  struct schedule *s = p->s;
  s->cycle[cycle].slot[insn->slot] = op;
  p->bank[cycle + insn->memory_cycle] |= bank_bit(p, o);
  if (o->note)
    s->cycle[cycle].note = o->note;
  s->count = max(s->count, cycle + 1);
  if (insn->flags & INSN_MAC)
    p->last_mac = max(p->last_mac, cycle);
  if (o->stream >= 0) {
    p->stream[o->stream].issued = cycle;
    p->stream[o->stream].done = cycle + insn->memory_cycle - 1;
    if (o->leaves)
      p->stream[o->stream].left = p->stream[o->stream].done;
  }
  s->uses_locks |= (insn->flags & INSN_LOCK) != 0;
  if (o->takes >= 0)
    p->stream[o->takes].taken = cycle;
  if (o->gives >= 0)
    p->stream[o->gives].given = cycle;
  if (o->begins && !s->loop[o->begins - 1])
    s->loop[o->begins - 1] = cycle;
  record(p, op, cycle);
}

/* A buffer was taken early enough for its first access, which is placed now;
 * taking it as late as that allows shortens the time for which two buffers of
 * the ring are held, when the DMA can do nothing. */
static void sink_take(struct placer *p, int stream, int access) {
  struct stream_state *s = &p->stream[stream];
  struct cycle *at = &p->s->cycle[s->taken];
  const struct isa_op *op = at->slot[SLOT_ALU];
  at->slot[SLOT_ALU] = NULL;
  int cycle = access - TAKE_TO_ACCESS;
  while (cycle > s->taken && !(slot_free(&p->s->cycle[cycle], SLOT_ALU) &&
                               units_free(p, op, cycle)))
    cycle--;
  p->s->cycle[cycle].slot[SLOT_ALU] = op;
  s->taken = cycle;
}

static void place(struct placer *p, const struct trace_op *o) {
  const struct isa_op *op = &o->op;
  int allowed = wait_cycle(p, o);
  if (o->begins)
    allowed = max(allowed, p->s->loop[o->begins - 1]);
  int cycle = first_free(p, o, op, max(allowed, ready_cycle(p, op)));
  struct isa_op alternative = *op;
  alternative.id = o->other;
  if (o->other) {
    int needed = p->last_mac + 1 - 7; /* load to use (facts D2) */
    if (cycle > needed) {
      int other = first_free(p, o, &alternative,
                             max(allowed, ready_cycle(p, &alternative)));
      if (other < cycle) {
        op = arena_copy(p->t->arena, &alternative, 1, 1, sizeof alternative);
        cycle = other;
      }
    }
  }
  put(p, o, op, cycle);
  if (o->wait == WAIT_TAKEN && o->opens)
    sink_take(p, o->wait_for, cycle);
}

/* `ret lr` so early that its five delay slots end with the last bundle. */
static void place_return(struct placer *p) {
  static const struct trace_op ret = {.op.id = INSN_RET, .stream = -1};
  int cycle = first_free(p, &ret, &ret.op, max(0, p->s->count - 6));
  put(p, &ret, &ret.op, cycle);
  grow(p, cycle + 6);
  p->s->count = max(p->s->count, cycle + 6);
}

struct isa_bundle kernel_sched_bundle(const struct schedule *s, int cycle) {
  struct isa_bundle b = {0};
  for (int i = 0; i < SLOT_COUNT; i++)
    if (s->cycle[cycle].slot[i])
      b.slot[i] = *s->cycle[cycle].slot[i];
  return b;
}

bool kernel_sched_place(const struct trace *t, struct schedule *s) {
  if (t->diag->kind != DIAG_NONE)
    return false;
  *s = (struct schedule){0};
  struct placer *p = arena_alloc(t->arena, sizeof *p);
  p->t = t;
  p->s = s;
  p->last_mac = -1;
  p->unit = arena_array(t->arena, isa_unit_count(), sizeof *p->unit);
  for (int i = 0; i < isa_unit_count(); i++)
    p->unit[i].read_end = -1;
  grow(p, 0);
  for (int i = 0; i < t->count; i++)
    place(p, &t->op[i]);
  place_return(p);
  return true;
}
