/* fuzz.h -- what must hold for any bytes given to the readers of this module: no
 * crash, no leak, a message when they are refused; and what is read is written
 * and read again as the same. */
#ifndef NPUTEIR_TEST_IMAGE_FUZZ_H
#define NPUTEIR_TEST_IMAGE_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte chooses the reader.  False: a promise was broken. */
enum {
  FUZZ_CDO,
  FUZZ_PDI,
  FUZZ_XCLBIN,
  FUZZ_TXN,
  FUZZ_ELF,
  FUZZ_BD,
  FUZZ_KINDS
};
/* *accepted: the bytes were read without complaint. */
bool fuzz_one(const uint8_t *data, size_t size, bool *accepted);

#endif
