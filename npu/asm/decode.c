/* decode.c -- bytes to assembly text that gives the same bytes back.
 *
 * What does not decode, or would not encode to the same bytes, is shown as
 * .byte lines, and decoding goes on 2 bytes further. */
#include "parts.h"

#include <string.h>

static bool same_bytes(const struct isa_bundle *b, const uint8_t *bytes,
                       int size) {
  uint8_t again[ISA_BUNDLE_BYTES];
  struct diag d = {DIAG_NONE, loc_none(), ""};
  return isa_encode(b, size, again, &d) == size &&
         memcmp(again, bytes, (size_t)size) == 0;
}

/* Whether a bundle of this size needs to ask for it: only the long operation
 * in 8 bytes does (facts B1). */
static bool readable(const struct isa_bundle *b, int size) {
  return isa_bundle_size(b, 0) == size ||
         (size == 8 && b->slot[SLOT_LNG].id != INSN_NONE);
}

static int decode(const uint8_t *bytes, size_t length, struct isa_bundle *b) {
  int size = isa_decode(bytes, length, b);
  return size && same_bytes(b, bytes, size) && readable(b, size) ? size : 0;
}

/* Address operands of jumps and of the loop registers become labels. */
static bool code_address(const struct isa_op *op, int *operand) {
  const struct insn *insn = isa_insn(op->id);
  if (!insn)
    return false;
  bool branch = insn->flags & INSN_BRANCH, loop = false;
  if (!branch && insn->slot == SLOT_LNG && insn->operand_count) {
    const struct isa_reg *r = isa_reg((int)op->operand[0]);
    loop = r && (strcmp(r->name, "ls") == 0 || strcmp(r->name, "le") == 0);
  }
  for (int i = 0; (branch || loop) && i < insn->operand_count; i++) {
    const struct isa_class *c = isa_class(insn->operand[i].operand_class);
    if (c && !c->is_register) {
      *operand = i;
      return true;
    }
  }
  return false;
}

struct places {
  uint32_t address;
  size_t length;
  bool *start;  /* byte offset begins a bundle */
  bool *target; /* is named by a jump or loop register */
};

static void find_places(const uint8_t *bytes, struct places *p) {
  struct isa_bundle b;
  for (size_t at = 0; at < p->length;) {
    int size = decode(bytes + at, p->length - at, &b);
    p->start[at] = size != 0;
    for (int s = 0; size && s < SLOT_COUNT; s++) {
      int operand;
      if (!code_address(&b.slot[s], &operand))
        continue;
      int64_t to = b.slot[s].operand[operand] - p->address;
      if (to >= 0 && (uint64_t)to < p->length)
        p->target[to] = true;
    }
    at += size ? (size_t)size : 2;
  }
}

static void print_bundle(const struct isa_bundle *b, int size,
                         const struct places *p, struct arena *a,
                         struct text *out) {
  struct asm_reference reference[SLOT_COUNT];
  struct asm_line line = {.kind = ASM_BUNDLE,
                          .bundle = *b,
                          .reference = reference,
                          .size = isa_bundle_size(b, 0) == size ? 0 : size};
  for (int s = 0; s < SLOT_COUNT; s++) {
    int operand;
    if (!code_address(&b->slot[s], &operand))
      continue;
    int64_t to = b->slot[s].operand[operand] - p->address;
    if (to >= 0 && (uint64_t)to < p->length && p->target[to] && p->start[to])
      reference[line.reference_count++] = (struct asm_reference){
          (enum isa_slot)s, operand,
          arena_printf(a, ".L%llx", (unsigned long long)to + p->address), 0};
  }
  struct asm_program one = {1, 1, &line};
  asm_print(&one, out);
}

static void print_bytes(const uint8_t *bytes, size_t count, struct text *out) {
  text_puts(out, "  .byte ");
  for (size_t i = 0; i < count; i++)
    text_printf(out, "%s0x%02x", i ? ", " : "", bytes[i]);
  text_puts(out, " // no instruction\n");
}

void asm_disassemble(const uint8_t *bytes, size_t length, uint32_t address,
                     struct text *out) {
  struct arena *a = arena_open();
  struct places p = {address, length, arena_alloc(a, length + 1),
                     arena_alloc(a, length + 1)};
  find_places(bytes, &p);
  text_puts(out, "  .autoalign 0\n");
  struct isa_bundle b;
  for (size_t at = 0; at < length;) {
    if (p.target[at] && p.start[at])
      text_printf(out, ".L%llx:\n", (unsigned long long)at + address);
    int size = decode(bytes + at, length - at, &b);
    if (size)
      print_bundle(&b, size, &p, a, out);
    else
      print_bytes(bytes + at, length - at < 2 ? length - at : 2, out);
    at += size ? (size_t)size : 2;
  }
  arena_close(a);
}
