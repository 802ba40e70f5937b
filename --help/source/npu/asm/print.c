/* print.c -- a program as text that asm_parse reads back to the same bytes. */
#include "parts.h"

#include <string.h>

/* Two r registers are written as the pair that they are (isa.md A1). */
static void print_register(const struct isa *isa, int reg, struct text *out) {
  const struct isa_reg *r = isa_reg(isa, reg);
  if (!r)
    text_puts(out, "?");
  else if (isa_reg_is_pair(isa, reg))
    text_printf(out, "%s:%s", isa_reg(isa, r->unit[1])->name,
                isa_reg(isa, r->unit[0])->name);
  else
    text_puts(out, r->name);
}

/* `hash` stands before immediates, but for those right behind a bracket. */
static void print_operand(const struct isa *isa, const struct isa_op *op,
                          const struct insn *insn, int i,
                          const struct asm_reference *reference, int count,
                          const char *hash, struct text *out) {
  if (isa_class(isa, insn->operand[i].operand_class)->is_register) {
    print_register(isa, (int)op->operand[i], out);
    return;
  }
  for (int r = 0; r < count; r++)
    if (reference[r].slot == insn->slot && reference[r].operand == i) {
      text_printf(out, "%s%s", hash, reference[r].symbol);
      if (reference[r].addend)
        text_printf(out, "%+lld", (long long)reference[r].addend);
      return;
    }
  text_printf(out, "%s%lld", hash, (long long)op->operand[i]);
}

void asm_print_op(const struct isa *isa, const struct isa_op *op,
                  const struct asm_reference *reference, int reference_count,
                  struct text *out) {
  const struct insn *insn = isa_insn(isa, op->id);
  if (!insn)
    return;
  int operand = 0;
  for (const char *at = insn->syntax; *at;) {
    if (*at != '$') {
      text_append(out, at++, 1);
      continue;
    }
    while (insn->operand[operand].fixed_reg >= 0)
      operand++;
    print_operand(isa, op, insn, operand, reference, reference_count,
                  at > insn->syntax && at[-1] == '[' ? "" : "#", out);
    at += 1 + strlen(insn->operand[operand++].name);
  }
}

static void print_bundle(const struct isa *isa, const struct asm_line *line,
                         struct text *out) {
  struct isa_bundle b = line->bundle;
  bool first = true, only_long = b.slot[SLOT_LNG].id != INSN_NONE;
  for (int s = 0; s < SLOT_COUNT; s++)
    if (s != SLOT_LNG && b.slot[s].id != INSN_NONE)
      only_long = false;
  int size = line->full ? 16 : line->size;
  if (size && size == isa_nop_field_bytes(isa) && only_long) {
    text_puts(out, "nop");
    first = false;
  } else if (size > isa_bundle_size(isa, &b, 0)) {
    isa_bundle_fill(isa, &b, isa_bundle_size(isa, &b, size));
  }
  for (int s = 0; s < SLOT_COUNT; s++) {
    if (b.slot[s].id == INSN_NONE)
      continue;
    if (!first)
      text_puts(out, "; ");
    first = false;
    asm_print_op(isa, &b.slot[s], line->reference, line->reference_count, out);
  }
  if (first)
    text_puts(out, "nop");
}

void asm_print(const struct asm_program *p, struct text *out) {
  for (int i = 0; i < p->count; i++) {
    const struct asm_line *line = &p->line[i];
    switch (line->kind) {
    case ASM_LABEL:
      text_printf(out, "%s:", line->text);
      break;
    case ASM_BUNDLE:
      text_puts(out, "  ");
      print_bundle(p->isa, line, out);
      if (line->comment)
        text_printf(out, " //%s%s", line->comment[0] == ' ' ? "" : " ",
                    line->comment);
      break;
    case ASM_DIRECTIVE:
      text_printf(out, "  %s", line->text);
      break;
    case ASM_COMMENT:
      text_printf(out, "//%s%s", line->text[0] == ' ' ? "" : " ", line->text);
      break;
    }
    text_puts(out, "\n");
  }
}
