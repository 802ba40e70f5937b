/* names.h -- what a design calls its parts, for a simulator that has to explain
 * itself. */
#ifndef NPUTEIR_TOOL_NAMES_H
#define NPUTEIR_TOOL_NAMES_H

#include "design.h"
#include "sim.h"

struct sim_names names_of(const struct design *); /* borrows the design */
/* A line for each tensor that the text mentions: its blocks, and the loops that
 * they come in. */
void names_put_loops(const struct design *, const char *mentioned,
                     struct text *);

#endif
