// lower_cpu_cross.cpp -- panels of in1 whose columns are adjacent in the result
// along one axis and in in1 along another: a few columns of the latter lie in
// as many panels, and are packed together by transposing squares.  (One panel
// after the other would use one element of every vector that is read.)
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

class Crosser {
  const CpuPanel &P;
  int Square, FromBytes, Bytes; // a square is one of 128 bits
  Code C;
  Value *To, *PanelBytes, *Source, *Offsets, *Runs, *Count, *StepOffsets,
      *Steps;

public:
  Crosser(const CpuPanel &P, Function &F)
      : P(P), Square(16 / P.bytes()), FromBytes(dtype_bytes(P.From)),
        Bytes(P.bytes()), C(F), To(C.argument(0)), PanelBytes(C.argument(1)),
        Source(C.argument(2)), Offsets(C.argument(3)), Runs(C.argument(4)),
        Count(C.argument(5)), StepOffsets(C.argument(6)), Steps(C.argument(7)) {
  }

  void emit() {
    Value *Run = C.getNumber(Runs, (int64_t)0);
    Value *Taken = C.choose(crosses(Run), {C.number(0)}, [&] {
      C.loop(C.number(0), Run, C.number(Square),
             [&](Value *I) { pack(Run, I); });
      return Code::Values{C.times(Run, Square)};
    })[0];
    C.CreateRet(Taken);
  }

private:
  // Are there as many runs of one length as a square has columns, each an
  // element behind the other, and do they fill whole panels?
  Value *crosses(Value *Run) {
    Value *All = C.CreateICmpSLE(C.times(Run, Square), Count);
    Value *Rest = C.CreateAnd(Run, C.number(Square - 1));
    All = C.CreateAnd(All, C.CreateICmpEQ(Rest, C.number(0)));
    Value *Left = C.CreateURem(C.times(Run, Square), C.number(P.Rows));
    All = C.CreateAnd(All, C.CreateICmpEQ(Left, C.number(0)));
    Value *First = C.getNumber(Offsets, (int64_t)0);
    for (int J = 1; J < Square; J++) {
      Value *At = C.least(C.times(Run, J), C.plus(Count, -1));
      Value *Apart = C.CreateSub(C.getNumber(Offsets, At), First);
      Value *Is = C.CreateAnd(C.CreateICmpEQ(C.getNumber(Runs, At), Run),
                              C.CreateICmpEQ(Apart, C.number(J * FromBytes)));
      All = C.CreateAnd(All, Is);
    }
    return All;
  }

  // Columns I to I + Square of all those runs.
  void pack(Value *Run, Value *I) {
    SmallVector<Value *, 4> From, Panel;
    for (int J = 0; J < Square; J++) {
      From.push_back(C.at(Source, C.getNumber(Offsets, C.plus(I, J))));
      Value *Column = C.plus(I, C.times(Run, J));
      Value *Before = C.CreateUDiv(Column, C.number(P.Rows));
      Value *Within = C.CreateSub(Column, C.times(Before, P.Rows));
      Panel.push_back(C.at(
          To, C.plus(C.times(Before, PanelBytes), C.times(Within, Bytes))));
    }
    Type *T = FixedVectorType::get(storedType(C.getContext(), P.From),
                                   (unsigned)Square);
    C.loop(C.number(0), Steps, C.number(1), [&](Value *K) {
      Value *Place = C.getNumber(StepOffsets, K);
      SmallVector<Value *, 4> Rows;
      for (Value *F : From) {
        Value *V = fromStored(C, P.From, C.get(T, C.at(F, Place)));
        Rows.push_back(convert(C, P.From, P.To, V));
      }
      Rows = transposed(C, Rows);
      for (int J = 0; J < Square; J++)
        C.put(Rows[(size_t)J],
              C.at(Panel[(size_t)J], C.times(K, P.Rows * Bytes)));
    });
  }
};

} // namespace

static const char *const CrossArguments = "pipppipi";

FunctionType *crossType(CpuUnit &U) {
  return U.type(Type::getInt64Ty(U.context()), CrossArguments);
}

Function *crossFunction(CpuUnit &U, const CpuPanel &P) {
  assert(P.Group == 1 && !P.Flips && P.Rows % (16 / P.bytes()) == 0);
  bool IsNew;
  Function *F =
      U.function(Twine("cross.") + dtype_name(P.From) + "." + dtype_name(P.To) +
                     "." + Twine(P.Rows),
                 Type::getInt64Ty(U.context()), CrossArguments, IsNew);
  if (IsNew)
    Crosser(P, *F).emit();
  return F;
}

} // namespace nputeir
