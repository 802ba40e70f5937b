// inline_helpers.h -- functions that do a part of a product for their caller.
#ifndef NPUTEIR_INLINE_HELPERS_H
#define NPUTEIR_INLINE_HELPERS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct InlineHelpersPass : llvm::PassInfoMixin<InlineHelpersPass> {
  llvm::PreservedAnalyses run(llvm::Module &M,
                              llvm::ModuleAnalysisManager &MAM);
};

} // namespace nputeir

#endif
