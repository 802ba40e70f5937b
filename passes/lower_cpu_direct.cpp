// lower_cpu_direct.cpp -- small products straight from the program's layout:
//
//     for each of C, for columns as wide as some vectors
//       a panel of in1 is packed, unless it lies along the columns
//       for as many rows as registers hold: multiply, and the epilogue
//
// Fewer rows than a kernel has are computed several times, with the same bits:
// its further rows are the last one again.  Fewer columns are masked, or done
// one by one where the processor has no masks.  Nothing else is read.
#include "lower_cpu.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace nputeir {

namespace {

struct DirectShape {
  dtype In[2], Sum;
  int Height, Vectors, Lanes; // Lanes: 1 where columns are done one by one
  bool Masks;
};

// What a kernel works on; K steps, of which the first may follow others.
struct DirectData {
  Value *K, *In0, *In0Row, *In0K, *In1, *In1K, *Out, *OutRow, *Rows, *Columns,
      *Add;
};

class DirectKernel {
  CpuUnit &U;
  DirectShape S;
  Code &C;
  DirectData D;
  Type *Element, *Vector;
  Value *Mask = nullptr;
  enum { MostUnrolled = 256 }; // multiplications

public:
  DirectKernel(CpuUnit &U, const DirectShape &S, Code &C, const DirectData &D)
      : U(U), S(S), C(C), D(D), Element(computedType(C.getContext(), S.Sum)),
        Vector(shape(Element)) {}

  void emit() {
    Value *Last = C.plus(D.Rows, -1);
    SmallVector<Value *, 8> In0, Out;
    for (int I = 0; I < S.Height; I++) {
      Value *Row = C.least(C.number(I), Last);
      In0.push_back(C.at(D.In0, C.times(Row, D.In0Row)));
      Out.push_back(C.at(D.Out, C.times(Row, D.OutRow)));
    }
    Value *IsWhole = C.CreateICmpEQ(D.Columns, C.number(S.Vectors * S.Lanes));
    auto *Known = dyn_cast<ConstantInt>(IsWhole);
    if (S.Masks && !(Known && Known->isOne()))
      Mask = C.firstLanes(
          (unsigned)S.Lanes, dtype_bytes(S.Sum),
          C.CreateSub(D.Columns, C.number((S.Vectors - 1) * S.Lanes)));
    Code::Values Result = steps(In0, start(Out));
    if (Mask && !Known && U.Cpu.vector_bytes < 64) {
      // Masked stores may be slow.
      C.when(
          IsWhole, [&] { store(Out, Result, nullptr); },
          [&] { store(Out, Result, Mask); });
    } else {
      store(Out, Result, Mask);
    }
  }

private:
  Type *shape(Type *T) {
    return S.Lanes == 1 ? T : FixedVectorType::get(T, (unsigned)S.Lanes);
  }

  Value *load(dtype T, Value *Place, Value *Masked) {
    return fromStored(
        C, T, C.get(shape(storedType(C.getContext(), T)), Place, Masked));
  }

  // A vector of each row after the other.
  Code::Values start(ArrayRef<Value *> Out) {
    Code::Values None((size_t)(S.Height * S.Vectors),
                      Constant::getNullValue(Vector));
    Value *Adds = C.CreateICmpNE(D.Add, C.number(0));
    return C.choose(Adds, None, [&] {
      Code::Values Old;
      for (Value *Row : Out)
        for (int J = 0; J < S.Vectors; J++)
          Old.push_back(C.get(Vector,
                              C.at(Row, J * S.Lanes * dtype_bytes(S.Sum)),
                              J == S.Vectors - 1 ? Mask : nullptr));
      return Old;
    });
  }

  Code::Values steps(ArrayRef<Value *> In0, const Code::Values &Sums) {
    Code::Values Now = {C.number(0), D.In1};
    Now.append(Sums.begin(), Sums.end());
    auto *K = dyn_cast<ConstantInt>(D.K);
    if (K && K->getSExtValue() * S.Height * S.Vectors <= MostUnrolled)
      for (int64_t P = 0; P < K->getSExtValue(); P++)
        Now = step(In0, Now);
    else
      Now = C.carry(C.number(0), D.K, C.number(1), Now,
                    [&](Value *, ArrayRef<Value *> V) { return step(In0, V); });
    return Code::Values(Now.begin() + 2, Now.end());
  }

