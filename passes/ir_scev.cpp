// ir_scev.cpp -- questions about numbers that ScalarEvolution describes.
#include "ir_scev.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

bool looksNegative(const SCEV *S) {
  if (const auto *C = dyn_cast<SCEVConstant>(S))
    return C->getAPInt().isNegative();
  if (const auto *X = dyn_cast<SCEVSignExtendExpr>(S))
    return looksNegative(X->getOperand());
  const auto *M = dyn_cast<SCEVMulExpr>(S);
  return M && count_if(M->operands(), looksNegative) % 2 == 1;
}

} // namespace nputeir
