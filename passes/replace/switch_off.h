// switch_off.h -- functions that say `off` keep their nests.
#ifndef NPUTEIR_SWITCH_OFF_H
#define NPUTEIR_SWITCH_OFF_H

#include "llvm/IR/Function.h"
#include "llvm/IR/PassManager.h"

namespace nputeir {

// A product by what it is called.
bool saysProduct(const llvm::Instruction &I);
// Keeps all nests.
void switchOff(llvm::Function &F);
// Loops of functions that are switched off, before they are inlined elsewhere.
struct SwitchOffPass : llvm::PassInfoMixin<SwitchOffPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &);
};

} // namespace nputeir

#endif