  Code::Values step(ArrayRef<Value *> In0, ArrayRef<Value *> Now) {
    Value *Offset = Now[0], *In1 = Now[1];
    SmallVector<Value *, 4> Row;
    for (int J = 0; J < S.Vectors; J++) {
      Value *V = load(S.In[1], C.at(In1, J * S.Lanes * dtype_bytes(S.In[1])),
                      J == S.Vectors - 1 ? Mask : nullptr);
      Row.push_back(convert(C, S.In[1], S.Sum, V));
    }
    Code::Values Next = {C.plus(Offset, D.In0K), C.at(In1, D.In1K)};
    for (int I = 0; I < S.Height; I++) {
      Value *X = C.get(storedType(C.getContext(), S.In[0]),
                       C.at(In0[(size_t)I], Offset));
      X = convert(C, S.In[0], S.Sum, fromStored(C, S.In[0], X));
      if (S.Lanes > 1)
        X = C.CreateVectorSplat((unsigned)S.Lanes, X);
      for (int J = 0; J < S.Vectors; J++)
        Next.push_back(multiplyAdd(C, U.Cpu, X, Row[(size_t)J],
                                   Now[(size_t)(2 + I * S.Vectors + J)]));
    }
    return Next;
  }

  void store(ArrayRef<Value *> Out, ArrayRef<Value *> Sums, Value *Masked) {
    for (size_t I = 0; I < Out.size(); I++)
      for (int J = 0; J < S.Vectors; J++)
        C.put(Sums[I * (size_t)S.Vectors + (size_t)J],
              C.at(Out[I], J * S.Lanes * dtype_bytes(S.Sum)),
              J == S.Vectors - 1 ? Masked : nullptr);
  }
};

// (k, in0, in0_row, in0_k, in1, in1_k, out, out_row, rows, columns, add)
Function *kernelFunction(CpuUnit &U, const DirectShape &S) {
  bool IsNew;
  Function *F = U.function(Twine("direct.") + dtype_name(S.In[0]) + "." +
                               dtype_name(S.In[1]) + "." + dtype_name(S.Sum) +
                               "." + Twine(S.Height) + "." + Twine(S.Vectors) +
                               "." + Twine(S.Lanes),
                           Type::getVoidTy(U.context()), "ipiipipiiii", IsNew);
  if (!IsNew)
    return F;
  Code C(*F);
  auto A = [&](unsigned I) { return C.argument(I); };
  DirectKernel(
      U, S, C,
      {A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10)})
      .emit();
  C.CreateRetVoid();
  return F;
}

} // namespace

Function *directKernel(CpuUnit &U, dtype Sum, int Height, int Vectors) {
  return kernelFunction(U, {{Sum, Sum},
                            Sum,
                            Height,
                            Vectors,
                            teir_cpu_blocks(&U.Cpu, Sum).lanes,
                            teir_cpu_has_masks(&U.Cpu, Sum)});
}

namespace {

class Direct {
  CpuUnit &U;
  const CpuWork &W;
  struct teir_cpu_blocks Blocks;
  Code C;
  unsigned Tensors;
  bool Masks, IsOld;
  int PanelColumns; // of a packed panel; 0: in1 is read as it lies
  Value *Extent[AXIS_ROLES], *Axis[AXIS_ROLES];
  Value *Parts, *Bases, *Panel = nullptr, *Sums = nullptr;
  // Offsets for the epilogue.
  Value *RowTable, *RowRuns, *ColumnTable, *ColumnRuns;
  enum { MostRows = 8, MostColumns = 64 };

public:
  Direct(CpuUnit &U, const CpuWork &W, bool IsOld, Function &F)
      : U(U), W(W), Blocks(teir_cpu_blocks(&U.Cpu, W.Sum)), C(F),
        Tensors(W.moved()), IsOld(IsOld),
        PanelColumns(W.Turned ? Blocks.turned_columns : 0) {
    Masks = teir_cpu_has_masks(&U.Cpu, W.Sum) &&
            (W.Turned || teir_cpu_has_masks(&U.Cpu, W.In[IN1]));
    assert(Blocks.direct_height[0] <= MostRows);
    assert(Blocks.direct_vectors * Blocks.lanes <= MostColumns);
  }

  // Of known sizes; gives the status.
  void emitFixed() {
    fixed();
    C.CreateRet(C.getInt32(0));
  }

  // Then, unless it is too large.
  void emitGate(Function *Then) {
    readSlots();
    if (W.Packed)
      gate();
    C.CreateRet(computeOnThreads(C, U, W, {Then, nullptr}, C.argument(0)));
  }

