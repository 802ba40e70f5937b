/* elf_read.c -- reads an ELF32 file of machine AIE from bytes that nobody has
 * checked, and prints it as assembly text.
 *
 * Every offset and count is compared with the length of the file before it is
 * used.  A file without section headers is read by its loadable segments. */
#include "elf_read.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COUNT = 1 << 16 };

struct reader {
  struct arena *arena;
  const uint8_t *bytes;
  size_t length;
  struct elf_file *file;
  struct diag *diag;
};

static uint32_t word(const uint8_t *p, int bytes) {
  uint32_t v = 0;
  for (int i = bytes; i-- > 0;)
    v = v << 8 | p[i];
  return v;
}

/* A little-endian field of a structure of <elf.h>, wherever that lies. */
#define field(at, type, name)                                                  \
  word((at) + offsetof(type, name), (int)sizeof(((type *)0)->name))

static bool within(const struct reader *r, uint32_t offset, uint64_t size) {
  return offset <= r->length && size <= r->length - offset;
}

static bool broken(const struct reader *r, const char *what, uint32_t offset) {
  return diag_error(r->diag, loc_none(),
                    "ELF: %s at offset %u is past the end of the file (%zu "
                    "bytes)",
                    what, offset, r->length);
}

/* A NUL-terminated string of a string table; "" if there is none. */
static const char *string_at(const struct reader *r,
                             const struct elf_file_section *table,
                             uint32_t offset) {
  if (!table || !table->bytes || offset >= table->size)
    return "";
  const char *s = (const char *)table->bytes + offset;
  size_t length = strnlen(s, table->size - offset);
  return arena_substring(r->arena, s, length);
}

static const uint8_t *header(const struct reader *r, uint32_t table, int size,
                             int index) {
  return r->bytes + table + (size_t)size * (size_t)index;
}

static bool read_sections(struct reader *r) {
  uint32_t table = field(r->bytes, Elf32_Ehdr, e_shoff);
  int size = (int)field(r->bytes, Elf32_Ehdr, e_shentsize),
      count = (int)field(r->bytes, Elf32_Ehdr, e_shnum);
  int names = (int)field(r->bytes, Elf32_Ehdr, e_shstrndx);
  if (count == 0)
    return true;
  if (size < (int)sizeof(Elf32_Shdr) ||
      !within(r, table, (uint64_t)size * (unsigned)count))
    return broken(r, "section headers", table);
  struct elf_file *f = r->file;
  f->section = arena_array(r->arena, (size_t)count, sizeof *f->section);
  f->section_count = count;
  for (int i = 0; i < count; i++) {
    const uint8_t *h = header(r, table, size, i);
    struct elf_file_section *s = &f->section[i];
    uint32_t offset = field(h, Elf32_Shdr, sh_offset);
    s->type = field(h, Elf32_Shdr, sh_type);
    s->flags = field(h, Elf32_Shdr, sh_flags);
    s->address = field(h, Elf32_Shdr, sh_addr);
    s->size = field(h, Elf32_Shdr, sh_size);
    if (s->type == SHT_NOBITS || s->type == SHT_NULL)
      continue;
    if (!within(r, offset, s->size))
      return broken(r, "a section", offset);
    s->bytes = r->bytes + offset;
  }
  for (int i = 0; i < count; i++)
    f->section[i].name =
        string_at(r, names < count ? &f->section[names] : NULL,
                  field(header(r, table, size, i), Elf32_Shdr, sh_name));
  return true;
}

/* Segments of a file without sections. */
static bool read_segments(struct reader *r) {
  uint32_t table = field(r->bytes, Elf32_Ehdr, e_phoff);
  int size = (int)field(r->bytes, Elf32_Ehdr, e_phentsize),
      count = (int)field(r->bytes, Elf32_Ehdr, e_phnum);
  if (size < (int)sizeof(Elf32_Phdr) ||
      !within(r, table, (uint64_t)size * (unsigned)count))
    return broken(r, "program headers", table);
  struct elf_file *f = r->file;
  f->section = arena_array(r->arena, (size_t)count + 1, sizeof *f->section);
  f->section_count = 1;
  f->section[0].name = "";
  for (int i = 0; i < count; i++) {
    const uint8_t *h = header(r, table, size, i);
    if (field(h, Elf32_Phdr, p_type) != PT_LOAD)
      continue;
    uint32_t offset = field(h, Elf32_Phdr, p_offset),
             bytes = field(h, Elf32_Phdr, p_filesz);
    if (!within(r, offset, bytes))
      return broken(r, "a segment", offset);
    bool code = field(h, Elf32_Phdr, p_flags) & PF_X;
    f->section[f->section_count++] = (struct elf_file_section){
        .name = code ? ".text" : ".data",
        .type = SHT_PROGBITS,
        .flags = SHF_ALLOC | (code ? SHF_EXECINSTR : SHF_WRITE),
        .address = field(h, Elf32_Phdr, p_paddr),
        .size = bytes,
        .bytes = r->bytes + offset};
  }
  return true;
}

