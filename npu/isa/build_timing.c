/* build_timing.c -- compiles timing.def into the operands of every form and the
 * units that it holds. */
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

int isa_operand_named(const struct insn *insn, const char *name,
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
    int o = isa_operand_named(insn, at, name);
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
    int o = isa_operand_named(insn, at, name);
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
  h->operand = isa_operand_named(insn, at + 1, name);
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

const char *isa_unit_text(int unit) {
  assert(unit >= 0 && unit < UNIT_COUNT);
  return unit_row[unit].text;
}
