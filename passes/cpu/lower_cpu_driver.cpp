// lower_cpu_driver.cpp -- the loops around the kernels, after Goto:
//
//     for each of C
//       for columns in blocks of N            columns: offsets
//         for rows in parts (all, or as many as sums are kept of)
//           for steps in blocks of K          in1 is packed
//             for rows in blocks of M         rows: offsets; in0 is packed
//               for panels of columns, for panels of rows (of rows, of
//               columns where tiles are): multiply
//           sums that were kept go through the epilogue
//
// A role's axes are one loop here: element i of all of them lies at offset[i],
// a table that is made block by block.  Where the innermost axis goes on for a
// whole panel, elements are a fixed stride apart, and vectors are loaded and
// stored; `runs` says for how long that is so.  Sums go into the result itself
// where a block of registers lies in it as such, else by way of a buffer.
#include "lower_cpu_driver.h"
#include "lower_cpu_partial.h"

using namespace llvm;

namespace nputeir {

namespace {

class Driver : DriverBlocks {
public:
  Driver(CpuUnit &U, const CpuWork &W, Function &F) : DriverBlocks(U, W, F) {}

  void emit() {
    readSlots();
    chooseBlocks();
    Bases = C.frame(C.getInt64Ty(), Tensors, 8);
    Value *Size = place(C.argument(1));
    C.when(C.CreateIsNull(C.argument(1)), [&] { C.CreateRet(Size); });
    findFactors();
    auto All = [&] {
      C.loop(C.number(0), R[AXIS_C].Extent, C.number(1), [&](Value *Z) {
        moveBases(Z);
        columnBlocks();
      });
    };
    if (teir_cpu_is_tiled(Dot.op))
      withTiles(C, All);
    else
      All();
    C.CreateRet(C.number(0));
  }

private:
  // Of sums that kernels scale: of the first steps, of further ones, and one
  // for sums that are stored later.
  Value *Factors, *AddsFirst;
  enum { CpuPlain = CpuFactors };

  Value *factors(int Which) { return C.at(Factors, Which * Bytes); }

  void findFactors() {
    if (!Scales)
      return;
    int64_t Of = (CpuFactors + 2) * dtype_bytes(W.Sum);
    Factors = C.frame(C.getInt8Ty(), (uint64_t)Of, 8);
    AddsFirst =
        callPart(C, Parts, CpuScale, scaleType(U), {C.argument(0), Factors});
    Type *T = computedType(C.getContext(), W.Sum);
    C.put(ConstantFP::get(T, 1), factors(CpuPlain + CpuAlpha));
    C.put(ConstantFP::get(T, 0), factors(CpuPlain + CpuBeta));
  }

  void columnBlocks() {
    Value *N = R[AXIS_N].Extent;
    C.loop(C.number(0), N, BlockN, [&](Value *J) {
      Value *Count = C.least(BlockN, C.CreateSub(N, J));
      FirstColumn = J;
      fill(AXIS_N, Columns, J, Count);
      Value *M = R[AXIS_M].Extent;
      C.loop(C.number(0), M, PartM, [&](Value *I) {
        Value *Rows = C.least(PartM, C.CreateSub(M, I));
        FirstRow = I;
        ifAny({C.number(0), Rows, C.number(0), Count},
              [&] { rowsByColumns(I, Rows, J, Count); });
      });
    });
  }

  void rowsByColumns(Value *I, Value *Rows, Value *J, Value *Count) {
    Value *Again =
        W.Partial // rows that the columns before had no use for are not there
            ? C.number(0)
            : C.CreateAnd(KeepsIn0,
                          C.CreateZExt(C.CreateICmpSGT(J, C.number(0)),
                                       C.getInt64Ty()));
    stepBlocks(I, Rows, Count, C.CreateICmpEQ(Again, C.number(0)));
    if (!KeepsSums)
      return;
    rowBlocks(I, Rows, C.getTrue(), [&](Value *At, Value *Some) {
      Piece X = {At, Some, C.number(0), Count};
      ifAny(X, [&] {
        store(C.at(Sums, C.times(C.times(At, BlockN), Bytes)),
              C.times(BlockN, Bytes), X, C.number(0));
      });
    });
  }

  // ---- of which only some elements are there ----

