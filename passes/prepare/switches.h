// switches.h -- switches in loops as branches.
#ifndef NPUTEIR_SWITCHES_H
#define NPUTEIR_SWITCHES_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct SwitchesPass : llvm::PassInfoMixin<SwitchesPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
