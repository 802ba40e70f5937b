// lower_cpu_pack.cpp -- panels for the kernels, straight from the program's
// layout: Rows rows become adjacent, step by step along the columns (which is
// K), and are converted to the type of the sums.
//
//   rows adjacent      each step is one vector, or one of each run of rows
//   columns adjacent   squares of 128 bits are transposed, in all lanes at once
//   neither            element by element, by offsets
//
// The same holds for groups of columns, which are packed as one element.
//
// Nothing is read but the rows' elements: offsets behind the last row repeat
// its own.  (Limits: lower_cpu_limits.cpp.)
#include "lower_cpu_packer.h"

using namespace llvm;

namespace nputeir {

// In every 128 bits: elements `Wide` at a time from the low (high) halves of X
// and Y, in turns.
static Value *interleave(Code &C, Value *X, Value *Y, int Square, int Wide,
                         bool High) {
  SmallVector<int, 32> Mask;
  int Count = (int)cast<FixedVectorType>(X->getType())->getNumElements();
  for (int Lane = 0; Lane < Count; Lane += Square)
    for (int I = 0; I < Square; I += 2 * Wide)
      for (int Side = 0; Side < 2; Side++)
        for (int W = 0; W < Wide; W++)
          Mask.push_back(Lane + (High ? Square / 2 : 0) + I / 2 + W +
                         Side * Count);
  return C.CreateShuffleVector(X, Y, Mask);
}

SmallVector<Value *, 4> transposed(Code &C, ArrayRef<Value *> V) {
  int Square = (int)V.size();
  assert(Square == 2 || Square == 4);
  auto Mix = [&](Value *X, Value *Y, int Wide, bool High) {
    return interleave(C, X, Y, Square, Wide, High);
  };
  if (Square == 2)
    return {Mix(V[0], V[1], 1, false), Mix(V[0], V[1], 1, true)};
  Value *Low0 = Mix(V[0], V[1], 1, false), *High0 = Mix(V[0], V[1], 1, true);
  Value *Low1 = Mix(V[2], V[3], 1, false), *High1 = Mix(V[2], V[3], 1, true);
  return {Mix(Low0, Low1, 2, false), Mix(Low0, Low1, 2, true),
          Mix(High0, High1, 2, false), Mix(High0, High1, 2, true)};
}

namespace {

class Packer : PackCode {
  int Square;   // rows and columns that are transposed together
  int Columned; // vectors, each of which holds some of the rows
  int Lanes;    // squares in a vector

public:
  Packer(CpuUnit &U, const CpuPanel &P, Function &F)
      : PackCode(U, P, F), Square(16 / Bytes) {
    int Squares = (Rows + Square - 1) / Square;
    Lanes = U.Cpu.vector_bytes / 16;
    while (Lanes > 1 && Lanes / 2 >= Squares)
      Lanes /= 2;
    Columned = (Squares + Lanes - 1) / Lanes;
  }