  Value *FirstRow, *FirstColumn; // of a part, and of a block

  // Rows of a part, the first of which is At, by columns of a block.
  struct Piece {
    Value *At, *Rows, *J, *Columns;
  };

  CpuPartial partial() {
    int Limit = (int)W.resultLimit();
    return {C, C.getNumber(Bases, (int64_t)Limit), stride(AXIS_M, Limit),
            stride(AXIS_N, Limit)};
  }

  CpuPartial::Piece inResult(const Piece &X) {
    return {C.plus(FirstRow, X.At), X.Rows, C.plus(FirstColumn, X.J),
            X.Columns};
  }

  void ifAny(const Piece &X, function_ref<void()> Body) {
    if (W.Partial)
      C.when(partial().hasAny(inResult(X)), Body);
    else
      Body();
  }

  // Row by row, the columns that are there.
  void storePart(Value *From, Value *Stride, const Piece &X, Value *I,
                 Value *Add) {
    C.loop(C.number(0), X.Rows, C.number(1), [&](Value *Row) {
      Piece One = {C.plus(X.At, Row), C.number(1), X.J, X.Columns};
      std::pair<Value *, Value *> Has = partial().columns(inResult(One));
      Value *Begin = Has.first, *End = Has.second;
      C.when(C.CreateICmpSLT(Begin, End), [&] {
        storeAll(
            C.at(From, C.plus(C.times(Row, Stride), C.times(Begin, Bytes))),
            Stride, C.number(1), C.CreateSub(End, Begin), C.plus(I, Row),
            C.plus(X.J, Begin), Add);
      });
    });
  }

  // The offsets of one block after the other; Body gets its place in the part.
  void rowBlocks(Value *I, Value *Count, Value *AreNew,
                 function_ref<void(Value *, Value *)> Body) {
    C.loop(C.number(0), Count, BlockM, [&](Value *At) {
      Value *Some = C.least(BlockM, C.CreateSub(Count, At));
      C.when(AreNew, [&] { fill(AXIS_M, Rows, C.plus(I, At), Some); });
      Body(At, Some);
    });
  }

  // The tables of rows and steps, and in0's panels, are those of the columns
  // before where they are not new.
  void stepBlocks(Value *I, Value *Rows, Value *Columns, Value *AreNew) {
    Value *K = R[AXIS_K].Extent;
    C.loop(C.number(0), K, BlockK, [&](Value *P) {
      Value *Count = C.least(BlockK, C.CreateSub(K, P));
      C.when(AreNew, [&] { fill(AXIS_K, Steps, P, Count); });
      packColumns(Columns, Count);
      Value *IsFurther =
          C.CreateZExt(C.CreateICmpSGT(P, C.number(0)), C.getInt64Ty());
      Value *Add =
          KeepsSums || Scales ? IsFurther : C.CreateOr(IsFurther, Accumulate);
      rowBlocks(I, Rows, AreNew, [&](Value *At, Value *Some) {
        ifAny({At, Some, C.number(0), Columns}, [&] {
          multiply({At, Some, Columns, Count, Add,
                    rowsAsPacked(Some, Count, AreNew)});
        });
      });
    });
  }

  // Panels of rows: Body gets the first row, and which height is the least
  // that holds as many as are left.
  void panels(Value *Count, function_ref<void(Value *, Value *)> Body) {
    C.walk(C.number(0), Count, [&](Value *I) {
      Body(I, leastHeight(C.CreateSub(Count, I), C.number(0)));
      return panelRows(); // what is lower is the last one
    });
  }

  // Which one holds so many rows; where none is lower, the given one.
  Value *leastHeight(Value *Rows, Value *Which) {
    for (int H = 1; H < TEIR_CPU_HEIGHTS; H++)
      Which =
          C.CreateSelect(C.CreateICmpSLE(Rows, height(H)), C.number(H), Which);
    return Which;
  }

  // That are packed at a time where they are not adjacent.
  int someSteps() { return Dot.step > 16 ? Dot.step : 16; }

  // All panels of a block of an input, whose rows (or columns) are Count.
  struct Block {
    int T;
    axis_role Role;
    const Table &X;
    Kept Height; // of a panel
    Value *Count, *To, *K;
  };

