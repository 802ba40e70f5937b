/* teir_transform.h -- changes of a program that keep its meaning.
 *
 * Each takes a program and gives a new one, or declines with the reason (a
 * dependence that would be reversed, a guard that would change) and gives
 * NULL.  Meaning is kept exactly for integers; for floating point a sum may be
 * formed in another order, and rounds to out's type once per invocation.
 * Nothing may be symbolic: bind first.  teir_split is in teir.h.
 *
 * Loops are named by node.  Indices of nodes change; ids stay with their loops.
 */
#ifndef NPUTEIR_TEIR_TRANSFORM_H
#define NPUTEIR_TEIR_TRANSFORM_H

#include "teir.h"

/* ---- loops ---- */
/* A loop and its only child as one loop over a new axis; their strides must
 * continue each other on every tensor. */
struct teir *teir_fuse(struct arena *, const struct teir *, int node,
                       struct diag *);
/* A loop and its only child change places. */
struct teir *teir_interchange(struct arena *, const struct teir *, int node,
                              struct diag *);
/* Loops that stand directly inside each other, put into the given order. */
struct teir *teir_reorder(struct arena *, const struct teir *, const int *node,
                          int count, struct diag *);
/* Parallel needs iterations that do not touch what another one writes. */
struct teir *teir_set_policy(struct arena *, const struct teir *, int node,
                             enum teir_policy, struct diag *);
struct teir *teir_set_place(struct arena *, const struct teir *, int node,
                            enum teir_place, struct diag *);

/* ---- work ---- */
/* The loop goes away; the primitives below consume its axis, outermost in
 * their list `role` (TEIR_ROLES: as the strides tell). */
struct teir *teir_consume(struct arena *, const struct teir *, int node,
                          enum teir_role role, struct diag *);
/* A GEMM-shaped primitive sums over pairs of blocks of `inner` along K. */
struct teir *teir_brgemm(struct arena *, const struct teir *, int primitive,
                         int64_t inner, struct diag *);

/* ---- tensors that lie otherwise: who runs the program brings them so ---- */
/* Dense, the last of the axes contiguous; other axes leave the tensor where it
 * is, which is right for a tensor that only holds what one iteration of theirs
 * makes and uses. */
struct teir *teir_relayout(struct arena *, const struct teir *, int tensor,
                           const int *axis, int count, struct diag *);

/* ---- parts ---- */
/* `roots` roots from number `root` on as a program of their own, over the
 * listed tensors in this order.  Symbols stay as they are, and are permitted.
 */
struct teir *teir_slice(struct arena *, const struct teir *, int root,
                        int roots, const int *tensor, int tensors,
                        struct diag *);

#endif
