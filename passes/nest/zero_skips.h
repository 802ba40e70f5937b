// zero_skips.h -- products that the source skips where a factor is zero.
#ifndef NPUTEIR_ZERO_SKIPS_H
#define NPUTEIR_ZERO_SKIPS_H

#include "joins.h"

namespace nputeir {

// Adds to R what must hold for the access of I at X, which the source makes
// where Condition is Side, to be possible in all iterations: of a store, that
// some iteration makes it; of a load, that the first and the last element are
// read, so that those between are readable, too, unless the condition reads
// them itself.  False: this cannot be asked.
bool requireSkipped(const llvm::Instruction &Condition, bool Side,
                    const Address &X, const llvm::Instruction &I,
                    llvm::Loop &Outer, Joins &Places, IRNest &R);

// Looks, in front of the nest, whether what it skips can be done as well; that
// it can becomes one more assumption.
void checkZeroSkips(llvm::Loop &Outer, llvm::LoopInfo &LI,
                    llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                    IRNest &I);

} // namespace nputeir

#endif
