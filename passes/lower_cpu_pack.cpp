// lower_cpu_pack.cpp -- panels for the kernels, straight from the program's
// layout: Rows rows become adjacent, step by step along the columns (which is
// K), and are converted to the type of the sums.
//
//   rows adjacent      each step is one vector
//   columns adjacent   squares of 128 bits are transposed, in all lanes at once
//   neither            element by element, by offsets
//
// Nothing is read but the rows' elements: offsets behind the last row repeat
// its own.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

class Packer {
  dtype From, Sum;
  int Rows, FromBytes, Bytes;
  Code C;
  Type *Stored;
  Value *To, *Source, *RowOffsets, *ColumnOffsets, *Runs, *Columns, *RowStride,
      *ColumnStride;
  int Square;   // rows and columns that are transposed together
  int Columned; // vectors, each of which holds some of the rows
  int Lanes;    // squares in a vector

public:
  Packer(CpuUnit &U, dtype From, dtype Sum, int Rows, Function &F)
      : From(From), Sum(Sum), Rows(Rows), FromBytes(dtype_bytes(From)),
        Bytes(dtype_bytes(Sum)), C(F), Stored(storedType(F.getContext(), From)),
        To(C.argument(0)), Source(C.argument(1)), RowOffsets(C.argument(2)),
        ColumnOffsets(C.argument(3)), Runs(C.argument(4)),
        Columns(C.argument(5)), RowStride(C.argument(6)),
        ColumnStride(C.argument(7)), Square(16 / Bytes) {
    int Squares = (Rows + Square - 1) / Square;
    Lanes = U.Cpu.vector_bytes / 16;
    while (Lanes > 1 && Lanes / 2 >= Squares)
      Lanes /= 2;
    Columned = (Squares + Lanes - 1) / Lanes;
  }

  void emit() {
    Value *Adjacent = C.CreateICmpEQ(RowStride, C.number(FromBytes));
    Value *Along = C.CreateICmpEQ(ColumnStride, C.number(FromBytes));
    SmallVector<Value *, 32> Row = rows();
    C.walk(C.number(0), Columns, [&](Value *K) {
      Value *Left = C.CreateSub(Columns, K);
      Value *Run = C.least(C.getNumber(Runs, K), Left);
      Value *Place = C.getNumber(ColumnOffsets, K);
      Value *Panel = C.at(To, C.times(K, Rows * Bytes));
      C.when(
          Adjacent, [&] { copy(Panel, C.at(Row[0], Place), Run); },
          [&] {
            Value *Whole = C.CreateSelect(
                Along, C.CreateAnd(Run, C.number(-Square)), C.number(0));
            transpose(Row, Panel, Place, Whole);
            gather(Panel, Place, Whole, Run);
          });
      return Run;
    });
    C.CreateRetVoid();
  }

private:
  SmallVector<Value *, 32> rows() {
    SmallVector<Value *, 32> Row;
    for (int I = 0; I < Rows; I++)
      Row.push_back(C.at(Source, C.getNumber(RowOffsets, (int64_t)I)));
    return Row;
  }

  Value *converted(Value *V) {
    return convert(C, From, Sum, fromStored(C, From, V));
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

  // In every 128 bits: elements `Wide` at a time from the low (high) halves of
  // X and Y, in turns.
  Value *interleave(Value *X, Value *Y, int Wide, bool High) {
    SmallVector<int, 32> Mask;
    int Count = Square * Lanes;
    for (int Lane = 0; Lane < Lanes; Lane++)
      for (int I = 0; I < Square; I += 2 * Wide)
        for (int Side = 0; Side < 2; Side++)
          for (int W = 0; W < Wide; W++)
            Mask.push_back(Lane * Square + (High ? Square / 2 : 0) + I / 2 + W +
                           Side * Count);
    return C.CreateShuffleVector(X, Y, Mask);
  }

  // Vector J of Square holds row J of each square; gives the squares' columns.
  SmallVector<Value *, 4> turned(SmallVector<Value *, 4> V) {
    assert(Square == 2 || Square == 4);
    if (Square == 2)
      return {interleave(V[0], V[1], 1, false),
              interleave(V[0], V[1], 1, true)};
    Value *Low0 = interleave(V[0], V[1], 1, false);
    Value *High0 = interleave(V[0], V[1], 1, true);
    Value *Low1 = interleave(V[2], V[3], 1, false);
    Value *High1 = interleave(V[2], V[3], 1, true);
    return {interleave(Low0, Low1, 2, false), interleave(Low0, Low1, 2, true),
            interleave(High0, High1, 2, false),
            interleave(High0, High1, 2, true)};
  }

  // Columns [0, Whole): a store may write more than the rows, which the next
  // one writes again.
  void transpose(ArrayRef<Value *> Row, Value *Panel, Value *Place,
                 Value *Whole) {
    Type *Part = FixedVectorType::get(Stored, (unsigned)Square);
    C.loop(C.number(0), Whole, C.number(Square), [&](Value *K) {
      Value *At = C.plus(Place, C.times(K, FromBytes));
      SmallVector<SmallVector<Value *, 4>, 8> Column;
      for (int V = 0; V < Columned; V++) {
        SmallVector<Value *, 4> Vector;
        for (int J = 0; J < Square; J++) {
          SmallVector<Value *, 8> Parts;
          for (int Lane = 0; Lane < Lanes; Lane++) {
            int I = std::min((V * Lanes + Lane) * Square + J, Rows - 1);
            Parts.push_back(C.get(Part, C.at(Row[(size_t)I], At)));
          }
          Vector.push_back(converted(joined(Parts)));
        }
        Column.push_back(turned(Vector));
      }
      Value *Step = C.at(Panel, C.times(K, Rows * Bytes));
      for (int J = 0; J < Square; J++)
        for (int V = 0; V < Columned; V++)
          C.put(Column[(size_t)V][(size_t)J],
                C.at(Step, (J * Rows + V * Lanes * Square) * Bytes));
    });
  }
};

} // namespace

Function *packFunction(CpuUnit &U, dtype From, dtype Sum, int Rows) {
  bool IsNew;
  Function *F = U.function(Twine("pack.") + dtype_name(From) + "." +
                               dtype_name(Sum) + "." + Twine(Rows),
                           Type::getVoidTy(U.context()), "pppppiii", IsNew);
  if (IsNew)
    Packer(U, From, Sum, Rows, *F).emit();
  return F;
}

} // namespace nputeir
