// conditional_steps.cpp -- pointers that a loop steps on under a condition that
// it does not change.
//
//     for (o..) { s = 0;                    step = bias ? 4 : 0, in front
//       if (bias)                     ->    for (o..) { s = 0;
//         s = *bias++;                        if (bias) s = *pointer;
//       .. }                                  pointer += step; .. }
//
// so that ScalarEvolution knows the pointer.  The condition may ask whether
// the pointer itself is null: stepped on within what it points into, it is
// null if it was in the beginning.
#include "conditional_steps.h"
#include "versions.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { ValuesMax = 32 }; // that one pointer has been

// Where Pointer started in front of L, if it is that plus steps that stay
// within what it points into, whatever way led here: then each of them has been
// computed since the start was.  Null: there is no one start.
Value *startOf(Value *Pointer, const Loop &L) {
  SmallPtrSet<Value *, ValuesMax> Seen;
  SmallVector<Value *, 8> Left = {Pointer};
  Value *Start = nullptr;
  while (!Left.empty()) {
    Value *V = Left.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    if (Seen.size() > ValuesMax)
      return nullptr;
    auto *I = dyn_cast<Instruction>(V);
    I = I && L.contains(I) ? I : nullptr;
    if (auto *Phi = dyn_cast_or_null<PHINode>(I))
      append_range(Left, Phi->incoming_values());
    else if (auto *S = dyn_cast_or_null<SelectInst>(I))
      Left.append({S->getTrueValue(), S->getFalseValue()});
    else if (auto *G = dyn_cast_or_null<GetElementPtrInst>(I);
             G && G->isInBounds())
      Left.push_back(G->getPointerOperand());
    else if (Start && V != Start)
      return nullptr;
    else
      Start = V;
  }
  return Start;
}

// The comparison with null that V is, of a pointer that is stepped on.
ICmpInst *comparesWithNull(Value *V) {
  auto *C = dyn_cast<ICmpInst>(V);
  return C && C->isEquality() && isa<ConstantPointerNull>(C->getOperand(1)) &&
                 isa<PHINode>(C->getOperand(0)) &&
                 !NullPointerIsDefined(
                     C->getFunction(),
                     C->getOperand(0)->getType()->getPointerAddressSpace())
             ? C
             : nullptr;
}

// .. which may as well be one of where it started.
bool compareStart(ICmpInst &C, const LoopInfo &LI) {
  Value *P = C.getOperand(0), *Start = P;
  for (const Loop *L = LI.getLoopFor(cast<PHINode>(P)->getParent()); L;
       L = L->getParentLoop()) {
    Value *Before = startOf(P, *L);
    if (!Before)
      break;
    Start = Before;
  }
  C.setOperand(0, Start);
  return Start != P;
}

struct Choice {
  Value *Condition, *True, *False;
  Instruction *At; // where the condition is known
};

// I is a select, or a phi node where two ways from one branch meet.
bool isChoice(Instruction &I, const DominatorTree &DT, Choice &Of) {
  if (auto *S = dyn_cast<SelectInst>(&I)) {
    Of = {S->getCondition(), S->getTrueValue(), S->getFalseValue(), S};
    return true;
  }
  auto *Phi = dyn_cast<PHINode>(&I);
  BasicBlock *B = I.getParent();
  const DomTreeNode *Node = DT.getNode(B);
  if (!Phi || Phi->getNumIncomingValues() != 2 || !Node || !Node->getIDom())
    return false;
  BasicBlock *Above = Node->getIDom()->getBlock();
  auto *End = dyn_cast<BranchInst>(Above->getTerminator());
  if (!End || !End->isConditional() ||
      End->getSuccessor(0) == End->getSuccessor(1))
    return false;
  Of = {End->getCondition(), nullptr, nullptr, End};
  for (unsigned I = 0; I < 2; I++) {
    BasicBlockEdge In(Phi->getIncomingBlock(I), B);
    for (unsigned Side = 0; Side < 2; Side++) {
      BasicBlockEdge Way(Above, End->getSuccessor(Side));
      if ((In.getStart() == Above && In.getEnd() == Way.getEnd()) ||
          DT.dominates(Way, In.getStart()))
        (Side == 0 ? Of.True : Of.False) = Phi->getIncomingValue(I);
    }
  }
  return Of.True && Of.False;
}

