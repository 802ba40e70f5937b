/* loop.h -- the outer loop of a core's program, around its kernels. */
#ifndef NPUTEIR_DESIGN_LOOP_H
#define NPUTEIR_DESIGN_LOOP_H

#include "parts.h"

/* What its steps have in common. */
struct loop {
  const struct design *design;
  const struct tile_program *program; /* the design's */
  bool steps;                         /* one kernel for all steps, */
  bool last_apart;                    /* but for the last one */
  int before;            /* steps before those that it counts; 0: it does not */
  bool clears, finishes; /* there are kernels `zero`, `finish` */
  bool keeps_last;       /* of two blocks of sums only the second is finished */
  bool converts;         /* the product's stores land late */
  int bias; /* blocks of in1 behind the last step; the first holds a bias */
};
/* NULL and m->diag: it is no program. */
struct asm_program *make_loop(struct builder *m, const struct loop *);

#endif
