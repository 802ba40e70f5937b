/* elf_write.h -- inside npu/asm: collects sections, symbols and relocations of
 * an ELF32 file for machine AIE and writes it. */
#ifndef NPUTEIR_ASM_ELF_WRITE_H
#define NPUTEIR_ASM_ELF_WRITE_H

#include "parts.h"

enum elf_type { ELF_RELOCATABLE = 1, ELF_EXECUTABLE = 2 };
struct elf_section {
  const char *name;
  uint32_t type, flags, address, align, link, info, entry, size;
  struct text bytes; /* owned */
};
struct elf_writer {
  struct arena *arena;
  enum elf_type type;
  uint32_t machine;
  int count, capacity;
  struct elf_section *section;
  struct text symbol, name;
  int symbol_count, local_count;
};
/* `machine` is e_flags: the instruction set. */
struct elf_writer elf_open(struct arena *, enum elf_type, uint32_t machine);
/* Returns the index of the section; `flags` are enum section_flag. */
int elf_add_section(struct elf_writer *, const char *name, unsigned flags,
                    uint32_t align, uint32_t address, const struct text *);
/* All local labels first.  Section 0: undefined.  Returns the index. */
int elf_add_symbol(struct elf_writer *, const struct label *, uint32_t value,
                   int section);
void elf_add_relocations(struct elf_writer *, int section,
                         const struct text *entries);
/* Appends the file and frees what the writer holds. */
void elf_write(struct elf_writer *, struct text *);
void elf_put(struct text *, uint32_t value, int bytes);

#endif
