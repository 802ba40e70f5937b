/* fuzz_parse.h -- the fuzz target of the module's parsers. */
#ifndef NPUTEIR_TEST_FUZZ_PARSE_H
#define NPUTEIR_TEST_FUZZ_PARSE_H

#include "teir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
