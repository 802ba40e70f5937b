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
// its own.  Where limits leave out elements, zeros are packed.
#include "lower_cpu.h"

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

class Packer {
protected:
  const CpuPanel &P;
  int Rows, FromBytes, Bytes;
  Code C;
  Type *Stored;
  Value *To, *Source, *RowOffsets, *RowRuns, *ColumnOffsets, *Runs, *Columns,
      *RowStride, *ColumnStride;
  int Square;   // rows and columns that are transposed together
  int Columned; // vectors, each of which holds some of the rows
  int Lanes;    // squares in a vector
  bool Masks;

public:
  Packer(CpuUnit &U, const CpuPanel &P, Function &F)
      : P(P), Rows(P.Rows), FromBytes(dtype_bytes(P.From)), Bytes(P.bytes()),
        C(F), Stored(storedType(F.getContext(), P.From)), To(C.argument(0)),
        Source(C.argument(1)), RowOffsets(C.argument(2)),
        RowRuns(C.argument(3)), ColumnOffsets(C.argument(4)),
        Runs(C.argument(5)), Columns(C.argument(6)), RowStride(C.argument(7)),
        ColumnStride(C.argument(8)), Square(16 / Bytes) {
    int Squares = (Rows + Square - 1) / Square;
    Lanes = U.Cpu.vector_bytes / 16;
    while (Lanes > 1 && Lanes / 2 >= Squares)
      Lanes /= 2;
    Columned = (Squares + Lanes - 1) / Lanes;
    Masks = (Rows & (Rows - 1)) == 0 && teir_cpu_has_masks(&U.Cpu, P.From) &&
            teir_cpu_has_masks(&U.Cpu, P.To);
  }

