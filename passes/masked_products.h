// masked_products.h -- products that conditions on elements skip.
#ifndef NPUTEIR_MASKED_PRODUCTS_H
#define NPUTEIR_MASKED_PRODUCTS_H

#include "nest_parts.h"

#include "llvm/IR/Instructions.h"

namespace nputeir {

// The factors of what Sum adds, which casts of them may be.
llvm::SmallVector<llvm::Instruction *, 4>
findElements(const llvm::Instruction &Sum);
// What runs only where the guard holds changes nothing in Outer if Factor is
// zero, but for sums that become numbers from not being one.
bool skipsProductsOf(const Guard &G, const llvm::Instruction &Factor,
                     const llvm::Loop &Outer, const llvm::DominatorTree &DT);
// P chooses between values that are computed on either side of a branch, of
// which nothing else leaves the sides.
struct Choice {
  llvm::BranchInst *Branch;
  llvm::Value *Side[2]; // by its successors
};
std::optional<Choice> choiceOf(const llvm::PHINode &P,
                               const llvm::DominatorTree &DT);

} // namespace nputeir

#endif
