// lower_cpu_threads.cpp -- a product in parts, on as many threads as the
// runtime allows where it is linked.  One axis of C, M or N is cut: that of the
// most blocks.  A part is the same function with slots of its own, in which
// this axis is shorter and the tensors begin later; so all sums are formed as
// one thread forms them, and the bits are the same.
//
// Memory is acquired for all parts before any of them begins: without it
// nothing is written, and the loop runs.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

namespace {

// Slots as lower_cpu.h describes them.
class Slots {
  Code &C;
  Value *Base;
  int64_t Tensors;

public:
  Slots(Code &C, Value *Base, unsigned Tensors)
      : C(C), Base(Base), Tensors(Tensors) {}

  int64_t firstAxis() const { return 8 * cpuAxesSlot(Tensors); }
  int64_t record() const { return 8 * (1 + Tensors); }

  Value *count(Value *Role) {
    return C.getNumber(Base, C.plus(Role, cpuCountsSlot(Tensors)));
  }

  Value *number() { // of all slots
    Value *Axes = C.number(0);
    for (int R = 0; R < AXIS_ROLES; R++)
      Axes = C.plus(Axes, count(C.number(R)));
    return C.plus(C.times(Axes, 1 + Tensors), firstAxis() / 8);
  }
};

// Of an axis that is cut: the place of its record in the slots, its extent,
// its blocks and their elements.
struct CutAxis {
  Value *At, *Extent, *Blocks, *Unit;
};

// void (from, to, axis, first, size): the slots of a part.
Function *partFunction(CpuUnit &U, unsigned Tensors) {
  bool IsNew;
  Function *F = U.Common->function(
      "part." + Twine(Tensors), Type::getVoidTy(U.context()), "ppiii", IsNew);
  if (!IsNew)
    return F;
  CpuUnit::compileFast(*F);
  Code C(*F);
  Value *From = C.argument(0), *To = C.argument(1);
  C.loop(C.number(0), Slots(C, From, Tensors).number(), C.number(1),
         [&](Value *I) { C.putNumber(C.getNumber(From, I), To, I); });
  Value *Axis = C.at(To, C.argument(2));
  Value *First = C.argument(3);
  for (int64_t T = 0; T < (int64_t)Tensors; T++) {
    Value *By = C.times(First, C.getNumber(Axis, 1 + T));
    C.putNumber(C.plus(C.getNumber(To, T), By), To, C.number(T));
  }
  Value *Left = C.CreateSub(C.getNumber(Axis, (int64_t)0), First);
  C.putNumber(C.least(C.argument(4), Left), Axis, C.number(0));
  C.CreateRetVoid();
  return F;
}

// What a part needs to know, in 8-byte slots.
enum {
  ContextSlots,
  ContextMemory,
  ContextBytes,
  ContextAxis,
  ContextSize,
  ContextRun,
  Context
};

// Of products that are cut into parts: each has room for them in its frame.  A
// frame whose size is not known is compiled slowly.
enum { MostSlots = 512 };

// i32 (slots, run, needs, rows, columns): run as in CpuCode, the same again if
// it needs memory, and a block of registers.
class Threads {
  CpuUnit &U;
  Code C;
  unsigned Tensors;
  FunctionType *RunType;
  Value *Run, *Needs;

public:
  Threads(CpuUnit &U, const CpuWork &W, Function &F)
      : U(U), C(F), Tensors(W.moved()) {
    Type *P = bytePointer(C.getContext());
    RunType = FunctionType::get(C.getInt64Ty(), {P, P}, false);
    Run = C.CreatePointerCast(C.argument(1), pointerTo(RunType));
    Needs = C.CreatePointerCast(C.argument(2), pointerTo(RunType));
  }

  void emit() {
    Value *Asked =
        runtime("nputeir_threads_1", C.getInt64Ty(), {C.getInt64Ty()});
    Value *Fits = C.CreateICmpSLE(Slots(C, C.argument(0), Tensors).number(),
                                  C.number(MostSlots));
    C.when(C.CreateAnd(Fits, C.CreateIsNotNull(Asked)), [&] {
      CutAxis Axis;
      Value *Most = parts(Axis);
      C.when(C.CreateICmpSGT(Most, C.number(1)), [&] {
        auto *T = FunctionType::get(C.getInt64Ty(), {C.getInt64Ty()}, false);
        Value *Parts = C.CreateCall(T, Asked, {Most});
        C.when(C.CreateICmpSGT(Parts, C.number(1)),
               [&] { C.CreateRet(parallel(Axis, Parts)); });
      });
    });
    C.CreateRet(single());
  }

private:
  // Null where the library is not linked.
  Value *runtime(const char *Name, Type *Result, ArrayRef<Type *> Arguments) {
    FunctionCallee F = C.module().getOrInsertFunction(
        Name, FunctionType::get(Result, Arguments, false));
    auto *Weak = cast<Function>(F.getCallee());
    if (Weak->isDeclaration())
      Weak->setLinkage(GlobalValue::ExternalWeakLinkage);
    // By way of memory: not every linker takes calls of what is not there.
    Value *Slot = C.frame(Weak->getType(), 1, 8);
    C.put(Weak, Slot);
    auto *Place = cast<LoadInst>(C.get(Weak->getType(), Slot));
    Place->setVolatile(true);
    return Place;
  }

