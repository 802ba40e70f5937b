/* matrices.h -- what the files of this module share: a product of matrices as
 * a TEIR with one axis for each role. */
#ifndef NPUTEIR_MAP_MATRICES_H
#define NPUTEIR_MAP_MATRICES_H

#include "map.h"

#include "teir_transform.h"

/* The same work with axes of a role fused; tensors that do not stay in place
 * are dense, row-major matrices.  Roles may keep several axes if tensors that
 * stay do not agree about their order. */
struct teir *map_matrices(struct arena *, const struct teir *,
                          const bool in_place[TENSORS], struct diag *);

#endif
