/* teir_program.h -- a program in any of its forms: text, JSON or a TEC. */
#ifndef NPUTEIR_TEIR_PROGRAM_H
#define NPUTEIR_TEIR_PROGRAM_H

#include "teir.h"

/* The form is told by the first word: teir, tec, or JSON's brace. */
bool teir_program_is_tec(const char *file, const char *text);
struct teir *teir_program_parse(struct arena *, const char *file,
                                const char *text, struct diag *);

#endif
