/* phase.h -- a launch in phases (task.c): which loops of the batch, m and n are
 * inside one, and where others begin. */
#ifndef NPUTEIR_DESIGN_PHASE_H
#define NPUTEIR_DESIGN_PHASE_H

#include "map.h"

/* The loops around a phase, and those inside it, of the batch, m and n. */
struct phases {
  struct map_nest around, inside[AXIS_K];
  int count;
  int n;     /* of the loops around it, the last n are over n */
  int turns; /* tasks of in1, each with one of a bias behind it; else 1 */
};

/* The loops of the batch, m and n, and where those over each begin; false: they
 * are too many.  Where a panel of in0 is read again after some n rounds, the
 * loops over n around these count as such over m. */
bool phase_loops(const struct tile_program *, struct map_nest *all,
                 int first[AXIS_ROLES]);
/* The first `depth` of them are around a phase, and of the next one so much
 * that `within` indices are left inside.  False: these are too many phases. */
bool phase_split(const struct tile_program *, int depth, int64_t within,
                 struct phases *);
/* Bytes from the first phase to another. */
int64_t phase_start(const struct phases *, int phase, int tensor);
/* Whether a phase is the first over n of its m round. */
bool phase_starts_panel(const struct phases *, int phase);
/* Rounds over n of a phase in which the kept part of a panel is there. */
int phase_other_rounds(const struct phases *, int phase);

#endif
