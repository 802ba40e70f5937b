// copy_loops.h -- loops that copy into a buffer of the function's own, in the
// order of what they copy.
#ifndef NPUTEIR_COPY_LOOPS_H
#define NPUTEIR_COPY_LOOPS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

// There may be something to order.
bool mayOrderCopies(const llvm::Function &F);
// A loop over the rows of a buffer becomes loops over the axes that are copied
// there.
void orderCopies(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace nputeir

#endif
