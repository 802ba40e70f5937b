// split_products.cpp -- a sum of several products as several sums, which are
// added behind their loop:
//
//     for k:  s += a[k] * c[k] - b[k] * d[k];
//
// becomes
//
//     for k:  s += a[k] * c[k], t -= b[k] * d[k];
//     s += t;
//
// so that each is the sum of a contraction.  The real and the imaginary part of
// a complex product are four real ones in this way.  Integers may always be
// added in another order, floats where all additions allow it.
#include "split_products.h"
#include "ir_exits.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { ProductsMax = 4 };

bool mayBeReordered(const Instruction &I) {
  switch (I.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
    return true;
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
    return I.hasAllowReassoc() && I.hasNoSignedZeros();
  default:
    return false;
  }
}

bool isProduct(const Value *V) {
  const auto *I = dyn_cast<Instruction>(V);
  if (I && I->getOpcode() == Instruction::FNeg)
    I = dyn_cast<Instruction>(I->getOperand(0));
  return I && (I->getOpcode() == Instruction::Mul ||
               I->getOpcode() == Instruction::FMul);
}

bool isSum(const Value *V) {
  const auto *I = dyn_cast<Instruction>(V);
  return I && I->hasOneUse() && mayBeReordered(*I) && !isProduct(I);
}

class TermFinder {
  const Value &SoFar;
  const Loop &L;
  SmallVectorImpl<ProductTerm> &Terms;
  BinaryOperator *Scaled = nullptr; // around what is looked at
  Value *Factor = nullptr;

public:
  unsigned Starts = 0; // how often the sum so far is added

  TermFinder(const Value &SoFar, const Loop &L,
             SmallVectorImpl<ProductTerm> &Terms)
      : SoFar(SoFar), L(L), Terms(Terms) {}

  // Whether V is made of the sum so far and of products only.
  bool add(Value *V, bool IsSubtracted, unsigned Depth = 0) {
    if (V == &SoFar) {
      Starts++;
      return !IsSubtracted && !Scaled;
    }
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L.contains(I))
      return false;
    if (Depth <= ProductsMax && isSum(I)) {
      bool Minus = I->getOpcode() == Instruction::Sub ||
                   I->getOpcode() == Instruction::FSub;
      return add(I->getOperand(0), IsSubtracted, Depth + 1) &&
             add(I->getOperand(1), IsSubtracted != Minus, Depth + 1);
    }
    if (isScaledSum(*I)) {
      Scaled = cast<BinaryOperator>(I);
      unsigned Sum = isSum(I->getOperand(0)) ? 0 : 1;
      Factor = I->getOperand(1 - Sum);
      bool Good = add(I->getOperand(Sum), IsSubtracted, Depth + 1);
      Scaled = nullptr;
      return Good;
    }
    Terms.push_back({V, IsSubtracted, Scaled, Scaled ? Factor : nullptr});
    return isProduct(V) && Terms.size() <= ProductsMax;
  }

private:
  // A sum of products times what does not change in L.
  bool isScaledSum(const Instruction &I) const {
    if (Scaled || !isa<BinaryOperator>(I) || !isProduct(&I) || !I.hasOneUse() ||
        !mayBeReordered(I))
      return false;
    const Value *X = I.getOperand(0), *Y = I.getOperand(1);
    return (isSum(X) && L.isLoopInvariant(Y)) ||
           (isSum(Y) && L.isLoopInvariant(X));
  }
};

} // namespace

Value *ProductTerm::addTo(Value *Sum, const Instruction &Like,
                          IRBuilder<> &B) const {
  IRBuilder<>::FastMathFlagGuard Guard(B);
  bool IsInteger = Sum->getType()->isIntegerTy();
  Value *V = Product;
  if (Scaled && IsInteger)
    V = B.CreateMul(V, Factor);
  if (Scaled && !IsInteger) {
    B.setFastMathFlags(Scaled->getFastMathFlags());
    V = B.CreateFMul(V, Factor);
  }
  if (IsInteger)
    return IsSubtracted ? B.CreateSub(Sum, V) : B.CreateAdd(Sum, V);
  B.setFastMathFlags(Like.getFastMathFlags());
  return IsSubtracted ? B.CreateFSub(Sum, V) : B.CreateFAdd(Sum, V);
}

