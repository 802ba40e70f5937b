// grouped_factors.h -- a product of many factors as one of two.
#ifndef NPUTEIR_GROUPED_FACTORS_H
#define NPUTEIR_GROUPED_FACTORS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace nputeir {

// The loops that move a value; false: it is not computed from counters and
// elements alone.
using MovedBy = llvm::function_ref<bool(
    const llvm::Value &, llvm::SmallPtrSetImpl<const llvm::Loop *> &)>;

// What Sum, of floats that may be reordered, adds becomes a product of two, of
// which one is that of all factors that no loops move but those of one of them,
// and is zero where a choice has zero.  Gives that factor; null: there are not
// three, or they do not make two, or every loop in Outer moves it.
llvm::Instruction *groupFactors(llvm::Instruction &Sum, const llvm::Loop &Outer,
                                const llvm::LoopInfo &LI, MovedBy Moved);

} // namespace nputeir

#endif
