/* teir_plain.h -- a program seen as one contraction: its axes by the tensors
 * that they move.  For the chooser, which builds another schedule for the same
 * work. */
#ifndef NPUTEIR_TEIR_PLAIN_H
#define NPUTEIR_TEIR_PLAIN_H

#include "teir.h"

enum plain_role { PLAIN_M, PLAIN_N, PLAIN_K, PLAIN_C };

struct plain {
  int operand[3]; /* tensors in0, in1, out of the contraction */
  int count;
  int *axis; /* indices into the program's axes */
  enum plain_role *role;
  bool zero;       /* out is cleared first */
  const char *acc; /* the Contraction's property, or NULL */
};

/* Declined unless the program is one Contraction, with or without a Zero where
 * the sum begins. */
bool teir_plain_read(struct arena *, const struct teir *, struct plain *,
                     struct diag *);
/* The same work with axes of one role fused where their strides continue each
 * other: a chain of loops around scalars. */
struct teir *teir_plain_fused(struct arena *, const struct teir *,
                              struct diag *);

#endif
