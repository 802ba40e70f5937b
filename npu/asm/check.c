/* check.c -- the rules that the core does not enforce (isa.md D).
 *
 * The core has no interlocks: an operation that comes too early reads the value
 * that was there before.  Good code uses that, to load into a register whose
 * old value is still being read; so an early read by itself is no error.  It is
 * one when the value that program order gives to the reader is lost: no bundle
 * on any path reads it before it is overwritten.  The same holds for a late
 * read (a part-word store reads its data in cycle 7, vmac its accumulator in 3)
 * that finds the value of an operation behind it.  A vector or accumulator
 * register that nothing else writes has no old value, so there every early read
 * is an error.
 *
 * check_memory.c has the rules about memory and locks. */
#include "flow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOOP_SETUP_BYTES = 112, PART_WORD_CYCLE = 11 };

struct checker {
  struct flow flow;
  struct diag *diag;
  bool strict;    /* every early or late read is an error */
  uint32_t *seen; /* per step and elapsed bundles: stamp of the last walk */
  uint32_t stamp;
  int *writers; /* per unit: operations that write it */
};

/* ---- dependences ---- */

struct definition {
  int step, unit, operand;
  const struct isa_op *op;
};
struct killer {
  const struct isa_op *op;
  int operand, at; /* elapsed bundles */
};
struct outcome {
  bool read;         /* some operation sees the value */
  int early, needed; /* bundles of the closest early read, 0: none */
  bool late;         /* the reader sees a later definition instead */
  int reader_step;
  const struct isa_op *reader;
};

static bool reads_unit(const struct isa *isa, const struct isa_op *op, int unit,
                       int *operand) {
  const struct insn *insn = isa_insn(isa, op->id);
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_reg *r =
        insn->operand[i].read ? isa_reg(isa, flow_register(isa, op, i)) : NULL;
    for (int k = 0; r && k < r->unit_count; k++)
      if (r->unit[k] == unit) {
        *operand = i;
        return true;
      }
  }
  return false;
}

/* Whether a definition at or behind the reader reaches its late read. */
static bool overtaken(const struct checker *c, int step, int ahead,
                      const struct isa_op *reader, int operand, int unit) {
  if (step < 0 ||
      ahead >= isa_insn(c->flow.isa, reader->id)->operand[operand].read_cycle)
    return false;
  const struct step *s = &c->flow.step[step];
  for (int i = 0; flow_touches(s, unit) && i < s->op_count; i++) {
    const struct isa_op *op = s->op[i];
    int written;
    if (op != reader && flow_writes(c->flow.isa, op, unit, &written) &&
        -ahead >=
            isa_distance(c->flow.isa, op->id, written, reader->id, operand))
      return true;
  }
  return overtaken(c, s->next[0], ahead + 1, reader, operand, unit) ||
         (s->next[1] >= 0 &&
          overtaken(c, s->next[1], ahead + 1, reader, operand, unit));
}

static void meet_reader(const struct checker *c, const struct definition *w,
                        int step, int elapsed, const struct isa_op *op,
                        int operand, struct outcome *out) {
  int needed =
      isa_distance(c->flow.isa, w->op->id, w->operand, op->id, operand);
  assert(elapsed >= 1 && needed <= HORIZON);
  bool late = isa_insn(c->flow.isa, op->id)->operand[operand].read_cycle > 1 &&
              overtaken(c, step, 0, op, operand, w->unit);
  if (elapsed >= needed && !late) {
    out->read = true;
  } else if (!out->reader || elapsed < out->early) {
    *out = (struct outcome){out->read, elapsed, needed, late, step, op};
  }
}

/* Follows the value of `w` from a step on.  `k` is the operation that will
 * overwrite it; readers still see it until that one lands. */
static void follow(struct checker *c, const struct definition *w, int step,
                   int elapsed, struct killer k, struct outcome *out) {
  while (step >= 0 && !(out->read && elapsed >= HORIZON)) {
    int capped = elapsed < HORIZON ? elapsed : HORIZON;
    uint32_t *seen = &c->seen[step * (HORIZON + 1) + capped];
    if (k.op ? elapsed - k.at > HORIZON : *seen == c->stamp)
      return;
    if (!k.op)
      *seen = c->stamp;
    const struct step *s = &c->flow.step[step];
    struct killer next = k;
    for (int i = 0; flow_touches(s, w->unit) && i < s->op_count; i++) {
      const struct isa_op *op = s->op[i];
      int operand;
      if (reads_unit(c->flow.isa, op, w->unit, &operand) &&
          (!k.op ||
           (elapsed - k.at <
            isa_distance(c->flow.isa, k.op->id, k.operand, op->id, operand)))) {
        if (!k.op)
          meet_reader(c, w, step, elapsed, op, operand, out);
        else if (elapsed >= isa_distance(c->flow.isa, w->op->id, w->operand,
                                         op->id, operand))
          out->read = true;
      }
      if (!k.op && flow_writes(c->flow.isa, op, w->unit, &operand))
        next = (struct killer){op, operand, elapsed};
    }
    k = next;
    if (s->leaves)
      out->read = true;
    if (s->next[1] >= 0)
      follow(c, w, s->next[1], elapsed + 1, k, out);
    step = s->next[0];
    elapsed++;
  }
}