  // The status.
  Value *single() {
    Value *Slots = C.argument(0);
    Value *None = Constant::getNullValue(bytePointer(C.getContext()));
    Value *Needed = C.CreateIsNotNull(Needs);
    Value *Memory = C.choose(Needed, {None}, [&] {
      return Code::Values{
          emitMalloc(C, C.CreateCall(RunType, Needs, {Slots, None}))};
    })[0];
    C.when(C.CreateAnd(Needed, C.CreateIsNull(Memory)),
           [&] { C.CreateRet(C.getInt32(1)); });
    C.CreateCall(RunType, Run, {Slots, Memory});
    emitFree(C, Memory); // null: nothing
    return C.getInt32(0);
  }

  // The axis of the most blocks, and how many parts are worth a thread.
  Value *parts(CutAxis &Best) {
    Slots S(C, C.argument(0), Tensors);
    Value *At = C.number(S.firstAxis()), *Macs = C.number(1);
    Best = {At, C.number(1), C.number(0), C.number(1)};
    Value *Rows = C.argument(3), *Columns = C.argument(4), *One = C.number(1);
    auto Is = [&](Value *R, axis_role Role) {
      return C.CreateICmpEQ(R, C.number(Role));
    };
    Code::Values First = {At,          Macs,        Best.At,
                          Best.Extent, Best.Blocks, Best.Unit};
    Code::Values Last = C.carry(
        C.number(0), C.number(AXIS_ROLES), One, First,
        [&](Value *R, ArrayRef<Value *> Given) {
          Value *Unit = C.CreateSelect(Is(R, AXIS_N), Columns, One);
          Unit = C.CreateSelect(Is(R, AXIS_M), Rows, Unit);
          return C.carry(
              C.number(0), S.count(R), One, Given,
              [&](Value *, ArrayRef<Value *> V) -> Code::Values {
                Value *E = C.getNumber(C.at(C.argument(0), V[0]), (int64_t)0);
                Value *Count = C.divideUp(E, Unit);
                Value *IsMore = C.CreateAnd(C.CreateICmpSGT(Count, V[4]),
                                            C.CreateNot(Is(R, AXIS_K)));
                return {C.plus(V[0], S.record()),
                        C.times(V[1], E),
                        C.CreateSelect(IsMore, V[0], V[2]),
                        C.CreateSelect(IsMore, E, V[3]),
                        C.CreateSelect(IsMore, Count, V[4]),
                        C.CreateSelect(IsMore, Unit, V[5])};
              });
        });
    Macs = Last[1];
    Best = {Last[2], Last[3], Last[4], Last[5]};
    return C.least(Best.Blocks,
                   C.CreateUDiv(Macs, C.number(TEIR_CPU_THREAD_MACS)));
  }

  Value *parallel(const CutAxis &Axis, Value *Asked) {
    Value *Given = C.argument(0);
    Value *Size = C.times(C.divideUp(C.divideUp(Axis.Extent, Asked), Axis.Unit),
                          Axis.Unit);
    Value *Parts = C.divideUp(Axis.Extent, Size);
    Value *To = C.frame(C.getInt64Ty(), Context, 8);
    Value *None = Constant::getNullValue(bytePointer(C.getContext()));
    Code::Values Memory =
        C.choose(C.CreateIsNotNull(Needs), {None, C.number(0)}, [&] {
          Value *Bytes = largest(Given, Axis, Parts, Size);
          Value *Memory = emitMalloc(C, C.times(Bytes, Parts));
          C.when(C.CreateIsNull(Memory), [&] { C.CreateRet(C.getInt32(1)); });
          return Code::Values{Memory, Bytes};
        });
    C.put(Given, C.at(To, 8 * ContextSlots));
    C.put(Memory[0], C.at(To, 8 * ContextMemory));
    C.put(C.argument(1), C.at(To, 8 * ContextRun));
    C.putNumber(Memory[1], To, C.number(ContextBytes));
    C.putNumber(Axis.At, To, C.number(ContextAxis));
    C.putNumber(Size, To, C.number(ContextSize));
    Function *Body = bodyFunction();
    Type *P = bytePointer(C.getContext()), *I64 = C.getInt64Ty();
    Type *Types[] = {Body->getType(), P, I64};
    C.CreateCall(FunctionType::get(C.getVoidTy(), Types, false),
                 runtime("nputeir_parallel_1", C.getVoidTy(), Types),
                 {Body, To, Parts});
    emitFree(C, Memory[0]);
    return C.getInt32(0);
  }

