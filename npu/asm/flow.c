/* flow.c -- control flow between bundles.
 *
 * A branch takes effect behind its fifth delay slot, so the successors of a
 * bundle depend on the one five before it (isa.md D6).  The bundle at `le` goes
 * back to the one at `ls` or on (isa.md D7). */
#include "flow.h"

#include <assert.h>
#include <string.h>

int flow_register(const struct isa *isa, const struct isa_op *op, int operand) {
  const struct insn *insn = isa_insn(isa, op->id);
  assert(operand >= 0 && operand < insn->operand_count);
  const struct isa_operand *o = &insn->operand[operand];
  if (o->fixed_reg >= 0)
    return o->fixed_reg;
  const struct isa_class *c = isa_class(isa, o->operand_class);
  return c && c->is_register ? (int)op->operand[operand] : -1;
}

bool flow_writes(const struct isa *isa, const struct isa_op *op, int unit,
                 int *operand) {
  const struct insn *insn = isa_insn(isa, op->id);
  for (int i = 0; insn && i < insn->operand_count; i++) {
    const struct isa_reg *r = insn->operand[i].written
                                  ? isa_reg(isa, flow_register(isa, op, i))
                                  : NULL;
    for (int k = 0; r && k < r->unit_count; k++)
      if (r->unit[k] == unit && insn->operand[i].written_units >> k & 1) {
        *operand = i;
        return true;
      }
  }
  return false;
}

bool flow_touches(const struct step *s, int unit) {
  return s->op_count && s->touched[unit / 64] >> unit % 64 & 1;
}

const struct isa_op *flow_branch(const struct isa *isa, const struct step *s) {
  for (int i = 0; i < s->op_count; i++)
    if (isa_insn(isa, s->op[i]->id)->flags & INSN_BRANCH)
      return s->op[i];
  return NULL;
}

struct loc flow_loc(const struct flow *f, int step) {
  for (; step >= 0; step--)
    if (f->step[step].line)
      return f->step[step].line->at;
  return loc_none();
}

const char *flow_describe(const struct flow *f, int step,
                          const struct isa_op *op, char out[96]) {
  struct text t = {0};
  const struct asm_line *line = f->step[step].line;
  asm_print_op(f->isa, op, line->reference, line->reference_count, &t);
  if (line->at.line)
    text_printf(&t, " (line %d)", line->at.line);
  else
    text_printf(&t, " (0x%x)", f->step[step].address);
  snprintf(out, 96, "%s", text_string(&t));
  text_free(&t);
  return out;
}

static int find_address(const struct flow *f, int64_t address) {
  int low = 0, high = f->count - 1;
  while (low <= high) {
    int middle = (low + high) / 2;
    if (f->step[middle].address == address)
      return middle;
    if (f->step[middle].address < address)
      low = middle + 1;
    else
      high = middle - 1;
  }
  return -1;
}

/* The step that an immediate operand names, -1: outside this program. */
static int find_target(const struct flow *f, const struct asm_line *line,
                       const struct isa_op *op, int operand) {
  enum isa_slot slot = isa_insn(f->isa, op->id)->slot;
  for (int i = 0; i < line->reference_count; i++) {
    const struct asm_reference *r = &line->reference[i];
    if (r->slot != slot || r->operand != operand)
      continue;
    const struct label *label = layout_label(&f->layout, r->symbol);
    return label
               ? find_address(f, layout_address(&f->layout, label) + r->addend)
               : -1;
  }
  return find_address(f, op->operand[operand]);
}

struct branch {
  bool call, conditional;
  int target; /* -1: not known */
  bool returns;
};

static struct branch read_branch(const struct flow *f, const struct step *s) {
  struct branch b = {false, false, -1, false};
  const struct isa_op *op = flow_branch(f->isa, s);
  const struct insn *insn = isa_insn(f->isa, op->id);
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_operand *o = &insn->operand[i];
    const struct isa_class *c = isa_class(f->isa, o->operand_class);
    if (o->fixed_reg >= 0 && strcmp(o->name, "lr") == 0) {
      b.call = o->written;
      b.returns = !o->written;
    } else if (c && !c->is_register) {
      b.target = find_target(f, s->line, op, i);
    } else if (c && strcmp(c->name, "eR") == 0) {
      b.conditional = true;
    }
  }
  return b;
}

static void link_steps(struct flow *f) {
  for (int i = 0; i < f->count; i++) {
    struct step *s = &f->step[i];
    s->next[0] = i + 1 < f->count ? i + 1 : -1;
    s->next[1] = -1;
    s->returns = i + 1 == f->count;
    s->target = -1;
    if (flow_branch(f->isa, s)) {
      struct branch own = read_branch(f, s);
      s->target = own.target;
      s->calls = own.call;
    }
    if (i < DELAY_SLOTS || !flow_branch(f->isa, &f->step[i - DELAY_SLOTS]))
      continue;
    struct branch b = read_branch(f, &f->step[i - DELAY_SLOTS]);
    if (b.call || b.target < 0) {
      s->leaves = !b.returns;
      s->returns = b.returns;
      if (!b.conditional)
        s->next[0] = -1;
    } else if (b.conditional) {
      s->next[1] = b.target;
    } else {
      s->next[0] = b.target;
    }
  }
}

