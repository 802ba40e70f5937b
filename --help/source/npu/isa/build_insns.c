/* build_insns.c -- compiles instructions.def.
 *
 * The rows are strings so that the table can be read; they are taken apart
 * once.  A row that cannot be taken apart is our own mistake and an
 * assertion. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *isa_slot_name(enum isa_slot slot) {
  static const char *const name[SLOT_COUNT] = {
      [SLOT_LDA] = "lda", [SLOT_LDB] = "ldb", [SLOT_ST] = "st",
      [SLOT_ALU] = "alu", [SLOT_MV] = "mv",   [SLOT_LNG] = "lng",
      [SLOT_VEC] = "vec"};
  return name[slot];
}

int isa_slot_bits(const struct isa *t, enum isa_slot slot) {
  return t->rows->slot[slot].bits;
}

/* uimmN, simmN, simmNxS, nimmNxS: the name says it all (isa.md C0). */
static int add_immediate(struct isa *t, const char *name, size_t length) {
  assert(t->class_count < MAX_CLASSES && length > 4 &&
         memcmp(name + 1, "imm", 3) == 0);
  struct reg_class *c = &t->class[t->class_count];
  char *text = t->class_name[t->class_count], *end;
  assert(length < sizeof t->class_name[0]);
  memcpy(text, name, length);
  c->shown.name = text;
  c->bits = (int)strtol(c->shown.name + 4, &end, 10);
  c->shown.scale = *end == 'x' ? atoi(end + 1) : 1;
  c->negative = name[0] == 'n';
  c->is_signed = name[0] == 's';
  int64_t span = (int64_t)1 << c->bits;
  c->shown.low = c->negative ? -span : c->is_signed ? -span / 2 : 0;
  c->shown.high = c->negative ? -1 : c->is_signed ? span / 2 - 1 : span - 1;
  /* A 32-bit word may be written with or without its sign. */
  if (c->bits == 32)
    c->shown.high = span - 1;
  c->shown.low *= c->shown.scale;
  c->shown.high *= c->shown.scale;
  return t->class_count++;
}

/* The bits of operand `letter`, most significant first in the row. */
static void locate(struct insn_code *c, int operand, const char *bits,
                   char letter) {
  int length = (int)strlen(bits), at = 0;
  for (int i = length - 1; i >= 0; i--) {
    if (bits[i] != letter)
      continue;
    int low = length - 1 - i, n = c->piece_count[operand];
    struct piece *p = &c->piece[operand][n ? n - 1 : 0];
    if (n == 0 || p->low + p->width != low) {
      assert(n < MAX_PIECES);
      p = &c->piece[operand][c->piece_count[operand]++];
      *p = (struct piece){(uint8_t)low, 0, (uint8_t)at};
    }
    p->width++;
    at++;
  }
  assert(at > 0);
}

static void fix_bits(struct insn_code *c, const char *bits) {
  for (; *bits; bits++) {
    c->mask = c->mask << 1 | (*bits == '0' || *bits == '1');
    c->fixed = c->fixed << 1 | (*bits == '1');
  }
}

/* Operand names of the table, kept as strings. */
static const char *intern(struct isa *t, const char *name, size_t length) {
  for (int i = 0; i < t->name_count; i++)
    if (strlen(t->name[i]) == length && memcmp(t->name[i], name, length) == 0)
      return t->name[i];
  assert(t->name_count < MAX_NAMES && length < sizeof t->name[0]);
  memcpy(t->name[t->name_count], name, length);
  return t->name[t->name_count++];
}

/* The part of a register that changes: half of a cm register, or of a d
 * register its dc units. */
static unsigned written_units(const struct isa *t, int operand_class,
                              char mark) {
  const char *name = t->class[operand_class].shown.name;
  if (mark == '+' || mark == '-')
    return mark == '+' ? 0xc : 0x3;
  return strcmp(name, "eD") == 0 ? 0x08 : strcmp(name, "eDS") == 0 ? 0x88 : ~0u;
}

