/* build_timing.c -- compiles timing.def into the operands of every form and the
 * units that it holds. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

static void add_implicit(const struct isa *t, struct insn *insn,
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

/* "r,p,.." up to a ')': as a set of files. */
static unsigned parse_files(const char *at) {
  unsigned files = 0;
  while (*at != ')') {
    size_t length = strcspn(at, ",)");
    enum reg_file file = isa_file_of(at, length);
    assert(file != FILE_OTHER);
    files |= 1u << file;
    at += length;
    if (*at == ',')
      at++;
  }
  assert(files);
  return files;
}

static int find_unit(const struct isa *t, const char *name, size_t length) {
  for (int i = 0; i < t->rows->unit_count; i++)
    if (strlen(t->rows->unit[i].id) == length &&
        memcmp(t->rows->unit[i].id, name, length) == 0)
      return i;
  return -1;
}

/* A port's letter: a unit for each file that has a row. */
static void set_port(const struct isa *t, struct hold *h, char port) {
  for (int i = 0; i < t->rows->port_count; i++) {
    const struct port_row *r = &t->rows->port[i];
    if (r->port == port)
      h->unit[isa_file_of(r->file, strlen(r->file))] = (int8_t)r->unit;
  }
}

/* "(operand)" or "(operand:files)"; false if the form has no such operand. */
static bool parse_condition(const struct insn *insn, const char *at, int unit,
                            struct hold *h) {
  size_t name = strcspn(at + 1, ":)");
  h->operand = isa_operand_named(insn, at + 1, name);
  unsigned files =
      at[1 + name] == ':' ? parse_files(at + name + 2) : 1u << FILE_R;
  for (int f = 0; unit >= 0 && f < FILE_COUNT; f++)
    h->unit[f] = files >> f & 1 ? (int8_t)unit : -1;
  return h->operand >= 0;
}

/* One word of the units column; see the legend of timing.def. */
static bool parse_hold(const struct isa *t, const struct insn *insn,
                       const char *at, struct hold *h) {
  *h = (struct hold){.operand = -1};
  memset(h->unit, -1, sizeof h->unit);
  bool present = true;
  int unit = -1;
  size_t name = strcspn(at, "(@");
  if (at[name] == '(') {
    assert(name == 1);
    set_port(t, h, *at);
    present = parse_condition(insn, at + name, -1, h);
  } else {
    unit = find_unit(t, at, name);
    assert(unit >= 0);
    h->unit[0] = (int8_t)unit;
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
    present = parse_condition(insn, at, unit, h);
  return present;
}

void isa_build_timing(struct isa *t, enum insn_id id, int timing) {
  struct insn *insn = &t->insn[id];
  const struct timing_row *r = &t->rows->timing[timing];
  apply_cycles(insn, r->cycles);
  add_implicit(t, insn, r->implicit);
  insn->memory_cycle = r->memory;
  for (const char *at = r->units; *at;) {
    assert(t->hold_count[id] < MAX_HOLDS);
    if (parse_hold(t, insn, at, &t->hold[id][t->hold_count[id]]))
      t->hold_count[id]++;
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
}
