// shared_variables.h -- variables of the function around a parallel region that
// the region's code reads and writes.
#ifndef NPUTEIR_SHARED_VARIABLES_H
#define NPUTEIR_SHARED_VARIABLES_H

#include "llvm/IR/Function.h"

namespace nputeir {

// F may be the code of a region: loads and stores in C, its copy, are marked
// for alias analysis by the variables whose address only the region has.
void markSharedVariables(const llvm::Function &F, llvm::Function &C);

} // namespace nputeir

#endif
