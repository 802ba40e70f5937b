// ir_matrix.cpp -- intrinsics on whole matrices.
#include "ir_matrix.h"

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

Intrinsic::ID intrinsicOf(const Value *V) {
  const auto *I = dyn_cast<IntrinsicInst>(V);
  return I ? I->getIntrinsicID() : Intrinsic::not_intrinsic;
}

bool isMatrixProduct(const Instruction &I) {
  return intrinsicOf(&I) == Intrinsic::matrix_multiply;
}

bool isMatrixAccess(const Instruction &I) {
  return intrinsicOf(&I) == Intrinsic::matrix_column_major_load ||
         intrinsicOf(&I) == Intrinsic::matrix_column_major_store;
}

bool storesMatrix(const Instruction &I) {
  return intrinsicOf(&I) == Intrinsic::matrix_column_major_store ||
         (isa<StoreInst>(I) &&
          isa<FixedVectorType>(I.getOperand(0)->getType()));
}

} // namespace nputeir
