// ir_scev.cpp -- questions about numbers that ScalarEvolution describes.
#include "ir_scev.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

// Left: numbers that are looked at yet; those beyond count as positive.
static bool looksNegative(const SCEV *S, int &Left) {
  if (Left-- <= 0)
    return false;
  if (const auto *C = dyn_cast<SCEVConstant>(S))
    return C->getAPInt().isNegative();
  if (const auto *X = dyn_cast<SCEVSignExtendExpr>(S))
    return looksNegative(X->getOperand(), Left);
  const auto *M = dyn_cast<SCEVMulExpr>(S);
  return M && count_if(M->operands(),
                       [&](const SCEV *Factor) {
                         return looksNegative(Factor, Left);
                       }) %
                      2 ==
                  1;
}

bool looksNegative(const SCEV *S) {
  enum { LooksMax = 64 };
  int Left = LooksMax;
  return looksNegative(S, Left);
}

} // namespace nputeir
