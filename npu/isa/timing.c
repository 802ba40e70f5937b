/* timing.c -- compiles timing.def into the operands of every form and answers
 * what a scheduler and a hazard checker ask: distances and unit clashes. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct row {
  const char *cycles, *implicit, *units;
  int memory;
};
static const struct row row[TIMING_COUNT] = {
#define TIMING(id, ...) [TIMING_##id] = {__VA_ARGS__},
#include "aie2/timing.def"
};

static const struct {
  const char *id, *text;
} unit_row[UNIT_COUNT] = {
#define UNIT(id, text) [UNIT_##id] = {#id, text},
#include "aie2/timing.def"
};

static int operand_named(const struct insn *insn, const char *name,
                         size_t length) {
  for (int i = 0; i < insn->operand_count; i++)
    if (strlen(insn->operand[i].name) == length &&
        memcmp(insn->operand[i].name, name, length) == 0)
      return i;
  return -1;
}

static void set_cycle(struct isa_operand *o, const char *at) {
  bool write = *at == '>';
  char *end;
  int cycle = (int)strtol(at + 1, &end, 10);
  assert((*at == '<' || *at == '>') && cycle > 0);
  *(write ? &o->write_cycle : &o->read_cycle) = cycle;
  if (*end == 'm' || *end == 'v')
    o->bypass = *end == 'm' ? BYPASS_MOV : BYPASS_VEC;
}

/* Rows are shared by forms that lack some of the operands named, e.g. stores
 * with and without a shift; those words do not apply. */