  void emit() {
    readSlots();
    Bases = C.frame(C.getInt64Ty(), Tensors, 8);
    if (PanelColumns)
      Panel = C.frame(
          C.getInt8Ty(),
          (uint64_t)(TEIR_CPU_DIRECT_K * PanelColumns * dtype_bytes(W.Sum)) +
              PackSlack,
          64);
    if (W.Tail) {
      Sums =
          C.frame(C.getInt8Ty(),
                  (uint64_t)(MostRows * MostColumns * dtype_bytes(W.Sum)), 64);
      RowTable = C.frame(C.getInt64Ty(), MostRows * Tensors, 8);
      ColumnTable = C.frame(C.getInt64Ty(), MostColumns * Tensors, 8);
      RowRuns = C.frame(C.getInt64Ty(), MostRows, 8);
      ColumnRuns = C.frame(C.getInt64Ty(), MostColumns, 8);
    }
    C.loop(C.number(0), Extent[AXIS_C], C.number(1), [&](Value *Z) {
      for (unsigned T = 0; T < Tensors; T++)
        C.put(C.at(C.getPointer(C.argument(0), (int64_t)T),
                   C.times(Z, stride(AXIS_C, T))),
              C.at(Bases, 8 * (int64_t)T));
      blocks();
    });
    C.CreateRetVoid();
  }

private:
  // ---- sizes and strides that are known ----

  void fixed() {
    const CpuFixed &X = *W.Fixed;
    for (int64_t J = 0; J < X.N;) {
      int Vectors = knownVectors(X.N - J);
      int64_t Columns =
          Vectors ? std::min<int64_t>(X.N - J, Vectors * Blocks.lanes) : 1;
      fixedRows(J, Columns, Vectors);
      J += Columns;
    }
  }

  int knownVectors(int64_t Columns) {
    ArenaScope Scope;
    teir_cpu_math Math = teir_cpu_known(Scope.A);
    return (int)*static_cast<const int64_t *>(teir_cpu_vectors(
        &Blocks, &Math, Math.number(Scope.A, Columns), Masks, false));
  }

  void fixedRows(int64_t J, int64_t Columns, int Vectors) {
    int64_t M = W.Fixed->M;
    int64_t Height = teir_cpu_straight_height(&U.Cpu, Vectors, M);
    int64_t Whole = M / Height * Height;
    auto Block = [&](Value *I, int64_t Rows) {
      fixedBlock(I, J, Rows, Columns, Vectors);
    };
    if (Whole == Height)
      Block(C.number(0), Height);
    else
      C.loop(C.number(0), C.number(Whole), C.number(Height),
             [&](Value *I) { Block(I, Height); });
    if (Whole < M)
      Block(C.number(Whole), M - Whole);
  }

  void fixedBlock(Value *I, int64_t J, int64_t Rows, int64_t Columns,
                  int Vectors) {
    const CpuFixed &X = *W.Fixed;
    auto Tensor = [&](int T) { return C.getPointer(C.argument(0), T); };
    DirectShape S = {
        {W.In[IN0], W.In[IN1]},     W.Sum, (int)Rows, std::max(Vectors, 1),
        Vectors ? Blocks.lanes : 1, Masks};
    DirectKernel(
        U, S, C,
        {C.number(X.K), C.at(Tensor(IN0), C.times(I, X.In0Row)),
         C.number(X.In0Row), C.number(X.In0K),
         C.at(Tensor(IN1), J * dtype_bytes(W.In[IN1])), C.number(X.In1K),
         C.at(C.at(Tensor(OUT), C.times(I, X.OutRow)), J * dtype_bytes(W.Sum)),
         C.number(X.OutRow), C.number(Rows), C.number(Columns),
         C.number(X.Adds)})
        .emit();
  }

  // ---- others ----

  Value *stride(axis_role R, unsigned T) {
    return C.getNumber(Axis[R], 1 + (int64_t)T);
  }

  // Each role has one axis.
  void readSlots() {
    int64_t Record = 1 + (int64_t)Tensors;
    Parts = C.getPointer(C.argument(0), cpuPartsSlot(Tensors));
    for (int R = 0; R < AXIS_ROLES; R++) {
      Axis[R] = C.at(C.argument(0), 8 * (cpuAxesSlot(Tensors) + R * Record));
      Extent[R] = C.getNumber(Axis[R], (int64_t)0);
    }
  }

  Value *atMost(Value *X, int64_t N) { return C.CreateICmpSLE(X, C.number(N)); }

  // Larger products are not for this code.
  void gate() {
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = size();
    auto *Small =
        static_cast<Value *>(teir_cpu_is_direct(&Blocks, &Math, &Size));
    C.when(C.CreateNot(Small), [&] { C.CreateRet(C.getInt32(1)); });
  }