  // The bytes that a part needs: the last one is smaller, but its blocks may be
  // larger.
  Value *largest(Value *Given, const CutAxis &Axis, Value *Parts, Value *Size) {
    Value *Own = own(C), *Bytes = C.number(0);
    Value *None = Constant::getNullValue(bytePointer(C.getContext()));
    for (Value *Part : {C.number(0), C.plus(Parts, -1)}) {
      C.CreateCall(partFunction(U, Tensors),
                   {Given, Own, Axis.At, C.times(Part, Size), Size});
      Value *Needed = C.roundUp(C.CreateCall(RunType, Needs, {Own, None}), 64);
      Bytes = C.CreateSelect(C.CreateICmpSGT(Needed, Bytes), Needed, Bytes);
    }
    return Bytes;
  }

  // Room for slots of a part.
  static Value *own(Code &C) { return C.frame(C.getInt64Ty(), MostSlots, 8); }

  // void (context, part, parts)
  Function *bodyFunction() {
    bool IsNew;
    Function *F = U.Common->function("body." + Twine(Tensors), C.getVoidTy(),
                                     "pii", IsNew);
    if (!IsNew)
      return F;
    CpuUnit::compileFast(*F);
    Code B(*F);
    Value *Given = B.getPointer(B.argument(0), ContextSlots);
    Value *Memory = B.getPointer(B.argument(0), ContextMemory);
    auto Number = [&](int64_t I) { return B.getNumber(B.argument(0), I); };
    Value *Part = B.argument(1), *Size = Number(ContextSize);
    Value *Own = own(B);
    B.CreateCall(partFunction(U, Tensors),
                 {Given, Own, Number(ContextAxis), B.times(Part, Size), Size});
    Value *Run = B.CreatePointerCast(B.getPointer(B.argument(0), ContextRun),
                                     pointerTo(RunType));
    B.CreateCall(RunType, Run,
                 {Own, B.at(Memory, B.times(Part, Number(ContextBytes)))});
    B.CreateRetVoid();
    return F;
  }
};

} // namespace

// Of roles that have one axis: is all of it less work than is worth a thread?
static Value *isForOneThread(Code &C, unsigned Tensors, Value *Slots) {
  Value *Macs = C.number(1);
  for (int R = 0; R < AXIS_ROLES; R++)
    Macs = C.times(
        Macs, C.getNumber(Slots, cpuAxesSlot(Tensors) + R * (1 + Tensors)));
  return C.CreateICmpULT(Macs, C.number(2 * TEIR_CPU_THREAD_MACS));
}

Value *computeOnThreads(Code &C, CpuUnit &U, const CpuWork &W,
                        const CpuCode &By, Value *Slots) {
  bool IsNew;
  Function *F =
      U.Common->function("threads." + Twine(W.moved()),
                         Type::getInt32Ty(U.context()), "pppii", IsNew);
  if (IsNew) {
    CpuUnit::compileFast(*F);
    Threads(U, W, *F).emit();
  }
  Type *P = bytePointer(U.context());
  Value *Run = C.CreatePointerCast(By.Run, P);
  Value *None = Constant::getNullValue(P);
  // What needs no memory has such roles, and may be so small that to count
  // blocks takes as long.
  if (!By.Needs)
    C.when(isForOneThread(C, W.moved(), Slots), [&] {
      C.CreateCall(By.Run, {Slots, None});
      C.CreateRet(C.getInt32(0));
    });
  struct teir_cpu_blocks Blocks = teir_cpu_blocks(&U.Cpu, W.Sum);
  return C.CreateCall(F,
                      {Slots, Run, By.Needs ? Run : None,
                       C.number(Blocks.height[0]), C.number(Blocks.columns)});
}

} // namespace nputeir
