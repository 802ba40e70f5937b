// conditional_steps.h -- pointers that a loop steps on under a condition.
#ifndef NPUTEIR_CONDITIONAL_STEPS_H
#define NPUTEIR_CONDITIONAL_STEPS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct ConditionalStepsPass : llvm::PassInfoMixin<ConditionalStepsPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
