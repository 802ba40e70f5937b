// vector_types.h -- vectors that are only moved as numbers of one kind, as what
// they are elsewhere.
#ifndef NPUTEIR_VECTOR_TYPES_H
#define NPUTEIR_VECTOR_TYPES_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct VectorTypesPass : llvm::PassInfoMixin<VectorTypesPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
