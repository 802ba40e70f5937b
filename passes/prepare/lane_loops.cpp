// lane_loops.cpp -- a vector of sums is often stored in an array of the
// function's own, which a loop then adds up:
//
//     float t[8];  _mm256_storeu_ps(t, sums);
//     for (int i = 0; i < 8; i++) s += t[i];
//
// Such a loop is written out, so that each element is a lane, and the array is
// none.
#include "lane_loops.h"
#include "lanes.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/UnrollLoop.h"

using namespace llvm;

namespace nputeir {

using Arrays = SmallPtrSet<const Value *, 8>;

static const Value *arrayOf(const Value *Pointer) {
  const Value *Of = getUnderlyingObject(Pointer);
  return isa<AllocaInst>(Of) ? Of : nullptr;
}

static Arrays vectorArrays(const Function &F) {
  Arrays Found;
  for (const Instruction &I : instructions(F))
    if (const auto *S = dyn_cast<StoreInst>(&I); S && storesVector(*S))
      if (const Value *Of = arrayOf(S->getPointerOperand()))
        Found.insert(Of);
  return Found;
}

// Numbers of these are read in L, and nothing is written.
static bool readsNumbers(const Loop &L, const Arrays &From) {
  bool Reads = false;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      if (I.mayWriteToMemory())
        return false;
      const auto *Load = dyn_cast<LoadInst>(&I);
      Reads |= Load && !Load->getType()->isVectorTy() &&
               From.contains(arrayOf(Load->getPointerOperand()));
    }
  return Reads;
}

PreservedAnalyses LaneLoopsPass::run(Function &F,
                                     FunctionAnalysisManager &FAM) {
  Arrays Found = vectorArrays(F);
  if (Found.empty())
    return PreservedAnalyses::all();
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  AssumptionCache &AC = FAM.getResult<AssumptionAnalysis>(F);
  TargetTransformInfo &TTI = FAM.getResult<TargetIRAnalysis>(F);
  bool Changed = false;
  for (Loop *L : LI.getLoopsInPreorder()) {
    if (!L->isInnermost() || !readsNumbers(*L, Found))
      continue;
    simplifyLoop(L, &DT, &LI, &SE, &AC, nullptr, /*PreserveLCSSA=*/false);
    formLCSSARecursively(*L, DT, &LI, &SE);
    Changed = true;
    unsigned Count = SE.getSmallConstantTripCount(L);
    if (Count == 0 || Count > LanesMax + 1)
      continue;
    UnrollLoopOptions O = {};
    O.Count = Count;
    O.Force = true;
    UnrollLoop(L, O, &LI, &SE, &DT, &AC, &TTI, nullptr,
               /*PreserveLCSSA=*/false);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace nputeir
