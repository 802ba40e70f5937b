/* elf_test.c -- ELF files written byte by byte, as System V's ABI prints their
 * tables: what is read of them, and what is refused. */
#include "elf_file.h"

#include "check.h"

#include <elf.h>
#include <string.h>

enum {
  CODE = 0x100,
  DATA = CODE + 6,
  SYMBOLS = DATA + 6,
  SYMBOL_BYTES = 3 * 16,
  NAMES = SYMBOLS + SYMBOL_BYTES,
  NAMES_BYTES = 12,
  RELA = NAMES + NAMES_BYTES,
  SECTIONS = RELA + 12,
  BYTES = SECTIONS + 6 * 40
};

static void set(uint8_t *p, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++)
    p[i] = (uint8_t)(v >> 8 * i);
}

static void set_words(uint8_t *p, const uint32_t *word, int count) {
  for (int i = 0; i < count; i++)
    set(p + 4 * i, word[i], 4);
}

static void set_section(uint8_t *elf, int index, uint32_t name, uint32_t type,
                        uint32_t flags, uint32_t address, uint32_t offset,
                        uint32_t size, uint32_t link, uint32_t info) {
  const uint32_t word[10] = {name, type, flags, address, offset,
                             size, link, info,  0,       0};
  set_words(elf + SECTIONS + 40 * index, word, 10);
}

static void set_segment(uint8_t *elf, int index, uint32_t type, uint32_t offset,
                        uint32_t address, uint32_t size, uint32_t memory,
                        uint32_t flags) {
  const uint32_t word[8] = {type, offset, 0, address, size, memory, flags, 0};
  set_words(elf + 52 + 32 * index, word, 8);
}

/* Code, data, two symbols and one relocation, and a segment for each of the
 * first two. */
static void make(uint8_t elf[BYTES]) {
  memset(elf, 0, BYTES);
  memcpy(elf, "\177ELF\1\1\1", 7);
  set(elf + 16, 2, 2);
  set(elf + 18, 264, 2);
  set(elf + 28, 52, 4);
  set(elf + 32, SECTIONS, 4);
  set(elf + 42, 32, 2);
  set(elf + 44, 3, 2);
  set(elf + 46, 40, 2);
  set(elf + 48, 6, 2);
  set(elf + 50, 4, 2);
  set_segment(elf, 0, 1, CODE, 0x10, 6, 6, 5);
  set_segment(elf, 1, 0x70000000, 0, 0, 0x7fffffff, 0, 0);
  set_segment(elf, 2, 1, DATA, 0x70000, 6, 20, 6);
  for (int i = CODE; i < SYMBOLS; i++)
    elf[i] = (uint8_t)i;
  const uint32_t symbol[] = {1, 0x14,    4, 2 | 1 << 16,
                             4, 0x70004, 0, 0x10 | 2 << 16};
  set_words(elf + SYMBOLS + 16, symbol, 8);
  memcpy(elf + NAMES, "\0ab\0cd\0.t\0", 10);
  const uint32_t relocation[] = {2, 2 << 8 | 51, (uint32_t)-8};
  set_words(elf + RELA, relocation, 3);
  set_section(elf, 1, 7, 1, 6, 0x10, CODE, 6, 0, 0);
  set_section(elf, 2, 0, 1, 3, 0x70000, DATA, 6, 0, 0);
  set_section(elf, 3, 0, 2, 0, 0, SYMBOLS, SYMBOL_BYTES, 4, 0);
  set_section(elf, 4, 0, 3, 0, 0, NAMES, NAMES_BYTES, 0, 0);
  set_section(elf, 5, 0, 4, 0, 0, RELA, 12, 3, 1);
}

static void test_read(struct arena *a) {
  uint8_t elf[BYTES];
  struct elf_file f;
  struct diag d = {0};
  make(elf);
  CHECK(elf_read(a, elf, BYTES, &f, &d) && f.type == ET_EXEC);
  CHECK(f.section_count == 6 && f.symbol_count == 3);
  CHECK(strcmp(f.section[1].name, ".t") == 0);
  CHECK(f.section[1].address == 0x10 && f.section[1].size == 6);
  CHECK(f.section[1].flags == (SHF_ALLOC | SHF_EXECINSTR));
  CHECK(f.section[2].bytes == elf + DATA && f.section[0].bytes == NULL);
  const struct elf_file_symbol *s = f.symbol;
  CHECK(strcmp(s[1].name, "ab") == 0 && s[1].value == 0x14);
  CHECK(!s[1].global && s[1].function && s[1].section == 1);
  CHECK(strcmp(s[2].name, "cd") == 0 && s[2].value == 0x70004);
  CHECK(s[2].global && !s[2].function && s[2].section == 2);
  const struct elf_file_relocation *r = f.relocation;
  CHECK(f.relocation_count == 1 && r->section == 1 && r->offset == 2);
  CHECK(r->type == 51 && r->symbol == 2 && r->addend == -8);
}