/* Registers that may hold an argument of the function (isa.md F1), so that a
 * read before the only definition can be meant. */
static bool may_be_argument(const struct isa *isa, int unit) {
  const char *name = isa_reg(isa, unit)->name;
  return isa_unit_bits(isa, unit) <= 32 && strncmp(name, "sr", 2) != 0;
}

/* Whether an operation beside it reads the value, so late that it is there. */
static bool is_read_beside(const struct isa *isa, const struct definition *w,
                           const struct step *s) {
  int operand;
  for (int i = 0; i < s->op_count; i++)
    if (s->op[i] != w->op && reads_unit(isa, s->op[i], w->unit, &operand) &&
        isa_distance(isa, w->op->id, w->operand, s->op[i]->id, operand) <= 0)
      return true;
  return false;
}

static bool check_value(struct checker *c, const struct definition *w) {
  assert(w->step >= 0 && w->step < c->flow.count);
  const struct step *s = &c->flow.step[w->step];
  struct outcome out = {.read = is_read_beside(c->flow.isa, w, s)};
  c->stamp++;
  for (int i = 0; i < 2; i++)
    if (s->next[i] >= 0)
      follow(c, w, s->next[i], 1, (struct killer){NULL, 0, 0}, &out);
  bool lost = !out.read && !s->leaves;
  bool nothing_old =
      c->writers[w->unit] == 1 && !may_be_argument(c->flow.isa, w->unit);
  if (!out.reader || !(c->strict || lost || (nothing_old && !out.late)))
    return true;
  char from[96], to[96];
  flow_describe(&c->flow, w->step, w->op, from);
  flow_describe(&c->flow, out.reader_step, out.reader, to);
  struct loc at = flow_loc(&c->flow, out.reader_step);
  if (out.late)
    return diag_error(c->diag, at,
                      "%s reads %s so late that it misses the value of %s", to,
                      isa_reg(c->flow.isa, w->unit)->name, from);
  return diag_error(c->diag, at, "%s reads %s %d bundle%s behind %s; needs %d",
                    to, isa_reg(c->flow.isa, w->unit)->name, out.early,
                    out.early == 1 ? "" : "s", from, out.needed);
}

/* Two writes to one unit must land in the order of their issue, and never in
 * the same cycle. */
static bool check_writes(struct checker *c, const struct definition *w,
                         int step, int elapsed) {
  int lands = isa_insn(c->flow.isa, w->op->id)->operand[w->operand].write_cycle;
  assert(lands >= 1 && lands <= HORIZON);
  for (; step >= 0 && elapsed < lands; elapsed++) {
    const struct step *s = &c->flow.step[step];
    for (int i = 0; flow_touches(s, w->unit) && i < s->op_count; i++) {
      const struct isa_op *op = s->op[i];
      int operand;
      if (op == w->op || !flow_writes(c->flow.isa, op, w->unit, &operand))
        continue;
      int other = isa_insn(c->flow.isa, op->id)->operand[operand].write_cycle;
      if (elapsed == 0 ? other != lands : elapsed + other > lands)
        continue;
      char first[96], second[96];
      return diag_error(c->diag, flow_loc(&c->flow, step), "%s writes %s %s %s",
                        flow_describe(&c->flow, step, op, second),
                        isa_reg(c->flow.isa, w->unit)->name,
                        elapsed + other == lands ? "in the same cycle as"
                                                 : "before the earlier",
                        flow_describe(&c->flow, w->step, w->op, first));
    }
    if (s->next[1] >= 0 && !check_writes(c, w, s->next[1], elapsed + 1))
      return false;
    step = s->next[0];
  }
  return true;
}

/* Status registers collect flags; only the carry is a value. */
static bool is_value(const struct isa *isa, int unit) {
  const char *name = isa_reg(isa, unit)->name;
  return strncmp(name, "sr", 2) != 0 || strcmp(name, "srCarry") == 0;
}