  void emit() {
    Value *InRuns = C.CreateICmpEQ(RowStride, C.number(FromBytes));
    Value *IsOne =
        C.CreateICmpSGE(C.getNumber(RowRuns, (int64_t)0), C.number(Rows));
    Value *Adjacent = C.CreateAnd(InRuns, IsOne);
    Value *Along = C.CreateICmpEQ(ColumnStride, C.number(FromBytes));
    if (P.Group > 1)
      groups(InRuns, Adjacent, Along);
    else
      singles(InRuns, Adjacent, Along);
    C.CreateRetVoid();
  }

private:
  void singles(Value *InRuns, Value *Adjacent, Value *Along) {
    if (P.Lies != CpuLies::Any) {
      plain(Adjacent, C.getNumber(ColumnOffsets, (int64_t)0));
      return;
    }
    C.walk(C.number(0), Columns, [&](Value *K) {
      Value *Run = C.choose(Along, {runFrom(K)},
                            [&] { return Code::Values{longRun(K)}; })[0];
      Value *Place = C.getNumber(ColumnOffsets, K);
      Value *Panel = C.at(To, C.times(K, Rows * Bytes));
      Value *Crossing = crosses(K, Run);
      Value *Crosses = C.CreateNot(C.CreateOr(Adjacent, Along));
      if (Masks)
        Crosses = C.CreateAnd(Crosses, C.CreateNot(InRuns));
      Crosses = C.CreateAnd(Crosses, Crossing);
      C.when(
          Adjacent, [&] { copy(Panel, C.at(row(C.number(0)), Place), Run); },
          [&] {
            Value *Count =
                C.CreateSelect(Along, C.CreateUDiv(Run, C.number(Square)),
                               C.CreateSelect(Crosses, Run, C.number(0)));
            Value *Step = C.number(Rows * Bytes);
            Squares S = {Count,
                         C.CreateSelect(Along, C.number(Square * FromBytes),
                                        ColumnStride),
                         C.CreateSelect(Along, C.times(Step, Square), Step),
                         C.CreateSelect(Along, Step, C.times(Step, Run))};
            transpose(Panel, Place, S);
            Value *Whole = C.CreateSelect(Along, C.times(Count, Square), Count);
            if (!Masks) {
              gather(Panel, Place, Whole, Run);
              return;
            }
            C.when(
                InRuns, [&] { copyRuns(K, Place, Whole, Run); },
                [&] { gather(Panel, Place, Whole, Run); });
          });
      return C.CreateSelect(Crosses, C.times(Run, Square), Run);
    });
  }

  // The columns are one run; adjacent along them, or along the rows, of which
  // there may be less than a panel has.
  void plain(Value *Adjacent, Value *Place) {
    Value *None = C.number(0);
    if (P.Lies == CpuLies::Steps) {
      Value *Step = C.number(Rows * Bytes);
      Value *Count = C.CreateUDiv(Columns, C.number(Square));
      transpose(
          To, Place,
          {Count, C.number(Square * FromBytes), C.times(Step, Square), Step});
      gather(To, Place, C.times(Count, Square), Columns);
      return;
    }
    Value *First = C.at(row(None), Place);
    if (Masks) {
      Value *Count = C.least(C.getNumber(RowRuns, None), C.number(Rows));
      copy(To, First, Columns, C.firstLanes((unsigned)Rows, FromBytes, Count));
      return;
    }
    C.when(
        Adjacent, [&] { copy(To, First, Columns); },
        [&] { gather(To, Place, None, Columns); });
  }

  // Are columns from K on as many runs as a square has columns, each a column
  // behind the other?
  // (Squares must not write more than the rows.)
  Value *crosses(Value *K, Value *Run) {
    if (Rows % (Square * Lanes) != 0)
      return C.getFalse();
    Value *All = C.CreateICmpSLE(C.plus(K, C.times(Run, Square)), Columns);
    Value *First = C.getNumber(ColumnOffsets, K);
    for (int J = 1; J < Square; J++) {
      Value *At = behind(K, C.times(Run, J));
      Value *Offset = C.CreateSub(C.getNumber(ColumnOffsets, At), First);
      All = C.CreateAnd(
          All, C.CreateAnd(C.CreateICmpEQ(C.getNumber(Runs, At), Run),
                           C.CreateICmpEQ(Offset, C.number(J * FromBytes))));
    }
    return All;
  }

  void groups(Value *InRuns, Value *Adjacent, Value *Along) {
    if (P.Lies == CpuLies::Steps) {
      groupsAlong(C.getTrue());
      return;
    }
    Value *None = C.number(0), *Mask = nullptr;
    if (Masks) {
      Value *Count = C.least(C.getNumber(RowRuns, None), C.number(Rows));
      Mask = C.firstLanes((unsigned)Rows, FromBytes, Count);
      Adjacent = C.CreateOr(Adjacent, C.CreateAnd(InRuns, endsAt(Count)));
    }
    if (Masks && P.Lies == CpuLies::Rows) {
      groupsAdjacent(Mask);
      return;
    }
    C.when(
        Adjacent, [&] { groupsAdjacent(Mask); },
        [&] {
          if (P.Lies == CpuLies::Any)
            groupsAlong(Along);
          else
            collectFrom(None);
        });
  }

