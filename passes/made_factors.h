// made_factors.h -- factors that are computed in every iteration of a nest,
// though some of its loops do not change them.
#ifndef NPUTEIR_MADE_FACTORS_H
#define NPUTEIR_MADE_FACTORS_H

#include "distribute.h"

namespace nputeir {

// Computes in front of L the factors of its products that are made of several
// elements, or of one otherwise than by a conversion, where that is all that L
// does with them.  Analyses are stale then.  Kept: as of distribute().
bool makeFactors(llvm::Loop &L, LoopFacts &Facts, llvm::BasicBlock *&Kept);

} // namespace nputeir

#endif
