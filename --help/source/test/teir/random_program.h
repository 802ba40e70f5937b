/* random_program.h -- well-formed programs whose names, sizes and guards are
 * drawn at random, and whether two programs are the same. */
#ifndef NPUTEIR_TEST_RANDOM_PROGRAM_H
#define NPUTEIR_TEST_RANDOM_PROGRAM_H

#include "teir.h"

struct teir *random_program(struct arena *, uint64_t seed);
/* Field by field; places in files do not count.  NULL: the same, else what is
 * not. */
const char *program_difference(const struct teir *, const struct teir *);

#endif
