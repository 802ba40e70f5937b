/* fuzz.h -- what must hold for any bytes given to the assembler, the
 * disassembler and the ELF reader: no crash, no leak, and text that is accepted
 * means the same when it is printed and read again. */
#ifndef NPUTEIR_TEST_ASM_FUZZ_H
#define NPUTEIR_TEST_ASM_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte chooses what the rest is; false: a promise was broken. */
enum { FUZZ_TEXT, FUZZ_BYTES, FUZZ_ELF, FUZZ_KINDS };
bool fuzz_one(const uint8_t *data, size_t size);

#endif
