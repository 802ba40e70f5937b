/* elf_read.h -- inside npu/asm: what the disassembler needs of an ELF file, and
 * what it does with bytes from anywhere. */
#ifndef NPUTEIR_ASM_ELF_READ_H
#define NPUTEIR_ASM_ELF_READ_H

#include "parts.h"

struct disassembly_reference {
  size_t offset; /* of the bundle */
  int slot, operand;
  const char *symbol;
  int64_t addend;
};
struct disassembly {
  const uint8_t *bytes;
  size_t length;
  uint32_t address;
  int symbol_count, reference_count;
  const struct asm_symbol *symbol;
  const struct disassembly_reference *reference;
};
void disassemble(struct arena *, const struct disassembly *, struct text *);

/* The operand of a bundle whose bits a relocation of this type fills. */
bool relocation_operand(int type, const struct isa_bundle *, int size,
                        int *slot, int *operand);
enum { RELOCATION_DATA_20 = 50, RELOCATION_DATA_32 = 51 };

struct elf_file_section {
  const char *name;
  uint32_t type, flags, address, size;
  const uint8_t *bytes; /* NULL if it has none in the file */
};
struct elf_file_symbol {
  const char *name;
  uint32_t value;
  int section; /* 0: undefined */
  bool global, function;
};
struct elf_file_relocation {
  int section; /* that it changes */
  uint32_t offset;
  int type, symbol;
  int64_t addend;
};
struct elf_file {
  int type; /* 1 object, 2 executable */
  int section_count, symbol_count, relocation_count;
  struct elf_file_section *section;
  struct elf_file_symbol *symbol;
  struct elf_file_relocation *relocation;
};
bool elf_read(struct arena *, const uint8_t *, size_t, struct elf_file *,
              struct diag *);

#endif