  // Where steps are not adjacent, they are packed some at a time: what lies
  // beside a step's elements is in the next panel, or in one that comes while a
  // cache has the line.
  // (Transposing must go on to the end: it writes more than a step's rows.)
  void pack(const Block &B) {
    if (!TablesSteps) { // they are adjacent in a row, or rows in a step
      packSteps(B, C.number(0), B.K);
      return;
    }
    Value *Size = C.number(dtype_bytes(W.In[B.T]));
    Value *InLines = C.CreateOr(C.CreateICmpEQ(stride(AXIS_K, B.T), Size),
                                C.CreateICmpEQ(next(AXIS_K, B.T), Size));
    Value *Some = C.CreateSelect(InLines, B.K, C.number(someSteps()));
    assert(someSteps() % Dot.step == 0);
    C.loop(C.number(0), B.K, Some, [&](Value *P) {
      packSteps(B, P, C.least(Some, C.CreateSub(B.K, P)));
    });
  }

  void packSteps(const Block &B, Value *P, Value *Count) {
    Value *First = C.plus(steps(P), startRows(B.T));
    C.walk(C.number(0), B.Count, [&](Value *I) {
      Value *At =
          C.at(B.To, C.plus(panelBytes(B.T, I, B.K),
                            C.times(First, C.times(B.Height, stepBytes(B.T)))));
      if (B.T != IN1 || !driverCrosses(U, W)) {
        packPanel(B, I, At, P, Count);
        return (Value *)B.Height;
      }
      Value *Crossed = crossed(B, I, At, P, Count);
      Value *IsNone = C.CreateICmpEQ(Crossed, C.number(0));
      C.when(IsNone, [&] { packPanel(B, I, At, P, Count); });
      return C.CreateSelect(IsNone, B.Height, Crossed);
    });
  }

  // How many columns are packed by runs across panels.
  Value *crossed(const Block &B, Value *I, Value *At, Value *P, Value *Count) {
    Value *Size = C.number(dtype_bytes(W.In[B.T]));
    Value *Crosses = C.CreateAnd(C.CreateICmpNE(stride(B.Role, B.T), Size),
                                 C.CreateICmpEQ(next(B.Role, B.T), Size));
    return C.choose(Crosses, {C.number(0)}, [&] {
      return Code::Values{
          callPart(C, Parts, CpuCross, crossType(U),
                   {At, panelBytes(B.T, B.Height, B.K), base(B.T),
                    offsets(B.X, B.T, I), C.at(B.X.Runs, C.times(I, 8)),
                    C.CreateSub(B.Count, I), offsets(Steps, B.T, P), Count})};
    })[0];
  }

  void packPanel(const Block &B, Value *I, Value *At, Value *P, Value *Count) {
    CpuPanel Panel = driverPanel(U, W, B.T);
    Code::Values Given = {At,
                          base(B.T),
                          offsets(B.X, B.T, I),
                          C.at(B.X.Runs, C.times(I, 8)),
                          offsets(Steps, B.T, P),
                          C.at(Steps.Runs, C.times(P, 8)),
                          Count,
                          stride(B.Role, B.T),
                          stride(AXIS_K, B.T)};
    if (Panel.Limits) {
      int First = (int)W.firstLimit(B.T);
      Given.append({offsets(B.X, First, I), C.times(B.X.Capacity, 8),
                    offsets(Steps, First, P), C.times(Steps.Capacity, 8),
                    C.at(Bases, 8 * First)});
      if (Panel.Filled)
        Given.push_back(base((int)TENSORS + W.Fills[B.T]));
    }
    callPart(C, Parts, B.T == IN0 ? CpuPack0 : CpuPack1, packType(U, Panel),
             Given);
    bool Lines = B.T == IN0 && teir_cpu_is_tiled(Dot.op);
    if (Dot.step != Panel.Group && !Lines)
      fillUp(At, C.times(B.Height, 4), Count);
  }

  // Zeros behind the groups of K elements, to a whole step of a kernel.
  void fillUp(Value *Panel, Value *GroupBytes, Value *K) {
    Value *Used = C.divideUp(K, C.number(Dot.group));
    Value *All = C.times(steps(K), Dot.step / Dot.group);
    C.when(C.CreateICmpSLT(Used, All), [&] {
      C.CreateMemSet(C.at(Panel, C.times(Used, GroupBytes)), C.getInt8(0),
                     C.times(C.CreateSub(All, Used), GroupBytes), Align(4));
    });
  }

