// ir_results.h -- what becomes of sums of products.
#ifndef NPUTEIR_IR_RESULTS_H
#define NPUTEIR_IR_RESULTS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

namespace nputeir {

// I adds a product.  What is computed from it is added up, in a register or in
// memory, or stored as the sum of several products.  Other sums become
// addresses, choices, and results of one product each.
bool isAddedUp(const llvm::Instruction &I, const llvm::LoopInfo &LI,
               llvm::ScalarEvolution &SE);
// Some instruction of L does.
bool addsUpProducts(const llvm::Loop &L, const llvm::LoopInfo &LI,
                    llvm::ScalarEvolution &SE);

// The local variable, no larger than a complex number, that S stores floats in.
const llvm::AllocaInst *complexIn(const llvm::StoreInst &S);

} // namespace nputeir

#endif
