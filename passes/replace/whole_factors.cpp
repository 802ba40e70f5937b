// whole_factors.cpp -- asks in front of a nest with limits whether the source
// reads all of the input that they do not move:
//
//     for o, y, v: if (0 <= y + v - 1 && y + v - 1 < h)
//       out[o][y] += in[y + v - 1] * weights[o][v];
//
// Of `in` nothing is read beyond the limits; weights[o][v] is read if some y
// meets both, and would be read in any case by the code that replaces the nest.
// For each element of the input there must be such an iteration of the loops
// that do not move it.
//
// Where a limit shares none of these loops with another, that is an iteration
// at one of their ends.  Limits that share one loop leave a range of its
// iterations: each end of it must lie in front of the other.  Else we look at
// the iteration in the middle of all.  It is enough to ask this of the element
// that is the worst for each.
#include "whole_factors.h"
#include "lower_cpu_form.h"

using namespace llvm;

namespace nputeir {

namespace {

class WholeFactor {
  IRBuilder<> &B;
  const contraction &C;
  function_ref<Value *(value)> Number;
  const int T;
  // start + the sum of step times index >= 0
  struct Limit {
    Value *Start;
    SmallVector<Value *, 8> Step, Way; // null: 0; to the last iteration
    int Free;                          // the one axis that moves not T, or -1
  };
  SmallVector<Limit, 4> Limits;

public:
  WholeFactor(IRBuilder<> &B, const contraction &C,
              function_ref<Value *(value)> Number, int T)
      : B(B), C(C), Number(Number), T(T) {}

  Value *isWhole() {
    for (int L = 0; L < C.limit_count; L++)
      if (any_of(axes(), [&](int A) {
            return !movesInput(A) && isMoved(C.limit[L].step[A]);
          }))
        Limits.push_back(read(C.limit[L]));
    if (Limits.empty())
      return B.getTrue();
    Value *AtEnds = B.getTrue(), *InMiddle = B.getTrue();
    for (size_t I = 0; I < Limits.size(); I++) {
      const Limit &X = Limits[I];
      AtEnds = B.CreateAnd(AtEnds, isNatural(most(X)));
      InMiddle = B.CreateAnd(InMiddle, isNatural(middle(X)));
      for (size_t J = 0; J < I; J++)
        AtEnds = B.CreateAnd(AtEnds, holdTogether(X, Limits[J]));
    }
    return B.CreateOr(AtEnds, InMiddle);
  }

private:
  iota_range<int> axes() const { return seq(0, C.axis_count); }
  bool movesInput(int A) const { return isMoved(C.axis[A].stride_bytes[T]); }

  Limit read(const affine_guard &G) {
    auto Signed = [&](value V) {
      return G.below ? B.CreateNeg(Number(V)) : Number(V);
    };
    Limit X = {Signed(G.start), {}, {}, -1};
    if (G.below) // below zero
      X.Start = B.CreateSub(X.Start, B.getInt64(1));
    int Free = 0;
    for (int A : axes()) {
      bool Moves = isMoved(G.step[A]);
      X.Step.push_back(Moves ? Signed(G.step[A]) : nullptr);
      X.Way.push_back(Moves ? B.CreateMul(X.Step[A], last(A)) : nullptr);
      if (Moves && !movesInput(A)) {
        X.Free = A;
        Free++;
      }
    }
    if (Free > 1)
      X.Free = -1;
    return X;
  }

  Value *last(int A) {
    return B.CreateSub(Number(C.axis[A].extent), B.getInt64(1));
  }

  Value *isNatural(Value *V) { return B.CreateICmpSGE(V, B.getInt64(0)); }

  Value *beyondZero(Intrinsic::ID Id, Value *Way) {
    return B.CreateBinaryIntrinsic(Id, Way, B.getInt64(0));
  }

  // Of the worst element, in the best of its iterations.
  Value *most(const Limit &X) {
    Value *Sum = X.Start;
    for (int A : axes())
      if (X.Way[A])
        Sum = B.CreateAdd(
            Sum, beyondZero(movesInput(A) ? Intrinsic::smin : Intrinsic::smax,
                            X.Way[A]));
    return Sum;
  }

  // The same, in the one in the middle.
  Value *middle(const Limit &X) {
    Value *Sum = X.Start;
    for (int A : axes())
      if (X.Way[A])
        Sum = B.CreateAdd(
            Sum,
            movesInput(A)
                ? beyondZero(Intrinsic::smin, X.Way[A])
                : B.CreateMul(X.Step[A], B.CreateLShr(last(A), B.getInt64(1))));
    return Sum;
  }

  bool share(const Limit &X, const Limit &Y) const {
    return any_of(axes(), [&](int A) {
      return !movesInput(A) && X.Step[A] && Y.Step[A];
    });
  }

  Value *bothWays(Value *X, Value *Y) {
    return !X ? Y : !Y ? X : B.CreateAdd(X, Y);
  }

  // In one iteration, if each does in some: both let the same end in, or those
  // from x on, and those up to y >= x.
  Value *holdTogether(const Limit &X, const Limit &Y) {
    if (!share(X, Y))
      return B.getTrue();
    if (X.Free < 0 || X.Free != Y.Free)
      return B.getFalse();
    Value *Of = X.Step[X.Free], *Other = Y.Step[X.Free];
    Value *Sum = B.CreateAdd(X.Start, Y.Start);
    for (int A : axes())
      if (A != X.Free && (X.Way[A] || Y.Way[A]))
        Sum = B.CreateAdd(
            Sum, beyondZero(Intrinsic::smin, bothWays(X.Way[A], Y.Way[A])));
    Value *Size = B.CreateBinaryIntrinsic(Intrinsic::abs, Of, B.getFalse());
    Value *Meet =
        B.CreateAnd(B.CreateICmpEQ(Of, B.CreateNeg(Other)),
                    B.CreateICmpSGE(Sum, B.CreateSub(Size, B.getInt64(1))));
    Value *SameEnd = B.CreateICmpSGE(B.CreateXor(Of, Other), B.getInt64(0));
    return B.CreateOr(SameEnd, Meet);
  }
};

} // namespace

Value *areFactorsWhole(IRBuilder<> &B, const contraction &C,
                       function_ref<Value *(value)> Number) {
  return B.CreateAnd(WholeFactor(B, C, Number, IN0).isWhole(),
                     WholeFactor(B, C, Number, IN1).isWhole());
}

} // namespace nputeir
