// split_updates.h -- several products that are added to an element of an array
// as several nests.
#ifndef NPUTEIR_SPLIT_UPDATES_H
#define NPUTEIR_SPLIT_UPDATES_H

#include "distribute.h"

namespace nputeir {

// Splits L when a store in it adds several products to an element, and what
// else touches the array does so before.  Analyses are stale then.  Kept: as of
// distribute().
bool splitUpdates(llvm::Loop &L, LoopFacts &Facts, llvm::BasicBlock *&Kept);

} // namespace nputeir

#endif