bool findTerms(Instruction &Last, const Value &SoFar, const Loop &L,
               SmallVectorImpl<ProductTerm> &Terms) {
  TermFinder F(SoFar, L, Terms);
  return F.add(&Last, false) && F.Starts == 1 && Terms.size() >= 2;
}

namespace {

class ProductSum {
  Loop &L;
  PHINode &Sum;
  Instruction *Last = nullptr; // the sum at the end of an iteration
  SmallVector<ProductTerm, ProductsMax> Terms;
  PHINode *Result = nullptr;

public:
  ProductSum(Loop &L, PHINode &Sum) : L(L), Sum(Sum) {}

  bool run() {
    if (!find())
      return false;
    split();
    return true;
  }

private:
  bool find() {
    BasicBlock *Behind = L.getExitBlock(), *Latch = L.getLoopLatch();
    if (!Behind || !Latch || !L.getLoopPreheader() ||
        L.getExitingBlock() != L.getHeader() || !exitsBeforeBody(L) ||
        Sum.getNumIncomingValues() != 2)
      return false;
    Last = dyn_cast<Instruction>(Sum.getIncomingValueForBlock(Latch));
    if (!Last || !Last->hasOneUse() || !findTerms(*Last, Sum, L, Terms))
      return false;
    unsigned Inside = 0;
    for (User *U : Sum.users()) {
      auto *I = cast<Instruction>(U);
      Inside += L.contains(I);
      if (L.contains(I))
        continue;
      auto *P = dyn_cast<PHINode>(I);
      if (!P || P->getParent() != Behind || P->getNumIncomingValues() != 1 ||
          Result)
        return false;
      Result = P;
    }
    return Inside == 1 && Result;
  }

  void split() {
    BasicBlock *Latch = L.getLoopLatch(), *Behind = Result->getParent();
    IRBuilder<> B(Last), AtHead(&Sum), BeforeResult(Result);
    IRBuilder<> AtEnd(&*Behind->getFirstInsertionPt());
    B.SetCurrentDebugLocation(Last->getDebugLoc());
    AtEnd.SetCurrentDebugLocation(Last->getDebugLoc());
    bool IsFloat = isa<FPMathOperator>(Last);
    if (IsFloat)
      AtEnd.setFastMathFlags(Last->getFastMathFlags());
    Value *All = Result;
    Instruction *First = nullptr;
    for (const ProductTerm &T : drop_begin(Terms)) {
      PHINode *Part = AtHead.CreatePHI(Sum.getType(), 2, "nputeir.part");
      Part->addIncoming(Constant::getNullValue(Sum.getType()),
                        L.getLoopPreheader());
      Part->addIncoming(T.addTo(Part, *Last, B), Latch);
      PHINode *Out = BeforeResult.CreatePHI(Sum.getType(), 1, "nputeir.part");
      Out->addIncoming(Part, L.getHeader());
      All = IsFloat ? AtEnd.CreateFAdd(All, Out) : AtEnd.CreateAdd(All, Out);
      First = First ? First : cast<Instruction>(All);
    }
    Result->replaceUsesWithIf(All,
                              [&](Use &U) { return U.getUser() != First; });
    Sum.setIncomingValueForBlock(Latch, Terms[0].addTo(&Sum, *Last, B));
    RecursivelyDeleteTriviallyDeadInstructions(Last);
  }
};

} // namespace

bool splitProducts(Loop &L) {
  bool Any = false;
  for (Loop *X : L.getLoopsInPreorder()) {
    SmallVector<PHINode *, 8> Sums;
    for (PHINode &P : X->getHeader()->phis())
      Sums.push_back(&P);
    for (PHINode *P : Sums)
      Any |= ProductSum(*X, *P).run();
  }
  return Any;
}

} // namespace nputeir
