// split_updates.cpp -- several products that are added to an element of an
// array, as nests that add one each:
//
//     for i:  for j:  c[i][j] *= beta;
//             for k, j:  c[i][j] += a[i][k] * b[j][k] + b[i][k] * a[j][k];
//
//     before:  the arrays are apart ? first : kept
//     first:   the nest, with the first product alone
//     others:  the nest, with the next product alone, and no other store
//     kept:    the nest as it was
//
// The order in which products are added to an element must not matter, and what
// they are made of must not be what the nest writes.  Elements may meet: a sum
// is a sum in any order.  Other code may access an element if it does so before
// all products are added: it stands in front of them in an iteration of a loop
// around both, of which each iteration has elements of its own.  Those have two
// strides, one of which is at least the whole way of the other.  Other members
// of the elements may be read anywhere.
#include "split_updates.h"
#include "checks.h"
#include "ir_memory.h"
#include "overlaps.h"
#include "split_products.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { UpdateBlocksMax = 64 };

class ElementUpdate {
  Loop &L;
  LoopFacts &Facts;
  ScalarEvolution &SE;
  Overlaps Places;
  SmallVector<Instruction *, 16> Accesses;
  StoreInst *Update = nullptr;
  LoadInst *SoFar = nullptr;
  SmallVector<ProductTerm, 4> Terms;
  Apart::Reach Elements;    // of the sum
  bool OwnElements = false; // in each iteration

public:
  ElementUpdate(Loop &L, LoopFacts &Facts)
      : L(L), Facts(Facts), SE(Facts.SE), Places(L, Facts.SE, Facts.AA) {}

  bool run(BasicBlock *&Kept) {
    if (!canBeCopied(L) || L.getNumBlocks() > UpdateBlocksMax ||
        isUsedAfter(L) || !findAccesses(L, Accesses) || !findSum() ||
        !mayComeLater())
      return false;
    split(Kept);
    return true;
  }

private:
  const SCEV *placeOf(const Instruction &I) {
    return SE.getSCEV(const_cast<Value *>(getLoadStorePointerOperand(&I)));
  }

  bool isSum(StoreInst &S) {
    auto *Last = dyn_cast<Instruction>(S.getValueOperand());
    if (!Last || !Last->hasOneUse())
      return false;
    for (Instruction *X : Accesses) {
      auto *Load = dyn_cast<LoadInst>(X);
      if (!Load || Load->getParent() != S.getParent() || !Load->hasOneUse() ||
          placeOf(*Load) != placeOf(S))
        continue;
      Terms.clear();
      if (!findTerms(*Last, *Load, L, Terms))
        continue;
      Update = &S;
      SoFar = Load;
      return true;
    }
    return false;
  }

  // The one store that adds several products.
  bool findSum() {
    return any_of(Accesses, [&](Instruction *X) {
      auto *S = dyn_cast<StoreInst>(X);
      return S && isSum(*S);
    });
  }

  bool mayComeLater() {
    return all_of(Accesses, [&](Instruction *X) {
      if (X == Update || X == SoFar)
        return true;
      return (isa<LoadInst>(X) && Places.areApart(*Update, *X)) ||
             (sharesBase(*Update, *X, SE) && isBeforeUpdate(*X));
    });
  }

  // What V is used for is stored in front of the products.
  bool isOnlyStored(const Instruction &V) {
    return all_of(V.users(), [&](const User *U) {
      if (const auto *S = dyn_cast<StoreInst>(U))
        return S != Update && S->getValueOperand() == &V;
      const auto *I = cast<Instruction>(U);
      return !isa<PHINode>(I) && !I->isTerminator() && !isa<LoadInst>(I) &&
             isOnlyStored(*I);
    });
  }

  // Where I is in Around, in the first iteration of a loop within.
  const SCEV *placeIn(const Instruction &I, const Loop &Around) {
    const SCEV *Place = placeOf(I);
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(Place);
    bool IsInner =
        Rec && Rec->getLoop() != &Around && Around.contains(Rec->getLoop());
    return IsInner ? Rec->getStart() : Place;
  }

