// known_targets.cpp -- where clang leaves a scope early.
//
//     for (;;) { float x; if (k >= n) break; .. }
//
// is two ways to the end of x's scope, and a switch (or branch) there that goes
// on by where it was come from:
//
//     scope ends:  to = phi [left, from the if], [goes on, from the rest]
//                  switch to: left: .., goes on: ..
//
// so that the loop seems to end in its middle.  Each way gets an end of the
// scope of its own, which leads to where the switch leads.
#include "known_targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { WaysMax = 16 };

// What B holds is read where it leads to only, and as what came with the way.
bool isReadBehind(const BasicBlock &B, const PHINode &P) {
  return all_of(P.uses(), [&](const Use &U) {
    const auto *Phi = dyn_cast<PHINode>(U.getUser());
    const auto *I = cast<Instruction>(U.getUser());
    return (!Phi && I->getParent() == &B) ||
           (Phi && Phi->getParent() != &B && Phi->getIncomingBlock(U) == &B);
  });
}

bool endsScope(const Instruction &I) {
  const auto *Call = dyn_cast<IntrinsicInst>(&I);
  return Call && Call->isLifetimeStartOrEnd();
}

// What B, if it does nothing else, chooses by where to go on: a number that the
// ways to B bring along.  Null: there is none.
const PHINode *choosesBy(const BasicBlock &B) {
  if (const auto *S = dyn_cast<SwitchInst>(B.getTerminator()))
    return dyn_cast<PHINode>(S->getCondition());
  const auto *Br = dyn_cast<BranchInst>(B.getTerminator());
  const auto *C = Br && Br->isConditional()
                      ? dyn_cast<ICmpInst>(Br->getCondition())
                      : nullptr;
  bool IsOwn = C && C->getParent() == &B && C->hasOneUse() &&
               isa<ConstantInt>(C->getOperand(1));
  return IsOwn ? dyn_cast<PHINode>(C->getOperand(0)) : nullptr;
}

BasicBlock *targetOf(BasicBlock &B, ConstantInt *Number) {
  if (auto *S = dyn_cast<SwitchInst>(B.getTerminator()))
    return S->findCaseValue(Number)->getCaseSuccessor();
  auto *Br = cast<BranchInst>(B.getTerminator());
  auto *C = cast<ICmpInst>(Br->getCondition());
  bool Holds = ICmpInst::compare(
      Number->getValue(), cast<ConstantInt>(C->getOperand(1))->getValue(),
      C->getPredicate());
  return Br->getSuccessor(Holds ? 0 : 1);
}

bool hasKnownTargets(const BasicBlock &B) {
  const PHINode *To = choosesBy(B);
  if (!To || To->getParent() != &B || B.hasAddressTaken() ||
      To->getNumIncomingValues() > WaysMax)
    return false;
  const Instruction *End = B.getTerminator();
  const auto *Br = dyn_cast<BranchInst>(End);
  const Value *Test = Br ? Br->getCondition() : nullptr;
  for (const Instruction &I : B) {
    const auto *P = dyn_cast<PHINode>(&I);
    if (P ? !isReadBehind(B, *P)
          : &I != End && &I != Test && !isa<DbgInfoIntrinsic>(I) &&
                !endsScope(I))
      return false;
  }
  return all_of(To->incoming_values(),
                [](const Use &V) { return isa<ConstantInt>(V); }) &&
         all_of(predecessors(&B), [&](const BasicBlock *From) {
           return From != &B && isa<BranchInst>(From->getTerminator());
         });
}

SmallVector<BasicBlock *, 8> findKnownTargets(Function &F,
                                              FunctionAnalysisManager &FAM) {
  SmallVector<BasicBlock *, 8> Found;
  for (BasicBlock &B : F)
    if (hasKnownTargets(B) && !FAM.getResult<LoopAnalysis>(F).isLoopHeader(&B))
      Found.push_back(&B);
  return Found;
}

// From goes on by an end of the scope of its own.
void lead(BasicBlock &From, BasicBlock &B) {
  BasicBlock *Target = targetOf(
      B, cast<ConstantInt>(choosesBy(B)->getIncomingValueForBlock(&From)));
  auto *Own =
      BasicBlock::Create(B.getContext(), B.getName(), B.getParent(), &B);
  IRBuilder<> Builder(Own);
  for (Instruction &I : B)
    if (endsScope(I))
      Builder.Insert(I.clone());
  Builder.SetCurrentDebugLocation(B.getTerminator()->getDebugLoc());
  Builder.CreateBr(Target);
  for (PHINode &P : Target->phis()) {
    Value *V = P.getIncomingValueForBlock(&B);
    auto *Here = dyn_cast<PHINode>(V);
    if (Here && Here->getParent() == &B)
      V = Here->getIncomingValueForBlock(&From);
    P.addIncoming(V, Own);
  }
  From.getTerminator()->replaceSuccessorWith(&B, Own);
}

} // namespace

PreservedAnalyses KnownTargetsPass::run(Function &F,
                                        FunctionAnalysisManager &FAM) {
  bool Changed = false;
  for (bool More = true; More;) { // each time there are fewer of them
    More = false;
    for (BasicBlock *B : findKnownTargets(F, FAM)) {
      if (!hasKnownTargets(*B)) // by now
        continue;
      SmallSetVector<BasicBlock *, 4> Ways(pred_begin(B), pred_end(B));
      for (BasicBlock *From : Ways)
        lead(*From, *B);
      DeleteDeadBlock(B);
      More = Changed = true;
    }
    if (More)
      FAM.invalidate(F, PreservedAnalyses::none());
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace nputeir
