// column_updates.h -- columns that are changed by sums over themselves.
#ifndef NPUTEIR_COLUMN_UPDATES_H
#define NPUTEIR_COLUMN_UPDATES_H

#include "distribute.h"

namespace nputeir {

// L adds to each column what it has summed over it.
bool updatesColumns(llvm::Loop &L, LoopFacts &Facts);
// Splits such an L in the sums, which are the product, and the rest, which
// changes the columns.  Analyses are stale then.
bool splitColumnUpdate(llvm::Loop &L, LoopFacts &Facts, NestParts &To);

} // namespace nputeir

#endif