  void emit() {
    Value *InRuns = C.CreateICmpEQ(RowStride, C.number(FromBytes));
    Value *IsOne =
        C.CreateICmpSGE(C.getNumber(RowRuns, (int64_t)0), C.number(Rows));
    Value *Adjacent = C.CreateAnd(InRuns, IsOne);
    Value *Along = C.CreateICmpEQ(ColumnStride, C.number(FromBytes));
    if (P.Group > 1)
      groups(Adjacent, Along);
    else
      singles(InRuns, Adjacent, Along);
    C.CreateRetVoid();
  }

protected:
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
    C.when(
        Adjacent, [&] { copy(To, C.at(row(None), Place), Columns); },
        [&] {
          if (Masks)
            copyRuns(None, Place, None, Columns);
          else
            gather(To, Place, None, Columns);
        });
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
      Value *At = C.least(C.plus(K, C.times(Run, J)), C.plus(Columns, -1));
      Value *Offset = C.CreateSub(C.getNumber(ColumnOffsets, At), First);
      All = C.CreateAnd(
          All, C.CreateAnd(C.CreateICmpEQ(C.getNumber(Runs, At), Run),
                           C.CreateICmpEQ(Offset, C.number(J * FromBytes))));
    }
    return All;
  }

  void groups(Value *Adjacent, Value *Along) {
    if (P.Lies == CpuLies::Steps)
      groupsAlong(C.getTrue());
    else
      C.when(
          Adjacent,
          [&] { groupsAdjacent(C.CreateAnd(Columns, C.number(-P.Group))); },
          [&] {
            if (P.Lies == CpuLies::Any)
              groupsAlong(Along);
            else
              collectFrom(C.number(0));
          });
  }

  void groupsAdjacent(Value *Whole) {
    Value *Row = row(C.number(0));
    C.loop(C.number(0), Whole, C.number(P.Group),
           [&](Value *K) { weave(Row, K); });
    collectFrom(Whole);
  }

  void groupsAlong(Value *Along) {
    Value *Zero = C.number(0);
    C.walk(Zero, Columns, [&](Value *K) {
      Value *Run = longRun(K);
      Value *Whole = C.CreateSelect(
          Along, C.CreateAnd(Run, C.number(-Square * P.Group)), Zero);
      int Taken = Square * P.Group;
      transpose(step(K), C.getNumber(ColumnOffsets, K),
                {C.CreateUDiv(Whole, C.number(Taken)),
                 C.number(Taken * FromBytes), C.number(Square * Rows * Bytes),
                 C.number(Rows * Bytes)});
      Value *IsNone = C.CreateICmpEQ(Whole, Zero);
      C.when(IsNone, [&] { collect(K); });
      return C.CreateSelect(IsNone, C.number(P.Group), Whole);
    });
  }

  void collectFrom(Value *First) {
    C.loop(First, Columns, C.number(P.Group), [&](Value *K) { collect(K); });
  }

  // Along an axis.
  Value *runFrom(Value *K) {
    return C.least(C.getNumber(Runs, K), C.CreateSub(Columns, K));
  }

  // Through the ends of axes, of columns that are adjacent.
  Value *longRun(Value *K) {
    Value *First = C.getNumber(ColumnOffsets, K), *Last = C.plus(Columns, -1);
    return C.settle(runFrom(K), [&](Value *Run) {
      Value *Next = C.least(C.plus(K, Run), Last);
      Value *Place = C.CreateSub(C.getNumber(ColumnOffsets, Next), First);
      Value *Goes = C.CreateICmpEQ(Place, C.times(Run, FromBytes));
      return C.CreateSelect(Goes, C.plus(Run, runFrom(Next)), Run);
    });
  }

  // Where column K's group is packed.
  Value *step(Value *K) {
    return C.at(To, C.times(C.CreateUDiv(K, C.number(P.Group)), Rows * Bytes));
  }

  // Element I of a group, or of several.
  Value *inGroup(Value *V, Value *I) {
    auto *Shape = dyn_cast<FixedVectorType>(V->getType());
    Type *T = word();
    Value *By = C.CreateZExtOrTrunc(C.times(I, 8 * dtype_bytes(P.To)), T);
    if (Shape) {
      T = FixedVectorType::get(T, Shape->getNumElements());
      By = C.CreateVectorSplat(Shape->getNumElements(), By);
    }
    return C.CreateShl(C.CreateZExt(V, T), By);
  }

  // Of a group.
  Type *word() { return C.getIntNTy((unsigned)(8 * Bytes)); }

  // A group of each of the rows, which are adjacent in all its columns.
  void weave(Value *Row, Value *K) {
    Type *T = FixedVectorType::get(Stored, (unsigned)Rows);
    SmallVector<Value *, 8> Parts;
    for (int I = 0; I < P.Group; I++) {
      Value *Place = C.at(Row, C.getNumber(ColumnOffsets, C.plus(K, I)));
      Parts.push_back(converted(C.get(T, Place)));
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

  Value *row(Value *I) { return C.at(Source, C.getNumber(RowOffsets, I)); }

  // Of a group, as it is stored.
  Value *converted(Value *V) {
    if (P.Group > 1 && P.From == P.To)
      return V;
    if (P.Flips)
      return C.CreateXor(V, ConstantInt::get(V->getType(), 0x80));
    return convert(C, P.From, P.To, fromStored(C, P.From, V));
  }

  // Groups as one element each.
  Value *grouped(Value *V) {
    if (P.Group == 1)
      return V;
    unsigned Count = cast<FixedVectorType>(V->getType())->getNumElements();
    return C.CreateBitCast(
        V, FixedVectorType::get(word(), Count / (unsigned)P.Group));
  }

  void copy(Value *Panel, Value *From, Value *Run) {
    Type *T = FixedVectorType::get(Stored, (unsigned)Rows);
    C.carry(C.number(0), Run, C.number(1), {Panel, From},
            [&](Value *, ArrayRef<Value *> Now) {
              C.put(converted(C.get(T, Now[1])), Now[0]);
              return Code::Values{C.at(Now[0], Rows * Bytes),
                                  C.at(Now[1], ColumnStride)};
            });
  }

  // Rows that are adjacent, from First on: what a vector reads from From, in
  // each column, and writes to To, a row of the panel.
  struct Run {
    Value *First, *Count, *From, *To, *Read, *Written;
  };

  // Behind the last row, zeros: it has no run.
  void runs(function_ref<void(const Run &)> Body) {
    C.walk(C.number(0), C.number(Rows), [&](Value *I) {
      Value *Left = C.CreateSub(C.number(Rows), I);
      Value *Count = C.least(C.getNumber(RowRuns, I), Left);
      Value *Width =
          C.CreateSelect(C.CreateICmpSGT(Count, C.number(0)), Count, Left);
      Body({I, Count, row(I), C.at(To, C.times(I, Bytes)),
            C.firstLanes((unsigned)Rows, FromBytes, Count),
            C.firstLanes((unsigned)Rows, Bytes, Width)});
      return Width;
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
  // panel, where a square's columns are Apart.
  struct Squares {
    Value *Count, *Read, *Written, *Apart;
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
      C.carry(C.number(0), S.Count, C.number(1), Start,
              [&](Value *I, ArrayRef<Value *> Now) {
                Value *Step = Now[0], *Read = C.times(I, S.Read);
                SmallVector<Value *, 4> Vector;
                for (int J = 0; J < Square; J++) {
                  SmallVector<Value *, 8> Parts;
                  for (int Lane = 0; Lane < Lanes; Lane++)
                    Parts.push_back(C.get(
                        Part, C.at(Row[(size_t)(Lane * Square + J)], Read)));
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

// Rows in runs are read by masks, of the rows that are within the limits.  Else
// columns of which all rows are are packed as if there were none, and so are
// runs of columns that each row is within or without: rows without are packed
// as another one and cleared.  Of other columns each element asks.
class LimitedPacker : Packer {
  // Of columns, from which on a look at every row pays.
  enum : int64_t { LongRun = 8 };

  Function *Whole;
  Value *Offsets, *Within; // rows' of a run: where it reads; is it within?
  Value *RowParts, *RowsApart, *ColumnParts, *ColumnsApart, *Starts;
  SmallVector<Value *, 8> Least; // by limit: start + the least of the rows

public:
  LimitedPacker(CpuUnit &U, const CpuPanel &P, Function &F, Function *Whole)
      : Packer(U, P, F), Whole(Whole), RowParts(C.argument(9)),
        RowsApart(C.argument(10)), ColumnParts(C.argument(11)),
        ColumnsApart(C.argument(12)), Starts(C.argument(13)) {}

  void emit() {
    if (!Masks || P.Group > 1) {
      each();
    } else {
      Value *Parts =
          C.frame(C.getInt32Ty(), (uint64_t)(P.Limits * apart()), 64);
      Value *InRuns = C.CreateICmpEQ(RowStride, C.number(FromBytes));
      C.when(
          C.CreateAnd(InRuns, keepParts(Parts)), [&] { masked(Parts); },
          [&] { each(); });
    }
    C.CreateRetVoid();
  }

private:
  // ---- by masks ----

  // Of rows' parts, as numbers of 32 bits, for all limits; a vector of them may
  // begin at any row.
  int apart() { return 2 * Rows; }

  // Are they as small?
  Value *keepParts(Value *Parts) {
    enum : int64_t { Large = 1 << 30 };
    Value *Small = C.getTrue();
    for (int L = 0; L < P.Limits; L++)
      Small = C.carry(C.number(0), C.number(Rows), C.number(1), {Small},
                      [&](Value *I, ArrayRef<Value *> Now) {
                        Value *Sum = rowSum(L, I);
                        C.put(C.CreateTrunc(Sum, C.getInt32Ty()),
                              C.at(Parts, C.times(C.plus(I, L * apart()), 4)));
                        Value *Is = C.CreateICmpULT(C.plus(Sum, Large),
                                                    C.number(2 * Large));
                        return Code::Values{C.CreateAnd(Now[0], Is)};
                      })[0];
    return Small;
  }

  void masked(Value *Parts) {
    Type *PartType = FixedVectorType::get(C.getInt32Ty(), (unsigned)Rows);
    runs([&](const Run &R) {
      SmallVector<Value *, 8> Part, Smallest;
      for (int L = 0; L < P.Limits; L++) {
        Part.push_back(C.get(
            PartType, C.at(Parts, C.times(C.plus(R.First, L * apart()), 4))));
        Value *Of = C.CreateSelect(C.firstLanes((unsigned)Rows, 4, R.Count),
                                   Part.back(),
                                   ConstantInt::getSigned(PartType, INT32_MAX));
        Smallest.push_back(
            C.CreateSExt(C.CreateIntMinReduce(Of, true), C.getInt64Ty()));
      }
      C.loop(C.number(0), Columns, C.number(1), [&](Value *K) {
        C.when(
            holdAll(Smallest, K), [&] { column(R, K, R.Read); },
            [&] {
              Value *Read = R.Read;
              for (int L = 0; L < P.Limits; L++)
                Read = C.CreateAnd(Read, areWithin(Part[(size_t)L], L, K));
              column(R, K, Read);
            });
      });
    });
  }

  // Of a run.
  void column(const Run &R, Value *K, Value *Read) {
    Type *T = FixedVectorType::get(Stored, (unsigned)Rows);
    Value *From = C.at(R.From, C.getNumber(ColumnOffsets, K));
    C.put(converted(C.get(T, From, Read)), C.at(R.To, C.times(K, Rows * Bytes)),
          R.Written);
  }

  // Part + column K's part >= 0, where Part is small.
  Value *areWithin(Value *Part, int L, Value *K) {
    Value *Most = C.number(INT32_MAX);
    Value *Needs = C.least(C.CreateNeg(columnPart(L, K)), Most);
    Needs = C.CreateNeg(C.least(C.CreateNeg(Needs), Most));
    return C.CreateICmpSGE(
        Part, C.CreateVectorSplat((unsigned)Rows,
                                  C.CreateTrunc(Needs, C.getInt32Ty())));
  }

  // ---- others ----

  void each() {
    Offsets = C.frame(C.getInt64Ty(), (uint64_t)Rows, 8);
    Within = C.frame(C.getInt64Ty(), (uint64_t)Rows, 8);
    for (int L = 0; L < P.Limits; L++)
      Least.push_back(C.carry(
          C.number(1), C.number(Rows), C.number(1), {rowSum(L, C.number(0))},
          [&](Value *I, ArrayRef<Value *> Now) {
            return Code::Values{C.least(Now[0], rowSum(L, I))};
          })[0]);
    C.walk(C.number(0), Columns, [&](Value *K) {
      Value *Left = C.CreateSub(Columns, K);
      Value *Run = C.least(C.getNumber(Runs, K), Left);
      // Limits move evenly along a run; what follows it begins a group.
      Value *Some = C.CreateSelect(C.CreateICmpEQ(Run, Left), Run,
                                   C.CreateAnd(Run, C.number(-P.Group)));
      Value *Last = C.plus(K, C.plus(Run, -1));
      Value *Many = C.CreateAnd(C.CreateICmpSGT(Some, C.number(0)),
                                C.CreateAnd(areRead(K), areRead(Last)));
      Value *IsLong = C.CreateICmpSGE(Some, C.number(LongRun));
      Code::Values Even = C.choose(C.CreateAnd(IsLong, C.CreateNot(Many)),
                                   {C.getFalse(), C.number(0)},
                                   [&] { return areEven(K, Last); });
      Value *All = C.getTrue();
      for (int J = 0; J < P.Group; J++)
        All = C.CreateAnd(All,
                          areRead(C.least(C.plus(K, J), C.plus(Columns, -1))));
      Value *Few = C.least(C.number(P.Group), Left);
      Value *Count = C.CreateSelect(C.CreateOr(Many, Even[0]), Some, Few);
      C.when(
          Even[0], [&] { evenly(K, Count, Even[1]); },
          [&] {
            C.when(
                C.CreateOr(Many, All),
                [&] { whole(K, Count, RowOffsets, RowStride); },
                [&] { partial(K, Few); });
          });
      return Count;
    });
  }

  void whole(Value *K, Value *Count, Value *Offsets, Value *Stride) {
    C.CreateCall(Whole,
                 {step(K), Source, Offsets, RowRuns,
                  C.at(ColumnOffsets, C.times(K, 8)), C.at(Runs, C.times(K, 8)),
                  Count, Stride, ColumnStride});
  }

  // Is each row within the limits in all columns from K to Last, a run, or
  // without one of them in all?  And the last one that is within, or -1.
  Code::Values areEven(Value *K, Value *Last) {
    return C.carry(
        C.number(0), C.number(Rows), C.number(1), {C.getTrue(), C.number(-1)},
        [&](Value *I, ArrayRef<Value *> Now) {
          Value *In = C.getTrue(), *Out = C.getFalse();
          for (int L = 0; L < P.Limits; L++) {
            Value *Sum = rowSum(L, I);
            Value *First = holds(L, Sum, K), *Then = holds(L, Sum, Last);
            In = C.CreateAnd(In, C.CreateAnd(First, Then));
            Out = C.CreateOr(Out, C.CreateNot(C.CreateOr(First, Then)));
          }
          C.putNumber(C.CreateZExt(In, C.getInt64Ty()), Within, I);
          return Code::Values{C.CreateAnd(Now[0], C.CreateOr(In, Out)),
                              C.CreateSelect(In, I, Now[1])};
        });
  }

  // Such columns; rows without are read as row One is.
  void evenly(Value *K, Value *Count, Value *One) {
    Value *None = C.number(0), *Each = C.number(1), *All = C.number(Rows);
    Value *End = C.plus(K, Count);
    uint8_t ZeroByte = P.Flips ? 0x80 : 0;
    unsigned Bits = (unsigned)(8 * Bytes);
    Value *Zero = C.getInt(APInt::getSplat(Bits, APInt(8, (uint64_t)ZeroByte)));
    auto IsWithin = [&](Value *I) {
      return C.CreateICmpNE(C.getNumber(Within, I), None);
    };
    C.when(
        C.CreateICmpSLT(One, None),
        [&] {
          C.CreateMemSet(
              step(K), C.getInt8(ZeroByte),
              C.times(C.divideUp(Count, C.number(P.Group)), Rows * Bytes),
              Align(1));
        },
        [&] {
          C.loop(None, All, Each, [&](Value *I) {
            Value *Of = C.CreateSelect(IsWithin(I), I, One);
            C.putNumber(C.getNumber(RowOffsets, Of), Offsets, I);
          });
          whole(K, Count, Offsets, None); // rows are not adjacent
          C.loop(None, All, Each, [&](Value *I) {
            C.when(C.CreateNot(IsWithin(I)), [&] {
              C.loop(K, End, C.number(P.Group), [&](Value *Step) {
                C.put(Zero, C.at(step(Step), C.times(I, Bytes)));
              });
            });
          });
        });
  }

  Value *rowSum(int L, Value *I) {
    return C.plus(C.getNumber(Starts, (int64_t)L),
                  C.getNumber(C.at(RowParts, C.times(RowsApart, L)), I));
  }

  Value *columnPart(int L, Value *K) {
    return C.getNumber(C.at(ColumnParts, C.times(ColumnsApart, L)), K);
  }

  Value *holds(int L, Value *OfRow, Value *K) {
    return C.CreateICmpSGE(C.plus(OfRow, columnPart(L, K)), C.number(0));
  }

  // A column of all rows.
  Value *areRead(Value *K) { return holdAll(Least, K); }

  // In column K, of what limits have from rows.
  Value *holdAll(ArrayRef<Value *> OfRows, Value *K) {
    Value *Any = C.number(0); // is negative?
    for (int L = 0; L < P.Limits; L++)
      Any = C.CreateOr(Any, C.plus(OfRows[(size_t)L], columnPart(L, K)));
    return C.CreateICmpSGE(Any, C.number(0));
  }

  Value *element(Value *I, Value *K) {
    Value *Is = C.getTrue();
    for (int L = 0; L < P.Limits; L++)
      Is = C.CreateAnd(Is, holds(L, rowSum(L, I), K));
    Value *Zero = Constant::getNullValue(Stored);
    return converted(C.choose(Is, {Zero}, [&] {
      Value *At = C.at(row(I), C.getNumber(ColumnOffsets, K));
      return Code::Values{C.get(Stored, At)};
    })[0]);
  }

  // A group, or one column.
  void partial(Value *K, Value *Count) {
    C.loop(C.number(0), C.number(Rows), C.number(1), [&](Value *I) {
      Value *All = P.Group == 1 ? element(I, K)
                                : C.carry(C.number(0), Count, C.number(1),
                                          {ConstantInt::get(word(), 0)},
                                          [&](Value *J, ArrayRef<Value *> Now) {
                                            Value *V = element(I, C.plus(K, J));
                                            return Code::Values{C.CreateOr(
                                                Now[0], inGroup(V, J))};
                                          })[0];
      C.put(All, C.at(step(K), C.times(I, Bytes)));
    });
  }
};

} // namespace

static const char *packArguments(const CpuPanel &P) {
  return P.Limits ? "ppppppiiipipip" : "ppppppiii";
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
    Function *F = U.function(Name + ".limits" + Twine(P.Limits), None,
                             packArguments(P), IsNew);
    if (IsNew)
      LimitedPacker(U, P, *F, packFunction(U, All)).emit();
    return F;
  }
  Function *F = U.function(Name, None, packArguments(P), IsNew);
  if (IsNew)
    Packer(U, P, *F).emit();
  return F;
}

} // namespace nputeir
