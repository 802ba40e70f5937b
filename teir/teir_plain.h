/* teir_plain.h -- a program seen as one contraction: its axes by the tensors
 * that they move.  For the chooser, which builds another schedule for the same
 * work. */
#ifndef NPUTEIR_TEIR_PLAIN_H
#define NPUTEIR_TEIR_PLAIN_H

#include "teir.h"

struct plain {
  int operand[3]; /* tensors in0, in1, out of the contraction */
  int count;
  int *axis; /* indices into the program's axes */
  enum axis_role *role;
  bool zero;       /* out is cleared first */
  const char *acc; /* the Contraction's property, or NULL */
};

/* What a primitive calls the axes of a role. */
static inline enum teir_role teir_role_of(enum axis_role r) {
  return r == AXIS_C ? TEIR_ROLES : (enum teir_role)(r - AXIS_M);
}

/* Declined unless the program is one Contraction, with or without a Zero where
 * the sum begins. */
bool teir_plain_read(struct arena *, const struct teir *, struct plain *,
                     struct diag *);
/* The same work with axes of one role fused where their strides continue each
 * other: a chain of loops around scalars. */
struct teir *teir_plain_fused(struct arena *, const struct teir *,
                              struct diag *);

#endif
