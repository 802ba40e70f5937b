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
 *   - operands: not before the values are readable (isa.md D1), not so early
 *     that a result would land before the last reader of the register's old
 *     value or before the previous writer, and not before that writer is
 *     issued.  A load lands six bundles after its issue, so it may issue while
 *     its register is still being read: this shadow is what lets twelve vector
 *     registers suffice.
 *   - resources: the slot, the units (isa.md D3), and the memory bank of the
 *     operation's stream in the cycle in which it touches memory (isa.md D4).
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
 * Many blocks of K in a row (kernel_gemm_steps) are no special case: the trace
 * goes on with the next buffers, and their first loads fall into the gaps of
 * the last block.  Locks are operations like others that wait for a stream
 * (trace_op.wait).  A buffer is acquired no earlier than its stream has come to
 * the end of the one before; once the first load from it is placed, the take
 * sinks as far as that load allows.  It is released behind its last load.  So
 * two buffers of a ring are held for a few cycles only, and the DMA, which
 * needs as long to fill a buffer as the kernel to use it, hardly waits.
 *
 * The result repeats because the trace does: all decisions depend on a finite
 * window of the past.  The cost is linear in the cycles of the kernel; a
 * 64x80x64 kernel takes about five milliseconds.
 */
#include "kernel_trace.h"

#include <assert.h>

enum {
  ACQUIRE_TO_ACCESS = 4, /* bundles, isa.md D5 */
  DMA_PERIOD = 4 /* cycles between two accesses of a channel, timing.md B13 */
};

enum { BYPASSES = BYPASS_VEC + 1 };

/* What the past of the trace says about one piece of register state. */
struct unit_state {
  int def_cycle, def_end;        /* issue, and the cycle it lands */
  const struct isa_operand *def; /* NULL: as at entry */
  int read_end[BYPASSES];        /* last cycle that reads it, by bypass: with
                                    the same one it sees a write a cycle early */
};

/* The last access through a stream, and the last time its buffer was acquired.
 */
struct stream_state {
  int issued, done; /* cycle of issue, of the access itself */
  int left;         /* done, of a product's last access */
  int acquired, released;
};

/* What is held in one cycle: units (isa.h), and a bit per bank of memory. */
struct held {
  uint32_t alone, shared;
  uint8_t bank;
};

struct placer {
  const struct trace *t;
  struct schedule *s;
  int capacity;
  struct held *held;
  struct unit_state *unit;
  int floor; /* first cycle that is not closed */
  struct stream_state stream[TRACE_STREAMS];
};

/* An operation to place: its registers and its units. */
struct candidate {
  const struct trace_op *of;
  const struct isa_op *op;
  const struct insn *insn;
  int use_count;
  struct {
    const struct isa_operand *operand;
    const struct isa_reg *reg;
  } use[ISA_MAX_OPERANDS];
  int hold_cycles;
  struct isa_holds holds;
};

static void extend(struct placer *p, int to) {
  int n = p->capacity;
  p->s->cycle = arena_copy(p->t->kept, p->s->cycle, n, to, sizeof *p->s->cycle);
  p->held = arena_copy(p->t->arena, p->held, n, to, sizeof *p->held);
  p->capacity = to;
}

static inline void grow(struct placer *p, int cycle) {
  if (cycle + 16 >= p->capacity)
    extend(p, 2 * (cycle + 64));
}

/* The register of operand i, or -1.  Status flags are sticky: their writers
 * may come in any order and no kernel reads them. */
static int operand_reg(const struct isa *isa, const struct insn *insn,
                       const struct isa_op *op, int i) {
  const struct isa_operand *o = &insn->operand[i];
  if (o->fixed_reg >= 0) {
    const char *name = isa_reg(isa, o->fixed_reg)->name;
    return name[0] == 's' && name[1] == 'r' ? -1 : o->fixed_reg;
  }
  if (o->tied_to >= 0)
    return isa_tied_register(isa, op, i);
  if (o->operand_class < 0 || !isa_class(isa, o->operand_class)->is_register)
    return -1;
  return (int)op->operand[i];
}

static struct candidate candidate_of(const struct isa *isa,
                                     const struct trace_op *of,
                                     const struct isa_op *op) {
  struct candidate c = {.of = of, .op = op, .insn = isa_insn(isa, op->id)};
  assert(!(c.insn->flags & INSN_UNTIMED)); /* no distance is right for it */
  for (int i = 0; i < c.insn->operand_count; i++) {
    int reg = operand_reg(isa, c.insn, op, i);
    if (reg < 0)
      continue;
    c.use[c.use_count].operand = &c.insn->operand[i];
    c.use[c.use_count++].reg = isa_reg(isa, reg);
  }
  c.hold_cycles = isa_unit_holds(isa, op, &c.holds);
  return c;
}

