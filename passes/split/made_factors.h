// made_factors.h -- factors that are computed in every iteration of a nest,
// though some of its loops do not change them.
#ifndef NPUTEIR_MADE_FACTORS_H
#define NPUTEIR_MADE_FACTORS_H

#include "distribute.h"
#include "rewrite.h"

namespace nputeir {

// Computes in front of L the factors of its products that are made of several
// elements, or of one otherwise than by a conversion, where that is all that L
// does with them.  Analyses are stale then.  Kept: as of distribute().
bool makeFactors(llvm::Loop &L, LoopFacts &Facts, llvm::BasicBlock *&Kept);

// If Old are such loops, and all of them: where those as written begin, and the
// memory of the factors, which these have no use for; else null.
struct Unmade {
  llvm::BasicBlock *Begin = nullptr;
  llvm::CallInst *Memory = nullptr;
};
Unmade findUnmade(const Region &Old);
// The loops that Kept leads to, which become unreachable, have those as written
// in their place: these run for small work alone (markRolled()), and those that
// make factors are not where the time goes.
void runUnmade(llvm::BasicBlock &Kept, const Unmade &X, llvm::LoopInfo &LI,
               const llvm::DominatorTree &DT);

} // namespace nputeir

#endif