  void packColumns(Value *Count, Value *K) {
    pack({IN1, AXIS_N, Columns, keep(panelColumns()), Count, In1, K});
    if (!Dot.offset)
      return;
    C.loop(C.number(0), Count, panelColumns(), [&](Value *J) {
      callPart(C, Parts, CpuStart, startType(U),
               {C.at(In1, panelBytes(IN1, J, K)), steps(K)});
    });
  }

  void packRows(Value *Count, Value *K) {
    pack({IN0, AXIS_M, Rows, keep(panelRows()), Count, In0, K});
  }

  // Panels of in0: where the first one is, and how far apart rows of the block
  // are; within a panel, how far rows and steps are.
  struct Panels {
    Value *First, *Rows, *Row, *Step;
  };
  Panels rowsAsPacked(Value *Count, Value *K, Value *AreNew) {
    int Step = stepBytes(IN0);
    Panels P = {In0, C.times(steps(K), Step), C.number(Step),
                C.times(panelRows(), Step)};
    if (!teir_cpu_is_tiled(Dot.op) || W.Limits[IN0]) {
      C.when(AreNew, [&] { packRows(Count, K); });
      return P;
    }
    Value *Lie = lieAsTiles(Count, K), *Stride = stride(AXIS_M, IN0);
    C.when(C.CreateAnd(AreNew, C.CreateNot(Lie)), [&] { packRows(Count, K); });
    auto Move = [&](const Table &X) {
      return C.getNumber(offsets(X, IN0, C.number(0)), (int64_t)0);
    };
    Value *Place = C.at(base(IN0), C.plus(Move(Rows), Move(Steps)));
    return {C.CreateSelect(Lie, Place, P.First),
            C.CreateSelect(Lie, Stride, P.Rows),
            C.CreateSelect(Lie, Stride, P.Row),
            C.CreateSelect(Lie, P.Row, P.Step)};
  }

  // Tiles have 16 rows of whole steps, which in0 may have as it lies.
  Value *lieAsTiles(Value *Count, Value *K) {
    auto Whole = [&](Value *X, int64_t Unit) {
      return C.CreateICmpEQ(C.CreateAnd(X, C.number(Unit - 1)), C.number(0));
    };
    auto Runs = [&](const Table &X, Value *Count) {
      return C.CreateICmpSGE(C.getNumber(X.Runs, (int64_t)0), Count);
    };
    Value *Adjacent =
        C.CreateICmpEQ(stride(AXIS_K, IN0), C.number(dtype_bytes(W.In[IN0])));
    return C.CreateAnd({Whole(Count, TEIR_CPU_TILE_ROWS), Whole(K, Dot.step),
                        Adjacent, Runs(Rows, Count), Runs(Steps, K)});
  }

  // I: its first row in the table.
  void store(Value *From, Value *Stride, const Piece &X, Value *I,
             Value *Add = nullptr) {
    if (W.Partial)
      storePart(From, Stride, X, I, Add);
    else
      storeAll(From, Stride, X.Rows, X.Columns, I, X.J, Add);
  }

  void storeAll(Value *From, Value *Stride, Value *Rows, Value *Columns,
                Value *I, Value *J, Value *Add) {
    Value *IsAdjacent = C.CreateZExt(isAdjacent(), C.getInt64Ty());
    callPart(C, Parts, CpuStore, storeType(U),
             {From, Stride, Rows, Columns, Bases, offsets(this->Rows, 0, I),
              C.times(this->Rows.Capacity, 8), offsets(this->Columns, 0, J),
              C.times(this->Columns.Capacity, 8),
              C.at(this->Columns.Runs, C.times(J, 8)), Add ? Add : Accumulate,
              IsAdjacent});
  }

  // The result's elements along the innermost axis of N.
  Value *isAdjacent() {
    return C.CreateICmpEQ(stride(AXIS_N, OUT), C.number(dtype_bytes(W.Out)));
  }

