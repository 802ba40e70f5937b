// interchange.h -- loops whose iterations add to the same elements go outside.
#ifndef NPUTEIR_INTERCHANGE_H
#define NPUTEIR_INTERCHANGE_H

#include "distribute.h"

namespace nputeir {

// L adds products to elements of which each gets several in the iterations of
// loops that move one factor and of loops that move the other.
bool addsScattered(llvm::Loop &L, LoopFacts &Facts);
// Puts such loops around L, beside a copy of L as it was.  Analyses are stale
// then.
bool interchange(llvm::Loop &L, LoopFacts &Facts);
// The same of loops between the rows and columns of a triangle that move all
// that is multiplied, and of such ones around.  The first block of the triangle
// in them; null: there are none.  Branches: as of distribute(), with no copy.
llvm::BasicBlock *takeBatchesOut(llvm::Loop &L, LoopFacts &Facts,
                                 const SplitBranches &Branches);
// If L, which was rewritten, is in such loops: where nothing is done in the
// first round, the copy of all of them runs instead.  Said: as of rewriteNest.
// Loops and dominators are kept up to date.
void runWhole(llvm::Loop &L, llvm::PHINode *Said, llvm::LoopInfo &LI,
              llvm::DominatorTree &DT);

} // namespace nputeir

#endif
