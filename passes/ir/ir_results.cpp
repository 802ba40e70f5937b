// ir_results.cpp -- what becomes of sums of products.
//
// Asked of code as it comes, before anything is prepared.  Whatever would take
// too long to find out, or depends on what memory holds, counts as a sum.
#include "ir_results.h"
#include "ir_calls.h"
#include "ir_sums.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

enum { TermsMax = 64 };

static bool isOfHeader(const PHINode &P, const LoopInfo &LI) {
  const Loop *L = LI.getLoopFor(P.getParent());
  return L && L->getHeader() == P.getParent();
}

// Its result is a number that depends on those it gets.
static bool isArithmetic(const Instruction &I, const LoopInfo &LI) {
  if (const auto *Call = dyn_cast<CallBase>(&I))
    return onlyComputes(*Call);
  if (const auto *P = dyn_cast<PHINode>(&I))
    return !isOfHeader(*P, LI);
  return isa<CastInst, BinaryOperator, UnaryOperator, SelectInst, FreezeInst,
             InsertElementInst, ExtractElementInst>(I);
}

// Two addresses may be one.
static bool mayBeSame(const Value *X, const Value *Y, ScalarEvolution &SE) {
  if (X == Y)
    return true;
  const SCEV *OfX = SE.getSCEV(const_cast<Value *>(X));
  const SCEV *OfY = SE.getSCEV(const_cast<Value *>(Y));
  auto IsRead = [](const SCEV *S) {
    const auto *Unknown = dyn_cast<SCEVUnknown>(S);
    return Unknown && isa<LoadInst>(Unknown->getValue());
  };
  return OfX == OfY || SCEVExprContains(OfX, IsRead) ||
         SCEVExprContains(OfY, IsRead);
}

// Of a sum.
static bool isProduct(const Use &U) {
  const auto *Call = dyn_cast<IntrinsicInst>(U.getUser());
  return Call ? U.getOperandNo() - firstFactor(*Call) < 2
              : productIn(U.get()) != nullptr;
}

// What is added to X is added to the sum of which X is a part.
static bool isLinear(const Instruction &X, const LoopInfo &LI) {
  if (const auto *P = dyn_cast<PHINode>(&X))
    return !isOfHeader(*P, LI);
  bool Multiple = X.getOpcode() == Instruction::Mul ||
                  X.getOpcode() == Instruction::FMul ||
                  X.getOpcode() == Instruction::Shl;
  return isa<CastInst, SelectInst>(X) || isAdding(X) ||
         (Multiple && isa<Constant>(X.getOperand(1)));
}

// Those that are added up in Sum.
static unsigned productsIn(const Instruction &Sum, const LoopInfo &LI) {
  SetVector<const Instruction *> Open;
  Open.insert(&Sum);
  unsigned Count = 0;
  for (unsigned At = 0; At < Open.size() && At < TermsMax; At++) {
    const Instruction &X = *Open[At];
    bool Sums = isSumOfProduct(X), Fused = isa<IntrinsicInst>(X);
    Count += Sums && Fused;
    for (const Use &U : X.operands()) {
      bool Product = Sums && isProduct(U);
      Count += Product && !Fused;
      const auto *I = dyn_cast<Instruction>(U.get());
      if (I && !Product && (Sums || isLinear(X, LI)))
        Open.insert(I);
    }
  }
  return Count;
}

namespace {

// What a value is computed from, but for what is multiplied in a sum.
class Terms {
  const LoopInfo &LI;
  SetVector<const Value *> Open;

public:
  bool AddsProducts = false; // at least two, to each other
  bool TooMany = false;

  Terms(const Value *V, const LoopInfo &LI) : LI(LI) {
    Open.insert(V);
    for (unsigned At = 0; At < Open.size() && !TooMany; At++) {
      const auto *I = dyn_cast<Instruction>(Open[At]);
      if (I && isArithmetic(*I, LI))
        addOperands(*I);
      TooMany = Open.size() > TermsMax;
    }
  }

  bool has(const Value *V) const { return Open.count(V); }
  template <class Test> bool hasLoad(Test Is) const {
    return any_of(Open, [&](const Value *V) {
      const auto *Load = dyn_cast<LoadInst>(V);
      return Load && Is(*Load);
    });
  }

private:
  void addOperands(const Instruction &I) {
    bool Sums = isSumOfProduct(I);
    AddsProducts |= Sums && productsIn(I, LI) > 1;
    for (const Use &U : I.operands())
      if (isa<Instruction>(U.get()) && !(Sums && isProduct(U)))
        Open.insert(U.get());
  }
};

} // namespace

// The next turn of the loop has it, with something added.
static bool isAddedIn(const PHINode &P, const LoopInfo &LI) {
  const Loop *L = LI.getLoopFor(P.getParent());
  return any_of(P.blocks(), [&](const BasicBlock *From) {
    if (!L->contains(From))
      return false;
    Terms T(P.getIncomingValueForBlock(From), LI);
    return T.TooMany || T.has(&P);
  });
}

// What I adds is a part of a sum of type Sum, which is kept as `Held` says:
// where it is a number of another kind, I must be made from what the sum has so
// far.
template <class Test>
static bool mayBePart(const Instruction &I, const Type &Sum, const LoopInfo &LI,
                      Test IsHeld) {
  if (I.getType()->isFPOrFPVectorTy() == Sum.isFPOrFPVectorTy())
    return true;
  Terms T(&I, LI);
  return T.TooMany || IsHeld(T);
}