  // Has a panel so many rows, and behind them no run?
  Value *endsAt(Value *Count) {
    Value *Next = C.getNumber(RowRuns, C.least(Count, C.number(Rows - 1)));
    return C.CreateICmpSLE(Next, C.number(0));
  }

  void groupsAdjacent(Value *Mask) {
    Value *Whole = C.CreateAnd(Columns, C.number(-P.Group));
    Value *Row = row(C.number(0));
    SmallVector<Value *, 8> ByColumn((size_t)P.Group, Mask);
    C.loop(C.number(0), Whole, C.number(P.Group),
           [&](Value *K) { weave(Row, K, ByColumn); });
    if (!Mask) {
      collectFrom(Whole);
      return;
    }
    C.when(C.CreateICmpSLT(Whole, Columns), [&] {
      Value *None = Constant::getNullValue(Mask->getType());
      for (int I = 0; I < P.Group; I++) {
        Value *Is = C.CreateICmpSLT(C.plus(Whole, I), Columns);
        ByColumn[(size_t)I] = C.CreateSelect(Is, Mask, None);
      }
      weave(Row, Whole, ByColumn);
    });
  }

  void groupsAlong(Value *Along) {
    Value *Zero = C.number(0);
    C.walk(Zero, Columns, [&](Value *K) {
      int Taken = Square * P.Group;
      Value *Whole = C.CreateAnd(longRun(K), C.number(-P.Group));
      Value *Last = C.plus(Whole, -Taken); // where the last square begins
      Whole = C.CreateSelect(C.CreateAnd(Along, C.CreateICmpSGE(Last, Zero)),
                             Whole, Zero);
      Value *Step = C.number(Rows * Bytes);
      transpose(step(K), C.getNumber(ColumnOffsets, K),
                {C.divideUp(Whole, C.number(Taken)),
                 C.number(Taken * FromBytes), C.times(Step, Square), Step,
                 C.times(Last, FromBytes),
                 C.times(C.divide(Last, C.number(P.Group)), Step)});
      Value *IsNone = C.CreateICmpEQ(Whole, Zero);
      C.when(IsNone, [&] { collect(K); });
      return C.CreateSelect(IsNone, C.number(P.Group), Whole);
    });
  }

  void collectFrom(Value *First) {
    C.loop(First, Columns, C.number(P.Group), [&](Value *K) { collect(K); });
  }

  // So many columns behind K, if that is one; else K: what stands behind the
  // tables' last run is not theirs.
  Value *behind(Value *K, Value *Count) {
    Value *At = C.plus(K, Count);
    return C.CreateSelect(C.CreateICmpSLT(At, Columns), At, K);
  }

  // Through the ends of axes, of columns that are adjacent.
  Value *longRun(Value *K) {
    Value *First = C.getNumber(ColumnOffsets, K);
    return C.settle(runFrom(K), [&](Value *Run) {
      Value *Next = behind(K, Run);
      Value *Place = C.CreateSub(C.getNumber(ColumnOffsets, Next), First);
      Value *Goes = C.CreateICmpEQ(Place, C.times(Run, FromBytes));
      return C.CreateSelect(Goes, C.plus(Run, runFrom(Next)), Run);
    });
  }

  // A group of each of the rows, which are adjacent in all its columns; of a
  // column, of those of its mask, behind which are zeros.
  void weave(Value *Row, Value *K, ArrayRef<Value *> ByColumn) {
    Value *Last = C.plus(Columns, -1);
    Type *T = FixedVectorType::get(Stored, (unsigned)Rows);
    SmallVector<Value *, 8> Parts;
    for (int I = 0; I < P.Group; I++) {
      Value *Column = I ? C.least(C.plus(K, I), Last) : K;
      Value *Place = C.at(Row, C.getNumber(ColumnOffsets, Column));
      Parts.push_back(converted(C.get(T, Place, ByColumn[(size_t)I])));
    }
    if (Bytes == 8) { // zips of registers, which wider elements are not
      C.put(interwoven(Parts), step(K));
      return;
    }
    Value *All = nullptr;
    for (int I = 0; I < P.Group; I++) {
      Value *Part = inGroup(Parts[(size_t)I], C.number(I));
      All = All ? C.CreateOr(All, Part) : Part;
    }
    C.put(All, step(K));
  }