  teir_cpu_size size() {
    return {Extent[AXIS_M],
            Extent[AXIS_N],
            Extent[AXIS_K],
            teir_cpu_choose_dot(&U.Cpu, W.In[IN0], W.In[IN1], W.Sum),
            W.Turned,
            W.Tail != nullptr};
  }

  Value *atLeast(Value *X, int64_t N) {
    return C.CreateICmpSGE(X, C.number(N));
  }

  // What is multiplied at once, and whether it is added to the result.
  struct Block {
    Value *I, *Rows, *P, *Steps, *Adds;
  };

  void blocks() {
    Value *M = Extent[AXIS_M], *K = Extent[AXIS_K];
    Value *Adds = C.getNumber(C.argument(0), (int64_t)Tensors);
    if (W.Turned || W.Tail) { // in one block
      columns({C.number(0), M, C.number(0), K, Adds});
      return;
    }
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = size();
    teir_cpu_cut Cut = teir_cpu_cut_direct(&Blocks, &Math, &Size);
    auto *Rows = static_cast<Value *>(Cut.block_m);
    auto *Steps = static_cast<Value *>(Cut.block_k);
    C.loop(C.number(0), K, Steps, [&](Value *P) {
      Value *Further =
          C.CreateZExt(C.CreateICmpSGT(P, C.number(0)), C.getInt64Ty());
      C.loop(C.number(0), M, Rows, [&](Value *I) {
        columns({I, C.least(Rows, C.CreateSub(M, I)), P,
                 C.least(Steps, C.CreateSub(K, P)), C.CreateOr(Further, Adds)});
      });
    });
  }

  void columns(const Block &X) {
    Value *N = Extent[AXIS_N];
    C.walk(C.number(0), N, [&](Value *J) {
      Value *Left = C.CreateSub(N, J);
      teir_cpu_math Math = cpuMath(C);
      auto *Vectors = static_cast<Value *>(
          teir_cpu_vectors(&Blocks, &Math, Left, Masks, W.Turned));
      Value *Columns = C.least(Left, C.times(Vectors, Blocks.lanes));
      if (!Masks) // one by one
        Columns = C.CreateSelect(atLeast(Vectors, 1), Columns, C.number(1));
      rows(X, J, Columns, Vectors, in1(X, J));
      return Columns;
    });
  }

  struct In1 {
    Value *Place, *Step;
  };

  In1 in1(const Block &X, Value *J) {
    Value *Base =
        C.at(C.getPointer(Bases, IN1), C.times(X.P, stride(AXIS_K, IN1)));
    if (!PanelColumns)
      return {C.at(Base, C.times(J, dtype_bytes(W.In[IN1]))),
              stride(AXIS_K, IN1)};
    // Half a panel is enough for one vector of columns.
    int Half = Blocks.lanes;
    assert(PanelColumns == 2 * Half);
    Value *IsNarrow = atMost(C.CreateSub(Extent[AXIS_N], J), Half);
    pack(J, IsNarrow);
    int Bytes = dtype_bytes(W.Sum);
    return {Panel, C.CreateSelect(IsNarrow, C.number(Half * Bytes),
                                  C.number(PanelColumns * Bytes))};
  }

  void pack(Value *J, Value *IsNarrow) {
    Value *Offsets = C.frame(C.getInt64Ty(), (uint64_t)PanelColumns, 8);
    Value *Zero = C.frame(C.getInt64Ty(), 1, 8);
    Value *Run = C.frame(C.getInt64Ty(), 1, 8);
    Value *Last = C.plus(Extent[AXIS_N], -1), *By = stride(AXIS_N, IN1);
    C.loop(C.number(0), C.number(PanelColumns), C.number(1), [&](Value *I) {
      C.putNumber(C.times(C.least(C.plus(J, I), Last), By), Offsets, I);
    });
    C.put(C.number(0), Zero);
    C.put(Extent[AXIS_K], Run);
    FunctionType *Type = packType(U, turnedPanel(U, W, false));
    auto Part = [&](CpuPart P) { return C.getPointer(Parts, P); };
    Value *F = C.CreateSelect(IsNarrow, Part(CpuNarrow), Part(CpuTurned));
    C.CreateCall(Type, C.CreatePointerCast(F, pointerTo(Type)),
                 {Panel, C.getPointer(Bases, IN1), Offsets, Zero, Zero, Run,
                  Extent[AXIS_K], C.number(0), stride(AXIS_K, IN1)});
  }

  Function *kernel(int Height, int Vectors) {
    bool Scalar = Vectors == 0;
    return kernelFunction(U, {{W.In[IN0], W.Turned ? W.Sum : W.In[IN1]},
                              W.Sum,
                              Height,
                              Scalar ? 1 : Vectors,
                              Scalar ? 1 : Blocks.lanes,
                              Masks});
  }