// InstCombine writes p ? p + 1 : p as p ? p + 1 : null.
bool keepNull(Instruction &I, const DominatorTree &DT) {
  Choice Of;
  ICmpInst *C = isChoice(I, DT, Of) ? comparesWithNull(Of.Condition) : nullptr;
  if (!C)
    return false;
  Value *P = C->getOperand(0);
  bool IsNull = C->getPredicate() == CmpInst::ICMP_EQ;
  Value *Null = IsNull ? Of.True : Of.False;
  Value *Other = IsNull ? Of.False : Of.True;
  if (!isa<ConstantPointerNull>(Null) ||
      Other->stripInBoundsConstantOffsets() != P)
    return false;
  I.replaceUsesOfWith(Null, P);
  return true;
}

bool isUnchanging(const Value *V, const Loop &L) {
  const auto *I = dyn_cast<Instruction>(V);
  return L.isLoopInvariant(V) || (isa<ICmpInst, BinaryOperator, CastInst>(I) &&
                                  all_of(I->operands(), [&](const Value *X) {
                                    return L.isLoopInvariant(X);
                                  }));
}

// Pointer plus one step or another -> pointer plus the step that is chosen.
bool chooseStep(Instruction &I, const LoopInfo &LI, const DominatorTree &DT) {
  Choice Of;
  if (!isChoice(I, DT, Of))
    return false;
  const Loop *L = LI.getLoopFor(I.getParent());
  if (LI.getLoopFor(Of.At->getParent()) != L ||
      L->getHeader() == I.getParent() ||
      !Of.Condition->getType()->isIntegerTy(1) ||
      !isUnchanging(Of.Condition, *L))
    return false;
  const DataLayout &DL = I.getModule()->getDataLayout();
  unsigned Bits = DL.getIndexTypeSizeInBits(I.getType());
  APInt True(Bits, 0), False(Bits, 0);
  Value *From = Of.True->stripAndAccumulateConstantOffsets(DL, True, false);
  if (From != Of.False->stripAndAccumulateConstantOffsets(DL, False, false) ||
      True == False || L->isLoopInvariant(From) || !DT.dominates(From, Of.At))
    return false;
  IRBuilder<> B(Of.At);
  Value *Step = B.CreateSelect(Of.Condition, B.getInt(True), B.getInt(False));
  B.SetInsertPoint(I.getParent(), I.getParent()->getFirstInsertionPt());
  if (isa<SelectInst>(I))
    B.SetInsertPoint(&I);
  Value *Bytes = B.CreatePointerCast(From, bytePointer(B.getContext()));
  Value *Next = B.CreatePointerCast(
      B.CreateInBoundsGEP(B.getInt8Ty(), Bytes, Step), I.getType());
  Next->takeName(&I);
  I.replaceAllUsesWith(Next);
  I.eraseFromParent();
  return true;
}

} // namespace

PreservedAnalyses ConditionalStepsPass::run(Function &F,
                                            FunctionAnalysisManager &FAM) {
  const LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  const DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  if (LI.empty())
    return PreservedAnalyses::all();
  SmallVector<Instruction *, 8> Pointers;
  for (Instruction &I : instructions(F))
    if (isa<PHINode, SelectInst>(I) && I.getType()->isPointerTy() &&
        I.getType()->getPointerAddressSpace() == 0 &&
        LI.getLoopFor(I.getParent()))
      Pointers.push_back(&I);
  bool Changed = false;
  for (Instruction *I : Pointers)
    Changed |= keepNull(*I, DT);
  for (Instruction &I : instructions(F))
    if (ICmpInst *C = comparesWithNull(&I))
      Changed |= compareStart(*C, LI);
  for (Instruction *I : Pointers)
    Changed |= chooseStep(*I, LI, DT);
  PreservedAnalyses PA;
  PA.preserveSet<CFGAnalyses>();
  return Changed ? PA : PreservedAnalyses::all();
}

} // namespace nputeir
