/* sarif.h -- verdicts as a SARIF 2.1.0 log (OASIS): what editors and reviews of
 * code show beside the source. */
#ifndef NPUTEIR_TOOL_SARIF_H
#define NPUTEIR_TOOL_SARIF_H

#include "findings.h"

/* compiled: whether the compiler was content with the file. */
void sarif_print(const struct findings *, bool compiled, struct text *);

#endif
