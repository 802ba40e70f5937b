/* object.c -- a program as relocatable ELF: sections from offset 0, symbols,
 * and a relocation for every reference, also to labels of the same file, for
 * a linker may move sections (isa.md F3, F4). */
#include "disassemble.h"
#include "elf_write.h"

#include <assert.h>
#include <string.h>

/* The relocation whose fields are the bits of this operand, -1: none. */
static int find_relocation(const struct isa *isa, const struct isa_bundle *b,
                           int size, const struct asm_reference *r) {
  struct isa_bits bits[3];
  const struct isa_relocation *relocation;
  int relocations = isa_relocations(isa, &relocation);
  int count = isa_operand_bits(isa, b, size, r->slot, r->operand, bits);
  for (int i = 0; i < relocations; i++) {
    bool same = relocation[i].bytes == size && count > 0 && count <= 2;
    for (int k = 0; same && k < 2; k++) {
      int offset = relocation[i].field[k].offset;
      int width = relocation[i].field[k].bits;
      same = k >= count ? width == 0
                        : width == bits[k].width &&
                              8 * size - offset - width == bits[k].low;
    }
    if (same)
      return relocation[i].type;
  }
  return -1;
}

bool relocation_operand(const struct isa *isa, int type,
                        const struct isa_bundle *b, int size, int *slot,
                        int *operand) {
  for (*slot = 0; *slot < SLOT_COUNT; ++*slot) {
    const struct insn *insn = isa_insn(isa, b->slot[*slot].id);
    for (*operand = 0; insn && *operand < insn->operand_count; ++*operand) {
      const struct isa_class *c =
          isa_class(isa, insn->operand[*operand].operand_class);
      struct asm_reference r = {(enum isa_slot) * slot, *operand, NULL, 0};
      if (c && !c->is_register && find_relocation(isa, b, size, &r) == type)
        return true;
    }
  }
  return false;
}

struct writer {
  struct elf_writer elf;
  const struct layout *layout;
  int *symbol; /* ELF index of each label */
  struct diag *diag;
};

static const struct isa *isa_of(const struct writer *w) {
  return w->layout->program->isa;
}

static int symbol_index(const struct writer *w, const char *name) {
  for (int i = 0; i < w->layout->label_count; i++)
    if (strcmp(w->layout->label[i].name, name) == 0)
      return w->symbol[i];
  assert(!"find_undefined has made a label of every name");
  return 0;
}

static void put_relocation(const struct writer *w, uint32_t offset, int type,
                           const char *symbol, int64_t addend,
                           struct text *out) {
  assert(type >= 0 && type <= UINT8_MAX);
  elf_put(out, offset, 4);
  elf_put(out, (uint32_t)symbol_index(w, symbol) << 8 | (uint32_t)type, 4);
  elf_put(out, (uint32_t)(uint64_t)addend, 4);
}

static bool relocate_bundle(const struct writer *w, const struct fragment *f,
                            struct text *out) {
  for (int i = 0; i < f->line->reference_count; i++) {
    const struct asm_reference *r = &f->line->reference[i];
    int type = find_relocation(isa_of(w), &f->line->bundle, (int)f->size, r);
    if (type < 0)
      return diag_error(
          w->diag, f->line->at,
          "no relocation puts symbol '%s' into %s of a bundle of %u bytes",
          r->symbol,
          isa_insn(isa_of(w), f->line->bundle.slot[r->slot].id)->mnemonic,
          f->size);
    put_relocation(w, f->offset, type, r->symbol, r->addend, out);
  }
  return true;
}

static void relocate_data(const struct writer *w, const struct fragment *f,
                          struct text *out) {
  for (int i = 0; i < f->directive.count; i++)
    if (f->directive.item[i].symbol)
      put_relocation(w, f->offset + (uint32_t)(i * f->directive.unit),
                     isa_data_relocation(isa_of(w)),
                     f->directive.item[i].symbol, f->directive.item[i].value,
                     out);
}

static bool relocate(const struct writer *w, const struct section *s,
                     struct text *out) {
  for (int i = 0; i < s->count; i++) {
    const struct fragment *f = &s->fragment[i];
    if (f->kind == FRAGMENT_BUNDLE && !relocate_bundle(w, f, out))
      return false;
    if (f->kind == FRAGMENT_DATA)
      relocate_data(w, f, out);
  }
  return true;
}

/* Symbols that are used but not defined become undefined labels. */
static bool known(const struct layout *l, const char *name) {
  for (int i = 0; i < l->label_count; i++)
    if (strcmp(l->label[i].name, name) == 0)
      return true;
  return false;
}

static void add_undefined(struct layout *l, const char *name) {
  if (known(l, name))
    return;
  if (l->label_count == l->label_capacity) {
    l->label_capacity = l->label_capacity ? 2 * l->label_capacity : 32;
    l->label = arena_copy(l->arena, l->label, (size_t)l->label_count,
                          (size_t)l->label_capacity, sizeof *l->label);
  }
  l->label[l->label_count++] =
      (struct label){.name = name, .section = -1, .global = true, .size = -1};
}

static void find_undefined(struct layout *l) {
  for (int s = 0; s < l->section_count; s++)
    for (int i = 0; i < l->section[s].count; i++) {
      const struct fragment *f = &l->section[s].fragment[i];
      for (int k = 0; f->kind == FRAGMENT_DATA && k < f->directive.count; k++)
        if (f->directive.item[k].symbol)
          add_undefined(l, f->directive.item[k].symbol);
      for (int k = 0;
           f->kind == FRAGMENT_BUNDLE && k < f->line->reference_count; k++)
        add_undefined(l, f->line->reference[k].symbol);
    }
}

static void add_symbols(struct writer *w, const int *section) {
  const struct layout *l = w->layout;
  for (int global = 0; global < 2; global++)
    for (int i = 0; i < l->label_count; i++) {
      const struct label *label = &l->label[i];
      bool defined = label->section >= 0;
      if ((label->global || !defined) != (global == 1))
        continue;
      w->symbol[i] =
          elf_add_symbol(&w->elf, label, defined ? layout_address(l, label) : 0,
                         defined ? section[label->section] : 0);
    }
}

bool asm_object(const struct asm_program *p, struct text *elf, struct diag *d) {
  struct arena *a = arena_open();
  struct layout l;
  struct text bytes = {0}, entries = {0};
  bool good = layout_build(&l, a, p, d);
  struct writer w = {elf_open(a, ELF_RELOCATABLE, isa_elf_flags(p->isa)), &l,
                     NULL, d};
  if (good) {
    find_undefined(&l);
    w.symbol = arena_array(a, (size_t)l.label_count + 1, sizeof *w.symbol);
    int *section = arena_array(a, (size_t)l.section_count, sizeof *section);
    const struct resolver r = {NULL, NULL, &l, true};
    for (int i = 0; good && i < l.section_count; i++) {
      const struct section *s = &l.section[i];
      bytes.length = 0;
      good = layout_emit(&l, s, &r, &bytes, d);
      section[i] =
          elf_add_section(&w.elf, s->name, s->flags, s->align, 0, &bytes);
    }
    add_symbols(&w, section);
    for (int i = 0; good && i < l.section_count; i++) {
      entries.length = 0;
      good = relocate(&w, &l.section[i], &entries);
      if (entries.length)
        elf_add_relocations(&w.elf, section[i], &entries);
    }
  }
  struct text file = {0};
  elf_write(&w.elf, &file);
  if (good)
    text_append(elf, text_string(&file), file.length);
  text_free(&file);
  text_free(&bytes);
  text_free(&entries);
  arena_close(a);
  return good;
}
