/* teir_problem.h -- the work as schedulers and devices see it: one sum of
 * products, its extents and types, and what becomes of the sums.
 *
 * It is read from any program that computes one contraction, whatever its
 * loops, and written as a plain one.  The runtime, the choosers and the array's
 * compiler all speak of the work in this one struct.
 */
#ifndef NPUTEIR_TEIR_PROBLEM_H
#define NPUTEIR_TEIR_PROBLEM_H

#include "teir.h"

/* What becomes of a sum, in this order; then it is converted to out's type:
 * floats to nearest even, integers modulo 2^n. */
struct teir_finish {
  /* AXIS_M or AXIS_N: a vector along this role, of the sums' type, is added;
   * else none. */
  enum axis_role bias;
  bool relu;      /* what is not above zero: zero; NaN, too, ... */
  bool keeps_nan; /* ... unless it stays */
  bool
      saturate; /* integers: sum / 2^shift, halves up, clamped to out's range */
  int shift;
};

struct teir_problem {
  int64_t extent[AXIS_ROLES]; /* elements of all axes of a role, at least 1 */
  enum dtype type[TENSORS];
  enum dtype acc;  /* of the sums: out's type, or a wider one */
  bool accumulate; /* sums are added to what is in out */
  struct teir_finish finish;
};

/* Where the work stands in a program. */
struct teir_roles {
  struct teir_problem problem;
  int operand[TENSORS];
  int sums; /* the tensor that the Contraction writes; out's where none of its
               own is needed */
  int bias; /* the tensor that is added to the sums; -1: none */
  int count;
  int *axis; /* indices into the program's axes */
  enum axis_role *role;
  const char *acc; /* the Contraction's property, or NULL */
};

/* What a primitive calls the axes of a role. */
static inline enum teir_role teir_role_of(enum axis_role r) {
  return r == AXIS_C ? TEIR_ROLES : (enum teir_role)(r - AXIS_M);
}

/* Declined unless the program is one Contraction, with or without a Zero where
 * the sum begins, and where it ends an Add of a vector, a ReLU, a Cast or a
 * Shift of the sums. */
bool teir_roles_read(struct arena *, const struct teir *, struct teir_roles *,
                     struct diag *);
bool teir_problem_read(const struct teir *, struct teir_problem *,
                       struct diag *);
/* The same work with axes of one role fused where their strides continue each
 * other: loops directly inside each other around scalars. */
struct teir *teir_roles_fuse(struct arena *, const struct teir *,
                             struct diag *);

/* The same work with sums formed in another type: a wider one, or of integers a
 * narrower one where only low bits are needed.  out has that type, or sums are
 * a tensor of their own.  Floats are then rounded once. */
struct teir *teir_sum_in(struct arena *, const struct teir *, enum dtype acc,
                         struct diag *);

/* The plain program on dense row-major matrices, a batch outermost. */
struct teir *teir_from_problem(struct arena *, const struct teir_problem *,
                               struct diag *);
/* A plain program whose out holds sums becomes one whose out has another type
 * or other elements: what `finish` makes of the sums.  Byte strides stay.  A
 * bias is a dense vector, in the order of the loops. */
struct teir *teir_finish_sums(struct arena *, const struct teir *,
                              const struct teir_finish *, enum dtype out,
                              struct diag *);

#endif
