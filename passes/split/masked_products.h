// masked_products.h -- products that conditions on elements skip.
#ifndef NPUTEIR_MASKED_PRODUCTS_H
#define NPUTEIR_MASKED_PRODUCTS_H

#include "ir_loops.h"

#include "llvm/IR/Instructions.h"

#include <optional>

namespace nputeir {

// Of what adds something that a branch may have chosen: itself, and what the
// choices are, or what they are made of.
llvm::SmallVector<const llvm::Instruction *, 4>
findProducts(const llvm::Instruction &Sum, const llvm::DominatorTree &DT);
// The factors of what Sum adds, or of a product, without casts of them.
llvm::SmallVector<llvm::Instruction *, 4>
findElements(const llvm::Instruction &Sum);
// The conditions that make one, by and, or and choices.
llvm::SmallVector<const llvm::Value *, 4>
partsOfCondition(const llvm::Value &Of, const llvm::DominatorTree &DT);
// The guard asks whether one of them is zero.
bool asksForZero(const Guard &G, llvm::ArrayRef<llvm::Instruction *> Elements);
// If Factor is zero, it changes nothing in Outer which of the guards hold, but
// for sums that become numbers from not being one: what runs where all hold
// adds its multiples, and no more depends on any of them.
bool skipsProductsOf(llvm::ArrayRef<Guard> Guards,
                     const llvm::Instruction &Factor, const llvm::Loop &Outer,
                     const llvm::DominatorTree &DT,
                     const llvm::PostDominatorTree &PDT);
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
