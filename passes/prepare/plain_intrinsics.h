// plain_intrinsics.h -- a processor's own functions as what they compute.
#ifndef NPUTEIR_PLAIN_INTRINSICS_H
#define NPUTEIR_PLAIN_INTRINSICS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct PlainIntrinsicsPass : llvm::PassInfoMixin<PlainIntrinsicsPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
