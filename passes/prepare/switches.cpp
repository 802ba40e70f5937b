// switches.cpp -- switches in loops whose number does not change there.
//
//     switch (layout) {                   if (layout == 1 || layout == 2)
//     case 1: ..  case 2: ..        ->      if (layout == 1) .. else ..
//     case 3: ..  default: ..             else if (layout == 3) .. else ..
//     }
//
// become branches, of which each reading of a nest takes one side (sides.h):
// one way to each place, on which as few as possible are met.
#include "switches.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { CasesMax = 8, DepthMax = 4 };

// V is the same in all of L, or computed from what is, or read at such a place;
// whether the nest writes there is asked later.
bool isUnchanging(const Value *V, const Loop &L, int Depth = 0) {
  if (L.isLoopInvariant(V))
    return true;
  const auto *I = cast<Instruction>(V);
  return Depth < DepthMax &&
         isa<CastInst, BinaryOperator, GetElementPtrInst, LoadInst>(I) &&
         all_of(
             I->operands(),
             [&](const Use &Operand) {
               return isUnchanging(Operand, L, Depth + 1);
             });
}

class Branches {
  struct Way {
    BasicBlock *To, *From;
    SmallVector<ConstantInt *, 2> Cases; // none: all others
  };
  SwitchInst &S;
  SmallVector<Way, CasesMax> Ways;

  void addCase(ConstantInt *Case, BasicBlock *To) {
    auto *It = find_if(Ways, [To](const Way &W) { return W.To == To; });
    if (It == Ways.end())
      It = &Ways.emplace_back(Way{To, nullptr, {}});
    It->Cases.push_back(Case);
  }

  // Which of the ways it is, asked at the end of B, or of new blocks behind it.
  void ask(MutableArrayRef<Way> Of, BasicBlock *B) {
    IRBuilder<> Builder(B);
    Builder.SetCurrentDebugLocation(S.getDebugLoc());
    if (Of.size() == 1) {
      Of[0].From = B;
      Builder.CreateBr(Of[0].To);
      return;
    }
    BasicBlock *Next[2];
    for (BasicBlock *&N : Next)
      N = BasicBlock::Create(B->getContext(), B->getName(), B->getParent(),
                             Ways[0].To);
    Value *IsFirst = nullptr;
    for (const Way &W : Of.take_front(Of.size() / 2))
      for (ConstantInt *Case : W.Cases) {
        Value *Is = Builder.CreateICmpEQ(S.getCondition(), Case);
        IsFirst = IsFirst ? Builder.CreateOr(IsFirst, Is) : Is;
      }
    Builder.CreateCondBr(IsFirst, Next[0], Next[1]);
    ask(Of.take_front(Of.size() / 2), Next[0]);
    ask(Of.drop_front(Of.size() / 2), Next[1]);
  }

public:
  explicit Branches(SwitchInst &S) : S(S) {
    BasicBlock *Else = S.getDefaultDest();
    for (const SwitchInst::CaseHandle &C : S.cases())
      if (C.getCaseSuccessor() != Else)
        addCase(C.getCaseValue(), C.getCaseSuccessor());
    if (!isa<UnreachableInst>(Else->getFirstNonPHIOrDbg()) || Ways.empty())
      Ways.push_back({Else, nullptr, {}});
  }

  void replaceSwitch() {
    BasicBlock *B = S.getParent();
    // One way to each place is left; to one that is never reached, none.
    SmallPtrSet<BasicBlock *, CasesMax> Left;
    for (const Way &W : Ways)
      Left.insert(W.To);
    for (BasicBlock *To : successors(&S))
      if (!Left.erase(To))
        To->removePredecessor(B, /*KeepOneInputPHIs=*/true);
    S.removeFromParent();
    ask(Ways, B);
    for (const Way &W : Ways)
      W.To->replacePhiUsesWith(B, W.From);
    S.deleteValue();
  }
};

} // namespace

PreservedAnalyses SwitchesPass::run(Function &F, FunctionAnalysisManager &FAM) {
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  SmallVector<SwitchInst *, 4> Found;
  for (BasicBlock &B : F) {
    auto *S = dyn_cast<SwitchInst>(B.getTerminator());
    const Loop *L = LI.getLoopFor(&B);
    if (S && L && S->getNumCases() > 0 && S->getNumCases() <= CasesMax &&
        isUnchanging(S->getCondition(), *L))
      Found.push_back(S);
  }
  for (SwitchInst *S : Found)
    Branches(*S).replaceSwitch();
  return Found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

} // namespace nputeir
