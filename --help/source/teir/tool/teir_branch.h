/* teir_branch.h -- transformations with guards, siblings and copies; like those
 * of teir_transform.h they keep the meaning, or decline with the reason.
 */
#ifndef NPUTEIR_TEIR_BRANCH_H
#define NPUTEIR_TEIR_BRANCH_H

#include "teir.h"

/* `node` moves into the loop `into` beside it: guarded by first() as its first
 * child when it stood before, by last() as its last when behind. */
struct teir *teir_sink(struct arena *, const struct teir *, int node, int into,
                       struct diag *);
/* The other way: a first child guarded by first(), or a last one by last(),
 * moves out of its loop. */
struct teir *teir_hoist(struct arena *, const struct teir *, int node,
                        struct diag *);
/* `node`, a loop over `axis` or a call that consumes it, becomes two siblings:
 * the first `main` indices and the rest. */
struct teir *teir_peel(struct arena *, const struct teir *, int node, int axis,
                       int64_t main, struct diag *);
/* What `node` reads of `tensor` is copied, just before, into a new dense
 * tensor "<tensor>.packed" in the order of node's loops, and read there. */
struct teir *teir_pack(struct arena *, const struct teir *, int node,
                       int tensor, struct diag *);

#endif
