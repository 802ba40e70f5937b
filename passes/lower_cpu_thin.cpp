// lower_cpu_thin.cpp -- products of matrices that turn out to have one row or
// one column when the program runs: a vector times a matrix, which is read once
// as it lies (lower_cpu_vector.cpp).  A column's is the same with rows and
// columns, and both inputs, exchanged.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

CpuThinStride cpuRowStride(const CpuWork &W) {
  return {AXIS_K, IN0, W.Row == CPU_VECTOR_DOT ? dtype_bytes(W.In[IN0]) : 0};
}

CpuThinStride cpuColumnStride(const CpuWork &W) {
  if (W.Column == CPU_VECTOR_DOT)
    return {AXIS_K, IN1, dtype_bytes(W.In[IN1])};
  return {AXIS_M, OUT, dtype_bytes(W.Out)};
}

namespace {

class Thin {
  CpuUnit &U;
  const CpuWork &W;
  Code C;
  int64_t Tensors;

public:
  Thin(CpuUnit &U, const CpuWork &W, Function &F)
      : U(U), W(W), C(F), Tensors(W.moved()) {}

  void emit() {
    CpuWork Of = W;
    Of.Vector = W.Row;
    if (W.Row != CPU_VECTOR_NO)
      C.when(is(AXIS_M, cpuRowStride(W)), [&] { run(Of, C.argument(0)); });
    Of.Vector = W.Column;
    std::swap(Of.In[IN0], Of.In[IN1]);
    if (W.Column != CPU_VECTOR_NO)
      C.when(is(AXIS_N, cpuColumnStride(W)), [&] { run(Of, exchanged()); });
    C.CreateRet(C.getInt32(1));
  }

private:
  // Each role has one axis.
  int64_t record(int Role) {
    return cpuAxesSlot(Tensors) + Role * (1 + Tensors);
  }

  Value *slot(int64_t I) { return C.getNumber(C.argument(0), I); }

  Value *is(axis_role One, const CpuThinStride &S) {
    Value *Is = C.CreateICmpEQ(slot(record(One)), C.number(1));
    Value *Stride = slot(record(S.Role) + 1 + S.Tensor);
    return S.Bytes ? C.CreateAnd(Is, C.CreateICmpEQ(Stride, C.number(S.Bytes)))
                   : Is;
  }

  void run(const CpuWork &Of, Value *Slots) {
    C.CreateRet(computeOnThreads(C, U, Of, vectorCode(U, Of), Slots));
  }

  Value *exchanged() {
    int64_t Count = record(AXIS_ROLES);
    Value *To = C.frame(C.getInt64Ty(), (uint64_t)Count, 8);
    auto Put = [&](int64_t At, int64_t From) {
      C.putNumber(slot(From), To, C.number(At));
    };
    auto Other = [](int64_t T) { return T == IN0 ? IN1 : T == IN1 ? IN0 : T; };
    for (int64_t I = 0; I < record(0); I++)
      Put(I, Other(I)); // tensors, and what follows them
    for (int R = 0; R < AXIS_ROLES; R++) {
      int Of = R == AXIS_M ? AXIS_N : R == AXIS_N ? AXIS_M : R;
      Put(record(R), record(Of));
      for (int64_t T = 0; T < Tensors; T++)
        Put(record(R) + 1 + T, record(Of) + 1 + Other(T));
    }
    return To;
  }
};

} // namespace

Function *thinFunction(CpuUnit &U, const CpuWork &W) {
  bool IsNew;
  Function *F = U.function(Twine("thin.") + Twine((int)W.Row) + "." +
                               Twine((int)W.Column) + "." + W.kind(),
                           Type::getInt32Ty(U.context()), "p", IsNew);
  if (!IsNew)
    return F;
  CpuUnit::compileFast(*F);
  Thin(U, W, *F).emit();
  return F;
}

} // namespace nputeir
