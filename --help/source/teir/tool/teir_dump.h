/* teir_dump.h -- a schedule to look at. */
#ifndef NPUTEIR_TEIR_DUMP_H
#define NPUTEIR_TEIR_DUMP_H

#include "teir.h"

/* The schedule as a tree, as the specification's listings draw it, or as a
 * graph for Graphviz. */
void teir_print_tree(const struct teir *, struct text *);
void teir_print_dot(const struct teir *, struct text *);

#endif
