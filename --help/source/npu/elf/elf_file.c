/* elf_file.c -- reads an ELF32 file of machine AIE from bytes that nobody has
 * checked.
 *
 * Every offset and count is compared with the length of the file before it is
 * used.  Of a file without section headers the loadable segments become
 * sections. */
#include "elf_file.h"

#include <assert.h>
#include <elf.h>
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
  assert(within(r, table, (uint64_t)size * ((unsigned)index + 1)));
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

static bool read_segments(struct reader *r) {
  uint32_t table = field(r->bytes, Elf32_Ehdr, e_phoff);
  int size = (int)field(r->bytes, Elf32_Ehdr, e_phentsize),
      count = (int)field(r->bytes, Elf32_Ehdr, e_phnum);
  if (count == 0)
    return true;
  if (size < (int)sizeof(Elf32_Phdr) ||
      !within(r, table, (uint64_t)size * (unsigned)count))
    return broken(r, "program headers", table);
  struct elf_file *f = r->file;
  f->segment = arena_array(r->arena, (size_t)count, sizeof *f->segment);
  for (int i = 0; i < count; i++) {
    const uint8_t *h = header(r, table, size, i);
    if (field(h, Elf32_Phdr, p_type) != PT_LOAD)
      continue;
    uint32_t offset = field(h, Elf32_Phdr, p_offset);
    struct elf_file_segment s = {
        field(h, Elf32_Phdr, p_flags), field(h, Elf32_Phdr, p_paddr),
        field(h, Elf32_Phdr, p_filesz), field(h, Elf32_Phdr, p_memsz), NULL};
    if (!within(r, offset, s.size))
      return broken(r, "a segment", offset);
    s.bytes = r->bytes + offset;
    f->segment[f->segment_count++] = s;
  }
  return true;
}

static void sections_of_segments(struct arena *a, struct elf_file *f) {
  assert(f->section_count == 0);
  f->section = arena_array(a, (size_t)f->segment_count + 1, sizeof *f->section);
  f->section_count = 1;
  f->section[0].name = "";
  for (int i = 0; i < f->segment_count; i++) {
    const struct elf_file_segment *s = &f->segment[i];
    bool code = s->flags & PF_X;
    f->section[f->section_count++] = (struct elf_file_section){
        .name = code ? ".text" : ".data",
        .type = SHT_PROGBITS,
        .flags = SHF_ALLOC | (code ? SHF_EXECINSTR : SHF_WRITE),
        .address = s->address,
        .size = s->size,
        .bytes = s->bytes};
  }
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
          .name = string_at(r, names, field(e, Elf32_Sym, st_name)),
          .value = field(e, Elf32_Sym, st_value),
          .section = section < f->section_count ? section : 0,
          .global = ELF32_ST_BIND(field(e, Elf32_Sym, st_info)) != STB_LOCAL,
          .function = ELF32_ST_TYPE(field(e, Elf32_Sym, st_info)) == STT_FUNC};
    }
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

static bool read_header(const struct reader *r) {
  static const uint8_t magic[] = {ELFMAG0, ELFMAG1,    ELFMAG2,
                                  ELFMAG3, ELFCLASS32, ELFDATA2LSB};
  *r->file = (struct elf_file){.type = 0};
  if (r->length < sizeof(Elf32_Ehdr) ||
      memcmp(r->bytes, magic, sizeof magic) != 0)
    return diag_error(r->diag, loc_none(), "not a little-endian ELF32 file");
  if (field(r->bytes, Elf32_Ehdr, e_machine) != ELF_MACHINE_AIE)
    return diag_error(r->diag, loc_none(), "ELF for machine %u; AIE is %d",
                      field(r->bytes, Elf32_Ehdr, e_machine), ELF_MACHINE_AIE);
  r->file->type = (int)field(r->bytes, Elf32_Ehdr, e_type);
  r->file->machine = field(r->bytes, Elf32_Ehdr, e_flags) & ELF_FLAGS_MACHINE;
  return true;
}

bool elf_read_segments(struct arena *a, const uint8_t *bytes, size_t length,
                       struct elf_file *f, struct diag *d) {
  struct reader r = {a, bytes, length, f, d};
  return read_header(&r) && read_segments(&r);
}

bool elf_read(struct arena *a, const uint8_t *bytes, size_t length,
              struct elf_file *f, struct diag *d) {
  struct reader r = {a, bytes, length, f, d};
  if (!read_header(&r) || !read_segments(&r) || !read_sections(&r))
    return false;
  if (f->section_count == 0)
    sections_of_segments(a, f);
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
