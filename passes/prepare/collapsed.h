// collapsed.h -- one loop over all elements of a matrix, as two.
#ifndef NPUTEIR_COLLAPSED_H
#define NPUTEIR_COLLAPSED_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/PassManager.h"

namespace nputeir {

// The loop's counter is divided by a number, as if it counted rows and columns.
bool isCollapsed(const llvm::Loop &L);

struct CollapsedPass : llvm::PassInfoMixin<CollapsedPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
