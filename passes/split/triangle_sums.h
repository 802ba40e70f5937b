// triangle_sums.h -- sums whose length grows or shrinks with the row of their
// element.
#ifndef NPUTEIR_TRIANGLE_SUMS_H
#define NPUTEIR_TRIANGLE_SUMS_H

#include "distribute.h"

namespace nputeir {

// Whether splitTriangleSum() would split L.
bool isTriangleSum(llvm::Loop &L, LoopFacts &Facts);
// Splits L, over rows, when the one loop in it that is longer or shorter by one
// with each row adds to elements of that row.  Analyses are stale then.
// Branches: as of distribute(), with no copy.
bool splitTriangleSum(llvm::Loop &L, LoopFacts &Facts,
                      const SplitBranches &Branches = {});

} // namespace nputeir

#endif
