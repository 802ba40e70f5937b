// lower_cpu_spread.cpp -- sums of a few rows, which stand in a buffer, go to a
// result whose elements are adjacent along the rows: it is read and written in
// squares of 128 bits that are transposed.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

class Spreader {
  int Bytes, Side; // of an element; of a square, in elements
  bool Masks;
  Code C;
  VectorType *Vector;
  Value *Sums, *Pitch, *Rows, *Columns, *Out, *Apart, *Adds;

public:
  Spreader(CpuUnit &U, dtype Sum, Function &F)
      : Bytes(dtype_bytes(Sum)), Side(16 / Bytes),
        Masks(teir_cpu_has_masks(&U.Cpu, Sum)), C(F),
        Vector(U.vector(computedType(F.getContext(), Sum), (unsigned)Side)),
        Sums(C.argument(0)), Pitch(C.argument(1)), Rows(C.argument(2)),
        Columns(C.argument(3)), Out(C.argument(4)), Apart(C.argument(5)),
        Adds(C.CreateICmpNE(C.argument(6), C.number(0))) {}

  void emit() {
    C.loop(C.number(0), Rows, C.number(Side), [&](Value *I) {
      Value *Left = C.CreateSub(Rows, I);
      C.when(
          C.CreateICmpSGE(Left, C.number(Side)), [&] { squares(I, nullptr); },
          [&] {
            if (Masks)
              squares(I, C.firstLanes((unsigned)Side, Bytes, Left));
            else
              C.loop(I, Rows, C.number(1), [&](Value *J) { row(J); });
          });
    });
    C.CreateRetVoid();
  }

private:
  Value *sums(Value *I, Value *J) {
    return C.at(C.at(Sums, C.times(I, Pitch)), C.times(J, Bytes));
  }

  Value *place(Value *I, Value *J) {
    return C.at(C.at(Out, C.times(J, Apart)), C.times(I, Bytes));
  }

  Code::Values added(const Code::Values &Now, ArrayRef<Value *> Places,
                     Value *Mask) {
    return C.choose(Adds, Now, [&] {
      Code::Values All;
      for (Value *V : Now) {
        Value *Old = C.get(V->getType(), Places[All.size()], Mask);
        All.push_back(V->getType()->isFPOrFPVectorTy() ? C.CreateFAdd(Old, V)
                                                       : C.CreateAdd(Old, V));
      }
      return All;
    });
  }

  // Of rows from I on.  What is behind the last column goes to its place, too,
  // where it itself is written last.
  void squares(Value *I, Value *Mask) {
    Value *Last = C.plus(Columns, -1);
    C.loop(C.number(0), Columns, C.number(Side), [&](Value *J) {
      Code::Values Row, Places;
      for (int S = 0; S < Side; S++) {
        Row.push_back(C.get(Vector, sums(C.plus(I, S), J)));
        Places.push_back(place(I, C.least(C.plus(J, S), Last)));
      }
      auto Turned = transposed(C, Row);
      Code::Values All =
          added(Code::Values(Turned.begin(), Turned.end()), Places, Mask);
      for (size_t S = All.size(); S-- > 0;)
        C.put(All[S], Places[S], Mask);
    });
  }

  void row(Value *I) {
    C.loop(C.number(0), Columns, C.number(1), [&](Value *J) {
      Value *Place = place(I, J);
      Value *Sum = C.get(Vector->getElementType(), sums(I, J));
      C.put(added({Sum}, {Place}, nullptr)[0], Place);
    });
  }
};

} // namespace

Function *spreadFunction(CpuUnit &U, dtype Sum) {
  bool IsNew;
  Function *F = U.function(Twine("spread.") + dtype_name(Sum),
                           Type::getVoidTy(U.context()), "piiipii", IsNew);
  if (IsNew)
    Spreader(U, Sum, *F).emit();
  return F;
}

} // namespace nputeir
