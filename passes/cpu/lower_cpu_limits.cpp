// lower_cpu_limits.cpp -- panels of inputs of which limits leave out elements,
// as at the edges of a padded image: zeros are packed for these, which are not
// read.
//
// Rows in runs are read by masks, of the rows that are within the limits.  Else
// columns of which all rows are are packed as if there were none, and so are
// runs of columns that each row is within or without: rows without are packed
// as another one and cleared.  Of other columns each element asks.
#include "lower_cpu_packer.h"

using namespace llvm;

namespace nputeir {

namespace {

class LimitedPacker : PackCode {
  // Of columns, from which on a look at every row pays.
  enum : int64_t { LongRun = 8 };

  Function *Whole;
  Value *Offsets, *Within; // rows' of a run: where it reads; is it within?
  Value *RowParts, *RowsApart, *ColumnParts, *ColumnsApart, *Starts;
  SmallVector<Value *, 8> Least; // by limit: start + the least of the rows
  Value *LeftOut;                // stands for an element that is not read

public:
  LimitedPacker(CpuUnit &U, const CpuPanel &P, Function &F, Function *Whole)
      : PackCode(U, P, F), Whole(Whole), RowParts(C.argument(9)),
        RowsApart(C.argument(10)), ColumnParts(C.argument(11)),
        ColumnsApart(C.argument(12)), Starts(C.argument(13)),
        LeftOut(P.Filled ? C.get(Stored, C.argument(14))
                         : Constant::getNullValue(Stored)) {}

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
    Value *V = C.get(T, From, Read);
    if (P.Filled)
      V = C.CreateSelect(Read, V, C.CreateVectorSplat((unsigned)Rows, LeftOut));
    C.put(converted(V), C.at(R.To, C.times(K, Rows * Bytes)), R.Written);
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
      Value *Run = runFrom(K);
      // Limits move evenly along a run; what follows it begins a group.
      // What a last group is filled up with is zero.
      Value *Some = C.CreateAnd(Run, C.number(-P.Group));
      if (!P.Filled)
        Some = C.CreateSelect(C.CreateICmpEQ(Run, Left), Run, Some);
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
    if (P.Filled)
      Zero = group(converted(LeftOut));
    auto IsWithin = [&](Value *I) {
      return C.CreateICmpNE(C.getNumber(Within, I), None);
    };
    C.when(
        C.CreateICmpSLT(One, None),
        [&] {
          if (P.Filled) {
            Value *Each = C.CreateVectorSplat((unsigned)Rows, Zero);
            C.loop(K, End, C.number(P.Group),
                   [&](Value *Step) { C.put(Each, step(Step)); });
            return;
          }
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

  // All of whose elements are alike.
  Value *group(Value *Element) {
    Value *All = ConstantInt::get(word(), 0);
    for (int J = 0; J < P.Group; J++)
      All = C.CreateOr(All, inGroup(Element, C.number(J)));
    return All;
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
    return converted(C.choose(Is, {LeftOut}, [&] {
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

void packLimited(CpuUnit &U, const CpuPanel &P, Function &F, Function *Whole) {
  LimitedPacker(U, P, F, Whole).emit();
}

} // namespace nputeir
