/* overlap.h -- whether sums keep out of each other's way. */
#ifndef NPUTEIR_TEIR_OVERLAP_H
#define NPUTEIR_TEIR_OVERLAP_H

#include "teir_build.h"
#include "teir_problem.h"

/* Declined unless the order in which the sums of a Contraction are formed does
 * not count.  `other`: the calls that begin and finish them; the roles are
 * complete, the axes of the loops around the Contraction first. */
bool teir_sums_apart(struct arena *, const struct teir *,
                     const struct teir_roles *, int contraction,
                     const int *other, int others, struct diag *);

#endif
