/* mlir.h -- a design as text for mlir-aie, whose users can take it from there:
 * tiles, buffers, locks, DMAs and flows in the aie dialect, the cores as ELF
 * files of ours, and the transaction as an aie.runtime_sequence. */
#ifndef NPUTEIR_TOOL_MLIR_H
#define NPUTEIR_TOOL_MLIR_H

#include "npu.h"

/* What mlir-aie has read: in 2025 locks, lengths and addresses were attributes,
 * and the sequence was aiex.runtime_sequence; since 2026 values are operands.
 */
enum mlir_form { MLIR_2026, MLIR_2025 };

/* `elf` is the name of every core's program.  Declines what the text cannot
 * say. */
bool mlir_print(const struct npu_result *, enum mlir_form, const char *elf,
                struct text *, struct diag *);

#endif