  // The kernel of as many vectors as the value says.  With one vector, fewer
  // rows take as long: every sum waits for the one before.
  Value *kernels(int Height, Value *Vectors) {
    int Most = PanelColumns ? 2 : Blocks.direct_vectors;
    auto Kernel = [&](int V) {
      return kernel(V > 1 || IsOld ? Height : Blocks.direct_height[0], V);
    };
    Value *F = Kernel(Most);
    for (int V = Most - 1; V >= (Masks ? 1 : 0); V--)
      F = C.CreateSelect(C.CreateICmpEQ(Vectors, C.number(V)), Kernel(V), F);
    return F;
  }

  void rows(const Block &X, Value *J, Value *Columns, Value *Vectors, In1 B) {
    int Low = Blocks.direct_height[1];
    int High = IsOld ? Low : Blocks.direct_height[0];
    Value *Higher = kernels(High, Vectors), *Lower = kernels(Low, Vectors);
    FunctionType *Type = kernel(High, 2)->getFunctionType();
    Value *M = C.plus(X.I, X.Rows);
    if (W.Tail)
      C.CreateCall(offsetsFunction(U, W),
                   {Axis[AXIS_N], C.number(1), J, Columns,
                    C.number(MostColumns), ColumnTable, ColumnRuns});
    C.walk(X.I, M, [&](Value *I) {
      Value *Left = C.CreateSub(M, I);
      Value *IsHigh = C.CreateICmpSGT(Left, C.number(Low));
      Value *Rows =
          C.least(Left, C.CreateSelect(IsHigh, C.number(High), C.number(Low)));
      Value *In0 = C.at(C.getPointer(Bases, IN0),
                        C.plus(C.times(I, stride(AXIS_M, IN0)),
                               C.times(X.P, stride(AXIS_K, IN0))));
      int64_t Bytes = dtype_bytes(W.Sum);
      Value *Pitch = W.Tail ? C.times(C.times(Vectors, Blocks.lanes), Bytes)
                            : stride(AXIS_M, OUT);
      if (W.Tail && !Masks)
        Pitch = C.number(MostColumns * Bytes);
      Value *Out = W.Tail ? Sums
                          : C.at(C.at(C.getPointer(Bases, OUT),
                                      C.times(I, stride(AXIS_M, OUT))),
                                 C.times(J, Bytes));
      C.CreateCall(Type, C.CreateSelect(IsHigh, Higher, Lower),
                   {X.Steps, In0, stride(AXIS_M, IN0), stride(AXIS_K, IN0),
                    B.Place, B.Step, Out, Pitch, Rows, Columns,
                    W.Tail ? C.number(0) : X.Adds});
      if (W.Tail) {
        C.CreateCall(offsetsFunction(U, W),
                     {Axis[AXIS_M], C.number(1), I, Rows, C.number(MostRows),
                      RowTable, RowRuns});
        callPart(C, Parts, CpuStore, storeType(U),
                 {Sums, Pitch, Rows, Columns, Bases, RowTable,
                  C.number(8 * MostRows), ColumnTable,
                  C.number(8 * MostColumns), ColumnRuns, X.Adds, C.number(1)});
      }
      return Rows;
    });
  }
};

} // namespace

CpuPanel turnedPanel(CpuUnit &U, const CpuWork &W, bool Narrow) {
  struct teir_cpu_blocks Blocks = teir_cpu_blocks(&U.Cpu, W.Sum);
  CpuPanel Panel = {Narrow ? Blocks.lanes : Blocks.turned_columns, W.In[IN1],
                    W.Sum};
  Panel.Lies = W.Lies[IN1];
  return Panel;
}

Function *directFunction(CpuUnit &U, const CpuWork &W, StringRef Name,
                         bool IsOld) {
  bool IsNew;
  std::string Of =
      W.Fixed ? Name.str()
              : W.kind() + (W.Turned ? ".turned" : "") + (IsOld ? ".old" : "");
  Function *F = U.function("small." + Of + (W.Packed ? ".or.packed" : ""),
                           Type::getInt32Ty(U.context()), "p", IsNew);
  if (!IsNew)
    return F;
  if (W.Fixed) {
    Direct(U, W, IsOld, *F).emitFixed();
    return F;
  }
  Function *Run =
      U.function("direct." + Of, Type::getVoidTy(U.context()), "pp", IsNew);
  if (IsNew)
    Direct(U, W, IsOld, *Run).emit();
  Direct(U, W, IsOld, *F).emitGate(Run);
  return F;
}

} // namespace nputeir
