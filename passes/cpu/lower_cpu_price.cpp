// lower_cpu_price.cpp -- is the code for the processor faster than the loops,
// which stay beside it?  Asked when the program runs, or, where all sizes are
// known, when it is compiled.
#include "arena_scope.h"
#include "lower_cpu_form.h"

using namespace llvm;

namespace nputeir {
namespace {

// So few multiply-adds that loops have ended before the question is answered.
// Of a triangle that is counted whole, 6 by 6 by 6 pay never, 8 by 8 by 8 do.
enum { FEW = 64, FEW_OF_TRIANGLE = 256 };

// A contraction in numbers of teir's formulas: code, or known ones.
class Priced {
  const teir_cpu_math &M;
  const contraction &C; // as the source has it
  const Function &F;    // that it is in
  std::function<void *(value)> Of;

public:
  Priced(const teir_cpu_math &M, const contraction &C, const Function &F,
         std::function<void *(value)> Of)
      : M(M), C(C), F(F), Of(std::move(Of)) {}

  // Sizes are, and not so large that nobody asks for the price.
  bool isKnown() const {
    enum { MUCH = 1 << 20 };
    int64_t Macs = 1;
    for (int I = 0; I < C.axis_count; I++) {
      value Extent = C.axis[I].extent;
      if (!isConstant(Extent) || Extent.constant > MUCH / Macs)
        return false;
      Macs *= Extent.constant;
      for (unsigned T = 0; T < TENSORS; T++)
        if (!isConstant(strideOf(C, I, T)))
          return false;
    }
    return true;
  }

  void *isWork(int64_t LeastMacs) {
    if (LeastMacs < 0 && cpuIsOfVector(C) && !cpuHasMaps(C)) {
      Arranged By(C);
      dtype Types[] = {By.C.type[IN1], By.C.acc};
      teir_cpu_loops Loops = loops(pricedCpus(F));
      return teir_cpu_may_pay(&M, Types, &Loops);
    }
    if (LeastMacs < 0)
      LeastMacs = limitsOf(C, OUT).empty() ? FEW : FEW_OF_TRIANGLE;
    return apply(CPU_AT_MOST, number(LeastMacs), macs());
  }

  // Compilers write all of it out as vectors where nothing may overlap, and
  // keep what more arrays of the function's own hold in registers: with SSE2,
  // AVX2 and AVX-512 up to 6 by 6 by 6.
  bool isWrittenOut(CpuPlaces Places) {
    enum { SHORT_BYTES = 16 }; // with which code is faster even so
    enum { OWN = 6 * 6 * 6 };
    int64_t Most = Places == CpuPlaces::Own ? OWN : FEW;
    void *IsMore = apply(CPU_AT_MOST, number(Most + 1), macs());
    return (Places == CpuPlaces::Own ||
            (pricedCpus(F).LoopBytes > SHORT_BYTES &&
             dtype_bytes(C.type[IN1]) == dtype_bytes(C.type[OUT]))) &&
           *static_cast<const int64_t *>(IsMore) == 0;
  }

  // To sum all elements of an input reads it once more, which so many rows of
  // the other one are worth.  Has that fewer, as far as is known?  So has each
  // channel of a depthwise convolution, which are a batch.
  bool hasFewRows() const {
    if (cpuHasMaps(C) && hasAxes(C, AXIS_C) && C.limit_count > 0)
      return true;
    int64_t Rows[] = {1, 1};
    for (int I = 0; I < C.axis_count; I++)
      for (int T : {IN0, IN1})
        if (C.axis[I].role == ownRole(T))
          Rows[T] =
              isConstant(C.axis[I].extent)
                  ? std::min(LEAST_ROWS, Rows[T] * C.axis[I].extent.constant)
                  : LEAST_ROWS;
    return (C.map[IN0] && Rows[IN0] < LEAST_ROWS) ||
           (C.map[IN1] && Rows[IN1] < LEAST_ROWS);
  }

  void *surelyPays() {
    Arranged By(C);
    teir_cpu_size Size = sizeOf(By.C, workOf(By.C, &F), {});
    dtype Types[] = {By.C.type[IN1], By.C.acc};
    return teir_cpu_surely_pays(&M, &Size, Types);
  }

  void *pays() {
    void *Is = productPays(pricedCpus(F));
    bool IsBatch = cpuHasMaps(C) && hasAxes(C, AXIS_C);
    for (int T : {IN0, IN1})
      if (C.map[T] || IsBatch)
        Is = apply(CPU_BOTH, Is,
                   apply(CPU_AT_MOST,
                         number(IsBatch ? LEAST_OF_BATCH : LEAST_ROWS),
                         extentOf(C, ownRole(T))));
    return Is;
  }

private:
  static constexpr int64_t LEAST_ROWS = 4, LEAST_OF_BATCH = 16;
  static axis_role ownRole(int T) { return T == IN0 ? AXIS_M : AXIS_N; }

