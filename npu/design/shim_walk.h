/* shim_walk.h -- how a shim's channel goes over device memory: loops, outermost
 * first, that become the dimensions of one descriptor. */
#ifndef NPUTEIR_DESIGN_SHIM_WALK_H
#define NPUTEIR_DESIGN_SHIM_WALK_H

#include "design.h"

enum { WALK_LOOPS = 24 };
struct shim_walk {
  int64_t extent[WALK_LOOPS], stride_bytes[WALK_LOOPS];
  int count;
};

/* Adds a loop inside the ones before; merges when the outer one continues
 * where this one ends. */
void shim_walk_add(struct shim_walk *, int64_t extent, int64_t stride_bytes);

/* Fills a shim descriptor from the walk, which is used up.  Its outermost loop
 * may be repeats of the task, of the same words or, where there are more loops
 * than dimensions, of others by iteration.  False: `name` breaks a rule of the
 * hardware, which the message says. */
bool shim_walk_fill(const struct device *, const char *name, struct shim_walk *,
                    struct bd *, int *repeat, struct diag *);

#endif