/* Names that the assembler would not read are replaced. */
static const char *readable_name(struct reader *r, const char *name, int i) {
  struct cursor c = {.at = name};
  size_t length = lex_name(&c);
  bool plain = length && !name[length] && isa_reg_find(name, length) < 0 &&
               !strstr(name, "//");
  return plain ? name : arena_printf(r->arena, ".Lsymbol%d", i);
}

static int by_name(const void *a, const void *b) {
  const struct elf_file_symbol *const *x = a, *const *y = b;
  int order = strcmp((*x)->name, (*y)->name);
  return order ? order : (*x > *y) - (*x < *y);
}

/* Local symbols of several programs may share a name; a text has one label of
 * each name, so later ones get a number. */
static void separate_names(struct reader *r) {
  struct elf_file *f = r->file;
  struct elf_file_symbol **sorted =
      arena_array(r->arena, (size_t)f->symbol_count + 1, sizeof *sorted);
  for (int i = 0; i < f->symbol_count; i++)
    sorted[i] = &f->symbol[i];
  qsort(sorted, (size_t)f->symbol_count, sizeof *sorted, by_name);
  for (int i = f->symbol_count - 1; i > 0; i--)
    if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
      sorted[i]->name = arena_printf(r->arena, "%s.%d", sorted[i]->name,
                                     (int)(sorted[i] - f->symbol));
}

static bool read_symbols(struct reader *r, uint32_t *link_of) {
  struct elf_file *f = r->file;
  for (int i = 0; i < f->section_count; i++) {
    const struct elf_file_section *s = &f->section[i];
    if (s->type != SHT_SYMTAB || f->symbol)
      continue;
    int count = (int)(s->size / sizeof(Elf32_Sym));
    if (count > MAX_COUNT)
      return diag_error(r->diag, loc_none(), "ELF: %d symbols", count);
    f->symbol = arena_array(r->arena, (size_t)count + 1, sizeof *f->symbol);
    f->symbol_count = count;
    const struct elf_file_section *names =
        link_of[i] < (uint32_t)f->section_count ? &f->section[link_of[i]]
                                                : NULL;
    for (int k = 0; k < count; k++) {
      const uint8_t *e = s->bytes + (size_t)k * sizeof(Elf32_Sym);
      int section = (int)field(e, Elf32_Sym, st_shndx);
      f->symbol[k] = (struct elf_file_symbol){
          .name = readable_name(
              r, string_at(r, names, field(e, Elf32_Sym, st_name)), k),
          .value = field(e, Elf32_Sym, st_value),
          .section = section < f->section_count ? section : 0,
          .global = ELF32_ST_BIND(field(e, Elf32_Sym, st_info)) != STB_LOCAL,
          .function = ELF32_ST_TYPE(field(e, Elf32_Sym, st_info)) == STT_FUNC};
    }
    separate_names(r);
  }
  return true;
}

static bool read_relocations(struct reader *r, const uint32_t *info_of) {
  struct elf_file *f = r->file;
  int total = 0;
  for (int i = 0; i < f->section_count; i++)
    if (f->section[i].type == SHT_RELA && f->section[i].bytes)
      total += (int)(f->section[i].size / sizeof(Elf32_Rela));
  if (total > MAX_COUNT)
    return diag_error(r->diag, loc_none(), "ELF: %d relocations", total);
  f->relocation =
      arena_array(r->arena, (size_t)total + 1, sizeof *f->relocation);
  for (int i = 0; i < f->section_count; i++) {
    const struct elf_file_section *s = &f->section[i];
    if (s->type != SHT_RELA || !s->bytes)
      continue;
    for (uint32_t k = 0; k + sizeof(Elf32_Rela) <= s->size;
         k += sizeof(Elf32_Rela)) {
      const uint8_t *e = s->bytes + k;
      uint32_t symbol = ELF32_R_SYM(field(e, Elf32_Rela, r_info));
      if (symbol >= (uint32_t)f->symbol_count)
        return diag_error(r->diag, loc_none(),
                          "ELF: relocation of symbol %u of %d", symbol,
                          f->symbol_count);
      f->relocation[f->relocation_count++] = (struct elf_file_relocation){
          (int)info_of[i], field(e, Elf32_Rela, r_offset),
          (int)ELF32_R_TYPE(field(e, Elf32_Rela, r_info)), (int)symbol,
          (int32_t)field(e, Elf32_Rela, r_addend)};
    }
  }
  return true;
}

