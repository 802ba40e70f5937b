// lower_cpu_price.cpp -- is the code for the processor faster than the loops,
// which stay beside it?
#include "lower_cpu_form.h"

using namespace llvm;

namespace nputeir {
namespace {

// The loops of the source, as far as they are priced.
class SourceLoops {
  Code &B;
  const contraction &C;
  const CpuOperands &X;

public:
  SourceLoops(Code &B, const contraction &C, const CpuOperands &X)
      : B(B), C(C), X(X) {}

  // Compilers write out loops that are known to be short, and vectorise the one
  // around them.
  teir_cpu_loops find() {
    enum { WRITTEN_OUT = 32 };
    int64_t Known = 1;
    int At = C.axis_count - 1;
    for (; At > 0; At--) {
      value E = C.axis[At].extent;
      if (!isConstant(E) || E.constant > WRITTEN_OUT / Known)
        break;
      Known *= E.constant;
    }
    bool Stores = C.axis[At].role != AXIS_K;
    Value *Outside = B.number(1), *Steps = B.number(1);
    for (int I = 0; I < At; I++) {
      Value *&All = C.axis[I].role == AXIS_K ? Steps : Outside;
      All = B.times(All, X.Number(C.axis[I].extent));
    }
    if (Stores && !C.accumulate) // a loop sets the result to zero
      Steps = B.plus(Steps, 1);
    return {B.times(Outside, Steps),
            B.times(X.Number(C.axis[At].extent), Known),
            adjacent(At, Known > 1), Stores};
  }

private:
  // Between the elements that loops which are written out read in a row, those
  // of a few iterations are loaded together and shuffled.
  Value *adjacent(int Axis, bool Shuffles) {
    enum { MOST = 4 };
    Value *Is = B.getTrue();
    for (unsigned T = 0; T < TENSORS; T++) {
      value Stride = strideOf(C, Axis, T);
      if (Shuffles && distance(Stride) <= MOST * dtype_bytes(C.type[T]))
        continue;
      Value *S = X.Number(Stride);
      Value *Beside = B.CreateICmpEQ(S, B.number(dtype_bytes(C.type[T])));
      Value *Same = B.CreateICmpEQ(S, B.number(0));
      Is = B.CreateAnd(Is, B.CreateOr(Beside, Same));
    }
    return Is;
  }
};

Value *extentOf(Code &B, const contraction &C, const CpuOperands &X,
                axis_role R) {
  Value *All = B.number(1);
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == R)
      All = B.times(All, X.Number(C.axis[I].extent));
  return All;
}

} // namespace

Value *cpuIsWork(const IRBuilder<> &At, const contraction &C,
                 const CpuOperands &X, int64_t LeastMacs) {
  // So few that loops have ended before the code has started.
  enum { FEW = 32 };
  Code B(*At.GetInsertBlock());
  B.SetCurrentDebugLocation(At.getCurrentDebugLocation());
  Value *Macs = B.number(1);
  for (int I = 0; I < C.axis_count; I++)
    Macs = B.times(Macs, X.Number(C.axis[I].extent));
  return B.CreateICmpSGE(Macs, B.number(LeastMacs < 0 ? FEW : LeastMacs));
}

Value *cpuPays(const IRBuilder<> &At, const contraction &Given,
               const CpuOperands &X) {
  Code B(*At.GetInsertBlock());
  B.SetCurrentDebugLocation(At.getCurrentDebugLocation());
  Arranged By(Given);
  CpuWork W = workOf(By.C);
  const teir_cpu &Cpu = weakestCpu(*At.GetInsertBlock()->getParent());
  auto Extent = [&](axis_role R) { return extentOf(B, By.C, X, R); };
  teir_cpu_size Size = {
      Extent(AXIS_M), Extent(AXIS_N),
      Extent(AXIS_K), teir_cpu_choose_dot(&Cpu, W.In[IN0], W.In[IN1], W.Sum),
      W.Turned,       W.Tail != nullptr};
  teir_cpu_ways Ways = {W.Packed, W.Direct, W.Turned, W.Vector,
                        W.Fixed.has_value()};
  dtype Types[] = {W.In[IN1], W.Sum};
  teir_cpu_loops Loops = SourceLoops(B, Given, X).find();
  teir_cpu_math Math = cpuMath(B);
  return static_cast<Value *>(
      teir_cpu_pays(&Cpu, &Math, &Size, Extent(AXIS_C), &Ways, Types, &Loops));
}

} // namespace nputeir
