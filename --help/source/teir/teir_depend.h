/* teir_depend.h -- may two invocations touch the same bytes?  Decides which
 * changes of order keep a program's meaning.
 *
 * The answer is exact for the strides that tensors have (each one at least as
 * large as all smaller ones together span), and otherwise "yes" when a small
 * search does not settle it.  Different tensors never share bytes.  Nothing is
 * symbolic.
 */
#ifndef NPUTEIR_TEIR_DEPEND_H
#define NPUTEIR_TEIR_DEPEND_H

#include "teir.h"

/* One operand of one invocation. */
struct depend_access {
  int leaf, tensor;
  bool write;
  bool sum; /* adds to what is there: such writes commute */
  int64_t offset;
  int depth;
  int *path;           /* [depth] iteration nodes, outermost first */
  int64_t *low, *high; /* [depth] indices that guards let pass */
};

struct depend {
  const struct teir *t;
  int count, capacity;
  struct depend_access *access;
  bool *never; /* by node: its guard is never true where it stands */
};

/* All accesses of the program. */
struct depend *teir_depend_open(struct arena *, const struct teir *);

/* Of two accesses: the index of loop `node` in the first minus that in the
 * second lies in low..high. */
struct depend_span {
  int node;
  int64_t low, high;
};

/* May accesses x and y touch a common byte?  Loops around both have equal
 * indices if they are in `equal` (by node), a difference as in `span` if they
 * are there, and any indices otherwise. */
bool teir_depend_overlap(const struct depend *, int x, int y, const bool *equal,
                         const struct depend_span *span, int spans);

/* Do two invocations below `root` conflict (one of them writes what the other
 * touches) under the spans?  Loops around root have equal indices.  Two sums
 * do not conflict when `sums_commute`.  Names the pair in *first, *second. */
bool teir_depend_conflict(const struct depend *, int root,
                          const struct depend_span *span, int spans,
                          bool sums_commute, int *first, int *second);

/* May the iterations of loop `node` run in any order?  Sums commute.  Declines
 * with the pair that conflicts. */
bool teir_depend_reorders(const struct teir *, int node, struct diag *);

#endif
