// complex_parts.h -- complex numbers that were passed to functions and copied.
#ifndef NPUTEIR_COMPLEX_PARTS_H
#define NPUTEIR_COMPLEX_PARTS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

// What results of functions that were inlined here were put together from is
// used as it is.  True: there was such a one.
bool splitResults(llvm::Function &F);

// Parts are loaded and stored one by one, as the floats that they are.
struct ComplexPartsPass : llvm::PassInfoMixin<ComplexPartsPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &);
};

} // namespace nputeir

#endif