  // One of registers, by the kernel of its height; Given is what those of
  // multiplyFunction get.  Sums of single elements have kernels that small
  // products share.
  void block(Value *Which, Value *Height, ArrayRef<Value *> Given) {
    Value *Place = C.at(Parts, C.times(Which, 8));
    auto Packed = [&] {
      callPart(C, Place, CpuKernels, multiplyType(U, Dot, Scales), Given);
    };
    if (Dot.op != CPU_OP_NONE) {
      Packed();
      return;
    }
    C.when(C.CreateICmpEQ(Which, C.number(0)), Packed, [&] {
      Code::Values Direct = {Given[0],        Given[1],
                             C.number(Bytes), C.times(panelRows(), Bytes),
                             Given[2],        C.times(panelColumns(), Bytes),
                             Given[3],        Given[4],
                             Height,          panelColumns(),
                             Given[5]};
      if (Scales)
        Direct.push_back(Given.back());
      callPart(C, Place, CpuKernels, directType(U, Scales), Direct);
    });
  }

  // How far a kernel's step goes in the next panel of in1, so that the panels
  // of in0 together ask for all of it.
  Value *aheadBytes(Value *Count) {
    return C.divideUp(C.times(panelColumns(), stepBytes(IN1)),
                      C.divideUp(Count, panelRows()));
  }

  Value *heightOf(Value *Which) {
    return C.getNumber(C.at(Parts, C.times(Which, 8)), CpuParts + CpuHeights);
  }

  // Behind that of column J, or the first one, for the next rows.
  Value *nextPanel(Value *J, Value *Count, Value *K) {
    Value *Next = C.plus(J, panelColumns());
    Value *IsOne = C.CreateICmpSLT(Next, Count);
    return C.at(In1,
                panelBytes(IN1, C.CreateSelect(IsOne, Next, C.number(0)), K));
  }

  // Rows, the first of which is At of the part, by columns.
  struct Product {
    Value *At, *Count, *ColumnCount, *K, *Add;
    const Panels &Rows0;
  };

  // All panels of in0 by one of in1 after the other; where tiles are, all of
  // in1 by one of in0, whose rows lie apart: so it stays in the first cache,
  // and the result is written along its rows.
  void multiply(const Product &X) {
    auto Columns = [&](function_ref<void(Value *)> Body) {
      C.loop(C.number(0), X.ColumnCount, panelColumns(), Body);
    };
    if (teir_cpu_is_tiled(Dot.op)) {
      panels(X.Count, [&](Value *I, Value *Which) {
        Columns([&](Value *J) {
          multiplyPanels(X, I, Which, J, {X.Rows0.Row, X.Rows0.Step});
        });
      });
      return;
    }
    Value *AheadBytes = aheadBytes(X.Count);
    Columns([&](Value *J) {
      Value *Next = nextPanel(J, X.ColumnCount, X.K);
      panels(X.Count, [&](Value *I, Value *Which) {
        Value *Before = C.CreateUDiv(I, panelRows());
        Value *Asked = C.times(C.times(Before, steps(X.K)), AheadBytes);
        multiplyPanels(X, I, Which, J, {C.at(Next, Asked), AheadBytes});
      });
    });
  }

  // Last: what a kernel gets behind all others.
  void multiplyPanels(const Product &X, Value *I, Value *Which, Value *J,
                      std::pair<Value *, Value *> Last) {
    Value *Panel0 = C.at(X.Rows0.First, C.times(I, X.Rows0.Rows));
    if (W.Partial)
      C.when(partial().hasAny(inResult(blockOf(X, I, Which, J))),
             [&] { multiplyPart(X, I, Which, J, Panel0, Last); });
    else
      multiplyBlock(X, I, Which, J, Panel0, Last);
  }

  // Rows of single elements of which few have some columns get a lower kernel.
  void multiplyPart(const Product &X, Value *I, Value *Which, Value *J,
                    Value *Panel0, std::pair<Value *, Value *> Last) {
    if (Dot.op != CPU_OP_NONE)
      return multiplyBlock(X, I, Which, J, Panel0, Last);
    CpuPartial::Range Has = partial().rows(inResult(blockOf(X, I, Which, J)));
    Which = leastHeight(C.CreateSub(Has.second, Has.first), Which);
    Value *Above =
        C.least(Has.first, C.CreateSub(panelRows(), heightOf(Which)));
    multiplyBlock(X, C.plus(I, Above), Which, J,
                  C.at(Panel0, C.times(Above, Bytes)), Last);
  }

