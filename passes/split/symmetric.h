// symmetric.h -- products of a symmetric matrix of which one half is stored.
#ifndef NPUTEIR_SYMMETRIC_H
#define NPUTEIR_SYMMETRIC_H

#include "distribute.h"

namespace nputeir {

// Whether splitSymmetric() would split L.
bool isSymmetric(llvm::Loop &L, LoopFacts &Facts);
// Splits L, over rows, when each row adds its multiples to all rows in front of
// it, or all behind it, beside being a sum of these itself.  Analyses are stale
// then.  Kept: as of distribute().
bool splitSymmetric(llvm::Loop &L, LoopFacts &Facts, llvm::BasicBlock *&Kept);

} // namespace nputeir

#endif
