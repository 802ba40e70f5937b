// ir_matrix.h -- intrinsics on whole matrices.
#ifndef NPUTEIR_IR_MATRIX_H
#define NPUTEIR_IR_MATRIX_H

#include "llvm/IR/Instruction.h"
#include "llvm/IR/Intrinsics.h"

namespace nputeir {

llvm::Intrinsic::ID intrinsicOf(const llvm::Value *V); // not_intrinsic: none
bool isMatrixProduct(const llvm::Instruction &I);
// A load or store by intrinsic, which other readers do not understand.
bool isMatrixAccess(const llvm::Instruction &I);
// By either kind of instruction.
bool storesMatrix(const llvm::Instruction &I);

} // namespace nputeir

#endif
