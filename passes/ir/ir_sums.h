// ir_sums.h -- instructions that add products, or combine elements otherwise.
#ifndef NPUTEIR_IR_SUMS_H
#define NPUTEIR_IR_SUMS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instruction.h"

namespace nputeir {

// An instruction that adds a product to something.
bool isSumOfProduct(const llvm::Instruction &I);
// Of a function that does, the operand that is the first of two factors.
unsigned firstFactor(const llvm::Instruction &I);
// I adds or subtracts.
bool isAdding(const llvm::Instruction &I);
// The product in what such an instruction adds, perhaps shifted or divided, or
// the first of several of which one is added; null: there is none.
const llvm::Instruction *productIn(const llvm::Value *Added);
bool sumsProducts(const llvm::Loop &L);
// I stores an element, or a constant.
bool storesCopy(const llvm::Instruction &I);
// L stores, and nothing but what it loads, and constants.
bool copiesOnly(const llvm::Loop &L);
// The product is added to something that may be a sum so far, as opposed to
// the arithmetic of a hash or an index.
bool isRunningSum(const llvm::Instruction &I);
// Two elements are combined with what was combined so far, as a sum of products
// does, but by any operation: the maximum of sums, say.
bool combinesElements(const llvm::Instruction &I);

} // namespace nputeir

#endif
