/* check.c -- what transformations need of the program that they are given. */
#include "teir_build.h"

bool teir_check_whole(const struct teir *t, struct diag *d) {
  return t->limit_count == 0 ||
         diag_declined(d, t->limit[0].at,
                       "the program leaves out products beyond a limit");
}

bool teir_check_concrete(const struct teir *t, struct diag *d) {
  int64_t low, high;
  if (!teir_verify(t, d) || !teir_check_bound(t, d) || !teir_check_whole(t, d))
    return false;
  for (int i = 0; i < t->tensor_count; i++)
    if (!teir_footprint(t, i, &low, &high, d))
      return false;
  return true;
}

bool teir_check_loop(const struct teir *t, int n, struct diag *d) {
  if (!teir_check_concrete(t, d))
    return false;
  if (n < 0 || n >= t->node_count)
    return diag_error(d, teir_loc(t), "there is no node %d", n);
  return t->node[n].kind == TEIR_ITERATION ||
         diag_error(d, t->node[n].at, "node %s is no loop", t->node[n].id);
}