bool elf_read(struct arena *a, const uint8_t *bytes, size_t length,
              struct elf_file *f, struct diag *d) {
  static const uint8_t magic[] = {ELFMAG0, ELFMAG1,    ELFMAG2,
                                  ELFMAG3, ELFCLASS32, ELFDATA2LSB};
  struct reader r = {a, bytes, length, f, d};
  *f = (struct elf_file){.type = 0};
  if (length < sizeof(Elf32_Ehdr) || memcmp(bytes, magic, sizeof magic) != 0)
    return diag_error(d, loc_none(), "not a little-endian ELF32 file");
  if (field(bytes, Elf32_Ehdr, e_machine) != ELF_MACHINE_AIE)
    return diag_error(d, loc_none(), "ELF for machine %u; AIE is %d",
                      field(bytes, Elf32_Ehdr, e_machine), ELF_MACHINE_AIE);
  f->type = (int)field(bytes, Elf32_Ehdr, e_type);
  if (!read_sections(&r) || (f->section_count == 0 && !read_segments(&r)))
    return false;
  uint32_t *link = arena_array(a, (size_t)f->section_count + 1, sizeof *link);
  uint32_t *info = arena_array(a, (size_t)f->section_count + 1, sizeof *info);
  uint32_t table = field(bytes, Elf32_Ehdr, e_shoff);
  int size = (int)field(bytes, Elf32_Ehdr, e_shentsize);
  for (int i = 0; i < (int)field(bytes, Elf32_Ehdr, e_shnum); i++) {
    link[i] = field(header(&r, table, size, i), Elf32_Shdr, sh_link);
    info[i] = field(header(&r, table, size, i), Elf32_Shdr, sh_info);
  }
  return read_symbols(&r, link) && read_relocations(&r, info);
}

/* ---- as text ---- */

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
    int size = isa_decode(s->bytes + r->offset, s->size - r->offset, &b);
    if (size && relocation_operand(r->type, &b, size, &slot, &operand))
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

static void print_code(struct arena *a, const struct elf_file *f, int section,
                       struct text *out) {
  const struct elf_file_section *s = &f->section[section];
  struct disassembly d = {
      .bytes = s->bytes, .length = s->size, .address = s->address};
  d.symbol = symbols_of(a, f, section, &d.symbol_count);
  d.reference = references_of(a, f, section, &d.reference_count);
  print_globals(f, section, out);
  disassemble(a, &d, out);
}

static const struct elf_file_relocation *
data_relocation(const struct elf_file *f, int section, uint32_t offset) {
  for (int i = 0; i < f->relocation_count; i++)
    if (f->relocation[i].section == section &&
        f->relocation[i].offset == offset &&
        f->relocation[i].type == RELOCATION_DATA_32)
      return &f->relocation[i];
  return NULL;
}

static void print_data(struct arena *a, const struct elf_file *f, int section,
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
    const struct elf_file_relocation *r = data_relocation(f, section, at);
    bool whole = s->size - at >= 4;
    for (int i = 0; whole && i < count; i++)
      whole = symbol[i].value <= (int64_t)s->address + at ||
              symbol[i].value >= (int64_t)s->address + at + 4;
    if (whole && r)
      text_printf(out, "  .long %s%+lld\n", f->symbol[r->symbol].name,
                  (long long)r->addend);
    else if (whole)
      text_printf(out, "  .long 0x%08x\n", word(s->bytes + at, 4));
    else
      text_printf(out, "  .byte 0x%02x\n", s->bytes[at]);
    at += whole ? 4 : 1;
  }
}

bool asm_disassemble_elf(const uint8_t *elf, size_t length, struct text *out,
                         struct diag *d) {
  struct arena *a = arena_open();
  struct elf_file f;
  bool good = elf_read(a, elf, length, &f, d);
  text_puts(out, good ? "  .autoalign 0\n" : "");
  for (int i = 1; good && i < f.section_count; i++) {
    const struct elf_file_section *s = &f.section[i];
    if (!(s->flags & SHF_ALLOC) || s->size == 0)
      continue;
    text_printf(out, "  .section %s,\"a%s%s\",@%s // at 0x%x\n",
                readable_name(&(struct reader){.arena = a}, s->name, i),
                s->flags & SHF_WRITE ? "w" : "",
                s->flags & SHF_EXECINSTR ? "x" : "",
                s->bytes ? "progbits" : "nobits", s->address);
    if (s->flags & SHF_EXECINSTR && s->bytes)
      print_code(a, &f, i, out);
    else
      print_data(a, &f, i, out);
  }
  arena_close(a);
  return good;
}
