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

// max(start, start + length) - start
const SCEV *lengthTo(const SCEV *Taken, ScalarEvolution &SE, const SCEV *&End,
                     bool &Signed) {
  const auto *Sum = dyn_cast<SCEVAddExpr>(Taken);
  for (const SCEV *Part : Sum ? Sum->operands() : ArrayRef<const SCEV *>()) {
    const auto *Max = dyn_cast<SCEVNAryExpr>(Part);
    Signed = isa<SCEVSMaxExpr>(Part);
    if (!Max || !(Signed || isa<SCEVUMaxExpr>(Part)) ||
        Max->getNumOperands() != 2)
      continue;
    const SCEV *Start = SE.getMinusSCEV(Max, Taken);
    for (unsigned I = 0; I < 2; I++) {
      End = Max->getOperand(I);
      const auto *Length = dyn_cast<SCEVConstant>(SE.getMinusSCEV(End, Start));
      if (Max->getOperand(1 - I) == Start && Length &&
          Length->getAPInt().isStrictlyPositive())
        return Length;
    }
  }
  return nullptr;
}

const SCEV *withoutMaximum(const SCEV *N, ScalarEvolution &SE, const SCEV *&End,
                           bool &Signed) {
  End = nullptr;
  SmallVector<const SCEV *, 4> Terms = {N};
  if (const auto *Add = dyn_cast<SCEVAddExpr>(N))
    Terms.assign(Add->operands().begin(), Add->operands().end());
  for (const SCEV *T : Terms) {
    const auto *Max = dyn_cast<SCEVMinMaxExpr>(T);
    if (!Max || !isa<SCEVSMaxExpr, SCEVUMaxExpr>(T) ||
        Max->getNumOperands() != 2)
      continue;
    const SCEV *Others = SE.getMinusSCEV(N, T);
    for (unsigned I = 0; I < 2; I++)
      if (SE.getAddExpr(Others, Max->getOperand(1 - I))->isZero() &&
          isa<SCEVAddRecExpr>(SE.getAddExpr(Others, Max->getOperand(I)))) {
        End = Max->getOperand(I);
        Signed = isa<SCEVSMaxExpr>(T);
        return SE.getAddExpr(Others, End);
      }
  }
  return N;
}

} // namespace nputeir