  void *productPays(const CpuPrices &Cpus) {
    Arranged By(C);
    CpuWork W = workOf(By.C, &F);
    teir_cpu_size Size = sizeOf(
        By.C, W, teir_cpu_choose_dot(Cpus.Code, W.In[IN0], W.In[IN1], W.Sum));
    teir_cpu_ways Ways = {W.Packed, W.Direct, W.Turned,           W.Vector,
                          W.Row,    W.Column, W.Fixed.has_value()};
    dtype Types[] = {W.In[IN1], W.Sum};
    const bool Summed[] = {C.map[By.Exchanged ? IN0 : IN1] != nullptr,
                           C.map[By.Exchanged ? IN1 : IN0] != nullptr};
    teir_cpu_loops Loops = loops(Cpus);
    teir_cpu_thin Thin = thin(By.C, W, Size);
    return teir_cpu_pays(Cpus.Code, &M, &Size, &Thin, extentOf(By.C, AXIS_C),
                         &Ways, Types, Summed, &Loops);
  }

  teir_cpu_size sizeOf(const contraction &Of, const CpuWork &W,
                       const teir_cpu_dot &Dot) {
    return {extentOf(Of, AXIS_M),
            extentOf(Of, AXIS_N),
            extentOf(Of, AXIS_K),
            Dot,
            W.Turned,
            W.Tail != nullptr,
            isScaled(W),
            nullptr,
            W.Partial};
  }

  void *macs() {
    void *All = number(1);
    for (int I = 0; I < C.axis_count; I++)
      All = times(All, Of(C.axis[I].extent));
    return All;
  }

  void *number(int64_t N) { return M.number(M.context, N); }
  void *apply(teir_cpu_formula F, void *X, void *Y) {
    return M.apply(M.context, F, X, Y);
  }
  void *times(void *X, void *Y) { return apply(CPU_TIMES, X, Y); }

  // Its roles have one axis.
  teir_cpu_thin thin(const contraction &Of, const CpuWork &W,
                     const teir_cpu_size &Size) {
    auto And = [&](void *Is, CpuThinStride S) {
      if (!S.Bytes)
        return Is;
      void *Stride = this->Of(axesOf(Of, AXIS_K)[0].Stride[S.Tensor]);
      void *Gathers =
          teir_cpu_gathers(&M, extentOf(Of, S.Vectors), extentOf(Of, S.Rows),
                           S.Bytes, S.MostBytes);
      void *Adjacent = apply(CPU_EQUAL, Stride, number(S.Bytes));
      return apply(CPU_BOTH, Is, apply(CPU_EITHER, Adjacent, Gathers));
    };
    teir_cpu_thin Thin = {nullptr, nullptr};
    if (W.Row != CPU_VECTOR_NO)
      Thin.row = And(teir_cpu_has_few_rows(&M, &Size, W.Row), cpuRowStride(W));
    if (W.Column != CPU_VECTOR_NO)
      Thin.column = And(teir_cpu_has_few_columns(&M, &Size, W.Column),
                        cpuColumnStride(W));
    return Thin;
  }

  void *extentOf(const contraction &Of, axis_role R) {
    void *All = number(1);
    for (int I = 0; I < Of.axis_count; I++)
      if (Of.axis[I].role == R)
        All = times(All, this->Of(Of.axis[I].extent));
    return All;
  }

  // Compilers write out loops that are known to be short, and vectorise the one
  // around them.
  teir_cpu_loops loops(const CpuPrices &Cpus) {
    enum { WRITTEN_OUT = 32 };
    int64_t Known = 1;
    int At = C.axis_count - 1;
    for (; At > 0; At--) {
      value E = C.axis[At].extent;
      if (!isConstant(E) || E.constant > WRITTEN_OUT / Known)
        break;
      Known *= E.constant;
    }
    bool Stores = C.axis[At].role != AXIS_K, Repeats = false;
    void *Outside = number(1), *Steps = number(1);
    for (int I = 0; I < At; I++) {
      void *&All = C.axis[I].role == AXIS_K ? Steps : Outside;
      All = times(All, Of(C.axis[I].extent));
      Repeats |= C.axis[I].role == AXIS_K;
    }
    if (Stores && Repeats && !C.accumulate) // a loop sets the result to zero
      Steps = apply(CPU_PLUS, Steps, number(1));
    bool IsKnown = isKnown();
    void *Beside = IsKnown && !isLong(At)
                       ? apply(CPU_EQUAL, number(0), number(1))
                       : adjacent(At, Known > 1 || IsKnown);
    return {times(Outside, Steps),
            times(Of(C.axis[At].extent), number(Known)),
            Beside,
            Stores,
            IsKnown,
            Cpus.LoopBytes,
            Cpus.AreOld};
  }