static bool isAddedTo(const StoreInst &S, const Instruction &I,
                      const LoopInfo &LI, ScalarEvolution &SE) {
  auto IsHeld = [&](const Terms &T) {
    return T.hasLoad([&](const LoadInst &L) {
      return mayBeSame(L.getPointerOperand(), S.getPointerOperand(), SE);
    });
  };
  const Value *Stored = S.getValueOperand();
  Terms T(Stored, LI);
  return mayBePart(I, *Stored->getType(), LI, IsHeld) &&
         (T.TooMany || T.AddsProducts || IsHeld(T));
}

// One of these adds something to what P has, and does not choose between both.
static bool anyAddsTo(const PHINode &P, ArrayRef<const Instruction *> Values,
                      const LoopInfo &LI) {
  return any_of(Values, [&](const Instruction *I) {
    if (!isAdding(*I) && !isSumOfProduct(*I))
      return false;
    Terms T(I, LI);
    return T.TooMany || T.has(&P);
  });
}

// V is I, perhaps multiplied.
static bool isMultipleOf(const Value *V, const Instruction &I, int Depth = 0) {
  const auto *Of = dyn_cast<Instruction>(V);
  if (Of == &I)
    return true;
  bool Looks = Of && Depth < 4 &&
               (isa<CastInst, UnaryOperator>(Of) ||
                Of->getOpcode() == Instruction::Mul ||
                Of->getOpcode() == Instruction::FMul);
  return Looks && any_of(Of->operands(), [&](const Use &U) {
           return isMultipleOf(U.get(), I, Depth + 1);
         });
}

// What U is used for is a product of elements, or of I by itself.
static bool isFactor(const Use &U, const Instruction &I) {
  const auto *To = cast<Instruction>(U.getUser());
  bool Multiplies =
      To->getOpcode() == Instruction::Mul ||
      To->getOpcode() == Instruction::FMul ||
      (isa<IntrinsicInst>(To) && U.getOperandNo() < 2 &&
       cast<IntrinsicInst>(To)->getIntrinsicID() == Intrinsic::fmuladd);
  if (Multiplies && isMultipleOf(To->getOperand(0), I) &&
      isMultipleOf(To->getOperand(1), I))
    return true;
  return productIn(To) == To ||
         (isa<IntrinsicInst>(To) && isSumOfProduct(*To) && isProduct(U));
}

const AllocaInst *complexIn(const StoreInst &S) {
  enum { BytesMax = 16 };
  const auto *Of =
      S.getValueOperand()->getType()->isFPOrFPVectorTy()
          ? dyn_cast<AllocaInst>(getUnderlyingObject(S.getPointerOperand()))
          : nullptr;
  return Of && !Of->isArrayAllocation() &&
                 Of->getModule()->getDataLayout().getTypeAllocSize(
                     Of->getAllocatedType()) <= BytesMax
             ? Of
             : nullptr;
}

// What reads a part of the number that is stored.
static SmallVector<const Instruction *, 4> readsOf(const StoreInst &S) {
  SmallVector<const Instruction *, 4> Found;
  SmallVector<const Value *, 4> Open;
  if (const AllocaInst *Of = complexIn(S))
    Open.push_back(Of);
  while (!Open.empty()) // each part once
    for (const User *U : Open.pop_back_val()->users()) {
      if (isa<GetElementPtrInst, CastInst>(U))
        Open.push_back(U);
      if (isa<LoadInst>(U) && Found.size() < TermsMax)
        Found.push_back(cast<Instruction>(U));
    }
  return Found;
}

bool isAddedUp(const Instruction &I, const LoopInfo &LI, ScalarEvolution &SE) {
  const Loop *Home = LI.getLoopFor(I.getParent());
  SetVector<const Instruction *> Ahead;
  Ahead.insert(&I);
  for (unsigned At = 0; At < Ahead.size(); At++)
    for (const Use &U : Ahead[At]->uses()) {
      const auto *To = cast<Instruction>(U.getUser());
      const auto *P = dyn_cast<PHINode>(To);
      if (P && isOfHeader(*P, LI)) {
        if (LI.getLoopFor(P->getParent())->contains(Home) &&
            isAddedIn(*P, LI) && anyAddsTo(*P, Ahead.getArrayRef(), LI) &&
            mayBePart(I, *P->getType(), LI,
                      [&](const Terms &T) { return T.has(P); }))
          return true;
        continue;
      }
      const auto *S = dyn_cast<StoreInst>(To);
      if (S && U.getOperandNo() == 0) {
        if (isAddedTo(*S, I, LI, SE))
          return true;
        for (const Instruction *Read : readsOf(*S))
          if (Ahead.size() < TermsMax)
            Ahead.insert(Read);
      }
      if (!isArithmetic(*To, LI) || isFactor(U, I) ||
          (isa<SelectInst>(To) && U.getOperandNo() == 0))
        continue;
      if (Ahead.size() == TermsMax)
        return true;
      Ahead.insert(To);
    }
  return false;
}

bool addsUpProducts(const Loop &L, const LoopInfo &LI, ScalarEvolution &SE) {
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      return isRunningSum(I) && isAddedUp(I, LI, SE);
    });
  });
}

} // namespace nputeir