static void apply_cycles(struct insn *insn, const char *at) {
  while (*at) {
    size_t name = strcspn(at, "<>");
    int o = operand_named(insn, at, name);
    if (o >= 0)
      set_cycle(&insn->operand[o], at + name);
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
}

static void add_implicit(const struct tables *t, struct insn *insn,
                         const char *at) {
  while (*at) {
    size_t name = strcspn(at, "<>");
    int o = operand_named(insn, at, name);
    if (o < 0) {
      assert(insn->operand_count < ISA_MAX_OPERANDS);
      o = insn->operand_count++;
      int reg = isa_reg_of(t, at, name);
      assert(reg >= 0);
      insn->operand[o] = (struct isa_operand){.name = t->reg[reg].name,
                                              .operand_class = -1,
                                              .fixed_reg = reg,
                                              .tied_to = -1,
                                              .read_cycle = 1,
                                              .write_cycle = 1,
                                              .written_units = ~0u};
    }
    *(at[name] == '>' ? &insn->operand[o].written : &insn->operand[o].read) =
        true;
    set_cycle(&insn->operand[o], at + name);
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
}

static unsigned parse_files(const char *at) {
  static const char *const name[] = {"", "r", "p", "m", "dn", "dj", "dc", "s"};
  unsigned files = 0;
  while (*at != ')') {
    size_t length = strcspn(at, ",)");
    for (unsigned i = 1; i < sizeof name / sizeof *name; i++)
      if (strlen(name[i]) == length && memcmp(name[i], at, length) == 0)
        files |= 1u << i;
    at += length;
    if (*at == ',')
      at++;
  }
  assert(files);
  return files;
}

/* "(operand)" or "(operand:files)"; false if the form has no such operand. */
static bool parse_condition(const struct insn *insn, const char *at,
                            struct hold *h) {
  size_t name = strcspn(at + 1, ":)");
  h->operand = operand_named(insn, at + 1, name);
  h->files = at[1 + name] == ':' ? parse_files(at + name + 2) : 1u << FILE_R;
  return h->operand >= 0;
}

static int find_unit(const char *name, size_t length) {
  for (int i = 0; i < UNIT_COUNT; i++)
    if (strlen(unit_row[i].id) == length &&
        memcmp(unit_row[i].id, name, length) == 0)
      return i;
  return -1;
}

/* One word of the units column; see the legend of timing.def. */
static bool parse_hold(const struct insn *insn, const char *at,
                       struct hold *h) {
  *h = (struct hold){.operand = -1};
  bool present = true;
  size_t name = strcspn(at, "(@");
  if (at[name] == '(') {
    assert(name == 1 && strchr("XAM", *at));
    h->kind = *at == 'X' ? HOLD_PORT_X : *at == 'A' ? HOLD_PORT_A : HOLD_PORT_M;
    present = parse_condition(insn, at + name, h);
  } else {
    h->unit = find_unit(at, name);
    assert(h->unit >= 0);
  }
  at = strchr(at, '@');
  h->first = h->last = (int)strtol(at + 1, (char **)&at, 10);
  if (*at == '-')
    h->last = (int)strtol(at + 1, (char **)&at, 10);
  if (*at == '~') {
    h->shared = true;
    at++;
  }
  if (*at == '(')
    present = parse_condition(insn, at, h);
  return present;
}

void isa_build_timing(struct tables *t, enum insn_id id,
                      enum timing_id timing) {
  struct insn *insn = &t->insn[id];
  const struct row *r = &row[timing];
  apply_cycles(insn, r->cycles);
  add_implicit(t, insn, r->implicit);
  insn->memory_cycle = r->memory;
  for (const char *at = r->units; *at;) {
    assert(t->hold_count[id] < MAX_HOLDS);
    if (parse_hold(insn, at, &t->hold[id][t->hold_count[id]]))
      t->hold_count[id]++;
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
}

int isa_operand_distance(const struct isa_operand *def,
                         const struct isa_operand *use) {
  int distance = def->write_cycle - use->read_cycle + 1;
  return distance - (def->bypass && def->bypass == use->bypass);
}

int isa_distance(enum insn_id def, int d, enum insn_id use, int u) {
  const struct insn *a = isa_insn(def), *b = isa_insn(use);
  assert(a && b && d < a->operand_count && u < b->operand_count);
  return isa_operand_distance(&a->operand[d], &b->operand[u]);
}

/* The unit that a hold means for this operation, -1: none. */
static int held_unit(const struct tables *t, const struct isa_op *op,
                     const struct hold *h) {
  if (h->operand < 0)
    return h->unit;
  const struct insn *insn = &t->insn[op->id];
  int fixed = insn->operand[h->operand].fixed_reg;
  int reg = fixed >= 0 ? fixed : (int)op->operand[h->operand];
  if (reg < 0 || reg >= t->reg_count)
    return -1;
  enum reg_file file = (enum reg_file)t->reg_file[t->reg[reg].unit[0]];
  if (h->kind == HOLD_UNIT)
    return h->files >> file & 1 ? h->unit : -1;
  switch (file) {
  case FILE_R:
    return h->kind == HOLD_PORT_X   ? UNIT_R_WRITE_X
           : h->kind == HOLD_PORT_A ? UNIT_R_WRITE_A
                                    : UNIT_RS_WRITE_M;
  case FILE_S:
    return h->kind == HOLD_PORT_M ? UNIT_RS_WRITE_M : -1;
  case FILE_P:
    return UNIT_P_WRITE;
  case FILE_M:
    return UNIT_M_WRITE;
  case FILE_DN:
    return UNIT_DN_WRITE;
  case FILE_DJ:
    return UNIT_DJ_WRITE;
  case FILE_DC:
    return UNIT_DC_WRITE;
  case FILE_OTHER:
    return -1;
  }
  return -1;
}

int isa_unit_holds(const struct isa_op *op, struct isa_holds *out) {
  const struct tables *t = isa_tables();
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

const char *isa_unit_clash(const struct isa_op *a, const struct isa_op *b,
                           int distance) {
  if (a->id == INSN_NONE || b->id == INSN_NONE)
    return NULL;
  const struct tables *t = isa_tables();
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
        return unit_row[unit].text;
    }
  }
  return NULL;
}
