/* disassemble.h -- inside npu/asm: how the disassembler takes bytes from
 * anywhere. */
#ifndef NPUTEIR_ASM_DISASSEMBLE_H
#define NPUTEIR_ASM_DISASSEMBLE_H

#include "parts.h"

struct disassembly_reference {
  size_t offset; /* of the bundle */
  int slot, operand;
  const char *symbol;
  int64_t addend;
};
struct disassembly {
  const struct isa *isa;
  const uint8_t *bytes;
  size_t length;
  uint32_t address;
  int symbol_count, reference_count;
  const struct asm_symbol *symbol;
  const struct disassembly_reference *reference;
};
void disassemble(struct arena *, const struct disassembly *, struct text *);

/* The operand of a bundle whose bits a relocation of this type fills. */
bool relocation_operand(const struct isa *, int type, const struct isa_bundle *,
                        int size, int *slot, int *operand);

#endif
