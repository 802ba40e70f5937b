// lower_cpu_overlap.cpp -- may the code for the processor run, or does its
// result overlap what it reads?
#include "lower_cpu_form.h"

using namespace llvm;

namespace nputeir {
namespace {

struct Range {
  Value *Low, *High; // the last byte's place, plus one
};

Range rangeOf(IRBuilder<> &B, const contraction &C, const CpuOperands &X,
              unsigned T) {
  Value *Zero = B.getInt64(0);
  Value *Place = B.CreatePtrToInt(X.Tensor[T], B.getInt64Ty());
  dtype Type = T < TENSORS ? C.type[T] : C.extra[T - TENSORS].type;
  Range R = {Place,
             B.CreateAdd(Place, B.getInt64((uint64_t)dtype_bytes(Type)))};
  for (int I = 0; I < C.axis_count; I++) {
    value S = strideOf(C, I, T);
    if (isConstant(S) && S.constant == 0)
      continue;
    Value *Last = B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1));
    Value *Way = B.CreateMul(Last, X.Number(S));
    Value *Falls = B.CreateICmpSLT(Way, Zero);
    R.Low = B.CreateAdd(R.Low, B.CreateSelect(Falls, Way, Zero));
    R.High = B.CreateAdd(R.High, B.CreateSelect(Falls, Zero, Way));
  }
  return R;
}

// What is beyond limits is not read.  Where a limit's sum moves as its axes
// move in the tensor, that is what sums below zero would reach.
void clip(IRBuilder<> &B, const contraction &C, const CpuOperands &X, int T,
          Range &R) {
  struct Move {
    int Axis;
    int64_t Step;
  };
  SmallVector<std::pair<int, bool>, 8> Clipped; // axes, and whether sums rise
  for (const affine_guard *L : limitsOf(C, T)) {
    SmallVector<Move, 4> Moves;
    Value *Ratio = nullptr; // bytes by which the tensor moves with the sum
    bool Known = true;
    for (int I = 0; I < C.axis_count; I++) {
      value S = L->step[I];
      if (!isMoved(S))
        continue;
      int64_t Step = L->below ? -S.constant : S.constant;
      Known &= isConstant(S) && std::abs(S.constant) < INT32_MAX &&
               !is_contained(Clipped, std::pair<int, bool>(I, Step > 0));
      Moves.push_back({I, Step});
      if (std::abs(Step) == 1 && !Ratio)
        Ratio = B.CreateMul(X.Number(strideOf(C, I, (unsigned)T)),
                            B.getInt64((uint64_t)Step));
    }
    if (!Known || !Ratio)
      continue;
    Value *Zero = B.getInt64(0), *Even = B.getTrue();
    Value *Least = X.Number(L->start);
    Least = L->below ? B.CreateNot(Least) : Least;
    for (auto [I, Step] : Moves) {
      Clipped.push_back({I, Step > 0});
      Value *By = B.getInt64((uint64_t)Step);
      Even = B.CreateAnd(Even,
                         B.CreateICmpEQ(X.Number(strideOf(C, I, (unsigned)T)),
                                        B.CreateMul(Ratio, By)));
      Value *Last = B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1));
      if (Step < 0)
        Least = B.CreateAdd(Least, B.CreateMul(Last, By));
    }
    Value *Is = B.CreateAnd(Even, B.CreateICmpSLT(Least, Zero));
    Value *Way =
        B.CreateSelect(Is, B.CreateMul(B.CreateNeg(Least), Ratio), Zero);
    Value *Rises = B.CreateICmpSGT(Ratio, Zero);
    R.Low = B.CreateAdd(R.Low, B.CreateSelect(Rises, Way, Zero));
    R.High = B.CreateAdd(R.High, B.CreateSelect(Rises, Zero, Way));
  }
}

bool movesLikeOut(const contraction &C, unsigned T) {
  if (C.extra[T - TENSORS].type != C.type[OUT])
    return false;
  for (int I = 0; I < C.axis_count; I++) {
    value X = strideOf(C, I, T), Y = strideOf(C, I, OUT);
    if (C.axis[I].role != AXIS_K &&
        (X.symbol != Y.symbol || (X.symbol < 0 && X.constant != Y.constant)))
      return false;
  }
  return true;
}

} // namespace

Value *cpuMayRun(IRBuilder<> &B, const contraction &C, const CpuOperands &X) {
  Range Out = rangeOf(B, C, X, OUT);
  Value *May = B.getTrue();
  for (unsigned T = 0; T < tensorsOf(C); T++) {
    if (T == OUT || (T >= TENSORS && C.extra[T - TENSORS].tensor < 0))
      continue;
    Range In = rangeOf(B, C, X, T);
    if (T == IN0 || T == IN1)
      clip(B, C, X, (int)T, In);
    Value *Apart = B.CreateOr(B.CreateICmpULE(Out.High, In.Low),
                              B.CreateICmpULE(In.High, Out.Low));
    if (T >= TENSORS && movesLikeOut(C, T)) // element by element
      Apart = B.CreateOr(Apart, B.CreateICmpEQ(X.Tensor[T], X.Tensor[OUT]));
    May = B.CreateAnd(May, Apart);
  }
  return May;
}

} // namespace nputeir
