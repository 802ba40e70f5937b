/* elf_text.c -- an ELF32 file of machine AIE as assembly text. */
#include "disassemble.h"
#include "elf_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* Names that the assembler would not read are replaced. */
static const char *readable_name(struct arena *a, const struct isa *isa,
                                 const char *name, int i) {
  struct cursor c = {.at = name};
  size_t length = lex_name(&c);
  bool plain = length && !name[length] && isa_reg_find(isa, name, length) < 0 &&
               !strstr(name, "//");
  return plain ? name : arena_printf(a, ".Lsymbol%d", i);
}

static int by_name(const void *a, const void *b) {
  const struct elf_file_symbol *const *x = a, *const *y = b;
  int order = strcmp((*x)->name, (*y)->name);
  return order ? order : (*x > *y) - (*x < *y);
}

/* Local symbols of several programs may share a name; a text has one label of
 * each name, so later ones get a number. */
static void separate_names(struct arena *a, struct elf_file *f) {
  struct elf_file_symbol **sorted =
      arena_array(a, (size_t)f->symbol_count + 1, sizeof *sorted);
  for (int i = 0; i < f->symbol_count; i++)
    sorted[i] = &f->symbol[i];
  qsort(sorted, (size_t)f->symbol_count, sizeof *sorted, by_name);
  for (int i = f->symbol_count - 1; i > 0; i--)
    if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
      sorted[i]->name = arena_printf(a, "%s.%d", sorted[i]->name,
                                     (int)(sorted[i] - f->symbol));
}

static void name_symbols(struct arena *a, const struct isa *isa,
                         struct elf_file *f) {
  for (int i = 0; i < f->symbol_count; i++)
    f->symbol[i].name = readable_name(a, isa, f->symbol[i].name, i);
  separate_names(a, f);
}

/* Symbols of a section, as the disassembler takes them. */
static struct asm_symbol *symbols_of(struct arena *a, const struct elf_file *f,
                                     int section, int *count) {
  struct asm_symbol *out =
      arena_array(a, (size_t)f->symbol_count + 1, sizeof *out);
  *count = 0;
  for (int i = 1; i < f->symbol_count; i++)
    if (f->symbol[i].section == section)
      out[(*count)++] = (struct asm_symbol){
          f->symbol[i].name,
          (int64_t)f->symbol[i].value +
              (f->type == ET_REL ? f->section[section].address : 0)};
  return out;
}

static struct disassembly_reference *references_of(struct arena *a,
                                                   const struct isa *isa,
                                                   const struct elf_file *f,
                                                   int section, int *count) {
  const struct elf_file_section *s = &f->section[section];
  struct disassembly_reference *out =
      arena_array(a, (size_t)f->relocation_count + 1, sizeof *out);
  *count = 0;
  for (int i = 0; i < f->relocation_count; i++) {
    const struct elf_file_relocation *r = &f->relocation[i];
    struct isa_bundle b;
    int slot, operand;
    if (r->section != section || r->offset >= s->size)
      continue;
    int size = isa_decode(isa, s->bytes + r->offset, s->size - r->offset, &b);
    if (size && relocation_operand(isa, r->type, &b, size, &slot, &operand))
      out[(*count)++] = (struct disassembly_reference){
          r->offset, slot, operand, f->symbol[r->symbol].name, r->addend};
  }
  return out;
}

static void print_globals(const struct elf_file *f, int section,
                          struct text *out) {
  for (int i = 1; i < f->symbol_count; i++)
    if (f->symbol[i].section == section && f->symbol[i].global) {
      text_printf(out, "  .globl %s\n", f->symbol[i].name);
      if (f->symbol[i].function)
        text_printf(out, "  .type %s,@function\n", f->symbol[i].name);
    }
}

