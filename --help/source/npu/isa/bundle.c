/* bundle.c -- operations and bundles to and from bits. */
#include "tables.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static enum insn_id nop_of(const struct isa *t, int slot) {
  return t->rows->slot[slot].nop;
}

/* ---- bits of a bundle; bit 0 is the lowest of byte 0 ---- */

static uint64_t get_bits(const uint8_t *bytes, int low, int width) {
  uint64_t value = 0;
  for (int bit = low & ~7; bit < low + width; bit += 8) {
    uint64_t byte = bytes[bit >> 3];
    value |= bit < low ? byte >> (low - bit) : byte << (bit - low);
  }
  return value & ((UINT64_C(1) << width) - 1);
}

/* ---- formats ---- */

static const struct format *find_format(const struct isa *t, unsigned slots,
                                        int size) {
  if (size < 0 || size > ISA_BUNDLE_BYTES || size % 2)
    return NULL;
  int choice = t->choice[slots][size / 2];
  return choice < 0 ? NULL : &t->format[choice];
}

/* ---- operations ---- */

static bool encode_field(const struct isa *t, const struct insn *insn,
                         const struct isa_op *op, int i, uint64_t *field,
                         struct diag *d) {
  const struct isa_operand *o = &insn->operand[i];
  const struct reg_class *c = &t->class[o->operand_class];
  int64_t value = op->operand[i];
  if (c->shown.is_register) {
    if (!isa_class_has(t, o->operand_class, (int)value))
      return diag_error(d, loc_none(), "%s: %s cannot be %s (class %s)",
                        insn->mnemonic, o->name,
                        value >= 0 && value < t->reg_count ? t->reg[value].name
                                                           : "this register",
                        c->shown.name);
    *field = (uint64_t)c->value[value];
    return true;
  }
  if (value < c->shown.low || value > c->shown.high)
    return diag_error(d, loc_none(), "%s: %s %lld is out of range %lld..%lld",
                      insn->mnemonic, o->name, (long long)value,
                      (long long)c->shown.low, (long long)c->shown.high);
  if (value % c->shown.scale)
    return diag_error(d, loc_none(), "%s: %s %lld is no multiple of %d",
                      insn->mnemonic, o->name, (long long)value,
                      c->shown.scale);
  *field = (uint64_t)(value / c->shown.scale) & ((UINT64_C(1) << c->bits) - 1);
  return true;
}

int isa_tied_register(const struct isa *t, const struct isa_op *op,
                      int operand) {
  const struct insn *insn = &t->insn[op->id];
  const struct isa_operand *o = &insn->operand[operand];
  assert(o->tied_to >= 0);
  int to = insn->operand[o->tied_to].operand_class;
  int reg = (int)op->operand[o->tied_to];
  if (to == o->operand_class || !isa_class_has(t, to, reg))
    return reg;
  return t->class[o->operand_class].reg[t->class[to].value[reg]];
}

static bool encode_op(const struct isa *t, const struct isa_op *op,
                      uint64_t *word, struct diag *d) {
  const struct insn *insn = &t->insn[op->id];
  const struct insn_code *code = &t->code[op->id];
  *word = code->fixed;
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_operand *o = &insn->operand[i];
    if (o->tied_to >= 0 && op->operand[i] != isa_tied_register(t, op, i))
      return diag_error(d, loc_none(), "%s: %s must be the same register as %s",
                        insn->mnemonic, o->name,
                        insn->operand[o->tied_to].name);
    if (code->piece_count[i] == 0)
      continue;
    uint64_t field = 0;
    if (!encode_field(t, insn, op, i, &field, d))
      return false;
    for (int p = 0; p < code->piece_count[i]; p++) {
      const struct piece *piece = &code->piece[i][p];
      uint64_t part = field >> piece->at & ((UINT64_C(1) << piece->width) - 1);
      *word |= part << piece->low;
    }
  }
  return true;
}

static int64_t immediate(const struct reg_class *c, uint64_t field) {
  int64_t value = (int64_t)field, span = (int64_t)1 << c->bits;
  if (c->negative || (c->is_signed && value >= span / 2))
    value -= span;
  return value * c->shown.scale;
}

static bool decode_as(const struct isa *t, enum insn_id id, uint64_t word,
                      struct isa_op *op) {
  const struct insn *insn = &t->insn[id];
  const struct insn_code *code = &t->code[id];
  memset(op, 0, sizeof *op); /* an attempt before may have left operands */
  op->id = id;
  for (int i = 0; i < insn->operand_count; i++) {
    const struct isa_operand *o = &insn->operand[i];
    if (o->fixed_reg >= 0) {
      op->operand[i] = o->fixed_reg;
      continue;
    }
    if (o->tied_to >= 0) {
      op->operand[i] = isa_tied_register(t, op, i);
      continue;
    }
    uint64_t field = 0;
    for (int p = 0; p < code->piece_count[i]; p++) {
      const struct piece *piece = &code->piece[i][p];
      field |= (word >> piece->low & ((UINT64_C(1) << piece->width) - 1))
               << piece->at;
    }
    const struct reg_class *c = &t->class[o->operand_class];
    op->operand[i] = c->shown.is_register ? c->reg[field] : immediate(c, field);
    if (c->shown.is_register && op->operand[i] < 0)
      return false;
  }
  return true;
}

static bool decode_op(const struct isa *t, enum isa_slot slot, uint64_t word,
                      struct isa_op *op) {
  unsigned low = word & (DECODE_BUCKETS - 1);
  for (int i = 0; i < t->decode_count[slot][low]; i++) {
    enum insn_id id = (enum insn_id)t->decode[slot][low][i];
    if ((word & t->code[id].mask) == t->code[id].fixed &&
        decode_as(t, id, word, op))
      return true;
  }
  return false;
}

