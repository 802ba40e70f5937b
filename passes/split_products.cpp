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

class ProductSum {
  Loop &L;
  PHINode &Sum;
  Instruction *Last = nullptr; // the sum at the end of an iteration
  struct Term {
    Value *Product;
    bool IsSubtracted;
  };
  SmallVector<Term, ProductsMax> Terms;
  unsigned Starts = 0; // how often the sum so far is added
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
  static bool mayBeReordered(const Instruction &I) {
    switch (I.getOpcode()) {
    case Instruction::Add:
    case Instruction::Sub:
      return true;
    case Instruction::FAdd:
    case Instruction::FSub:
      return I.hasAllowReassoc() && I.hasNoSignedZeros();
    default:
      return false;
    }
  }

  static bool isProduct(const Value *V) {
    const auto *I = dyn_cast<Instruction>(V);
    if (I && I->getOpcode() == Instruction::FNeg)
      I = dyn_cast<Instruction>(I->getOperand(0));
    return I && (I->getOpcode() == Instruction::Mul ||
                 I->getOpcode() == Instruction::FMul);
  }

  // Whether V is made of the sum so far and of products only.
  bool addTerms(Value *V, bool IsSubtracted, unsigned Depth = 0) {
    if (V == &Sum) {
      Starts++;
      return !IsSubtracted;
    }
    auto *I = dyn_cast<Instruction>(V);
    if (!I || !L.contains(I))
      return false;
    if (Depth <= ProductsMax && I->hasOneUse() && mayBeReordered(*I)) {
      bool Minus = I->getOpcode() == Instruction::Sub ||
                   I->getOpcode() == Instruction::FSub;
      return addTerms(I->getOperand(0), IsSubtracted, Depth + 1) &&
             addTerms(I->getOperand(1), IsSubtracted != Minus, Depth + 1);
    }
    Terms.push_back({V, IsSubtracted});
    return isProduct(V) && Terms.size() <= ProductsMax;
  }

  bool find() {
    BasicBlock *Behind = L.getExitBlock(), *Latch = L.getLoopLatch();
    if (!Behind || !Latch || !L.getLoopPreheader() ||
        L.getExitingBlock() != L.getHeader() || !exitsBeforeBody(L) ||
        Sum.getNumIncomingValues() != 2)
      return false;
    Last = dyn_cast<Instruction>(Sum.getIncomingValueForBlock(Latch));
    if (!Last || !Last->hasOneUse() || !addTerms(Last, false) || Starts != 1 ||
        Terms.size() < 2)
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

  Value *add(IRBuilder<> &B, Value *X, Value *Y, bool Minus) const {
    if (X->getType()->isIntegerTy())
      return Minus ? B.CreateSub(X, Y) : B.CreateAdd(X, Y);
    return Minus ? B.CreateFSub(X, Y) : B.CreateFAdd(X, Y);
  }

  void split() {
    BasicBlock *Latch = L.getLoopLatch(), *Behind = Result->getParent();
    IRBuilder<> B(Last), AtHead(&Sum), BeforeResult(Result);
    IRBuilder<> AtEnd(&*Behind->getFirstInsertionPt());
    B.SetCurrentDebugLocation(Last->getDebugLoc());
    AtEnd.SetCurrentDebugLocation(Last->getDebugLoc());
    if (isa<FPMathOperator>(Last)) {
      B.setFastMathFlags(Last->getFastMathFlags());
      AtEnd.setFastMathFlags(Last->getFastMathFlags());
    }
    Value *All = Result;
    Instruction *First = nullptr;
    for (const Term &T : drop_begin(Terms)) {
      PHINode *Part = AtHead.CreatePHI(Sum.getType(), 2, "nputeir.part");
      Part->addIncoming(Constant::getNullValue(Sum.getType()),
                        L.getLoopPreheader());
      Part->addIncoming(add(B, Part, T.Product, T.IsSubtracted), Latch);
      PHINode *Out = BeforeResult.CreatePHI(Sum.getType(), 1, "nputeir.part");
      Out->addIncoming(Part, L.getHeader());
      All = add(AtEnd, All, Out, false);
      First = First ? First : cast<Instruction>(All);
    }
    Result->replaceUsesWithIf(All,
                              [&](Use &U) { return U.getUser() != First; });
    Sum.setIncomingValueForBlock(
        Latch, add(B, &Sum, Terms[0].Product, Terms[0].IsSubtracted));
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
