/* decode.c -- bytes to assembly text that gives the same bytes back.
 *
 * What does not decode, or would not encode to the same bytes, is shown as
 * .byte lines, and decoding goes on 2 bytes further. */
#include "disassemble.h"

#include <string.h>

static bool same_bytes(const struct isa *isa, const struct isa_bundle *b,
                       const uint8_t *bytes, int size) {
  uint8_t again[ISA_BUNDLE_BYTES];
  struct diag d = {DIAG_NONE, loc_none(), ""};
  return isa_encode(isa, b, size, again, &d) == size &&
         memcmp(again, bytes, (size_t)size) == 0;
}

/* Whether text can ask for this size: the smallest one, or that of a long
 * operation beside a field for the nop (isa.md B1). */
static bool readable(const struct isa *isa, const struct isa_bundle *b,
                     int size) {
  return isa_bundle_size(isa, b, 0) == size ||
         (size == isa_nop_field_bytes(isa) &&
          b->slot[SLOT_LNG].id != INSN_NONE);
}

static int decode(const struct isa *isa, const uint8_t *bytes, size_t length,
                  struct isa_bundle *b) {
  int size = isa_decode(isa, bytes, length, b);
  return size && same_bytes(isa, b, bytes, size) && readable(isa, b, size)
             ? size
             : 0;
}

/* Address operands of jumps and of the loop registers become labels. */
static bool code_address(const struct isa *isa, const struct isa_op *op,
                         int *operand) {
  const struct insn *insn = isa_insn(isa, op->id);
  if (!insn)
    return false;
  bool branch = insn->flags & INSN_BRANCH, loop = false;
  if (!branch && insn->slot == SLOT_LNG && insn->operand_count) {
    const struct isa_reg *r = isa_reg(isa, (int)op->operand[0]);
    loop = r && (strcmp(r->name, "ls") == 0 || strcmp(r->name, "le") == 0);
  }
  for (int i = 0; (branch || loop) && i < insn->operand_count; i++) {
    const struct isa_class *c = isa_class(isa, insn->operand[i].operand_class);
    if (c && !c->is_register) {
      *operand = i;
      return true;
    }
  }
  return false;
}

struct places {
  const struct disassembly *source;
  bool *start;        /* byte offset begins a bundle */
  const char **label; /* name of a jump target or symbol */
};

/* A symbol that stands in an operand of a relocated bundle. */
static const struct disassembly_reference *
relocated(const struct disassembly *s, size_t at, int slot, int operand) {
  for (int i = 0; i < s->reference_count; i++)
    if (s->reference[i].offset == at && s->reference[i].slot == slot &&
        s->reference[i].operand == operand)
      return &s->reference[i];
  return NULL;
}

static void find_places(struct arena *a, struct places *p) {
  const struct disassembly *s = p->source;
  struct isa_bundle b;
  for (size_t at = 0; at < s->length;) {
    int size = decode(s->isa, s->bytes + at, s->length - at, &b);
    p->start[at] = size != 0;
    for (int k = 0; size && k < SLOT_COUNT; k++) {
      int operand;
      if (!code_address(s->isa, &b.slot[k], &operand) ||
          relocated(s, at, k, operand))
        continue;
      int64_t to = b.slot[k].operand[operand] - s->address;
      if (to >= 0 && (uint64_t)to < s->length && !p->label[to])
        p->label[to] =
            arena_printf(a, ".Lx%llx", (unsigned long long)to + s->address);
    }
    at += size ? (size_t)size : 2;
  }
  for (int i = 0; i < s->symbol_count; i++) {
    int64_t to = s->symbol[i].value - s->address;
    if (to >= 0 && (uint64_t)to < s->length && p->start[to])
      p->label[to] = s->symbol[i].name;
  }
}

static void print_bundle(const struct isa_bundle *b, size_t at, int size,
                         const struct places *p, struct text *out) {
  const struct disassembly *source = p->source;
  struct asm_reference reference[SLOT_COUNT * ISA_MAX_OPERANDS];
  struct asm_line line = {
      .kind = ASM_BUNDLE,
      .bundle = *b,
      .reference = reference,
      .size = isa_bundle_size(source->isa, b, 0) == size ? 0 : size};
  for (int s = 0; s < SLOT_COUNT; s++) {
    int operand = -1;
    bool address = code_address(source->isa, &b->slot[s], &operand);
    for (int k = 0; k < ISA_MAX_OPERANDS; k++) {
      const struct disassembly_reference *r = relocated(source, at, s, k);
      if (r)
        reference[line.reference_count++] =
            (struct asm_reference){(enum isa_slot)s, k, r->symbol, r->addend};
    }
    if (!address || relocated(source, at, s, operand))
      continue;
    int64_t to = b->slot[s].operand[operand] - source->address;
    if (to >= 0 && (uint64_t)to < source->length && p->start[to])
      reference[line.reference_count++] =
          (struct asm_reference){(enum isa_slot)s, operand, p->label[to], 0};
  }
  struct asm_program one = {source->isa, 1, 1, &line};
  asm_print(&one, out);
}

static void print_bytes(const uint8_t *bytes, size_t count, struct text *out) {
  text_puts(out, "  .byte ");
  for (size_t i = 0; i < count; i++)
    text_printf(out, "%s0x%02x", i ? ", " : "", bytes[i]);
  text_puts(out, " // no instruction\n");
}

void disassemble(struct arena *a, const struct disassembly *s,
                 struct text *out) {
  struct places p = {s, arena_alloc(a, s->length + 1),
                     arena_array(a, s->length + 1, sizeof *p.label)};
  find_places(a, &p);
  struct isa_bundle b;
  for (size_t at = 0; at < s->length;) {
    if (p.label[at] && p.start[at])
      text_printf(out, "%s:\n", p.label[at]);
    int size = decode(s->isa, s->bytes + at, s->length - at, &b);
    if (size)
      print_bundle(&b, at, size, &p, out);
    else
      print_bytes(s->bytes + at, s->length - at < 2 ? s->length - at : 2, out);
    at += size ? (size_t)size : 2;
  }
}

void asm_disassemble(const struct isa *isa, const uint8_t *bytes, size_t length,
                     uint32_t address, struct text *out) {
  struct arena *a = arena_open();
  struct disassembly s = {
      .isa = isa, .bytes = bytes, .length = length, .address = address};
  text_puts(out, "  .autoalign 0\n");
  disassemble(a, &s, out);
  arena_close(a);
}
