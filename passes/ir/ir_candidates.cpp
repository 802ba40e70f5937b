// ir_candidates.cpp -- loops that may hold a product.
#include "ir_candidates.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_matrix.h"
#include "ir_results.h"
#include "ir_sums.h"

#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"

using namespace llvm;

namespace nputeir {

unsigned depthOf(const Loop &L) {
  unsigned Deepest = 0;
  for (const Loop *Inner : L)
    Deepest = std::max(Deepest, depthOf(*Inner));
  return Deepest + 1;
}

bool holdsMatrixProduct(const Loop &L) {
  bool Product = false, Stores = false;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      Product |= isMatrixProduct(I);
      Stores |= storesMatrix(I) && !isKept(I);
    }
  return Product && Stores;
}

// By a ScalarEvolution of its own: what the passes' finds depends on what it
// was asked before.
Candidates::Candidates(Function &F, FunctionAnalysisManager &FAM) {
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  ScalarEvolution SE(F, FAM.getResult<TargetLibraryAnalysis>(F),
                     FAM.getResult<AssumptionAnalysis>(F),
                     FAM.getResult<DominatorTreeAnalysis>(F), LI);
  SmallVector<Loop *, 8> Loops = LI.getLoopsInPreorder();
  for (const Loop *L : reverse(Loops)) { // inner ones first
    Facts X;
    for (const Loop *In : L->getSubLoops()) {
      Facts Inner = Of.lookup(In);
      X.Reads |= Inner.Reads;
      X.Sums |= Inner.Sums;
      X.Copies |= Inner.Copies;
      X.Product |= Inner.Product;
      X.StoresMatrix |= Inner.StoresMatrix;
    }
    for (const BasicBlock *B : L->blocks())
      if (LI.getLoopFor(B) == L)
        for (const Instruction &I : *B) {
          X.Product |= isMatrixProduct(I);
          X.StoresMatrix |= storesMatrix(I) && !isKept(I);
          if (X.Reads)
            continue;
          X.Copies |= storesCopy(I);
          X.Sums |= isSumOfProduct(I);
          X.Reads = isRunningSum(I) && isAddedUp(I, LI, SE);
        }
    X.Reads |= (X.Sums && X.Copies) || (X.Product && X.StoresMatrix);
    Of[L] = X;
  }
}

bool Candidates::isLeftEarly(const Loop &L) {
  Facts &F = Of[&L];
  if (!F.IsKnown)
    F.LeftEarly = nputeir::isLeftEarly(L) || followsList(L);
  F.IsKnown = true;
  return F.LeftEarly;
}

bool Candidates::mayBeRead(const Loop &L) {
  const Loop *Outermost = &L;
  while (!Of.lookup(Outermost).Reads) {
    Outermost = Outermost->getParentLoop();
    if (!Outermost || isLeftEarly(*Outermost))
      return false;
  }
  return true;
}

} // namespace nputeir
