/* elf_write.c -- ELF32, little endian, machine 264 (AIE); its flags tell the
 * instruction set. */
#include "elf_write.h"

#include "elf_file.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

void elf_put(struct text *out, uint32_t value, int bytes) {
  assert(bytes == 1 || bytes == 2 || bytes == 4);
  for (int i = 0; i < bytes; i++)
    text_append(out, &(char){(char)(value >> (8 * i))}, 1);
}

static struct elf_section *add(struct elf_writer *w, const char *name,
                               uint32_t type) {
  if (w->count == w->capacity) {
    int capacity = w->capacity ? 2 * w->capacity : 8;
    w->section = arena_copy(w->arena, w->section, (size_t)w->count,
                            (size_t)capacity, sizeof *w->section);
    w->capacity = capacity;
  }
  struct elf_section *s = &w->section[w->count++];
  *s = (struct elf_section){.name = name, .type = type, .align = 1};
  return s;
}

struct elf_writer elf_open(struct arena *a, enum elf_type type,
                           uint32_t machine) {
  struct elf_writer w = {.arena = a, .type = type, .machine = machine};
  add(&w, "", 0)->align = 0;
  elf_put(&w.name, 0, 1);
  for (int i = 0; i < (int)sizeof(Elf32_Sym); i++)
    elf_put(&w.symbol, 0, 1);
  w.symbol_count = w.local_count = 1;
  return w;
}

int elf_add_section(struct elf_writer *w, const char *name, unsigned flags,
                    uint32_t align, uint32_t address,
                    const struct text *bytes) {
  struct elf_section *s =
      add(w, name, flags & SECTION_ZERO ? SHT_NOBITS : SHT_PROGBITS);
  s->flags = SHF_ALLOC | (flags & SECTION_EXEC ? SHF_EXECINSTR : 0) |
             (flags & SECTION_WRITE ? SHF_WRITE : 0);
  s->align = align;
  s->address = address;
  s->size = (uint32_t)bytes->length;
  if (!(flags & SECTION_ZERO))
    text_append(&s->bytes, text_string(bytes), bytes->length);
  return w->count - 1;
}

int elf_add_symbol(struct elf_writer *w, const struct label *label,
                   uint32_t value, int section) {
  bool global = label->global || section == 0;
  assert(section >= 0 && section < w->count);
  assert(global || w->local_count == w->symbol_count); /* local ones first */
  elf_put(&w->symbol, (uint32_t)w->name.length, 4);
  elf_put(&w->symbol, value, 4);
  elf_put(&w->symbol, label->size > 0 ? (uint32_t)label->size : 0, 4);
  elf_put(&w->symbol,
          ELF32_ST_INFO(global ? STB_GLOBAL : STB_LOCAL,
                        label->function ? STT_FUNC : STT_NOTYPE),
          1);
  elf_put(&w->symbol, 0, 1);
  elf_put(&w->symbol, (uint32_t)section, 2);
  text_append(&w->name, label->name, strlen(label->name) + 1);
  if (!global)
    w->local_count = w->symbol_count + 1;
  return w->symbol_count++;
}

void elf_add_relocations(struct elf_writer *w, int section,
                         const struct text *entries) {
  assert(section > 0 && section < w->count);
  assert(entries->length % sizeof(Elf32_Rela) == 0);
  const char *name =
      arena_printf(w->arena, ".rela%s", w->section[section].name);
  struct elf_section *s = add(w, name, SHT_RELA);
  s->flags = SHF_INFO_LINK;
  s->info = (uint32_t)section;
  s->align = 4;
  s->entry = sizeof(Elf32_Rela);
  s->size = (uint32_t)entries->length;
  text_append(&s->bytes, text_string(entries), entries->length);
}

static void add_tables(struct elf_writer *w) {
  int symtab = w->count;
  struct elf_section *s = add(w, ".symtab", SHT_SYMTAB);
  s->link = (uint32_t)symtab + 1;
  s->info = (uint32_t)w->local_count;
  s->align = 4;
  s->entry = (int)sizeof(Elf32_Sym);
  s->bytes = w->symbol;
  s->size = (uint32_t)w->symbol.length;
  s = add(w, ".strtab", SHT_STRTAB);
  s->bytes = w->name;
  s->size = (uint32_t)w->name.length;
  add(w, ".shstrtab", SHT_STRTAB);
  for (int i = 0; i < w->count; i++)
    if (w->section[i].type == SHT_RELA)
      w->section[i].link = (uint32_t)symtab;
}

