// lower_cpu_lines.cpp -- panels of in0 for products of tiles: 64 bytes of K of
// each row, the panel's rows after one another, then the next 64 bytes.
//
//   columns adjacent   bytes are copied
//   else               groups of 32 bits are packed as for other kernels, and
//                      squares of 16 by 16 are transposed
//
// What is missing to whole tiles is zero.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

constexpr int LineBytes = TEIR_CPU_TILE_BYTES;
constexpr int Side = 16; // of a square

class Liner {
  CpuUnit &U;
  const CpuPanel &P;
  int Bytes, Line; // of an element; elements of a line
  Code C;
  VectorType *Vector;
  Value *To, *Source, *RowOffsets, *ColumnOffsets, *Runs, *Columns;

public:
  Liner(CpuUnit &U, const CpuPanel &P, Function &F)
      : U(U), P(P), Bytes(dtype_bytes(P.From)), Line(LineBytes / Bytes), C(F),
        Vector(U.vector(storedType(F.getContext(), P.From), (unsigned)Line)),
        To(C.argument(0)), Source(C.argument(1)), RowOffsets(C.argument(2)),
        ColumnOffsets(C.argument(4)), Runs(C.argument(5)),
        Columns(C.argument(6)) {
    assert(P.From == P.To && P.Group * Bytes == 4 && !P.Flips);
  }

  void emit() {
    if (P.Limits || P.Lies == CpuLies::Rows) {
      turnAll();
    } else if (P.Lies == CpuLies::Steps) {
      copyAll();
    } else {
      Value *Along = C.CreateICmpEQ(C.argument(8), C.number(Bytes));
      C.when(Along, [&] { copyAll(); }, [&] { turnAll(); });
    }
    C.CreateRetVoid();
  }

private:
  // Where the line with column K begins, of the first row.
  Value *lines(Value *K) {
    return C.at(To,
                C.times(C.CreateUDiv(K, C.number(Line)), P.Rows * LineBytes));
  }

  void copyAll() {
    C.walk(C.number(0), Columns, [&](Value *K) {
      Value *Within = C.CreateAnd(K, C.number(Line - 1));
      Value *Room = C.CreateSub(C.number(Line), Within);
      Value *Left = C.CreateSub(Columns, K);
      Value *Run = C.least(C.getNumber(Runs, K), Left);
      Value *Count = C.least(Run, Room);
      Value *From = C.at(Source, C.getNumber(ColumnOffsets, K));
      Value *First = C.at(lines(K), C.times(Within, Bytes));
      Value *Whole = C.CreateICmpEQ(Count, C.number(Line));
      C.when(
          Whole, [&] { copy(From, First, nullptr, nullptr); },
          [&] {
            Value *Written =
                C.CreateSelect(C.CreateICmpEQ(Count, Left), Room, Count);
            copy(From, First, firstElements(Count), firstElements(Written));
          });
      return Count;
    });
  }

  Value *firstElements(Value *Count) {
    return C.firstLanes((unsigned)Line, Bytes, Count);
  }

  // A line of each row, or a part of it.
  void copy(Value *From, Value *First, Value *Read, Value *Written) {
    enum { Together = 4 };
    assert(P.Rows % Together == 0);
    C.loop(C.number(0), C.number(P.Rows), C.number(Together), [&](Value *I) {
      Value *Row = C.at(First, C.times(I, LineBytes));
      Value *Offsets = C.at(RowOffsets, C.times(I, 8));
      SmallVector<Value *, Together> V;
      for (int J = 0; J < Together; J++)
        V.push_back(C.get(Vector, C.at(From, C.getNumber(Offsets, J)), Read));
      for (int J = 0; J < Together; J++)
        C.put(V[(size_t)J], C.at(Row, J * LineBytes), Written);
    });
  }

