// stored_counters.h -- counters that lie in memory, as those of the whole file
// do, become variables of their loops.
#ifndef NPUTEIR_STORED_COUNTERS_H
#define NPUTEIR_STORED_COUNTERS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

// A loop that counts in memory counts in a register, and the place gets the
// last number behind the loop.  Needs LoopSimplify form.
struct StoredCountersPass : llvm::PassInfoMixin<StoredCountersPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

// What an inner loop leaves in memory is known in front of the nest and stored
// there.  Needs LoopSimplify form; the loops' numbers of iterations are known.
struct StoresAheadPass : llvm::PassInfoMixin<StoresAheadPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