  // The first elements of all, then the second ones, ..
  Value *interwoven(ArrayRef<Value *> V) {
    if (V.size() == 1)
      return V[0];
    SmallVector<Value *, 8> Half[2];
    for (size_t I = 0; I < V.size(); I++)
      Half[I % 2].push_back(V[I]);
    Value *Even = interwoven(Half[0]), *Odd = interwoven(Half[1]);
    int Count = (int)cast<FixedVectorType>(Even->getType())->getNumElements();
    SmallVector<int, 64> Mask;
    for (int I = 0; I < Count; I++)
      Mask.append({I, Count + I});
    return C.CreateShuffleVector(Even, Odd, Mask);
  }

  void collect(Value *K) {
    Value *Count = C.least(C.number(P.Group), C.CreateSub(Columns, K));
    Value *To = step(K), *Offsets = C.at(ColumnOffsets, C.times(K, 8));
    C.loop(C.number(0), C.number(Rows), C.number(1), [&](Value *I) {
      Value *Row = row(I);
      Value *All = C.carry(
          C.number(0), Count, C.number(1), {ConstantInt::get(word(), 0)},
          [&](Value *J, ArrayRef<Value *> Now) {
            Value *At = C.getNumber(Offsets, J);
            Value *V = converted(C.get(Stored, C.at(Row, At)));
            return Code::Values{C.CreateOr(Now[0], inGroup(V, J))};
          })[0];
      C.put(All, C.at(To, C.times(I, Bytes)));
    });
  }

  // Groups as one element each.
  Value *grouped(Value *V) {
    if (P.Group == 1)
      return V;
    unsigned Count = cast<FixedVectorType>(V->getType())->getNumElements();
    return C.CreateBitCast(
        V, FixedVectorType::get(word(), Count / (unsigned)P.Group));
  }

  // Of all rows, or of those of the mask, behind which are zeros.
  void copy(Value *Panel, Value *From, Value *Run, Value *Mask = nullptr) {
    Type *T = FixedVectorType::get(Stored, (unsigned)Rows);
    C.carry(C.number(0), Run, C.number(1), {Panel, From},
            [&](Value *, ArrayRef<Value *> Now) {
              C.put(converted(C.get(T, Now[1], Mask)), Now[0]);
              return Code::Values{C.at(Now[0], Rows * Bytes),
                                  C.at(Now[1], ColumnStride)};
            });
  }

  void copyRuns(Value *K0, Value *Place, Value *First, Value *Count) {
    Type *T = FixedVectorType::get(Stored, (unsigned)Rows);
    runs([&](const Run &R) {
      Value *From = C.at(C.at(R.From, Place), C.times(First, ColumnStride));
      Value *Panel = C.at(R.To, C.times(C.plus(K0, First), Rows * Bytes));
      C.carry(First, Count, C.number(1), {Panel, From},
              [&](Value *, ArrayRef<Value *> Now) {
                C.put(converted(C.get(T, Now[1], R.Read)), Now[0], R.Written);
                return Code::Values{C.at(Now[0], Rows * Bytes),
                                    C.at(Now[1], ColumnStride)};
              });
    });
  }

  void gather(Value *Panel, Value *Place, Value *First, Value *Run) {
    C.loop(First, Run, C.number(1), [&](Value *K) {
      Value *At = C.at(Source, C.plus(Place, C.times(K, ColumnStride)));
      Value *Step = C.at(Panel, C.times(K, Rows * Bytes));
      C.loop(C.number(0), C.number(Rows), C.number(1), [&](Value *I) {
        Value *Element = C.get(Stored, C.at(At, C.getNumber(RowOffsets, I)));
        C.put(converted(Element), C.at(Step, C.times(I, Bytes)));
      });
    });
  }