  void turnAll() {
    Value *Groups = C.frame(
        C.getInt8Ty(), (uint64_t)(P.Rows * LineBytes + PackSlack), LineBytes);
    Function *Pack = packFunction(U, P);
    C.loop(C.number(0), Columns, C.number(Line), [&](Value *K) {
      Value *Count = C.least(C.number(Line), C.CreateSub(Columns, K));
      pack(Pack, Groups, K, Count);
      Value *Used = C.times(C.divideUp(Count, C.number(P.Group)), P.Rows * 4);
      C.CreateMemSet(C.at(Groups, Used), C.getInt8(0),
                     C.CreateSub(C.number(P.Rows * LineBytes), Used), Align(4));
      C.loop(C.number(0), C.number(P.Rows), C.number(Side), [&](Value *I) {
        turn(C.at(Groups, C.times(I, 4)),
             C.at(lines(K), C.times(I, LineBytes)));
      });
    });
  }

  void pack(Function *Pack, Value *Groups, Value *K, Value *Count) {
    Code::Values Given;
    for (unsigned I = 0; I < Pack->arg_size(); I++)
      Given.push_back(C.argument(I));
    Given[0] = Groups;
    Given[4] = C.at(ColumnOffsets, C.times(K, 8));
    Given[5] = C.at(Runs, C.times(K, 8));
    Given[6] = Count;
    if (P.Limits)
      Given[11] = C.at(Given[11], C.times(K, 8));
    C.CreateCall(Pack, Given);
  }

  // Of 16 groups, as many rows: first squares of 4 by 4, then squares of those.
  void turn(Value *Groups, Value *Lines) {
    VectorType *T = U.vector(C.getInt32Ty(), Side);
    SmallVector<Value *, 4> Part[4];
    for (int Q = 0; Q < 4; Q++) {
      for (int J = 0; J < 4; J++)
        Part[Q].push_back(C.get(T, C.at(Groups, (Q * 4 + J) * P.Rows * 4)));
      Part[Q] = transposed(C, Part[Q]);
    }
    for (int J = 0; J < 4; J++) {
      Value *Of[] = {Part[0][(size_t)J], Part[1][(size_t)J], Part[2][(size_t)J],
                     Part[3][(size_t)J]};
      SmallVector<Value *, 4> Row = quartersTransposed(Of);
      for (int L = 0; L < 4; L++)
        C.put(Row[(size_t)L], C.at(Lines, (L * 4 + J) * LineBytes));
    }
  }

  // Quarters of A, which are numbered from 0, and of B, from 4.
  Value *quarters(Value *A, Value *B, ArrayRef<int> Wanted) {
    SmallVector<int, 16> Mask;
    for (int Quarter : Wanted)
      for (int I = 0; I < 4; I++)
        Mask.push_back(Quarter * 4 + I);
    return C.CreateShuffleVector(A, B, Mask);
  }

  // Vector L holds quarter L of each.
  SmallVector<Value *, 4> quartersTransposed(ArrayRef<Value *> V) {
    SmallVector<Value *, 4> Result;
    for (int Half : {0, 2}) {
      Value *X = quarters(V[0], V[1], {Half, Half + 1, Half + 4, Half + 5});
      Value *Y = quarters(V[2], V[3], {Half, Half + 1, Half + 4, Half + 5});
      Result.push_back(quarters(X, Y, {0, 2, 4, 6}));
      Result.push_back(quarters(X, Y, {1, 3, 5, 7}));
    }
    return Result;
  }
};

} // namespace

Function *linesFunction(CpuUnit &U, const CpuPanel &P) {
  bool IsNew;
  std::string Name = std::string("lines.") + dtype_name(P.From) + "." +
                     std::to_string(P.Rows) + P.lies();
  if (P.Limits)
    Name += ".limits" + std::to_string(P.Limits) + P.fills();
  Function *F =
      U.function(Name, Type::getVoidTy(U.context()), packArguments(P), IsNew);
  if (IsNew)
    Liner(U, P, *F).emit();
  return F;
}

} // namespace nputeir