  Piece blockOf(const Product &X, Value *I, Value *Which, Value *J) {
    Value *Rows = C.least(heightOf(Which), C.CreateSub(X.Count, I));
    return {C.plus(X.At, I), Rows, J, columnsFrom(X, J)};
  }

  Value *columnsFrom(const Product &X, Value *J) { // of a panel
    return C.least(panelColumns(), C.CreateSub(X.ColumnCount, J));
  }

  void multiplyBlock(const Product &X, Value *I, Value *Which, Value *J,
                     Value *Panel0, std::pair<Value *, Value *> Last) {
    Value *Panel1 = C.at(In1, panelBytes(IN1, J, X.K));
    Value *Height = heightOf(Which);
    auto To = [&](Value *Place, Value *Stride, Value *Add, Value *By) {
      Code::Values Given = {steps(X.K), Panel0, Panel1,     Place,
                            Stride,     Add,    Last.first, Last.second};
      if (Scales)
        Given.push_back(By);
      block(Which, Height, Given);
    };
    if (KeepsSums) {
      Value *Row = C.times(C.plus(X.At, I), BlockN);
      To(C.at(Sums, C.times(C.plus(Row, J), Bytes)), C.times(BlockN, Bytes),
         X.Add, nullptr);
      return;
    }
    Value *Whole = C.CreateAnd(
        isAdjacent(),
        C.CreateAnd(
            C.CreateICmpSGE(C.getNumber(Columns.Runs, J), panelColumns()),
            C.CreateICmpSGE(C.getNumber(Rows.Runs, I), Height)));
    if (W.Partial)
      Whole = C.CreateAnd(Whole,
                          partial().hasAll(inResult(blockOf(X, I, Which, J))));
    Value *Row =
        C.at(base(OUT), C.getNumber(offsets(Rows, OUT, I), (int64_t)0));
    Value *Place = C.at(Row, C.getNumber(offsets(Columns, OUT, J), (int64_t)0));
    Value *Stride = C.times(panelColumns(), Bytes);
    Value *Add = X.Add, *By = nullptr;
    if (Scales) {
      Value *IsFirst = C.CreateICmpEQ(X.Add, C.number(0));
      Add = C.CreateSelect(IsFirst, AddsFirst, X.Add);
      By = C.CreateSelect(IsFirst, factors(0), factors(CpuFurther));
      By = C.CreateSelect(Whole, By, factors(CpuPlain));
    }
    To(C.CreateSelect(Whole, Place, Sums),
       C.CreateSelect(Whole, stride(AXIS_M, OUT), Stride),
       C.CreateSelect(Whole, Add, C.number(0)), By);
    C.when(C.CreateNot(Whole),
           [&] { store(Sums, Stride, blockOf(X, I, Which, J), I, X.Add); });
  }
};

} // namespace

// What processors pack alike, if others do.
static std::string packedName(const teir_cpu_dot &D) {
  if (teir_cpu_is_tiled(D.op))
    return "";
  if (D.op == CPU_OP_NONE)
    return "any.";
  std::string Name;
  for (int T : {IN0, IN1})
    Name += dtype_name(D.packed[T]) + std::string(".");
  return Name + "step" + std::to_string(D.step) + ".";
}

CpuCode driverCode(CpuUnit &U, const CpuWork &W) {
  struct teir_cpu_dot Dot = dotOf(U, W);
  bool IsNew, IsTiled = teir_cpu_is_tiled(Dot.op);
  Function *F = (IsTiled ? U : *U.Common)
                    .function("driver." + packedName(Dot) + W.kind() +
                                  (tablesSteps(U, W) ? "" : ".straight") +
                                  (isScaledPacked(U, W) ? ".scaled" : ""),
                              Type::getInt64Ty(U.context()), "pp", IsNew);
  // Its loops are around much work, and it is half of the time that generating
  // code would take.
  if (IsNew) {
    CpuUnit::compileFast(*F);
    Driver(U, W, *F).emit();
  }
  return {F, true};
}

} // namespace nputeir