  // Each loop from L to Around moves the element of the sum.
  bool movesInAll(const Loop &Around) {
    SmallPtrSet<const Loop *, 4> Moving;
    const SCEV *Place = placeOf(*Update);
    while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(Place)) {
      Moving.insert(Rec->getLoop());
      Place = Rec->getStart();
    }
    for (const Loop *X = &Around; L.contains(X); X = X->getParentLoop())
      if (!Moving.count(X))
        return false;
    return true;
  }

  // X accesses what is summed later, in the same iteration of a loop and in no
  // other one.
  bool isBeforeUpdate(const Instruction &X) {
    const Loop *Around = Facts.LI.getLoopFor(X.getParent());
    while (!Around->contains(Update))
      Around = Around->getParentLoop();
    Apart::Reach Before;
    Elements = {};
    if (X.getParent() == Update->getParent() ||
        !comesBefore(X, *Update, Facts.LI, Facts.DT) ||
        (isa<LoadInst>(X) && !isOnlyStored(X)) || !Places.reach(X, Before) ||
        !Places.reach(*Update, Elements) || Elements.Of.Terms.size() != 2)
      return false;
    OwnElements = true;
    return isSame(Before, Elements) && movesInAll(*Around) &&
           placeIn(X, *Around) == placeIn(*Update, *Around);
  }

  Value *mayBeSplit(Instruction *At, const DebugLoc &DL) {
    Checks C(SE, At);
    C.B.SetCurrentDebugLocation(DL);
    Value *Good = Places.hold(C);
    if (!OwnElements)
      return Good;
    ArrayRef<Sum::Term> T = Elements.Of.Terms; // the inner loop's first
    Type *I64 = C.B.getInt64Ty();
    return C.B.CreateAnd(
        Good,
        C.areElementsApart({T[1].Step, T[0].Step, C.frozen(T[1].Extent, I64),
                            C.frozen(T[0].Extent, I64), Elements.Bytes}));
  }

  // The nest, or a copy of it, adds one term.  IsFirst: and does all else.
  void keepTerm(const ProductTerm &T, ValueToValueMapTy *Map, bool IsFirst) {
    auto Here = [&](Value *V) -> Value * {
      Value *Copied = Map && V ? Map->lookup(V) : nullptr;
      return Copied ? Copied : V;
    };
    ProductTerm Own = T;
    Own.Product = Here(T.Product);
    auto *Store = cast<StoreInst>(Here(Update));
    IRBuilder<> B(Store);
    B.SetCurrentDebugLocation(Store->getDebugLoc());
    auto *Last = cast<Instruction>(Update->getValueOperand());
    Store->setOperand(0, Own.addTo(Here(SoFar), *Last, B));
    for (Instruction *X : Accesses)
      if (isa<StoreInst>(X) && X != Update && !IsFirst)
        cast<Instruction>(Here(X))->eraseFromParent();
  }

  void split(BasicBlock *&Kept) {
    BasicBlock *Front = L.getLoopPreheader();
    Instruction *End = Front->getTerminator();
    DebugLoc DL = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    bool Asks = OwnElements || Places.asks();
    Value *Good = Asks ? mayBeSplit(End, DL) : nullptr;
    ValueToValueMapTy OfKept;
    BasicBlock *Old = Asks ? copyLoop(L, nullptr, OfKept) : nullptr;
    Kept = Old ? cast<BasicBlock>(OfKept[L.getHeader()]) : nullptr;
    BasicBlock *Next = detach(L);
    for (size_t I = Terms.size() - 1; I-- > 0;) {
      ValueToValueMapTy Map;
      Next = copyLoop(L, Next, Map);
      keepTerm(Terms[I], &Map, I == 0);
    }
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(DL);
    if (Old)
      B.CreateCondBr(Good, Next, Old);
    else
      B.CreateBr(Next);
    keepTerm(Terms.back(), nullptr, false);
  }
};

} // namespace

bool splitUpdates(Loop &L, LoopFacts &Facts, BasicBlock *&Kept) {
  return ElementUpdate(L, Facts).run(Kept);
}

} // namespace nputeir
