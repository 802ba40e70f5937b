// lower_cpu_direct.cpp -- small products straight from the program's layout:
//
//     for each of C, for columns as wide as some vectors
//       a panel of in1 is packed, unless it lies along the columns
//       for as many rows as registers hold: multiply
//
// Blocks of a result of which only some elements are there go by way of a
// buffer, to which these are copied first, and back.
//
// Steps are cut where packed panels would be long; sums that an epilogue waits
// for stand in a buffer of some rows until all steps are done.
//
// Of columns that are no whole vectors, the last vector ends where they do, and
// computes some a second time, with the same bits; less than one vector is
// masked, or done one by one where the processor has no masks.  Fewer rows than
// a kernel has are computed several times: its further rows are the last one
// again.  Nothing else is read.
//
// A product of few columns whose in0 lies along the rows is computed as its
// transpose is, from in1 times in0: sums go by way of a buffer to a result that
// is adjacent along these rows (lower_cpu_spread.cpp).
#include "lower_cpu_direct.h"
#include "arena_scope.h"
#include "lower_cpu_partial.h"

using namespace llvm;

namespace nputeir {

namespace {

class Direct {
  CpuUnit &U;
  const CpuWork &W;
  struct teir_cpu_blocks Blocks;
  Code C;
  unsigned Tensors;
  bool Masks, IsOld;
  bool Scales, Finishes; // an epilogue in the kernels, or behind them
  int PanelColumns;      // of a packed panel; 0: in1 is read as it lies
  Value *Extent[AXIS_ROLES], *Axis[AXIS_ROLES];
  Value *Parts, *Bases, *Panel = nullptr, *Sums = nullptr;
  Value *Spreads = nullptr; // are the sums of a row not adjacent?
  Value *Across = nullptr;  // are in0's steps farther apart than its rows?
  Value *Factors = nullptr, *Adds = nullptr; // whether kernels add to out
  // Offsets for the epilogue.
  Value *RowTable, *RowRuns, *ColumnTable, *ColumnRuns;
  enum { MostRows = 8, MostColumns = 64 };
  int64_t SumBytes = MostRows * MostColumns * dtype_bytes(W.Sum);
  int64_t SumRows; // that an epilogue gets at once

public:
  Direct(CpuUnit &U, const CpuWork &W, bool IsOld, Function &F)
      : U(U), W(W), Blocks(teir_cpu_blocks(&U.Cpu, W.Sum)), C(F),
        Tensors(W.moved()), IsOld(IsOld), Scales(isScaled(W)),
        Finishes(W.Tail && !Scales),
        PanelColumns(W.Turned ? Blocks.turned_columns : 0),
        SumRows(W.Turned ? TEIR_CPU_DIRECT_M : MostRows) {
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

  // Of few rows, columns and steps; gives nothing.
  void emitBlock() {
    readSlots();
    Bases = C.argument(0); // of the only product
    if (PanelColumns)
      Panel = panelFrame(TEIR_CPU_BLOCK);
    Value *None = C.number(0), *N = Extent[AXIS_N];
    Value *Vectors = C.divideUp(N, C.number(Blocks.lanes));
    findFactors();
    if (W.Partial)
      Sums = sumsFrame();
    Block X = {None, Extent[AXIS_M], None, Extent[AXIS_K], Adds};
    rows(X, None, N, Vectors, in1(X, None, Vectors));
    C.CreateRetVoid();
  }

  // Then, unless it is too large; `Small` (or null) what is one block.
  void emitGate(Function *Then, Function *Small) {
    readSlots();
    if (Small)
      C.when(isBlock(), [&] {
        C.CreateCall(Small, {C.argument(0)});
        C.CreateRet(C.getInt32(0));
      });
    Across = C.CreateICmpSLT(stride(AXIS_M, IN0), stride(AXIS_K, IN0));
    if (W.Packed)
      gate();
    if (!Finishes)
      keepSteps();
    C.CreateRet(computeOnThreads(C, U, W, {Then, false}, C.argument(0)));
  }

  void emit() {
    readSlots();
    findFactors();
    Bases = C.frame(C.getInt64Ty(), Tensors, 8);
    if (PanelColumns)
      Panel = panelFrame(TEIR_CPU_DIRECT_K);
    if (W.Spreads) {
      Spreads =
          C.CreateICmpNE(stride(AXIS_N, OUT), C.number(dtype_bytes(W.Sum)));
      Sums = sumsIf(Spreads, SumBytes);
    }
    if (W.Partial)
      Sums = sumsFrame();
    if (Finishes) {
      Sums = C.frame(C.getInt8Ty(), (uint64_t)(SumRows * sumPitch()), 64);
      RowTable = C.frame(C.getInt64Ty(), (uint64_t)SumRows * Tensors, 8);
      ColumnTable = C.frame(C.getInt64Ty(), MostColumns * Tensors, 8);
      RowRuns = C.frame(C.getInt64Ty(), (uint64_t)SumRows, 8);
      ColumnRuns = C.frame(C.getInt64Ty(), MostColumns, 8);
    }
    C.loop(C.number(0), Extent[AXIS_C], C.number(1), [&](Value *Z) {
      for (unsigned T = 0; T < Tensors; T++)
        C.put(C.at(C.getPointer(C.argument(0), (int64_t)T),
                   C.times(Z, stride(AXIS_C, T))),
              C.at(Bases, 8 * (int64_t)T));
      blocks();
    });
    C.CreateRet(C.number(0));
  }

private:
  // ---- sizes and strides that are known ----

  void fixed() {
    const CpuFixed &X = *W.Fixed;
    if (W.Turned)
      Panel = panelFrame(X.K);
    for (int64_t J = 0; J < X.N;) {
      int Vectors = knownVectors(X.N - J);
      int64_t Columns =
          Vectors ? std::min<int64_t>(X.N - J, Vectors * Blocks.lanes) : 1;
      int64_t Count = likeFirst(J, Columns, Vectors);
      auto Each = [&](Value *Column) {
        int64_t Left = X.N - J - (Count - 1) * Columns;
        fixedRows(Column, Columns, Vectors, fixedIn1(Column, Left, Vectors));
      };
      // Code in a row for all, unless it is long.
      int64_t Height = teir_cpu_straight_height(&U.Cpu, Vectors, X.M);
      if (!directIsShort(W.Sum, Count * X.K * Height * std::max(Vectors, 1)))
        C.loop(C.number(J), C.number(J + Count * Columns), C.number(Columns),
               Each);
      else
        for (int64_t I = 0; I < Count; I++)
          Each(C.number(J + I * Columns));
      J += Count * Columns;
    }
  }

  // How many blocks of columns from J on are like the first one.
  int64_t likeFirst(int64_t J, int64_t Columns, int Vectors) {
    int64_t Left = W.Fixed->N - J, Count = 1;
    while (Columns == std::max(Vectors * Blocks.lanes, 1) &&
           (Left -= Columns) >= Columns && knownVectors(Left) == Vectors)
      Count++;
    return Count;
  }

  Value *panelFrame(int64_t K) {
    return C.frame(
        C.getInt8Ty(),
        (uint64_t)(K * PanelColumns * dtype_bytes(W.Sum)) + PackSlack, 64);
  }

  Value *fixedTensor(int T) { return C.getPointer(C.argument(0), T); }

  struct In1 {
    Value *Place, *Step;
  };

  // From column J on, of so many that are left, packed if that lies across
  // the columns.
  In1 fixedIn1(Value *J, int64_t Left, int Vectors) {
    const CpuFixed &X = *W.Fixed;
    Value *Place = C.at(fixedTensor(IN1), C.times(J, X.In1Column));
    if (!W.Turned || !Vectors)
      return {Place, C.number(X.In1K)};
    CpuPanel P = turnedPanel(U, W, Vectors == 1);
    SmallVector<uint64_t, 64> Offsets;
    for (int I = 0; I < P.Rows; I++)
      Offsets.push_back(
          (uint64_t)(std::min<int64_t>(I, Left - 1) * X.In1Column));
    Value *Zero = table({0});
    C.CreateCall(packFunction(U, P), {Panel, Place, table(Offsets), Zero, Zero,
                                      table({(uint64_t)X.K}), C.number(X.K),
                                      C.number(0), C.number(X.In1K)});
    return {Panel, C.number(P.Rows * dtype_bytes(W.Sum))};
  }

  Value *table(ArrayRef<uint64_t> Numbers) {
    Constant *Each = ConstantDataArray::get(C.getContext(), Numbers);
    auto *G =
        new GlobalVariable(C.module(), Each->getType(), true,
                           GlobalValue::PrivateLinkage, Each, "nputeir.table");
    G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return C.CreatePointerCast(G, bytePointer(C.getContext()));
  }

  int knownVectors(int64_t Columns) {
    ArenaScope Scope;
    teir_cpu_math Math = teir_cpu_known(Scope.A);
    return (int)*static_cast<const int64_t *>(teir_cpu_vectors(
        &Blocks, &Math, Math.number(Scope.A, Columns), Masks, W.Turned));
  }

  void fixedRows(Value *J, int64_t Columns, int Vectors, In1 B) {
    int64_t M = W.Fixed->M;
    int64_t Height = teir_cpu_straight_height(&U.Cpu, Vectors, M);
    int64_t Whole = M / Height * Height;
    auto Block = [&](Value *I, int64_t Rows) {
      fixedBlock(I, J, Rows, Columns, Vectors, B);
    };
    if (Whole == Height)
      Block(C.number(0), Height);
    else
      C.loop(C.number(0), C.number(Whole), C.number(Height),
             [&](Value *I) { Block(I, Height); });
    if (Whole < M)
      Block(C.number(Whole), M - Whole);
  }

  void fixedBlock(Value *I, Value *J, int64_t Rows, int64_t Columns,
                  int Vectors, In1 B) {
    const CpuFixed &X = *W.Fixed;
    DirectShape S = {{W.In[IN0], W.Turned && Vectors ? W.Sum : W.In[IN1]},
                     W.Sum,
                     (int)Rows,
                     std::max(Vectors, 1),
                     Vectors ? Blocks.lanes : 1,
                     DirectRows::Height,
                     Vectors && Columns < Blocks.lanes};
    emitDirectKernel(U, S, C,
                     {C.number(X.K),
                      C.at(fixedTensor(IN0), C.times(I, X.In0Row)),
                      C.number(X.In0Row), C.number(X.In0K), B.Place, B.Step,
                      C.at(C.at(fixedTensor(OUT), C.times(I, X.OutRow)),
                           C.times(J, dtype_bytes(W.Sum))),
                      C.number(X.OutRow), C.number(Rows), C.number(Columns),
                      C.number(X.Adds)});
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

  void findFactors() {
    Adds =
        C.CreateAnd(C.getNumber(C.argument(0), (int64_t)Tensors), C.number(1));
    if (!Scales)
      return;
    int64_t Bytes = CpuFactors * dtype_bytes(W.Sum);
    Factors = C.frame(C.getInt8Ty(), (uint64_t)Bytes, 8);
    Adds = callPart(C, Parts, CpuScale, scaleType(U), {C.argument(0), Factors});
  }

  Value *atMost(Value *X, int64_t N) { return C.CreateICmpSLE(X, C.number(N)); }

  Value *isBlock() {
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = size();
    auto *Is =
        static_cast<Value *>(teir_cpu_is_block(&Blocks, &Math, &Size, Masks));
    return C.CreateAnd(Is, C.CreateICmpEQ(Extent[AXIS_C], C.number(1)));
  }

  // Larger products are not for this code.
  void gate() {
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = size();
    auto *Small =
        static_cast<Value *>(teir_cpu_is_direct(&Blocks, &Math, &Size));
    C.when(C.CreateNot(Small), [&] { C.CreateRet(C.getInt32(1)); });
  }

  // Then the function that asks for threads need not be called.
  teir_cpu_size size() {
    return {Extent[AXIS_M],
            Extent[AXIS_N],
            Extent[AXIS_K],
            dotOf(U, W),
            W.Turned && !W.Exchanged,
            W.Tail != nullptr,
            Scales,
            Across,
            W.Partial};
  }

  Value *atLeast(Value *X, int64_t N) {
    return C.CreateICmpSGE(X, C.number(N));
  }

  // What is multiplied at once, and whether it is added to the result.
  struct Block {
    Value *I, *Rows, *P, *Steps, *Adds;
  };

  // Bytes from a row of the sums that an epilogue waits for to the next one.
  int64_t sumPitch() const {
    return (PanelColumns ? PanelColumns : (int)MostColumns) *
           dtype_bytes(W.Sum);
  }

  Value *sumsFrame() { return C.frame(C.getInt8Ty(), (uint64_t)SumBytes, 64); }

  // On the stack, of which threads may have too little for what is not needed.
  Value *sumsIf(Value *Needed, int64_t Bytes) {
    Value *None = Constant::getNullValue(bytePointer(C.getContext()));
    return C.choose(Needed, {None}, [&]() -> Code::Values {
      AllocaInst *Place = C.CreateAlloca(C.getInt8Ty(), C.number(Bytes));
      Place->setAlignment(Align(64));
      return {Place};
    })[0];
  }

  // X where sums go from a kernel to a buffer.
  Value *buffered(Value *X, Value *Otherwise) {
    return W.Spreads ? C.CreateSelect(Spreads, X, Otherwise) : Otherwise;
  }

  teir_cpu_cut cut() {
    teir_cpu_math Math = cpuMath(C);
    teir_cpu_size Size = size();
    return teir_cpu_cut_direct(&Blocks, &Math, &Size);
  }

  // The result is added once per block of steps.  Where threads have parts of
  // the columns, they must cut all alike, for the same bits.
  void keepSteps() {
    Value *Slots = C.argument(0), *At = C.number((int64_t)Tensors);
    Value *Steps = static_cast<Value *>(cut().block_k);
    C.putNumber(C.plus(C.getNumber(Slots, At), C.times(Steps, 2)), Slots, At);
  }

  void blocks() {
    Value *M = Extent[AXIS_M], *K = Extent[AXIS_K];
    Value *Number = C.getNumber(C.argument(0), (int64_t)Tensors);
    if (Finishes) {
      columns([&](Value *J, Value *Columns, Value *Vectors) {
        finished(J, Columns, Vectors);
      });
      return;
    }
    Value *Steps = C.CreateLShr(Number, C.number(1));
    auto *Rows = static_cast<Value *>(cut().block_m);
    C.loop(C.number(0), Scales ? someSteps() : K, Steps, [&](Value *P) {
      Value *Further =
          C.CreateZExt(C.CreateICmpSGT(P, C.number(0)), C.getInt64Ty());
      C.loop(C.number(0), M, Rows, [&](Value *I) {
        Block X = {I, C.least(Rows, C.CreateSub(M, I)), P,
                   C.least(Steps, C.CreateSub(K, P)),
                   C.CreateOr(Further, Adds)};
        columns([&](Value *J, Value *Columns, Value *Vectors) {
          rows(X, J, Columns, Vectors, in1(X, J, Vectors));
        });
      });
    });
  }

  // An epilogue follows where there are no steps, too.
  Value *someSteps() {
    Value *K = Extent[AXIS_K];
    return C.CreateSelect(atMost(K, 0), C.number(1), K);
  }

  // Sums of some rows are kept until they are complete, then finished.
  void finished(Value *J, Value *Columns, Value *Vectors) {
    Value *M = Extent[AXIS_M], *Most = C.number(SumRows);
    auto Offsets = [&](axis_role R, Value *From, Value *Count, Value *Table,
                       Value *Runs) {
      C.CreateCall(offsetsFunction(U, W),
                   {Axis[R], C.number(1), From, Count, Count, Table, Runs});
    };
    Offsets(AXIS_N, J, Columns, ColumnTable, ColumnRuns);
    C.loop(C.number(0), M, Most, [&](Value *I) {
      Value *Rows = C.least(Most, C.CreateSub(M, I));
      sums(I, Rows, J, Columns, Vectors);
      Offsets(AXIS_M, I, Rows, RowTable, RowRuns);
      callPart(C, Parts, CpuStore, storeType(U),
               {Sums, C.number(sumPitch()), Rows, Columns, Bases, RowTable,
                C.times(Rows, 8), ColumnTable, C.times(Columns, 8), ColumnRuns,
                Adds, C.number(1)});
    });
  }

  // A panel that holds all steps is packed once for all rows.
  void sums(Value *I, Value *Rows, Value *J, Value *Columns, Value *Vectors) {
    Value *None = C.number(0), *K = Extent[AXIS_K];
    if (!PanelColumns) {
      Block X = {I, Rows, None, K, None};
      rows(X, J, Columns, Vectors, in1(X, J, Vectors));
      return;
    }
    Value *Most = C.number(TEIR_CPU_DIRECT_K);
    Value *Packs =
        C.CreateOr(C.CreateICmpSGT(K, Most), C.CreateICmpEQ(I, None));
    C.loop(None, someSteps(), Most, [&](Value *P) {
      Value *Further = C.CreateZExt(C.CreateICmpSGT(P, None), C.getInt64Ty());
      Block X = {I, Rows, P, C.least(Most, C.CreateSub(K, P)), Further};
      rows(X, J, Columns, Vectors, in1(X, J, Vectors, Packs));
    });
  }

  void
  columns(function_ref<void(Value *J, Value *Columns, Value *Vectors)> Each) {
    Value *N = Extent[AXIS_N];
    C.walk(C.number(0), N, [&](Value *J) {
      Value *Left = C.CreateSub(N, J);
      teir_cpu_math Math = cpuMath(C);
      auto *Vectors = static_cast<Value *>(
          teir_cpu_vectors(&Blocks, &Math, Left, Masks, W.Turned));
      Value *Columns = C.least(Left, C.times(Vectors, Blocks.lanes));
      if (!Masks) // one by one
        Columns = C.CreateSelect(atLeast(Vectors, 1), Columns, C.number(1));
      Each(J, Columns, Vectors);
      return Columns;
    });
  }

  // Packed if `Packs`, or always.
  In1 in1(const Block &X, Value *J, Value *Vectors, Value *Packs = nullptr) {
    Value *Base =
        C.at(C.getPointer(Bases, IN1), C.times(X.P, stride(AXIS_K, IN1)));
    if (!PanelColumns)
      return {C.at(Base, C.times(J, dtype_bytes(W.In[IN1]))),
              stride(AXIS_K, IN1)};
    // Half a panel is enough for one vector of columns.
    int Half = Blocks.lanes;
    assert(PanelColumns == 2 * Half);
    Value *IsNarrow = atMost(Vectors, 1);
    int Bytes = dtype_bytes(W.Sum);
    Value *Step = C.CreateSelect(IsNarrow, C.number(Half * Bytes),
                                 C.number(PanelColumns * Bytes));
    if (W.Spreads)
      Packs = C.CreateNot(Spreads);
    if (Packs)
      C.when(Packs, [&] { pack(X, Base, J, IsNarrow); });
    else
      pack(X, Base, J, IsNarrow);
    if (!W.Spreads)
      return {Panel, Step};
    return {C.CreateSelect(Spreads, C.at(Base, C.times(J, Bytes)), Panel),
            C.CreateSelect(Spreads, stride(AXIS_K, IN1), Step)};
  }

  void pack(const Block &X, Value *From, Value *J, Value *IsNarrow) {
    Value *Offsets = C.frame(C.getInt64Ty(), (uint64_t)PanelColumns, 8);
    Value *Zero = C.frame(C.getInt64Ty(), 1, 8);
    Value *Run = C.frame(C.getInt64Ty(), 1, 8);
    Value *Last = C.plus(Extent[AXIS_N], -1), *By = stride(AXIS_N, IN1);
    Value *Count = C.CreateSelect(IsNarrow, C.number(Blocks.lanes),
                                  C.number(PanelColumns));
    C.loop(C.number(0), Count, C.number(1), [&](Value *I) {
      C.putNumber(C.times(C.least(C.plus(J, I), Last), By), Offsets, I);
    });
    C.put(C.number(0), Zero);
    C.put(X.Steps, Run);
    FunctionType *Type = packType(U, turnedPanel(U, W, false));
    auto Part = [&](CpuPart P) { return C.getPointer(Parts, P); };
    Value *F = C.CreateSelect(IsNarrow, Part(CpuNarrow), Part(CpuTurned));
    C.CreateCall(Type, C.CreatePointerCast(F, pointerTo(Type)),
                 {Panel, From, Offsets, Zero, Zero, Run, X.Steps, C.number(0),
                  stride(AXIS_K, IN1)});
  }

  Function *kernel(int Height, int Vectors, bool Part = false) {
    return directKernelFunction(U, {{W.In[IN0], W.Turned ? W.Sum : W.In[IN1]},
                                    W.Sum,
                                    Height,
                                    Vectors,
                                    Part && !Masks ? 1 : Blocks.lanes,
                                    directRows(Blocks, Height),
                                    Part && Masks,
                                    Scales});
  }

  // The kernel of as many vectors as the value says, for so many columns. Where
  // rows are few, too, one for less than a vector multiplies one as well.
  Value *kernels(int Height, Value *Vectors, Value *Columns) {
    int Most = PanelColumns ? 2 : Blocks.direct_vectors;
    Value *F = kernel(Height, Most);
    bool Shares = Masks && Height == Blocks.direct_height[1];
    for (int V = Most - 1; V > Shares; V--)
      F = C.CreateSelect(C.CreateICmpEQ(Vectors, C.number(V)),
                         kernel(Height, V), F);
    return C.CreateSelect(atMost(Columns, Blocks.lanes - !Shares),
                          kernel(Height, 1, true), F);
  }

  // Of so many rows, those that the next kernel multiplies: one block where
  // their sums stay in a buffer.
  Value *nextRows(Value *Left, Value *IsHigh) {
    Value *High = C.number(Blocks.direct_height[0]);
    High = buffered(High, C.times(C.CreateUDiv(Left, High), High));
    Value *Low = C.least(Left, C.number(Blocks.direct_height[1]));
    return C.CreateSelect(IsHigh, High, Low);
  }

  CpuPartial partial() {
    unsigned Limit = W.resultLimit();
    return {C, C.getNumber(Bases, (int64_t)Limit), stride(AXIS_M, Limit),
            stride(AXIS_N, Limit)};
  }

  // Multiplies to the result, or to a buffer that has what of it is there.
  void inPart(const CpuPartial::Piece &X, Value *IsWhole, Value *Out,
              function_ref<void(Value *, Value *)> Multiply) {
    Value *Stride = stride(AXIS_M, OUT);
    Value *Pitch = C.number(MostColumns * dtype_bytes(W.Sum));
    C.when(
        IsWhole, [&] { Multiply(Out, Stride); },
        [&] {
          C.when(partial().hasAny(X), [&] {
            Function *Copy = partialCopyFunction(U, W.Sum);
            unsigned Limit = W.resultLimit();
            Value *ByRow = stride(AXIS_M, Limit);
            Value *ByColumn = stride(AXIS_N, Limit);
            Value *Start = C.plus(
                C.getNumber(Bases, (int64_t)Limit),
                C.plus(C.times(X.Row, ByRow), C.times(X.Column, ByColumn)));
            Code::Values Where = {X.Rows, X.Columns, Start, ByRow, ByColumn};
            auto Move = [&](Value *From, Value *FromStride, Value *To,
                            Value *ToStride) {
              Code::Values Given = {From, FromStride, To, ToStride};
              Given.append(Where.begin(), Where.end());
              C.CreateCall(Copy, Given);
            };
            Move(Out, Stride, Sums, Pitch);
            Multiply(Sums, Pitch);
            Move(Sums, Pitch, Out, Stride);
          });
        });
  }

  void rows(const Block &X, Value *J, Value *Columns, Value *Vectors, In1 B) {
    int Low = Blocks.direct_height[1], High = Blocks.direct_height[0];
    Value *Lower = kernels(Low, Vectors, Columns);
    Value *Higher = IsOld ? Lower : kernels(High, Vectors, Columns);
    FunctionType *Type = directKernelType(U, Scales);
    Value *M = C.plus(X.I, X.Rows);
    C.walk(X.I, M, [&](Value *I) {
      Value *Left = C.CreateSub(M, I);
      Value *IsHigh = IsOld ? C.getFalse() : atLeast(Left, High);
      Value *Rows = nextRows(Left, IsHigh);
      CpuPartial::Piece Piece = {I, Rows, J, Columns};
      Value *IsWhole = nullptr;
      if (W.Partial) { // else one block
        IsWhole = partial().hasAll(Piece);
        Rows = Piece.Rows = C.CreateSelect(
            C.CreateAnd(IsHigh, C.CreateNot(IsWhole)), C.number(High), Rows);
        IsWhole = partial().hasAll(Piece);
      }
      Value *In0 = C.at(C.getPointer(Bases, IN0),
                        C.plus(C.times(I, stride(AXIS_M, IN0)),
                               C.times(X.P, stride(AXIS_K, IN0))));
      int64_t Bytes = dtype_bytes(W.Sum);
      Value *Pitch, *Out;
      if (Finishes) {
        Pitch = C.number(sumPitch());
        Out = C.at(Sums, C.times(C.CreateSub(I, X.I), Pitch));
      } else {
        Pitch = buffered(Masks ? C.times(C.times(Vectors, Blocks.lanes), Bytes)
                               : C.number(MostColumns * Bytes),
                         stride(AXIS_M, OUT));
        Out = C.at(
            C.at(C.getPointer(Bases, OUT), C.times(I, stride(AXIS_M, OUT))),
            C.times(J, W.Spreads ? stride(AXIS_N, OUT) : C.number(Bytes)));
      }
      auto Multiply = [&](Value *To, Value *Stride, Value *Adds) {
        SmallVector<Value *, 12> Arguments = {X.Steps,
                                              In0,
                                              stride(AXIS_M, IN0),
                                              stride(AXIS_K, IN0),
                                              B.Place,
                                              B.Step,
                                              To,
                                              Stride,
                                              Rows,
                                              Columns,
                                              Adds};
        if (Scales)
          Arguments.push_back(C.CreateSelect(
              C.CreateICmpSGT(X.P, C.number(0)),
              C.at(Factors, CpuFurther * dtype_bytes(W.Sum)), Factors));
        C.CreateCall(Type, C.CreateSelect(IsHigh, Higher, Lower), Arguments);
      };
      if (W.Partial) {
        inPart(Piece, IsWhole, Out,
               [&](Value *To, Value *Stride) { Multiply(To, Stride, X.Adds); });
        return Rows;
      }
      Multiply(buffered(Sums, Out), Pitch, buffered(C.number(0), X.Adds));
      if (W.Spreads)
        C.when(Spreads, [&] {
          C.CreateCall(
              spreadFunction(U, W.Sum),
              {Sums, Pitch, Rows, Columns, Out, stride(AXIS_N, OUT), X.Adds});
        });
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

// Null: nothing of such types and layouts is done so.
static Function *blockFunction(CpuUnit &U, const CpuWork &W) {
  struct teir_cpu_dot Dot = dotOf(U, W);
  bool Scales = isScaled(W);
  if ((W.Tail && !Scales) || W.Exchanged || Dot.group > 1 || Dot.converts)
    return nullptr;
  bool IsNew;
  Function *F =
      U.function(Twine("block.") + W.kind() + (W.Turned ? ".turned" : "") +
                     (Scales ? ".scaled" : ""),
                 Type::getVoidTy(U.context()), "p", IsNew);
  if (!IsNew)
    return F;
  CpuUnit::compileFast(*F);
  CpuWork One = W;
  One.Spreads = false; // its results are adjacent
  Direct(U, One, false, *F).emitBlock();
  return F;
}

Function *directFunction(CpuUnit &U, const CpuWork &W, StringRef Name,
                         bool IsOld) {
  bool IsNew;
  std::string Of = W.Fixed ? Name.str()
                           : W.kind() + (W.Turned ? ".turned" : "") +
                                 (isScaled(W) ? ".scaled" : "") +
                                 (IsOld ? ".old" : "") +
                                 (W.Spreads ? ".spreads" : "");
  Function *F = U.function("small." + Of + (W.Packed ? ".or.packed" : "") +
                               (W.Exchanged ? ".exchanged" : ""),
                           Type::getInt32Ty(U.context()), "p", IsNew);
  if (!IsNew)
    return F;
  if (W.Fixed) {
    Direct(U, W, IsOld, *F).emitFixed();
    return F;
  }
  Function *Run = U.Elements->function(
      "direct." + Of, Type::getInt64Ty(U.context()), "pp", IsNew);
  if (IsNew) {
    CpuUnit::compileFast(*Run);
    CpuWork All = W;
    All.Exchanged = false;
    Direct(*U.Elements, All, IsOld, *Run).emit();
  }
  CpuUnit::compileFast(*F);
  Direct(U, W, IsOld, *F)
      .emitGate(Run, IsOld ? nullptr : blockFunction(*U.Elements, W));
  return F;
}

} // namespace nputeir