static int max(int a, int b) { return a > b ? a : b; }

/* Bundles from a definition to its use.  Modes, set once, may be written behind
 * an operation that reads them late; of a vector the one before that would be
 * taken for the value that is read. */
static int distance(const struct placer *p, const struct isa_operand *def,
                    const struct isa_operand *use, int unit) {
  enum { VECTOR_BITS = 128 };
  int least = isa_operand_distance(def, use);
  return isa_unit_bits(p->t->isa, unit) < VECTOR_BITS ? least : max(0, least);
}

/* The first cycle that the operands allow. */
static int ready_cycle(const struct placer *p, const struct candidate *c) {
  int cycle = 0;
  for (int i = 0; i < c->use_count; i++) {
    const struct isa_operand *o = c->use[i].operand;
    const struct isa_reg *r = c->use[i].reg;
    for (int u = 0; u < r->unit_count; u++) {
      const struct unit_state *s = &p->unit[r->unit[u]];
      if (o->read && s->def)
        cycle = max(cycle, s->def_cycle + distance(p, s->def, o, r->unit[u]));
      if (o->written) {
        if (s->def)
          cycle =
              max(cycle, max(s->def_cycle, s->def_end + 2 - o->write_cycle));
        for (int b = 0; b < BYPASSES; b++)
          cycle = max(cycle, s->read_end[b] + 1 - o->write_cycle +
                                 (b && b == (int)o->bypass));
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
  case WAIT_RELEASED:
    return max(s->issued, s->released + 1);
  case WAIT_DONE:
    return s->done;
  case WAIT_LEFT:
    return s->left;
  case WAIT_TAKEN:
    return s->acquired + ACQUIRE_TO_ACCESS;
  }
  return 0;
}

static void record(struct placer *p, const struct candidate *c, int cycle) {
  for (int written = 0; written < 2; written++)
    for (int i = 0; i < c->use_count; i++) {
      const struct isa_operand *o = c->use[i].operand;
      const struct isa_reg *r = c->use[i].reg;
      if (!(written ? o->written : o->read))
        continue;
      for (int u = 0; u < r->unit_count; u++) {
        struct unit_state *s = &p->unit[r->unit[u]];
        if (written)
          *s = (struct unit_state){
              cycle, cycle + o->write_cycle - 1, o, {-1, -1, -1}};
        else
          s->read_end[o->bypass] =
              max(s->read_end[o->bypass], cycle + o->read_cycle - 1);
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

static bool units_free(const struct placer *p, const struct candidate *c,
                       int cycle) {
  for (int i = 0; i < c->hold_cycles; i++) {
    const struct held *h = &p->held[cycle + i];
    uint32_t alone = c->holds.alone[i], any = alone | c->holds.shared[i];
    if ((h->alone & any) || (h->shared & alone))
      return false;
  }
  return true;
}

static void hold_units(struct placer *p, const struct candidate *c, int cycle) {
  for (int i = 0; i < c->hold_cycles; i++) {
    p->held[cycle + i].alone |= c->holds.alone[i];
    p->held[cycle + i].shared |= c->holds.shared[i];
  }
}

static uint8_t bank_bit(const struct placer *p, const struct candidate *c) {
  const struct trace_op *o = c->of;
  return o->stream < 0 || !c->insn->memory_cycle
             ? 0
             : (uint8_t)(1u << p->t->stream[o->stream].bank);
}

static int first_free(struct placer *p, const struct candidate *c, int cycle) {
  const struct trace_op *o = c->of;
  bool phased = c->op == &o->op && o->phase;
  uint8_t bank = bank_bit(p, c);
  int dma = o->stream < 0 ? -1 : p->t->stream[o->stream].dma_cycle;
  for (;; cycle++) {
    grow(p, cycle);
    if (phased && !(o->phase >> cycle % 4 & 1))
      continue;
    if ((cycle + c->insn->memory_cycle) % DMA_PERIOD == dma)
      continue;
    if (slot_free(&p->s->cycle[cycle], c->insn->slot) &&
        !(p->held[cycle + c->insn->memory_cycle].bank & bank) &&
        units_free(p, c, cycle))
      return cycle;
  }
}

/* What the streams and the loop over steps remember of an operation. */
static void note_stream(struct placer *p, const struct candidate *c,
                        int cycle) {
  const struct trace_op *o = c->of;
  struct schedule *s = p->s;
  if (o->stream >= 0 && c->insn->memory_cycle) {
    struct stream_state *x = &p->stream[o->stream];
    x->issued = cycle;
    x->done = cycle + c->insn->memory_cycle - 1;
    s->access[s->access_count++] =
        (struct schedule_access){x->done, o->stream, o->offset};
    if (o->leaves)
      x->left = x->done;
  }
  if (o->acquires >= 0)
    p->stream[o->acquires].acquired = cycle;
  if (o->releases >= 0)
    p->stream[o->releases].released = cycle;
  if (o->begins && !s->loop[o->begins - 1])
    s->loop[o->begins - 1] = cycle;
  s->uses_locks |= o->acquires >= 0 || o->releases >= 0;
}

static void put(struct placer *p, const struct candidate *c, int cycle) {
  struct schedule *s = p->s;
  s->cycle[cycle].slot[c->insn->slot] = c->op;
  p->held[cycle + c->insn->memory_cycle].bank |= bank_bit(p, c);
  if (c->of->note)
    s->cycle[cycle].note = c->of->note;
  s->count = max(s->count, cycle + 1);
  if (c->insn->flags & INSN_MAC) {
    if (s->first_mac < 0 || cycle < s->first_mac)
      s->first_mac = cycle;
    s->last_mac = max(s->last_mac, cycle);
  }
  hold_units(p, c, cycle);
  note_stream(p, c, cycle);
  record(p, c, cycle);
}

/* A buffer was acquired early enough for its first access, which is placed now;
 * taking it as late as that allows shortens the time for which two buffers of
 * the ring are held, when the DMA can do nothing. */
static void sink_take(struct placer *p, int stream, int access) {
  static const struct trace_op lock = {.stream = -1};
  struct stream_state *s = &p->stream[stream];
  struct candidate c =
      candidate_of(p->t->isa, &lock, p->s->cycle[s->acquired].slot[SLOT_ALU]);
  p->s->cycle[s->acquired].slot[SLOT_ALU] = NULL;
  for (int i = 0; i < c.hold_cycles; i++)
    p->held[s->acquired + i].alone &= ~c.holds.alone[i];
  int cycle = access - ACQUIRE_TO_ACCESS;
  while (cycle > s->acquired && !(slot_free(&p->s->cycle[cycle], SLOT_ALU) &&
                                  units_free(p, &c, cycle)))
    cycle--;
  p->s->cycle[cycle].slot[SLOT_ALU] = c.op;
  hold_units(p, &c, cycle);
  s->acquired = cycle;
}

static void place(struct placer *p, const struct trace_op *o) {
  enum { LOAD_TO_USE = 7 }; /* isa.md D2 */
  struct candidate c = candidate_of(p->t->isa, o, &o->op);
  if (o->apart)
    p->floor = p->s->count;
  int allowed = max(p->floor, wait_cycle(p, o));
  if (o->begins)
    allowed = max(allowed, p->s->loop[o->begins - 1]);
  int cycle = first_free(p, &c, max(allowed, ready_cycle(p, &c)));
  if (o->other && cycle > p->s->last_mac + 1 - LOAD_TO_USE) {
    struct isa_op *op = arena_copy(p->t->kept, &o->op, 1, 1, sizeof *op);
    op->id = o->other;
    struct candidate alternative = candidate_of(p->t->isa, o, op);
    int other =
        first_free(p, &alternative, max(allowed, ready_cycle(p, &alternative)));
    if (other < cycle) {
      c = alternative;
      cycle = other;
    }
  }
  put(p, &c, cycle);
  if (o->opens)
    sink_take(p, o->wait_for, cycle);
}

/* `ret lr` so early that its five delay slots end with the last bundle. */
static void place_return(struct placer *p) {
  const struct trace_op ret = {.op.id = p->t->machine->insn[KERNEL_RETURN],
                               .stream = -1,
                               .acquires = -1,
                               .releases = -1};
  const struct isa_op *op = arena_copy(p->t->kept, &ret.op, 1, 1, sizeof *op);
  struct candidate c = candidate_of(p->t->isa, &ret, op);
  int cycle = first_free(p, &c, max(0, p->s->count - 6));
  put(p, &c, cycle);
  grow(p, cycle + 6);
  p->s->count = max(p->s->count, cycle + 6);
}

bool kernel_sched_place(const struct trace *t, struct schedule *s) {
  if (t->diag->kind != DIAG_NONE)
    return false;
  *s = (struct schedule){.machine = t->machine,
                         .isa = t->isa,
                         .branches = t->machine->branches,
                         .first_mac = -1,
                         .last_mac = -1};
  s->access = arena_array(t->kept, (size_t)t->count + 1, sizeof *s->access);
  struct placer *p = arena_alloc(t->arena, sizeof *p);
  p->t = t;
  p->s = s;
  p->unit = arena_array(t->arena, isa_unit_count(t->isa), sizeof *p->unit);
  for (int i = 0; i < isa_unit_count(t->isa); i++)
    for (int b = 0; b < BYPASSES; b++)
      p->unit[i].read_end[b] = -1;
  grow(p, 0);
  for (int i = 0; i < t->count; i++)
    place(p, &t->op[i]);
  place_return(p);
  return true;
}