  // Of known sizes: shorter loops are written out, too, and then there is no
  // loop that has vectors.  Nor is there one where what is added to is not
  // adjacent.
  bool isLong(int Axis) const {
    enum { SHORT = 16 };
    value Out = strideOf(C, Axis, OUT);
    return C.axis[Axis].extent.constant >= SHORT &&
           (!C.accumulate || C.axis[Axis].role == AXIS_K ||
            distance(Out) == dtype_bytes(C.type[OUT]));
  }

  // Of loops that are written out, or known, elements of a few iterations that
  // lie near each other are loaded together and shuffled.
  void *adjacent(int Axis, bool Shuffles) {
    enum { MOST = 8 }; // LLVM's MaxInterleaveGroupFactor
    void *Is = apply(CPU_EQUAL, number(0), number(0));
    for (unsigned T = 0; T < TENSORS; T++) {
      value Stride = strideOf(C, Axis, T);
      if (Shuffles && distance(Stride) <= MOST * dtype_bytes(C.type[T]))
        continue;
      void *S = Of(Stride);
      void *Beside = apply(CPU_EQUAL, S, number(dtype_bytes(C.type[T])));
      void *Same = apply(CPU_EQUAL, S, number(0));
      Is = apply(CPU_BOTH, Is, apply(CPU_EITHER, Beside, Same));
    }
    return Is;
  }
};

// Asks code at the end of the builder's block.
Value *asked(const IRBuilder<> &At, const contraction &C, const CpuOperands &X,
             function_ref<void *(Priced &)> Ask) {
  Code B(*At.GetInsertBlock());
  B.SetCurrentDebugLocation(At.getCurrentDebugLocation());
  teir_cpu_math Math = cpuMath(B);
  Priced P(Math, C, *At.GetInsertBlock()->getParent(),
           [&](value V) -> void * { return X.Number(V); });
  return static_cast<Value *>(Ask(P));
}

} // namespace

Value *cpuIsWork(const IRBuilder<> &At, const contraction &C,
                 const CpuOperands &X, int64_t LeastMacs) {
  return asked(At, C, X, [&](Priced &P) { return P.isWork(LeastMacs); });
}

Value *cpuSurelyPays(const IRBuilder<> &At, const contraction &C,
                     const CpuOperands &X) {
  return cpuHasMaps(C) || cpuIsOfVector(C)
             ? nullptr
             : asked(At, C, X, [&](Priced &P) { return P.surelyPays(); });
}

Value *cpuPays(const IRBuilder<> &At, const contraction &C,
               const CpuOperands &X) {
  return asked(At, C, X, [&](Priced &P) { return P.pays(); });
}

bool cpuNeverPays(const Function &F, const contraction &C, int64_t LeastMacs,
                  CpuPlaces Places) {
  ArenaScope Scope;
  teir_cpu_math Math = teir_cpu_known(Scope.A);
  Priced P(Math, C, F,
           [&](value V) { return Math.number(Scope.A, V.constant); });
  if (LeastMacs < 0 && P.hasFewRows())
    return true;
  if (!P.isKnown())
    return false;
  auto Holds = [](void *Condition) {
    return *static_cast<const int64_t *>(Condition) != 0;
  };
  return !Holds(P.isWork(LeastMacs)) ||
         (LeastMacs < 0 &&
          ((Places != CpuPlaces::Any && P.isWrittenOut(Places)) ||
           !Holds(P.pays())));
}

bool cpuFitsRegisters(const Function &F, const contraction &C) {
  enum { REGISTERS = 16 };
  int64_t Most = REGISTERS * pricedCpus(F).LoopBytes / dtype_bytes(C.acc);
  int64_t Results = 1;
  for (int I = 0; I < C.axis_count; I++) {
    value Extent = C.axis[I].extent;
    if (C.axis[I].role == AXIS_K)
      continue;
    if (!isConstant(Extent) || Extent.constant > Most)
      return false;
    Results = std::min(Most + 1, Results * Extent.constant);
  }
  return Results <= Most;
}

bool cpuIsOfVector(const contraction &C) {
  return !hasAxes(C, AXIS_M) || !hasAxes(C, AXIS_N);
}

bool cpuSumsNeverPay(const Function &F, const contraction &C) {
  enum { SHORT = 64, SHORT_BYTES = 16 };
  if (!cpuIsOfVector(C))
    return false;
  int64_t Steps = 1;
  for (int I = 0; I < C.axis_count; I++)
    if (C.axis[I].role == AXIS_K)
      Steps = isConstant(C.axis[I].extent)
                  ? std::min<int64_t>(
                        SHORT + 1,
                        Steps * std::min<int64_t>(SHORT + 1,
                                                  C.axis[I].extent.constant))
                  : SHORT + 1;
  return Steps <= SHORT && pricedCpus(F).LoopBytes > SHORT_BYTES;
}

} // namespace nputeir