static void check_segments(const struct elf_file *f, const uint8_t *elf) {
  const struct elf_file_segment *s = f->segment;
  CHECK(f->segment_count == 2);
  CHECK(s[0].address == 0x10 && s[0].size == 6 && s[0].memory_bytes == 6);
  CHECK(s[0].flags == (PF_R | PF_X) && s[0].bytes == elf + CODE);
  CHECK(s[1].address == 0x70000 && s[1].size == 6 && s[1].memory_bytes == 20);
  CHECK(s[1].flags == (PF_R | PF_W) && s[1].bytes == elf + DATA);
}

/* A loader does not mind what the section headers say; who reads all of a file
 * without any sees its segments. */
static void test_segments(struct arena *a) {
  uint8_t elf[BYTES];
  struct elf_file f;
  struct diag d = {0};
  make(elf);
  set(elf + 32, 0xfffffff0, 4);
  CHECK(elf_read_segments(a, elf, BYTES, &f, &d) && f.section_count == 0);
  check_segments(&f, elf);
  CHECK(!elf_read(a, elf, BYTES, &f, &d));
  set(elf + 48, 0, 2);
  d = (struct diag){0};
  CHECK(elf_read(a, elf, BYTES, &f, &d) && f.section_count == 3);
  check_segments(&f, elf);
  CHECK(strcmp(f.section[1].name, ".text") == 0);
  CHECK(f.section[1].flags == (SHF_ALLOC | SHF_EXECINSTR));
  CHECK(strcmp(f.section[2].name, ".data") == 0);
  CHECK(f.section[2].bytes == elf + DATA && f.section[2].size == 6);
}

/* One number of the file changed, and what is said of it. */
static void test_refused(struct arena *a) {
  static const struct {
    int at, bytes;
    uint32_t value;
    const char *says;
  } c[] = {
      {4, 1, 2, "not a little-endian ELF32"},
      {5, 1, 2, "not a little-endian ELF32"},
      {18, 2, 62, "machine 62"},
      {28, 4, BYTES - 95, "program headers"},
      {42, 2, 31, "program headers"},
      {52 + 4, 4, BYTES - 5, "a segment"},
      {32, 4, SECTIONS + 1, "section headers"},
      {46, 2, 39, "section headers"},
      {SECTIONS + 40 + 16, 4, BYTES - 5, "a section"},
      {SECTIONS + 40 + 20, 4, 0xffffffff, "a section"},
      {RELA + 5, 1, 3, "relocation of symbol 3 of 3"},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    uint8_t elf[BYTES];
    struct elf_file f;
    struct diag d = {0};
    make(elf);
    set(elf + c[i].at, c[i].value, c[i].bytes);
    CHECK(!elf_read(a, elf, BYTES, &f, &d));
    CHECK(strstr(d.text, c[i].says));
  }
}

/* Names, sections and the table of names may be anything. */
static void test_wild_numbers(struct arena *a) {
  static const struct {
    int at, bytes;
  } c[] = {
      {50, 2},           {SECTIONS + 40, 4},     {SECTIONS + 3 * 40 + 24, 4},
      {SYMBOLS + 16, 4}, {SYMBOLS + 16 + 14, 2},
  };
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    uint8_t elf[BYTES];
    struct elf_file f;
    struct diag d = {0};
    make(elf);
    set(elf + c[i].at, 0xfffffff0, c[i].bytes);
    CHECK(elf_read(a, elf, BYTES, &f, &d));
    CHECK(f.symbol[1].section == 1 || f.symbol[1].section == 0);
    CHECK(*f.section[1].name == 0 || *f.symbol[1].name == 0 ||
          f.symbol[1].section == 0);
  }
}

int main(void) {
  struct arena *a = arena_open();
  uint8_t elf[BYTES];
  struct elf_file f;
  struct diag d = {0};
  make(elf);
  CHECK(!elf_read(a, elf, 51, &f, &d) && strstr(d.text, "ELF32"));
  test_read(a);
  test_segments(a);
  test_refused(a);
  test_wild_numbers(a);
  arena_close(a);
  return check_result();
}