  Value *joined(SmallVector<Value *, 8> Parts) {
    while (Parts.size() > 1) {
      SmallVector<Value *, 8> Halves;
      for (size_t I = 0; I < Parts.size(); I += 2) {
        auto *T = cast<FixedVectorType>(Parts[I]->getType());
        SmallVector<int, 32> All;
        for (unsigned J = 0; J < 2 * T->getNumElements(); J++)
          All.push_back((int)J);
        Halves.push_back(C.CreateShuffleVector(Parts[I], Parts[I + 1], All));
      }
      Parts = Halves;
    }
    return Parts[0];
  }

  // So many squares of columns (of groups), so far apart in memory and in the
  // panel, where a square's columns are Apart.  The last one may begin within
  // the one before, so far behind the first.
  struct Squares {
    Value *Count, *Read, *Written, *Apart;
    Value *LastRead = nullptr, *LastWritten = nullptr;
  };

  // A store may write more than the rows.  The last vectors come first, so that
  // those of the next column write that again.
  void transpose(Value *Panel, Value *Place, const Squares &S) {
    Type *Part = FixedVectorType::get(Stored, (unsigned)(Square * P.Group));
    int Height = Square * Lanes;
    C.loop(C.number(0), C.number(Columned), C.number(1), [&](Value *Turn) {
      Value *First = C.times(C.CreateSub(C.number(Columned - 1), Turn), Height);
      SmallVector<Value *, 32> Row;
      for (int I = 0; I < Height; I++) {
        Value *Of = C.plus(First, I);
        if (Rows % Height != 0)
          Of = C.least(Of, C.number(Rows - 1));
        Row.push_back(C.at(row(Of), Place));
      }
      Value *Start = C.at(Panel, C.times(First, Bytes));
      C.carry(
          C.number(0), S.Count, C.number(1), Start,
          [&](Value *I, ArrayRef<Value *> Now) {
            Value *Step = Now[0], *Read = C.times(I, S.Read);
            if (S.LastRead) {
              Read = C.least(Read, S.LastRead);
              Step = C.at(Start, C.least(C.times(I, S.Written), S.LastWritten));
            }
            SmallVector<Value *, 4> Vector;
            for (int J = 0; J < Square; J++) {
              SmallVector<Value *, 8> Parts;
              for (int Lane = 0; Lane < Lanes; Lane++)
                Parts.push_back(
                    C.get(Part, C.at(Row[(size_t)(Lane * Square + J)], Read)));
              Vector.push_back(grouped(converted(joined(Parts))));
            }
            Vector = transposed(C, Vector);
            for (int J = 0; J < Square; J++)
              C.put(Vector[(size_t)J], C.at(Step, C.times(S.Apart, J)));
            return Code::Values{C.at(Step, S.Written)};
          });
    });
  }
};

} // namespace

const char *packArguments(const CpuPanel &P) {
  return !P.Limits  ? "ppppppiii"
         : P.Filled ? "ppppppiiipipipp"
                    : "ppppppiiipipip";
}

FunctionType *packType(CpuUnit &U, const CpuPanel &P) {
  return U.type(Type::getVoidTy(U.context()), packArguments(P));
}

Function *packFunction(CpuUnit &U, const CpuPanel &P) {
  bool IsNew;
  assert(!P.Flips || (dtype_bytes(P.From) == 1 && dtype_bytes(P.To) == 1));
  std::string Kind = std::string(dtype_name(P.From)) + "." + dtype_name(P.To);
  if (P.Group > 1)
    Kind += ".group" + std::to_string(P.Group) + (P.Flips ? ".offset" : "");
  std::string Name = "pack." + Kind + "." + std::to_string(P.Rows) + P.lies();
  Type *None = Type::getVoidTy(U.context());
  if (P.Limits) {
    CpuPanel All = P;
    All.Limits = 0;
    All.Filled = false;
    Function *F = U.function(Name + ".limits" + Twine(P.Limits) + P.fills(),
                             None, packArguments(P), IsNew);
    if (IsNew)
      packLimited(U, P, *F, packFunction(U, All));
    return F;
  }
  Function *F = U.function(Name, None, packArguments(P), IsNew);
  if (IsNew)
    Packer(U, P, *F).emit();
  return F;
}

} // namespace nputeir
