// uneven_sums.cpp -- sums that are as long as the row says, of which parts of a
// nest do some terms each: a sum in a register goes from one part to the next
// by way of its element, which must have its type.
#include "uneven_sums.h"

#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace nputeir {

bool UnevenSum::findSum(Loop &X) {
  K = &X;
  if (X.getExitingBlock() != X.getHeader())
    return false;
  for (PHINode &P : X.getHeader()->phis()) {
    const SCEVAddRecExpr *Rec = counter(P, X);
    if (Rec && SE.isLoopInvariant(Rec->getStepRecurrence(SE), &L))
      continue;
    if (Rec || Sum)
      return false;
    Sum = &P;
  }
  for (const BasicBlock *B : X.blocks())
    for (const Instruction &I : *B)
      for (const User *U : I.users()) {
        if (X.contains(cast<Instruction>(U)))
          continue;
        auto *P = dyn_cast<PHINode>(const_cast<User *>(U));
        if (&I != Sum || !P || P->getParent() != X.getExitBlock() ||
            P->getNumIncomingValues() != 1 || Result)
          return false;
        Result = P;
      }
  return !Sum || Result;
}

bool UnevenSum::isSumStored() {
  if (!Sum)
    return true;
  for (StoreInst *S : After)
    if (!Stored && LI.getLoopFor(S->getParent()) == Around &&
        DT.dominates(S->getParent(), Around->getLoopLatch()))
      Stored = S;
  SmallVector<Instruction *, AddressCodeMax> Code;
  return Stored && Around != &L && isOnlyStored(*Result, false) &&
         Stored->getValueOperand()->getType() == Sum->getType() &&
         findAddress(Stored->getPointerOperand(), Code);
}

// Code of Around that computes V, in order; false: it cannot stand in front of
// K.
bool UnevenSum::findAddress(Value *V, SmallVectorImpl<Instruction *> &Code) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || DT.dominates(I, K->getLoopPreheader()->getTerminator()) ||
      is_contained(Code, I))
    return true;
  if (!isa<GetElementPtrInst, CastInst, BinaryOperator>(I) ||
      I->isIntDivRem() || Code.size() >= AddressCodeMax ||
      !all_of(I->operands(), [&](Value *X) { return findAddress(X, Code); }))
    return false;
  Code.push_back(I);
  return true;
}

bool UnevenSum::isOnlyStored(const Instruction &I, bool InFront) {
  return all_of(I.uses(), [&](const Use &U) {
    const auto *User = cast<Instruction>(U.getUser());
    if (InFront && User == Sum)
      return true;
    if (K->contains(User) || isa<LoadInst>(User) || User->isTerminator() ||
        (isa<PHINode>(User) && LI.isLoopHeader(User->getParent())))
      return false;
    if (const auto *S = dyn_cast<StoreInst>(User))
      return S->getValueOperand() == &I &&
             (!InFront || is_contained(Before, S));
    return isOnlyStored(*User, InFront);
  });
}

Value *UnevenSum::addressInFront() {
  SmallVector<Instruction *, AddressCodeMax> Code;
  findAddress(Stored->getPointerOperand(), Code);
  ValueToValueMapTy Map;
  for (Instruction *I : Code) {
    Instruction *Copied = I->clone();
    Copied->insertBefore(K->getLoopPreheader()->getTerminator());
    RemapInstruction(Copied, Map,
                     RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
    Map[I] = Copied;
  }
  Value *Moved = Map.lookup(Stored->getPointerOperand());
  return Moved ? Moved : Stored->getPointerOperand();
}

static Value *copied(Value *V, ValueToValueMapTy &Map) {
  Value *Copied = Map.lookup(V);
  return Copied ? Copied : V;
}

void UnevenSum::leaveSum(Value *Address, ValueToValueMapTy &Map) {
  auto *Sums = cast<PHINode>(Map[Result]);
  IRBuilder<> B(&*Sums->getParent()->getFirstInsertionPt());
  B.SetCurrentDebugLocation(Stored->getDebugLoc());
  B.CreateAlignedStore(Sums, copied(Address, Map), Stored->getAlign());
}

void UnevenSum::goOnWithSum(Value *Address, ValueToValueMapTy &Map) {
  BasicBlock *InFront = frontOf(*K, &Map);
  IRBuilder<> B(InFront->getTerminator());
  B.SetCurrentDebugLocation(Stored->getDebugLoc());
  Value *SoFar = B.CreateAlignedLoad(Sum->getType(), copied(Address, Map),
                                     Stored->getAlign());
  auto *Own = cast<PHINode>(Map[Sum]);
  Value *Start = Own->getIncomingValueForBlock(InFront);
  Own->setIncomingValueForBlock(InFront, SoFar);
  RecursivelyDeleteTriviallyDeadInstructions(Start);
}

} // namespace nputeir
