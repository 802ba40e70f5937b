/* teir_einsum.h -- the untiled TEIR of an einsum expression.
 *
 * "trus,pqtu->pqrs": one group of letters per operand, each letter a
 * dimension, the slowest moving first.  A letter that the output lacks is
 * summed over; a letter may stand in every operand (a batch), in one only (a
 * sum of that operand), or twice in one operand (its diagonal).  Tensors are
 * called in0, in1, .. and out.
 *
 * More than two operands become a sequence of contractions of two, with
 * intermediate tensors t0, t1, ..: in the cheapest order for up to ten
 * operands, in a greedy one for more.
 */
#ifndef NPUTEIR_TEIR_EINSUM_H
#define NPUTEIR_TEIR_EINSUM_H

#include "teir.h"

struct teir_einsum {
  const char *expression;
  int64_t extent[128]; /* by letter; 0: not given */
  enum dtype in, out;  /* of every input; of out and the intermediates */
  /* The order of each tensor's dimensions in memory, in the expression's form;
   * NULL: as the expression has it. */
  const char *layout;
};

struct teir *teir_from_einsum(struct arena *, const struct teir_einsum *,
                              struct diag *);
/* "t=8,r=32" into extent[]; spaces may stand for commas. */
bool teir_einsum_sizes(struct teir_einsum *, const char *text, struct diag *);
/* Products and sums that the chosen order of contractions needs. */
double teir_macs(const struct teir *);

#endif
