/* elf_file.h -- what an ELF32 file of machine AIE holds; read from bytes that
 * nobody has checked.  Flags and types are those of <elf.h>. */
#ifndef NPUTEIR_ELF_FILE_H
#define NPUTEIR_ELF_FILE_H

#include "base.h"

/* <elf.h> does not know them; e_flags' low bits tell the instruction set. */
enum { ELF_MACHINE_AIE = 264, ELF_FLAGS_MACHINE = 3 };

struct elf_file_section {
  const char *name;
  uint32_t type, flags; /* SHT_, SHF_ */
  uint32_t address, size;
  const uint8_t *bytes; /* NULL if it has none in the file */
};
struct elf_file_segment { /* of PT_LOAD */
  uint32_t flags;         /* PF_ */
  uint32_t address, size, memory_bytes;
  const uint8_t *bytes; /* `size` of them */
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
  int type;         /* ET_REL, ET_EXEC */
  uint32_t machine; /* of e_flags; 0: it does not say */
  int segment_count, section_count, symbol_count, relocation_count;
  struct elf_file_segment *segment;
  struct elf_file_section *section;
  struct elf_file_symbol *symbol;
  struct elf_file_relocation *relocation;
};
/* The file lives in the arena; sections and segments point into the bytes.
 * Of a file without sections its segments are the sections. */
bool elf_read(struct arena *, const uint8_t *, size_t, struct elf_file *,
              struct diag *);
/* What a loader asks: type and segments, whatever the rest of the file says. */
bool elf_read_segments(struct arena *, const uint8_t *, size_t,
                       struct elf_file *, struct diag *);

#endif
