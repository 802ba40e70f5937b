// lower_cpu_offsets.cpp -- the tables that the driver (lower_cpu_driver.cpp)
// walks by: where a block's elements along a role's axes lie in each tensor.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

class Offsets {
  Code C;
  int64_t Tensors, Lanes; // that are put at once, at most
  Value *Axes, *Count, *Start, *N, *Capacity, *Runs, *Last, *Innermost;
  Code::Values Table; // of each tensor

public:
  Offsets(unsigned Tensors, int64_t Lanes, Function &F)
      : C(F), Tensors(Tensors), Lanes(Lanes), Axes(C.argument(0)),
        Count(C.argument(1)), Start(C.argument(2)), N(C.argument(3)),
        Capacity(C.argument(4)), Runs(C.argument(6)), Last(C.plus(Count, -1)),
        Innermost(C.at(Axes, C.times(Last, record()))) {}

  void emit(bool IsOne) {
    for (int64_t T = 0; T < Tensors; T++)
      Table.push_back(C.at(C.argument(5), C.times(C.argument(4), 8 * T)));
    if (IsOne)
      one();
    else
      C.when(
          C.CreateICmpEQ(Count, C.number(1)), [&] { one(); }, [&] { many(); });
    C.CreateRetVoid();
  }

private:
  int64_t record() { return 8 * (1 + Tensors); }

  Value *index(Value *I) { return C.plus(Start, C.least(I, C.plus(N, -1))); }

  void put(Value *I, ArrayRef<Value *> Offset, Value *Run) {
    for (size_t T = 0; T < Offset.size(); T++)
      C.putNumber(Offset[T], Table[T], I);
    C.putNumber(Run, Runs, I);
  }

  // Vectors of as many as there are, the others one by one.
  void one() {
    Code::Values Stride;
    for (int64_t T = 0; T < Tensors; T++)
      Stride.push_back(C.getNumber(Innermost, 1 + T));
    Value *Whole = C.number(0), *From = Start;
    if (Lanes > 1) {
      Whole = C.CreateAnd(N, C.number(-Lanes));
      From = C.plus(Start, C.least(Whole, C.plus(N, -1)));
      vectors(Whole, Stride);
    }
    // Behind the last element comes that one again.
    Code::Values First;
    for (Value *S : Stride)
      First.push_back(C.times(From, S));
    C.carry(Whole, Capacity, C.number(1), First,
            [&](Value *I, ArrayRef<Value *> Now) {
              Value *Left = C.CreateSub(N, I);
              put(I, Now, Left);
              Value *Goes = C.CreateICmpSGT(Left, C.number(1));
              Code::Values Next;
              for (size_t T = 0; T < Stride.size(); T++)
                Next.push_back(
                    C.CreateSelect(Goes, C.plus(Now[T], Stride[T]), Now[T]));
              return Next;
            });
  }

  void vectors(Value *Whole, ArrayRef<Value *> Stride) {
    SmallVector<Constant *, 8> Numbers;
    for (int64_t I = 0; I < Lanes; I++)
      Numbers.push_back(C.getInt64((uint64_t)I));
    Value *Place = ConstantVector::get(Numbers);
    auto Each = [&](Value *X) {
      return C.CreateVectorSplat((unsigned)Lanes, X);
    };
    Code::Values First, Step;
    for (Value *S : Stride) {
      First.push_back(
          C.CreateAdd(Each(C.times(Start, S)), C.CreateMul(Place, Each(S))));
      Step.push_back(Each(C.times(S, Lanes)));
    }
    First.push_back(C.CreateSub(Each(N), Place)); // the runs
    Step.push_back(Each(C.number(-Lanes)));
    C.carry(C.number(0), Whole, C.number(Lanes), First,
            [&](Value *I, ArrayRef<Value *> Now) {
              put(I, Now.drop_back(1), Now.back());
              Code::Values Next;
              for (size_t T = 0; T < Now.size(); T++)
                Next.push_back(C.plus(Now[T], Step[T]));
              return Next;
            });
  }

  // Digits of the first element of each run, from which the others follow.
  void many() {
    Value *Extent = C.getNumber(Innermost, (int64_t)0);
    C.walk(C.number(0), Capacity, [&](Value *I) {
      Value *At = index(I);
      Value *Left = C.CreateSub(Extent, C.CreateURem(At, Extent));
      Value *Run = C.least(Left, C.CreateSub(N, I));
      Value *Some =
          C.CreateSelect(C.CreateICmpSGT(Run, C.number(1)), Run, C.number(1));
      C.carry(C.number(0), Some, C.number(1), first(At),
              [&](Value *J, ArrayRef<Value *> Now) {
                put(C.plus(I, J), Now, C.CreateSub(Run, J));
                Code::Values Next;
                for (int64_t T = 0; T < Tensors; T++)
                  Next.push_back(
                      C.plus(Now[(size_t)T], C.getNumber(Innermost, 1 + T)));
                return Next;
              });
      return Some;
    });
  }

  // Where an element lies.
  Code::Values first(Value *At) {
    Code::Values Start = {At};
    Start.append((size_t)Tensors, C.number(0));
    Code::Values Sums = C.carry(
        C.number(0), Count, C.number(1), Start,
        [&](Value *A, ArrayRef<Value *> Now) {
          Value *Axis = C.at(Axes, C.times(C.CreateSub(Last, A), record()));
          Value *E = C.getNumber(Axis, (int64_t)0);
          Value *Rounds = C.CreateUDiv(Now[0], E);
          Value *Digit = C.CreateSub(Now[0], C.times(Rounds, E));
          Code::Values Next = {Rounds};
          for (int64_t T = 0; T < Tensors; T++)
            Next.push_back(C.plus(Now[1 + (size_t)T],
                                  C.times(Digit, C.getNumber(Axis, 1 + T))));
          return Next;
        });
    return Code::Values(Sums.begin() + 1, Sums.end());
  }
};

} // namespace

bool tablesSteps(CpuUnit &U, const CpuWork &W) {
  return dotOf(U, W).step > 1 || W.Lies[IN0] == CpuLies::Any ||
         W.Lies[IN1] == CpuLies::Any;
}

Function *offsetsFunction(CpuUnit &U, const CpuWork &W) {
  // Of rows and columns there are few, of steps many.
  bool IsShort = W.Plain && !tablesSteps(U, W);
  bool IsNew;
  Function *F =
      U.Common->function(Twine("offsets.") + (W.Plain ? "one." : "") +
                             (IsShort ? "short." : "") + Twine(W.moved()),
                         Type::getVoidTy(U.context()), "piiiipp", IsNew);
  if (IsNew)
    Offsets(W.moved(), IsShort ? 1 : U.Common->Cpu.vector_bytes / 8, *F)
        .emit(W.Plain);
  return F;
}

} // namespace nputeir