/* One word of the operands column; see the legend of instructions.def. */
static void add_operand(struct isa *t, struct insn *insn, const char *bits,
                        const char *word, size_t length) {
  assert(insn->operand_count < ISA_MAX_OPERANDS);
  int index = insn->operand_count;
  struct isa_operand *o = &insn->operand[index];
  *o = (struct isa_operand){.operand_class = -1,
                            .fixed_reg = -1,
                            .tied_to = -1,
                            .read_cycle = 1,
                            .write_cycle = 1,
                            .written_units = ~0u};
  char mark = word[length - 1];
  o->written = strchr("!*+-", mark) != NULL;
  o->read = !o->written || mark == '*';
  if (o->written)
    length--;
  const char *tilde = memchr(word, '~', length);
  const char *colon = memchr(word, ':', length);
  if (word[0] == '=') {
    o->name = intern(t, word + 1, length - 1);
    o->fixed_reg = isa_reg_of(t, word + 1, length - 1);
    assert(o->fixed_reg >= 0);
  } else if (tilde) {
    o->name = intern(t, word, (size_t)(tilde - word));
    size_t end = colon ? (size_t)(colon - word) : length;
    o->tied_to =
        isa_operand_named(insn, tilde + 1, end - (size_t)(tilde + 1 - word));
    assert(o->tied_to >= 0);
    o->operand_class = insn->operand[o->tied_to].operand_class;
    if (colon)
      o->operand_class = isa_class_find(t, colon + 1, length - end - 1);
    assert(o->operand_class >= 0);
  } else {
    assert(word[1] == '=' && colon);
    o->name = intern(t, word + 2, (size_t)(colon - word - 2));
    size_t class_length = length - (size_t)(colon + 1 - word);
    o->operand_class = isa_class_find(t, colon + 1, class_length);
    if (o->operand_class < 0)
      o->operand_class = add_immediate(t, colon + 1, class_length);
    const struct reg_class *c = &t->class[o->operand_class];
    if (!c->shown.is_register)
      o->read = false;
    o->written_units = written_units(t, o->operand_class, mark);
    locate(&t->code[insn->id], index, bits, word[0]);
  }
  insn->operand_count++;
}

static void build_insn(struct isa *t, enum insn_id id) {
  const struct insn_row *r = &t->rows->insn[id];
  struct insn *insn = &t->insn[id];
  size_t mnemonic = strcspn(r->syntax, " ");
  assert(mnemonic < sizeof t->mnemonic[id]);
  memcpy(t->mnemonic[id], r->syntax, mnemonic);
  insn->id = id;
  insn->mnemonic = t->mnemonic[id];
  insn->syntax = r->syntax;
  insn->form = r->form;
  insn->slot = r->slot;
  insn->flags = r->flags;
  insn->evidence = r->evidence;
  assert((int)strlen(r->bits) == isa_slot_bits(t, r->slot));
  fix_bits(&t->code[id], r->bits);
  for (const char *at = r->operands; *at;) {
    size_t length = strcspn(at, " ");
    add_operand(t, insn, r->bits, at, length);
    at += length;
    at += strspn(at, " ");
  }
  isa_build_timing(t, id, r->timing);
}

static int more_fixed_bits(const struct isa *t, int a, int b) {
  return __builtin_popcountll(t->code[b].mask) -
         __builtin_popcountll(t->code[a].mask);
}

/* Insertion keeps rows of equal weight in table order. */
static void add_candidate(struct isa *t, enum insn_id id, uint16_t *list,
                          int *count) {
  assert(*count < MAX_CANDIDATES);
  int at = (*count)++;
  while (at > 0 && more_fixed_bits(t, list[at - 1], id) > 0) {
    list[at] = list[at - 1];
    at--;
  }
  list[at] = (uint16_t)id;
}

static void add_decode(struct isa *t, enum insn_id id) {
  enum isa_slot slot = t->insn[id].slot;
  const struct insn_code *c = &t->code[id];
  for (uint64_t low = 0; low < DECODE_BUCKETS; low++)
    if (((low ^ c->fixed) & c->mask & (DECODE_BUCKETS - 1)) == 0)
      add_candidate(t, id, t->decode[slot][low], &t->decode_count[slot][low]);
}

void isa_build_insns(struct isa *t) {
  for (int id = 1; id < t->rows->insn_count; id++) {
    build_insn(t, (enum insn_id)id);
    add_decode(t, (enum insn_id)id);
  }
}
