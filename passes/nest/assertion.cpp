// assertion.cpp -- branches that take one side in every iteration of a nest, as
// conditions that can be asked before it.
//
// What a check compares is a start plus a fixed step per loop, on both sides.
// So is the difference, and its sign is known in all iterations when it is
// known for the smallest and the largest one.  Neither side may wrap: each must
// stay within its type and within 61 bits, so that no difference of two of them
// needs more than 64.
#include "assertion.h"

#include "ir_marks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

#include <algorithm>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace nputeir {
namespace {

class Reader {
  const BranchInst &At;
  const Loop &Outer;
  Addresses &Places;
  ScalarEvolution &SE;
  IRNest &R;
  enum { PartsMax = 1000 };
  int Parts = 0; // of the condition; one that two parts share counts twice

public:
  Reader(const BranchInst &At, const Loop &Outer, Addresses &Places,
         ScalarEvolution &SE, IRNest &R)
      : At(At), Outer(Outer), Places(Places), SE(SE), R(R) {}

  // Condition C must be Side.
  bool require(Value *C, bool Side) {
    Value *X, *Y;
    if (++Parts > PartsMax)
      return false;
    if (Outer.isLoopInvariant(C)) {
      R.Assumed.push_back({C, Side});
      return true;
    }
    if (match(C, m_Not(m_Value(X))))
      return require(X, !Side);
    if (Side ? match(C, m_LogicalAnd(m_Value(X), m_Value(Y)))
             : match(C, m_LogicalOr(m_Value(X), m_Value(Y))))
      return require(X, Side) && require(Y, Side);
    if (const auto *Compare = dyn_cast<ICmpInst>(C))
      return require(Side ? Compare->getPredicate()
                          : Compare->getInversePredicate(),
                     Compare->getOperand(0), Compare->getOperand(1));
    const auto *Part = dyn_cast<ExtractValueInst>(C);
    const auto *Sum =
        Part ? dyn_cast<WithOverflowInst>(Part->getAggregateOperand())
             : nullptr;
    return Sum && !Side && fits(*Sum);
  }

private:
  bool require(CmpInst::Predicate Is, const Value *Left, const Value *Right) {
    bool Signed = !CmpInst::isUnsigned(Is);
    Address X, Y;
    if (!read(Left, Signed, X) || !read(Right, Signed, Y))
      return false;
    R.Compared.push_back(
        {ICmpInst::getSignedPredicate(Is), Places.sum(add(X, Y, -1))});
    return true;
  }

  // The operation gives what it gives for whole numbers.
  bool fits(const WithOverflowInst &I) {
    Address X, Y;
    if (!read(I.getLHS(), I.isSigned(), X) ||
        !read(I.getRHS(), I.isSigned(), Y))
      return false;
    switch (I.getBinaryOp()) {
    case Instruction::Add:
      return bound(*I.getLHS(), I.isSigned(), add(X, Y, 1));
    case Instruction::Sub:
      return bound(*I.getLHS(), I.isSigned(), add(X, Y, -1));
    default:
      return multiply(X, Y) && bound(*I.getLHS(), I.isSigned(), X);
    }
  }

  // X * Y, where one is made of small constants and the other stands still.
  // That one must be small enough for a product of the two to fit.
  bool multiply(Address &X, Address &Y) {
    enum { SmallBits = 16, OtherBits = 44 };
    auto Moves = [](const SCEV *S) { return S && !S->isZero(); };
    if (any_of(Y.Stride, Moves))
      std::swap(X, Y);
    auto IsSmall = [](const SCEV *S) {
      const auto *C = dyn_cast_or_null<SCEVConstant>(S);
      return !S || (C && C->getAPInt().isSignedIntN(SmallBits));
    };
    if (any_of(Y.Stride, Moves) || !IsSmall(X.Start) ||
        !all_of(X.Stride, IsSmall))
      return false;
    Places.Bounded.push_back({OtherBits, true, Places.sum(Y)});
    X.Start = SE.getMulExpr(X.Start, Y.Start);
    for (const SCEV *&Stride : X.Stride)
      Stride = Stride ? SE.getMulExpr(Stride, Y.Start) : nullptr;
    return true;
  }

  bool read(const Value *W, bool Signed, Address &X) {
    return Places.readNumber(At, W, Signed, X) && bound(*W, Signed, X);
  }

  bool bound(const Value &W, bool Signed, const Address &X) {
    unsigned Bits = (unsigned)SE.getTypeSizeInBits(W.getType());
    Places.Bounded.push_back({std::min(Bits, 61u), Signed, Places.sum(X)});
    return true;
  }

  Address add(const Address &X, const Address &Y, int Times) {
    auto Add = [&](const SCEV *Left, const SCEV *Right) {
      if (Right && Times < 0)
        Right = SE.getNegativeSCEV(Right);
      return Left && Right ? SE.getAddExpr(Left, Right) : Left ? Left : Right;
    };
    Address Sum = X;
    Sum.Start = Add(X.Start, Y.Start);
    for (size_t L = 0; L < X.Stride.size(); L++)
      Sum.Stride[L] = Add(X.Stride[L], Y.Stride[L]);
    return Sum;
  }
};

} // namespace

bool readConditions(const Body &Code, const Loop &Outer, Addresses &Places,
                    ScalarEvolution &SE, arena *A, IRNest &R, verdict &V) {
  for (const Assertion &X : Code.Asserted)
    if (!Reader(*X.At, Outer, Places, SE, R)
             .require(X.At->getCondition(), X.Side))
      return verdict_decline(&V, RULE_CHECK, locOf(X.At->getDebugLoc(), A),
                             "whether a check inside the nest fails is not "
                             "known before it");
  return Places.addConditions(R) ||
         verdict_decline(&V, RULE_UNCOUNTABLE, locOf(Outer.getStartLoc(), A),
                         "where a loop ends is not known before the nest");
}

} // namespace nputeir
