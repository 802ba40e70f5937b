// worth.h -- is a function worth a closer look?
#ifndef NPUTEIR_WORTH_H
#define NPUTEIR_WORTH_H

#include "remark.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/PassManager.h"

namespace nputeir {

// Code that is never touched.
bool isExcluded(const llvm::Function &F);
// Is a sum of products in so many loops?  Fewer than three loops are no matrix
// product, whatever they compute, and need no closer look: each element of the
// matrix is multiplied once, so that all devices wait for memory.  (Code for
// the processor does two.)  Three loops that combine elements in another way
// need none either, nor those of which too few are left at their end alone,
// that call something for each element, or that move all elements alike.
bool hasSums(llvm::Function &F, unsigned Least,
             llvm::FunctionAnalysisManager &FAM,
             std::vector<Finding> &Declined);
// The last line of a loop; 0: the compiler kept none.
unsigned endLine(const llvm::Loop &L);

} // namespace nputeir

#endif