static bool each_definition(struct checker *c,
                            bool (*visit)(struct checker *,
                                          const struct definition *)) {
  for (int i = 0; i < c->flow.count; i++)
    for (int j = 0; j < c->flow.step[i].op_count; j++) {
      const struct isa_op *op = c->flow.step[i].op[j];
      const struct insn *insn = isa_insn(c->flow.isa, op->id);
      for (int o = 0; o < insn->operand_count; o++) {
        const struct isa_reg *r =
            insn->operand[o].written
                ? isa_reg(c->flow.isa, flow_register(c->flow.isa, op, o))
                : NULL;
        for (int k = 0; r && k < r->unit_count; k++) {
          struct definition w = {i, r->unit[k], o, op};
          if (insn->operand[o].written_units >> k & 1 &&
              is_value(c->flow.isa, w.unit) && !visit(c, &w))
            return false;
        }
      }
    }
  return true;
}

static bool count_writer(struct checker *c, const struct definition *w) {
  c->writers[w->unit]++;
  return true;
}

static bool check_definition(struct checker *c, const struct definition *w) {
  return check_writes(c, w, w->step, 0) && check_value(c, w);
}

/* What is not known cannot be checked. */
static bool check_timed(const struct checker *c) {
  for (int i = 0; i < c->flow.count; i++)
    for (int k = 0; k < c->flow.step[i].op_count; k++) {
      const struct isa_op *op = c->flow.step[i].op[k];
      char text[96];
      if (isa_insn(c->flow.isa, op->id)->flags & INSN_UNTIMED)
        return diag_error(c->diag, flow_loc(&c->flow, i),
                          "%s: the cycle of its result is not known",
                          flow_describe(&c->flow, i, op, text));
    }
  return true;
}

/* ---- units ---- */

static bool check_pair(struct checker *c, int from, int to, int distance) {
  const struct step *x = &c->flow.step[from], *y = &c->flow.step[to];
  for (int i = 0; i < x->op_count; i++)
    for (int j = distance ? 0 : i + 1; j < y->op_count; j++) {
      const struct isa_op *a = x->op[i], *b = y->op[j];
      const char *unit = isa_unit_clash(c->flow.isa, a, b, distance);
      char first[96], second[96];
      if (unit)
        return diag_error(c->diag, flow_loc(&c->flow, to),
                          "%s and %s, %d bundle%s apart, "
                          "both hold the %s",
                          flow_describe(&c->flow, to, b, second),
                          flow_describe(&c->flow, from, a, first), distance,
                          distance == 1 ? "" : "s", unit);
    }
  return true;
}

/* Bundles for which a step's operations hold a unit. */
static int count_held(const struct checker *c, const struct step *s) {
  int most = 0;
  for (int i = 0; i < s->op_count; i++) {
    struct isa_holds ignored;
    int held = isa_unit_holds(c->flow.isa, s->op[i], &ignored);
    most = held > most ? held : most;
  }
  return most;
}

static bool check_units(struct checker *c, int from, int step, int distance,
                        int held) {
  if (step < 0 || distance >= held)
    return true;
  const struct step *s = &c->flow.step[step];
  return check_pair(c, from, step, distance) &&
         check_units(c, from, s->next[0], distance + 1, held) &&
         check_units(c, from, s->next[1], distance + 1, held);
}

/* ---- branches and loops ---- */

/* The address that a branch makes the core fetch from (isa.md B). */
static bool check_aligned(const struct checker *c, int branch, int step,
                          const char *what) {
  char text[96];
  const struct step *from = &c->flow.step[branch];
  if (step < 0 || step >= c->flow.count || c->flow.step[step].address % 16 == 0)
    return true;
  return diag_error(
      c->diag, flow_loc(&c->flow, step),
      "the %s of %s is 0x%x, not aligned to 16 bytes", what,
      flow_describe(&c->flow, branch, flow_branch(c->flow.isa, from), text),
      c->flow.step[step].address);
}

static bool check_branches(struct checker *c) {
  for (int i = 0; i < c->flow.count; i++) {
    const struct isa_op *branch = flow_branch(c->flow.isa, &c->flow.step[i]);
    if (!branch)
      continue;
    char text[96], inner[96];
    flow_describe(&c->flow, i, branch, text);
    if (i + DELAY_SLOTS >= c->flow.count)
      return diag_error(c->diag, flow_loc(&c->flow, i),
                        "%s has %d delay slots; five bundles follow a branch",
                        text, c->flow.count - 1 - i);
    for (int k = 1; k <= DELAY_SLOTS; k++) {
      const struct isa_op *other =
          flow_branch(c->flow.isa, &c->flow.step[i + k]);
      if (other)
        return diag_error(c->diag, flow_loc(&c->flow, i + k),
                          "%s is in a delay slot of %s",
                          flow_describe(&c->flow, i + k, other, inner), text);
    }
    const struct step *s = &c->flow.step[i];
    if (!check_aligned(c, i, s->target, "target") ||
        (s->calls &&
         !check_aligned(c, i, i + DELAY_SLOTS + 1, "return address")))
      return false;
  }
  return true;
}

