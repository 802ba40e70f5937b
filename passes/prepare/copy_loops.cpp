// copy_loops.cpp -- loops that copy into a buffer of the function's own, in the
// order of what they copy.
#include "copy_loops.h"
#include "canonical.h"
#include "digits.h"
#include "ir_marks.h"
#include "ir_sums.h"
#include "own_buffers.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

static bool copies(const Loop &L, ScalarEvolution &SE) {
  if (isKept(L) || !copiesOnly(L))
    return false;
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      const auto *S = dyn_cast<StoreInst>(&I);
      const auto *Base = S ? dyn_cast<SCEVUnknown>(SE.getPointerBase(SE.getSCEV(
                                 const_cast<Value *>(S->getPointerOperand()))))
                           : nullptr;
      return Base && bufferOf(Base->getValue());
    });
  });
}

bool mayOrderCopies(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    return (I.isIntDivRem() || I.isShift()) && I.getType()->isIntegerTy();
  });
}

static bool orderOne(Function &F, FunctionAnalysisManager &FAM) {
  ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  for (Loop *L : FAM.getResult<LoopAnalysis>(F).getLoopsInPreorder())
    if (copies(*L, SE) && splitDigits(*L, SE))
      return true;
  return false;
}

void orderCopies(Function &F, FunctionAnalysisManager &FAM) {
  enum { OrderMax = 8 };
  FAM.clear(F, "");
  simplifyLoops(F, FAM);
  for (int I = 0; I < OrderMax && orderOne(F, FAM); I++) {
    FAM.invalidate(F, PreservedAnalyses::none());
    simplifyLoops(F, FAM);
  }
  FAM.clear(F, "");
}

} // namespace nputeir