static bool loaded(const struct elf_writer *w, int i) {
  return w->type == ELF_EXECUTABLE && w->section[i].flags & SHF_ALLOC &&
         w->section[i].size;
}

static void put_header(const struct elf_writer *w, uint32_t segments,
                       uint32_t section_offset, struct text *out) {
  static const char ident[EI_NIDENT] = {
      ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT};
  text_append(out, ident, sizeof ident);
  elf_put(out, (uint32_t)w->type, 2);
  elf_put(out, ELF_MACHINE_AIE, 2);
  elf_put(out, EV_CURRENT, 4);
  elf_put(out, 0, 4); /* entry */
  elf_put(out, segments ? sizeof(Elf32_Ehdr) : 0, 4);
  elf_put(out, section_offset, 4);
  elf_put(out, w->machine, 4);
  elf_put(out, sizeof(Elf32_Ehdr), 2);
  elf_put(out, segments ? sizeof(Elf32_Phdr) : 0, 2);
  elf_put(out, segments, 2);
  elf_put(out, sizeof(Elf32_Shdr), 2);
  elf_put(out, (uint32_t)w->count, 2);
  elf_put(out, (uint32_t)w->count - 1, 2);
}

static void put_segment(const struct elf_section *s, uint32_t offset,
                        struct text *out) {
  elf_put(out, PT_LOAD, 4);
  elf_put(out, offset, 4);
  elf_put(out, s->address, 4);
  elf_put(out, s->address, 4);
  elf_put(out, (uint32_t)s->bytes.length, 4);
  elf_put(out, s->size, 4);
  elf_put(out,
          s->flags & SHF_EXECINSTR ? PF_R | PF_X
          : s->flags & SHF_WRITE   ? PF_R | PF_W
                                   : PF_R,
          4);
  elf_put(out, s->align, 4);
}

static void put_section(const struct elf_section *s, uint32_t name,
                        uint32_t offset, struct text *out) {
  const uint32_t word[10] = {name,    s->type, s->flags, s->address, offset,
                             s->size, s->link, s->info,  s->align,   s->entry};
  for (int i = 0; i < 10; i++)
    elf_put(out, word[i], 4);
}

void elf_write(struct elf_writer *w, struct text *out) {
  add_tables(w);
  uint32_t *offset = arena_array(w->arena, (size_t)w->count, sizeof *offset);
  uint32_t *name = arena_array(w->arena, (size_t)w->count, sizeof *name);
  struct elf_section *last = &w->section[w->count - 1];
  uint32_t segments = 0;
  for (int i = 0; i < w->count; i++) {
    name[i] = (uint32_t)last->bytes.length;
    text_append(&last->bytes, w->section[i].name,
                strlen(w->section[i].name) + 1);
    segments += loaded(w, i);
  }
  last->size = (uint32_t)last->bytes.length;
  uint32_t at = sizeof(Elf32_Ehdr) + segments * sizeof(Elf32_Phdr);
  for (int i = 1; i < w->count; i++) {
    at = (at + 15) / 16 * 16;
    offset[i] = at;
    at += (uint32_t)w->section[i].bytes.length;
  }
  at = (at + 3) / 4 * 4;
  size_t start = out->length;
  put_header(w, segments, at, out);
  assert(out->length - start == sizeof(Elf32_Ehdr));
  for (int i = 0; i < w->count; i++)
    if (loaded(w, i))
      put_segment(&w->section[i], offset[i], out);
  for (int i = 1; i < w->count; i++) {
    while (out->length - start < offset[i])
      elf_put(out, 0, 1);
    assert(out->length - start == offset[i]);
    text_append(out, text_string(&w->section[i].bytes),
                w->section[i].bytes.length);
  }
  while (out->length - start < at)
    elf_put(out, 0, 1);
  assert(out->length - start == at);
  for (int i = 0; i < w->count; i++)
    put_section(&w->section[i], name[i], offset[i], out);
  for (int i = 0; i < w->count; i++)
    text_free(&w->section[i].bytes);
}
