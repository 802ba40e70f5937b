/* timing.c -- answers what a scheduler and a hazard checker ask: distances and
 * unit clashes. */
#include "tables.h"

#include <assert.h>

int isa_operand_distance(const struct isa_operand *def,
                         const struct isa_operand *use) {
  int distance = def->write_cycle - use->read_cycle + 1;
  return distance - (def->bypass && def->bypass == use->bypass);
}

int isa_distance(const struct isa *t, enum insn_id def, int d, enum insn_id use,
                 int u) {
  const struct insn *a = isa_insn(t, def), *b = isa_insn(t, use);
  assert(a && b && d < a->operand_count && u < b->operand_count);
  return isa_operand_distance(&a->operand[d], &b->operand[u]);
}

/* The unit that a hold means for this operation, -1: none. */
static int held_unit(const struct isa *t, const struct isa_op *op,
                     const struct hold *h) {
  if (h->operand < 0)
    return h->unit[0];
  const struct insn *insn = &t->insn[op->id];
  int fixed = insn->operand[h->operand].fixed_reg;
  int reg = fixed >= 0 ? fixed : (int)op->operand[h->operand];
  if (reg < 0 || reg >= t->reg_count)
    return -1;
  enum reg_file file = (enum reg_file)t->reg_file[t->reg[reg].unit[0]];
  return file == FILE_OTHER ? -1 : h->unit[file];
}

int isa_unit_holds(const struct isa *t, const struct isa_op *op,
                   struct isa_holds *out) {
  int cycles = 0;
  *out = (struct isa_holds){0};
  for (int i = 0; i < t->hold_count[op->id]; i++) {
    const struct hold *h = &t->hold[op->id][i];
    int unit = held_unit(t, op, h);
    if (unit < 0)
      continue;
    assert(h->last <= ISA_MAX_HOLD && unit < 32);
    for (int c = h->first - 1; c < h->last; c++)
      (h->shared ? out->shared : out->alone)[c] |= 1u << unit;
    cycles = h->last > cycles ? h->last : cycles;
  }
  return cycles;
}

const char *isa_unit_clash(const struct isa *t, const struct isa_op *a,
                           const struct isa_op *b, int distance) {
  if (a->id == INSN_NONE || b->id == INSN_NONE)
    return NULL;
  for (int i = 0; i < t->hold_count[a->id]; i++) {
    const struct hold *x = &t->hold[a->id][i];
    if (x->last <= distance)
      continue;
    int unit = held_unit(t, a, x);
    for (int j = 0; unit >= 0 && j < t->hold_count[b->id]; j++) {
      const struct hold *y = &t->hold[b->id][j];
      if (x->last < y->first + distance || y->last + distance < x->first ||
          (x->shared && y->shared))
        continue;
      if (held_unit(t, b, y) == unit)
        return t->rows->unit[unit].text;
    }
  }
  return NULL;
}
