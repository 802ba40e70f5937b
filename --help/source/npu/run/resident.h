/* resident.h -- launches of one plan by a transaction that stays on the NPU for
 * the next ones (npu/image/resident.c), for one thread at a time. */
#ifndef NPUTEIR_RESIDENT_H
#define NPUTEIR_RESIDENT_H

#include "amdxdna.h"
#include "run.h"

struct resident;
/* NULL: the plan has no place for one, its launches are too long to gain from
 * it, or there is no memory. */
struct resident *resident_open(struct amdxdna *, const struct run_plan *);
/* Waits.  False: a command may still run, and nothing was freed. */
bool resident_close(struct resident *);
/* Whether the next launch should be one of these: not while other processes
 * have contexts, and the last ones, when they came late, paid for runs that
 * nobody asked for. */
bool resident_pays(struct resident *);
/* A launch on the buffers of the program's first tuple, which stay the same
 * ones while we live; of the program's transaction there is a copy here.
 * Returns at its end. */
bool resident_launch(struct resident *, struct amdxdna_context *,
                     const struct amdxdna_program *, struct diag *);

#endif