bool isa_encode_op(const struct isa *t, const struct isa_op *op, uint64_t *word,
                   struct diag *d) {
  return encode_op(t, op, word, d);
}

bool isa_decode_op(const struct isa *t, enum isa_slot slot, uint64_t word,
                   struct isa_op *op) {
  memset(op, 0, sizeof *op);
  if (decode_op(t, slot, word, op))
    return true;
  memset(op, 0, sizeof *op);
  return false;
}

/* ---- bundles ---- */

static bool check_slots(const struct isa *t, const struct isa_bundle *b,
                        unsigned *slots, struct diag *d) {
  *slots = 0;
  for (int s = 0; s < SLOT_COUNT; s++) {
    enum insn_id id = b->slot[s].id;
    if (id == INSN_NONE)
      continue;
    if ((int)id < 0 || (int)id >= isa_insn_count(t) ||
        (int)t->insn[id].slot != s)
      return diag_error(d, loc_none(), "%s is no instruction of slot %s",
                        (int)id > 0 && (int)id < isa_insn_count(t)
                            ? t->insn[id].mnemonic
                            : "this number",
                        isa_slot_name((enum isa_slot)s));
    *slots |= 1u << s;
  }
  unsigned narrow = *slots & (1u << SLOT_ALU | 1u << SLOT_MV);
  if (*slots & 1u << SLOT_LNG && narrow)
    return diag_error(
        d, loc_none(), "%s takes the alu and mv slots, as does %s",
        t->insn[b->slot[SLOT_LNG].id].mnemonic,
        t->insn[b->slot[narrow & 1u << SLOT_ALU ? SLOT_ALU : SLOT_MV].id]
            .mnemonic);
  return true;
}

int isa_bundle_size(const struct isa *t, const struct isa_bundle *b,
                    int at_least) {
  unsigned slots;
  struct diag d = {DIAG_NONE, loc_none(), ""};
  if (!check_slots(t, b, &slots, &d))
    return 0;
  for (int size = at_least < 2 ? 2 : (at_least + 1) & ~1; size <= 16; size += 2)
    if (find_format(t, slots, size))
      return size;
  return 0;
}

bool isa_bundle_fill(const struct isa *t, struct isa_bundle *b, int size) {
  unsigned slots;
  struct diag d = {DIAG_NONE, loc_none(), ""};
  const struct format *f =
      check_slots(t, b, &slots, &d) ? find_format(t, slots, size) : NULL;
  for (int s = 0; f && s < SLOT_COUNT; s++)
    if (f->slots >> s & 1 && b->slot[s].id == INSN_NONE)
      b->slot[s].id = nop_of(t, s);
  return f != NULL;
}

int isa_operand_bits(const struct isa *t, const struct isa_bundle *b, int size,
                     enum isa_slot slot, int operand, struct isa_bits out[3]) {
  unsigned slots;
  struct diag d = {DIAG_NONE, loc_none(), ""};
  const struct format *f =
      check_slots(t, b, &slots, &d) ? find_format(t, slots, size) : NULL;
  if (!f || b->slot[slot].id == INSN_NONE)
    return 0;
  const struct insn_code *c = &t->code[b->slot[slot].id];
  int count = c->piece_count[operand];
  for (int i = 0; i < count; i++) {
    const struct piece *p = &c->piece[operand][count - 1 - i];
    out[i] = (struct isa_bits){f->low[slot] + p->low, p->width};
  }
  return count;
}

int isa_encode(const struct isa *t, const struct isa_bundle *b, int size,
               uint8_t out[ISA_BUNDLE_BYTES], struct diag *d) {
  unsigned slots;
  if (!check_slots(t, b, &slots, d))
    return 0;
  const struct format *f = find_format(t, slots, size);
  if (!f) {
    diag_error(d, loc_none(), "no %d-byte format has room for these slots",
               size);
    return 0;
  }
  uint8_t bytes[ISA_BUNDLE_BYTES];
  memcpy(bytes, f->fixed, sizeof bytes);
  for (int s = 0; s < SLOT_COUNT; s++) {
    if (!(f->slots >> s & 1))
      continue;
    const struct isa_op nop = {.id = nop_of(t, s)};
    uint64_t word;
    if (!encode_op(t, b->slot[s].id ? &b->slot[s] : &nop, &word, d))
      return 0;
    isa_put_bits(bytes, f->low[s], isa_slot_bits(t, (enum isa_slot)s), word);
  }
  memcpy(out, bytes, (size_t)f->bytes);
  return f->bytes;
}

static bool matches(const struct format *f, const uint8_t *bytes) {
  for (int i = 0; i < f->bytes; i++)
    if ((bytes[i] & f->mask[i]) != f->fixed[i])
      return false;
  return true;
}

int isa_nop_field_bytes(const struct isa *t) { return t->nop_field_bytes; }

int isa_decode(const struct isa *t, const uint8_t *bytes, size_t length,
               struct isa_bundle *b) {
  memset(b, 0, sizeof *b);
  int size = length ? t->size_of[bytes[0] & 15] : 0;
  if (size == 0 || (size_t)size > length)
    return 0;
  for (int i = 0; i < t->format_count; i++) {
    const struct format *f = &t->format[i];
    if (f->bytes != size || !matches(f, bytes))
      continue;
    for (int s = 0; s < SLOT_COUNT; s++) {
      int width = isa_slot_bits(t, (enum isa_slot)s);
      if (f->slots >> s & 1 &&
          !decode_op(t, (enum isa_slot)s, get_bits(bytes, f->low[s], width),
                     &b->slot[s])) {
        memset(b, 0, sizeof *b);
        return 0;
      }
    }
    return size;
  }
  return 0;
}
