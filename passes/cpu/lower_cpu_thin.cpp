// lower_cpu_thin.cpp -- products of matrices that turn out to have one row, or
// one column or a few, when the program runs: vectors times a matrix, which is
// read as it lies (lower_cpu_vector.cpp).  A column's is the same with rows and
// columns, and both inputs, exchanged.  So are a few columns where in0 lies
// along the rows: those are a small product then (lower_cpu_direct.cpp).
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

CpuThinStride cpuRowStride(const CpuWork &W) {
  return {IN0, AXIS_M, AXIS_N,
          W.Row == CPU_VECTOR_DOT ? dtype_bytes(W.In[IN0]) : 0,
          TEIR_CPU_GATHERED_ROWS};
}

CpuThinStride cpuColumnStride(const CpuWork &W) {
  return {IN1, AXIS_N, AXIS_M,
          W.Column == CPU_VECTOR_DOT ? dtype_bytes(W.In[IN1]) : 0,
          TEIR_CPU_GATHERED_COLUMNS};
}

CpuWork cpuOneRow(const CpuWork &W) {
  CpuWork Of = W;
  Of.Vector = W.Row;
  Of.Column = CPU_VECTOR_NO;
  return Of;
}

CpuWork cpuFewColumns(const CpuWork &W) {
  CpuWork Of = W;
  Of.Vector = W.Column;
  std::swap(Of.In[IN0], Of.In[IN1]);
  if (W.Column == CPU_VECTOR_ADD && W.Row == W.Column && cpuIsUniform(W))
    Of.Column = CPU_VECTOR_NO; // what a row has does for it
  return Of;
}

CpuWork cpuExchanged(const CpuWork &W) {
  CpuWork Of = cpuFewColumns(W);
  Of.Vector = Of.Row = Of.Column = CPU_VECTOR_NO;
  if (!cpuIsUniform(W))
    Of.Turned = false;
  Of.Packed = false;
  Of.Spreads = Of.Exchanged = true;
  return Of;
}

bool cpuIsUniform(const CpuWork &W) {
  return W.In[IN0] == W.In[IN1] && (!W.Turned || W.In[IN1] == W.Sum);
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
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = {slot(record(AXIS_M)),
                          slot(record(AXIS_N)),
                          slot(record(AXIS_K)),
                          teir_cpu_no_dot(W.Sum),
                          W.Turned,
                          W.Tail != nullptr,
                          false,
                          nullptr,
                          false};
    if (W.Row != CPU_VECTOR_NO)
      when(teir_cpu_has_few_rows(&Math, &Size, W.Row), cpuRowStride(W),
           [&] { run(cpuOneRow(W), C.argument(0)); });
    if (W.Column != CPU_VECTOR_NO)
      when(teir_cpu_has_few_columns(&Math, &Size, W.Column), cpuColumnStride(W),
           [&] { columns(exchanged()); });
    C.CreateRet(C.getInt32(1));
  }

private:
  // Each role has one axis.
  int64_t record(int Role) {
    return cpuAxesSlot(Tensors) + Role * (1 + Tensors);
  }

  Value *slot(int64_t I) { return C.getNumber(C.argument(0), I); }

  void when(void *IsThin, const CpuThinStride &S, function_ref<void()> Then) {
    auto *Is = static_cast<Value *>(IsThin);
    Value *Stride = slot(record(AXIS_K) + 1 + S.Tensor);
    if (S.Bytes) {
      teir_cpu_math Math = cpuMath(C);
      auto *Gathers = static_cast<Value *>(
          teir_cpu_gathers(&Math, slot(record(S.Vectors)), slot(record(S.Rows)),
                           S.Bytes, S.MostBytes));
      Value *Adjacent = C.CreateICmpEQ(Stride, C.number(S.Bytes));
      Is = C.CreateAnd(Is, C.CreateOr(Adjacent, Gathers));
    }
    C.when(Is, Then);
  }

  void run(const CpuWork &Of, Value *Slots) {
    C.CreateRet(computeOnThreads(C, U, Of, vectorCode(U, Of), Slots));
  }

  // One whose matrix lies along the rows, and whose sums are not adjacent, is
  // as several are.
  void columns(Value *Slots) {
    if (W.Column == CPU_VECTOR_DOT) {
      run(cpuFewColumns(W), Slots);
      return;
    }
    Value *Bytes = C.getNumber(Slots, record(AXIS_N) + 1 + OUT);
    Value *IsVector = C.CreateAnd(
        C.CreateICmpEQ(C.getNumber(Slots, record(AXIS_M)), C.number(1)),
        C.CreateICmpEQ(Bytes, C.number(dtype_bytes(W.Out))));
    C.when(IsVector, [&] { run(cpuFewColumns(W), Slots); });
    Value *Parts = C.getPointer(Slots, cpuPartsSlot(Tensors));
    // Columns that are a vector are multiplied as they are: kernels have two.
    Value *Two = C.getNumber(Parts, CpuParts + CpuColumns);
    Value *Columns = C.getNumber(Slots, record(AXIS_M));
    C.when(C.CreateICmpNE(C.times(Columns, 2), Two), [&] {
      C.CreateRet(callPart(C, Parts, CpuExchanged, U.type(C.getInt32Ty(), "p"),
                           {Slots}));
    });
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
  Function *F =
      U.Common->function(Twine("thin.") + Twine((int)W.Row) + "." +
                             Twine((int)W.Column) + "." + vectorKind(W),
                         Type::getInt32Ty(U.context()), "p", IsNew);
  if (!IsNew)
    return F;
  CpuUnit::compileFast(*F);
  Thin(*U.Common, W, *F).emit();
  return F;
}

} // namespace nputeir
