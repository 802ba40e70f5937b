// linear_tails.cpp -- sums that are scaled and added to something, before they
// are formed instead of behind them.
#include "linear_tails.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace nputeir {

enum { TailMax = 8, CodeMax = 24 };

static bool isAdd(const Instruction &I) {
  return I.getOpcode() == Instruction::Add ||
         (I.getOpcode() == Instruction::FAdd && I.hasAllowReassoc() &&
          I.hasNoSignedZeros());
}

static bool isMul(const Instruction &I) {
  return I.getOpcode() == Instruction::Mul ||
         (I.getOpcode() == Instruction::FMul && I.hasAllowReassoc() &&
          I.hasNoSignedZeros());
}

static Value *otherOperand(const BinaryOperator &I, const Value *V) {
  return I.getOperand(I.getOperand(0) == V ? 1 : 0);
}

bool LinearTail::findSum() {
  BasicBlock *Exit = K.getExitBlock(), *Latch = K.getLoopLatch();
  if (!Exit || !Latch)
    return false;
  for (PHINode &P : Exit->phis()) {
    if (Result || P.getNumIncomingValues() != 1)
      return false;
    Result = &P;
  }
  Sum = Result ? dyn_cast<PHINode>(Result->getIncomingValue(0)) : nullptr;
  if (!Sum || Sum->getParent() != K.getHeader() || !Sum->hasNUses(2))
    return false;
  Next = dyn_cast<BinaryOperator>(Sum->getIncomingValueForBlock(Latch));
  return Next && isAdd(*Next) && Next->hasOneUse() &&
         is_contained(Next->operands(), Sum) && otherOperand(*Next, Sum) != Sum;
}

// V is known in front of K, or computed from what is there, or loaded.
bool LinearTail::mayComeFirst(Value *V) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || DT.dominates(I, K.getLoopPreheader()->getTerminator()) ||
      is_contained(Code, I))
    return true;
  auto *Load = dyn_cast<LoadInst>(I);
  if (!(Load ? Load->isSimple()
             : isa<BinaryOperator, UnaryOperator, CastInst, GetElementPtrInst>(
                   I)) ||
      I->isIntDivRem() || K.contains(I) || Code.size() >= CodeMax ||
      !all_of(I->operands(), [&](Value *X) { return mayComeFirst(X); }))
    return false;
  Code.push_back(I);
  return true;
}

bool LinearTail::findTail() {
  const Instruction *V = Result;
  while (V->hasOneUse() && Tail.size() < TailMax) {
    auto *U = const_cast<User *>(*V->user_begin());
    if (auto *S = dyn_cast<StoreInst>(U)) {
      Stored = S->getValueOperand() == V && S->isSimple() ? S : nullptr;
      return Stored && mayComeFirst(S->getPointerOperand());
    }
    auto *I = dyn_cast<BinaryOperator>(U);
    if (!I || K.contains(I) || !(isAdd(*I) || isMul(*I)) ||
        !mayComeFirst(otherOperand(*I, V)))
      return false;
    Tail.push_back(I);
    V = I;
  }
  return false;
}

bool LinearTail::find() {
  const Loop *Around = K.getParentLoop();
  return Around && K.getLoopPreheader() && findSum() && findTail() &&
         !Tail.empty() &&
         DT.dominates(Stored->getParent(), Around->getLoopLatch());
}

void LinearTail::move(ValueToValueMapTy &Map) const {
  auto Here = [&](Value *V) -> Value * {
    Value *Copied = Map.lookup(V);
    return Copied ? Copied : V;
  };
  BasicBlock *Front = cast<BasicBlock>(Here(K.getLoopPreheader()));
  auto *Own = cast<PHINode>(Here(Sum));
  auto *Added = cast<BinaryOperator>(Here(Next));
  auto *Store = cast<StoreInst>(Here(Stored));
  IRBuilder<> B(Front->getTerminator());
  B.SetCurrentDebugLocation(Store->getDebugLoc());
  bool IsFloat = Own->getType()->isFloatingPointTy();
  if (IsFloat)
    B.setFastMathFlags(Added->getFastMathFlags());
  auto Plus = [&](Value *X, Value *Y) {
    return IsFloat ? B.CreateFAdd(X, Y) : B.CreateAdd(X, Y);
  };
  auto Times = [&](Value *X, Value *Y) {
    return IsFloat ? B.CreateFMul(X, Y) : B.CreateMul(X, Y);
  };
  ValueToValueMapTy Moved;
  for (Instruction *I : Code) {
    Instruction *Copied = cast<Instruction>(Here(I))->clone();
    B.Insert(Copied);
    for (Use &U : Copied->operands())
      if (Value *Before = Moved.lookup(U.get()))
        U.set(Before);
    Moved[Here(I)] = Copied;
  }
  auto InFront = [&](Value *V) {
    Value *Before = Moved.lookup(Here(V));
    return Before ? Before : Here(V);
  };
  Value *Rest = Own->getIncomingValueForBlock(Front), *Factor = nullptr;
  if (PatternMatch::match(Rest,
                          PatternMatch::m_CombineOr(PatternMatch::m_AnyZeroFP(),
                                                    PatternMatch::m_Zero())))
    Rest = nullptr;
  const Value *Below = Result;
  for (BinaryOperator *I : Tail) {
    Value *Other = InFront(otherOperand(*I, Below));
    Below = I;
    if (isAdd(*I)) {
      Rest = Rest ? Plus(Rest, Other) : Other;
      continue;
    }
    Rest = Rest ? Times(Rest, Other) : nullptr;
    Factor = Factor ? Times(Factor, Other) : Other;
  }
  Value *Place = InFront(Stored->getPointerOperand());
  Type *T = Own->getType();
  auto Note = [&](Instruction *I) {
    I->setMetadata(LLVMContext::MD_tbaa,
                   Store->getMetadata(LLVMContext::MD_tbaa));
  };
  if (!Rest)
    Rest = Constant::getNullValue(T);
  Note(B.CreateAlignedStore(Rest, Place, Store->getAlign()));
  Value *Term = otherOperand(*Added, Own);
  B.SetInsertPoint(Added);
  LoadInst *SoFar = B.CreateAlignedLoad(T, Place, Store->getAlign());
  Note(SoFar);
  Note(B.CreateAlignedStore(Plus(SoFar, Factor ? Times(Term, Factor) : Term),
                            Place, Store->getAlign()));
  Value *Last = Store->getValueOperand();
  Store->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(Last);
  Own->replaceAllUsesWith(UndefValue::get(T)); // nothing that is computed
  Own->eraseFromParent();
  RecursivelyDeleteTriviallyDeadInstructions(Added);
}

} // namespace nputeir
