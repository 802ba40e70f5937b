/* teir_warn.h -- doubts about a well-formed program, which the rules leave
 * open. */
#ifndef NPUTEIR_TEIR_WARN_H
#define NPUTEIR_TEIR_WARN_H

#include "teir.h"

/* One line each: siblings that do the same work on the same bytes, a parallel
 * loop that carries a dependence, a guard that is never true, an axis that is
 * iterated twice on one path.  Gives the number of lines.  Programs of more
 * than a thousand calls are not searched for the first two. */
int teir_warn(const struct teir *, struct text *);

#endif