static bool check_body(struct checker *c, const struct hardware_loop *l) {
  static const char *const fixed[] = {"ls", "le", "lc"};
  char text[96];
  for (int i = l->first - DELAY_SLOTS; i <= l->last; i++) {
    const struct isa_op *branch =
        i >= 0 ? flow_branch(c->flow.isa, &c->flow.step[i]) : NULL;
    if (branch)
      return diag_error(c->diag, flow_loc(&c->flow, i),
                        i >= l->first ? "%s is inside a hardware loop"
                                      : "delay slots of %s reach into a "
                                        "hardware loop",
                        flow_describe(&c->flow, i, branch, text));
  }
  for (int i = l->first; i <= l->last; i++)
    for (int j = 0; j < c->flow.step[i].op_count; j++) {
      const struct isa_op *op = c->flow.step[i].op[j];
      int operand;
      for (int k = 0; k < 3; k++)
        if (flow_writes(c->flow.isa, op, isa_reg_find(c->flow.isa, fixed[k], 2),
                        &operand))
          return diag_error(c->diag, flow_loc(&c->flow, i),
                            "%s changes %s inside a hardware loop",
                            flow_describe(&c->flow, i, op, text), fixed[k]);
    }
  for (int i = 0; i < c->flow.step[l->last].op_count; i++) {
    const struct isa_op *op = c->flow.step[l->last].op[i];
    if (isa_insn(c->flow.isa, op->id)->memory_cycle == PART_WORD_CYCLE)
      return diag_error(c->diag, flow_loc(&c->flow, l->last),
                        "%s is in the last bundle of a hardware loop, where "
                        "the store is lost",
                        flow_describe(&c->flow, l->last, op, text));
  }
  return true;
}

static bool check_loop(struct checker *c, const struct hardware_loop *l) {
  const struct step *first = &c->flow.step[l->first];
  const struct step *last = &c->flow.step[l->last];
  struct loc at = flow_loc(&c->flow, l->last);
  if (first->address % 16)
    return diag_error(c->diag, flow_loc(&c->flow, l->first),
                      "first bundle of a hardware loop at 0x%x, not aligned "
                      "to 16 bytes",
                      first->address);
  if (last->address % 16 || last->size != 16)
    return diag_error(c->diag, at,
                      "last bundle of a hardware loop has %u bytes at 0x%x; it "
                      "takes 16, aligned to 16",
                      last->size, last->address);
  if (l->lc < 0)
    return diag_error(c->diag, at, "hardware loop without a write to lc");
  int setup = l->ls > l->le ? l->ls : l->le;
  if (l->lc > setup && l->lc < l->first)
    setup = l->lc;
  uint32_t distance = last->address - c->flow.step[setup].address;
  if (distance < LOOP_SETUP_BYTES)
    return diag_error(c->diag, at,
                      "last bundle of a hardware loop is %u bytes behind its "
                      "setup (line %d); it takes %d",
                      distance, flow_loc(&c->flow, setup).line,
                      LOOP_SETUP_BYTES);
  return check_body(c, l);
}

static bool check(const struct asm_program *p, bool strict, struct diag *d) {
  struct arena *a = arena_open();
  struct checker c = {.diag = d, .strict = strict};
  bool good = flow_build(&c.flow, a, p, d);
  if (good) {
    c.seen = arena_array(a, (size_t)c.flow.count * (HORIZON + 1) + 1,
                         sizeof *c.seen);
    c.writers =
        arena_array(a, (size_t)isa_unit_count(p->isa), sizeof *c.writers);
    good = check_timed(&c) && check_branches(&c);
    for (int i = 0; good && i < c.flow.loop_count; i++)
      good = check_loop(&c, &c.flow.loop[i]);
    for (int i = 0; good && i < c.flow.count; i++)
      good = check_units(&c, i, i, 0, count_held(&c, &c.flow.step[i]));
    good = good && flow_check_memory(&c.flow, d) &&
           each_definition(&c, count_writer) &&
           each_definition(&c, check_definition);
  }
  arena_close(a);
  return good;
}

bool asm_check(const struct asm_program *p, struct diag *d) {
  return check(p, false, d);
}

bool asm_check_strict(const struct asm_program *p, struct diag *d) {
  return check(p, true, d);
}