/* ---- hardware loops ---- */

/* The last step before `end` that writes the register; with a step's index in
 * *target if it sets it to a label of this program. */
static int find_setup(const struct flow *f, const char *name, int end,
                      int *target) {
  int unit = isa_reg_find(f->isa, name, strlen(name));
  for (int i = end - 1; i >= 0; i--)
    for (int s = 0; s < f->step[i].op_count; s++) {
      const struct isa_op *op = f->step[i].op[s];
      int operand;
      if (!flow_writes(f->isa, op, unit, &operand))
        continue;
      *target = -1;
      for (int k = 0; k < isa_insn(f->isa, op->id)->operand_count; k++)
        if (flow_register(f->isa, op, k) < 0)
          *target = find_target(f, f->step[i].line, op, k);
      return i;
    }
  return -1;
}

/* Every write to le that names a label of the program makes a loop. */
static void find_loops(struct flow *f, struct arena *a) {
  int capacity = 0, le = isa_reg_find(f->isa, "le", 2);
  for (int i = 0; i < f->count; i++)
    for (int s = 0; s < f->step[i].op_count; s++) {
      const struct isa_op *op = f->step[i].op[s];
      int operand, last = -1, unused;
      if (!flow_writes(f->isa, op, le, &operand))
        continue;
      struct hardware_loop l;
      find_setup(f, "le", i + 1, &last);
      if (last <= i)
        continue;
      l.last = last;
      l.le = i;
      l.ls = find_setup(f, "ls", last, &l.first);
      l.lc = find_setup(f, "lc", last, &unused);
      if (l.ls < 0 || l.first < 0 || l.first > last)
        continue;
      if (f->loop_count == capacity) {
        capacity = capacity ? 2 * capacity : 8;
        f->loop = arena_copy(a, f->loop, (size_t)f->loop_count,
                             (size_t)capacity, sizeof *f->loop);
      }
      f->loop[f->loop_count++] = l;
      assert(l.first <= l.last && l.last < f->count && l.le < l.last);
      f->step[last].next[1] = l.first;
    }
}

static void touch(const struct isa *isa, const struct isa_op *op,
                  uint64_t *bits) {
  const struct insn *insn = isa_insn(isa, op->id);
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_operand *o = &insn->operand[i];
    const struct isa_reg *r =
        o->read || o->written ? isa_reg(isa, flow_register(isa, op, i)) : NULL;
    for (int k = 0; r && k < r->unit_count; k++)
      bits[r->unit[k] / 64] |= (uint64_t)1 << r->unit[k] % 64;
  }
}

static void add_section(struct flow *f, struct arena *a,
                        const struct section *s) {
  for (int i = 0; i < s->count; i++) {
    const struct fragment *g = &s->fragment[i];
    if (g->kind != FRAGMENT_BUNDLE && g->kind != FRAGMENT_PAD)
      continue;
    struct step *step = &f->step[f->count++];
    assert(f->count == 1 || /* find_address relies on it */
           step[-1].address + step[-1].size <= s->address + g->offset);
    *step = (struct step){.address = s->address + g->offset, .size = g->size};
    if (g->kind == FRAGMENT_PAD)
      continue;
    step->line = g->line;
    for (int k = 0; k < SLOT_COUNT; k++) {
      const struct insn *insn = isa_insn(f->isa, g->line->bundle.slot[k].id);
      if (insn && !(insn->flags & INSN_NOP))
        step->op[step->op_count++] = &g->line->bundle.slot[k];
    }
    if (!step->op_count)
      continue;
    size_t words = (size_t)isa_unit_count(f->isa) / 64 + 1;
    uint64_t *bits = arena_array(a, words, sizeof *bits);
    for (int k = 0; k < step->op_count; k++)
      touch(f->isa, step->op[k], bits);
    step->touched = bits;
  }
}

bool flow_build(struct flow *f, struct arena *a, const struct asm_program *p,
                struct diag *d) {
  *f = (struct flow){.isa = p->isa};
  if (!layout_build(&f->layout, a, p, d))
    return false;
  int count = 0;
  uint32_t address = 0;
  for (int i = 0; i < f->layout.section_count; i++) {
    struct section *s = &f->layout.section[i];
    if (!(s->flags & SECTION_EXEC))
      continue;
    count += s->count;
    s->address = address = (address + s->align - 1) / s->align * s->align;
    address += s->size;
  }
  f->step = arena_array(a, (size_t)count + 1, sizeof *f->step);
  for (int i = 0; i < f->layout.section_count; i++)
    if (f->layout.section[i].flags & SECTION_EXEC)
      add_section(f, a, &f->layout.section[i]);
  link_steps(f);
  find_loops(f, a);
  return true;
}