static void print_code(struct arena *a, const struct isa *isa,
                       const struct elf_file *f, int section,
                       struct text *out) {
  const struct elf_file_section *s = &f->section[section];
  struct disassembly d = {
      .isa = isa, .bytes = s->bytes, .length = s->size, .address = s->address};
  d.symbol = symbols_of(a, f, section, &d.symbol_count);
  d.reference = references_of(a, isa, f, section, &d.reference_count);
  print_globals(f, section, out);
  disassemble(a, &d, out);
}

static const struct elf_file_relocation *
data_relocation(const struct isa *isa, const struct elf_file *f, int section,
                uint32_t offset) {
  for (int i = 0; i < f->relocation_count; i++)
    if (f->relocation[i].section == section &&
        f->relocation[i].offset == offset &&
        f->relocation[i].type == isa_data_relocation(isa))
      return &f->relocation[i];
  return NULL;
}

static void print_data(struct arena *a, const struct isa *isa,
                       const struct elf_file *f, int section,
                       struct text *out) {
  const struct elf_file_section *s = &f->section[section];
  int count;
  const struct asm_symbol *symbol = symbols_of(a, f, section, &count);
  print_globals(f, section, out);
  if (!s->bytes) {
    text_printf(out, "  .space %u\n", s->size);
    return;
  }
  for (uint32_t at = 0; at < s->size;) {
    for (int i = 0; i < count; i++)
      if (symbol[i].value == (int64_t)s->address + at)
        text_printf(out, "%s:\n", symbol[i].name);
    const struct elf_file_relocation *r = data_relocation(isa, f, section, at);
    bool whole = s->size - at >= 4;
    for (int i = 0; whole && i < count; i++)
      whole = symbol[i].value <= (int64_t)s->address + at ||
              symbol[i].value >= (int64_t)s->address + at + 4;
    if (whole && r)
      text_printf(out, "  .long %s%+lld\n", f->symbol[r->symbol].name,
                  (long long)r->addend);
    else if (whole)
      text_printf(out, "  .long 0x%02x%02x%02x%02x\n", s->bytes[at + 3],
                  s->bytes[at + 2], s->bytes[at + 1], s->bytes[at]);
    else
      text_printf(out, "  .byte 0x%02x\n", s->bytes[at]);
    at += whole ? 4 : 1;
  }
}

/* The instruction set of a file by its flags, `isa` if they do not say. */
static const struct isa *isa_of(const struct elf_file *f, const struct isa *isa,
                                struct diag *d) {
  if (f->machine == 0)
    return isa;
  for (int i = 0; (isa = isa_at(i)); i++)
    if (isa_elf_flags(isa) == f->machine)
      return isa;
  diag_error(d, loc_none(),
             "ELF flags %u name an instruction set without tables here",
             f->machine);
  return NULL;
}

const struct isa *asm_disassemble_elf(const struct isa *otherwise,
                                      const uint8_t *elf, size_t length,
                                      struct text *out, struct diag *d) {
  struct arena *a = arena_open();
  struct elf_file f;
  bool good = elf_read(a, elf, length, &f, d);
  const struct isa *isa = good ? isa_of(&f, otherwise, d) : NULL;
  good = isa != NULL;
  if (good)
    name_symbols(a, isa, &f);
  text_puts(out, good ? "  .autoalign 0\n" : "");
  for (int i = 1; good && i < f.section_count; i++) {
    const struct elf_file_section *s = &f.section[i];
    if (!(s->flags & SHF_ALLOC) || s->size == 0)
      continue;
    text_printf(out, "  .section %s,\"a%s%s\",@%s // at 0x%x\n",
                readable_name(a, isa, s->name, i),
                s->flags & SHF_WRITE ? "w" : "",
                s->flags & SHF_EXECINSTR ? "x" : "",
                s->bytes ? "progbits" : "nobits", s->address);
    if (s->flags & SHF_EXECINSTR && s->bytes)
      print_code(a, isa, &f, i, out);
    else
      print_data(a, isa, &f, i, out);
  }
  arena_close(a);
  return isa;
}
