// call_effects.h -- what calls may write, beside what they compute: calls of
// C's library, by a table, and of functions whose code is known, by that.
#ifndef NPUTEIR_CALL_EFFECTS_H
#define NPUTEIR_CALL_EFFECTS_H

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstrTypes.h"

namespace nputeir {

// Throws nothing, and comes back: a function of C's library, by the table, or
// what LLVM knows to do so.
bool comesBack(const llvm::CallBase &Call);
// So do all calls in B.
bool comesToEnd(const llvm::BasicBlock &B);
// I may write to Read, a place in the code around it.
bool mayWrite(const llvm::Instruction &I, const llvm::MemoryLocation &Read,
              llvm::AAResults &AA);
// The same of a call, and of all that Read.Ptr is in the iterations of Around.
bool mayWriteInAny(const llvm::CallBase &Call, const llvm::MemoryLocation &Read,
                   const llvm::Loop &Around, llvm::AAResults &AA);

} // namespace nputeir

#endif
