// known_targets.h -- blocks that only go on by where they were come from.
#ifndef NPUTEIR_KNOWN_TARGETS_H
#define NPUTEIR_KNOWN_TARGETS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct KnownTargetsPass : llvm::PassInfoMixin<KnownTargetsPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
