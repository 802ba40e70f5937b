// lower_cpu_overlap.cpp -- may the code for the processor run, or does its
// result overlap what it reads?  Mostly ranges of bytes are apart.  Where they
// overlap, parts of one array may lie beside each other, as columns of a matrix
// do: a function that the whole program shares tells, from the extents and
// strides.
#include "lower_cpu_form.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

dtype typeOf(const contraction &C, unsigned T) {
  return T < TENSORS ? C.type[T] : C.extra[T - TENSORS].type;
}

struct Range {
  Value *Low, *High; // the last byte's place, plus one
};

Range rangeOf(IRBuilder<> &B, const contraction &C, const CpuOperands &X,
              unsigned T) {
  Value *Zero = B.getInt64(0);
  Value *Place = B.CreatePtrToInt(X.Tensor[T], B.getInt64Ty());
  auto Bytes = (uint64_t)dtype_bytes(typeOf(C, T));
  Range R = {Place, B.CreateAdd(Place, B.getInt64(Bytes))};
  for (int I = 0; I < C.axis_count; I++) {
    value S = strideOf(C, I, T);
    if (isConstant(S) && S.constant == 0)
      continue;
    Value *Last = B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1));
    Value *Way = B.CreateMul(Last, X.Number(S));
    Value *Falls = B.CreateICmpSLT(Way, Zero);
    R.Low = B.CreateAdd(R.Low, B.CreateSelect(Falls, Way, Zero));
    R.High = B.CreateAdd(R.High, B.CreateSelect(Falls, Zero, Way));
  }
  return R;
}

// What is beyond limits is not read.  Where a limit's sum moves as its axes
// move in the tensor, that is what sums below zero would reach.
void clip(IRBuilder<> &B, const contraction &C, const CpuOperands &X, int T,
          Range &R) {
  struct Move {
    int Axis;
    int64_t Step;
  };
  SmallVector<std::pair<int, bool>, 8> Clipped; // axes, and whether sums rise
  for (const affine_guard *L : limitsOf(C, T)) {
    SmallVector<Move, 4> Moves;
    Value *Ratio = nullptr; // bytes by which the tensor moves with the sum
    bool Known = true;
    for (int I = 0; I < C.axis_count; I++) {
      value S = L->step[I];
      if (!isMoved(S))
        continue;
      int64_t Step = L->below ? -S.constant : S.constant;
      Known &= isConstant(S) && std::abs(S.constant) < INT32_MAX &&
               !is_contained(Clipped, std::pair<int, bool>(I, Step > 0));
      Moves.push_back({I, Step});
      if (std::abs(Step) == 1 && !Ratio)
        Ratio = B.CreateMul(X.Number(strideOf(C, I, (unsigned)T)),
                            B.getInt64((uint64_t)Step));
    }
    if (!Known || !Ratio)
      continue;
    Value *Zero = B.getInt64(0), *Even = B.getTrue();
    Value *Least = X.Number(L->start);
    Least = L->below ? B.CreateNot(Least) : Least;
    for (auto [I, Step] : Moves) {
      Clipped.push_back({I, Step > 0});
      Value *By = B.getInt64((uint64_t)Step);
      Even = B.CreateAnd(Even,
                         B.CreateICmpEQ(X.Number(strideOf(C, I, (unsigned)T)),
                                        B.CreateMul(Ratio, By)));
      Value *Last = B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1));
      if (Step < 0)
        Least = B.CreateAdd(Least, B.CreateMul(Last, By));
    }
    Value *Is = B.CreateAnd(Even, B.CreateICmpSLT(Least, Zero));
    Value *Way =
        B.CreateSelect(Is, B.CreateMul(B.CreateNeg(Least), Ratio), Zero);
    Value *Rises = B.CreateICmpSGT(Ratio, Zero);
    R.Low = B.CreateAdd(R.Low, B.CreateSelect(Rises, Way, Zero));
    R.High = B.CreateAdd(R.High, B.CreateSelect(Rises, Zero, Way));
  }
}

bool movesLikeOut(const contraction &C, unsigned T) {
  if (C.extra[T - TENSORS].type != C.type[OUT])
    return false;
  for (int I = 0; I < C.axis_count; I++) {
    value X = strideOf(C, I, T), Y = strideOf(C, I, OUT);
    if (C.axis[I].role != AXIS_K &&
        (X.symbol != Y.symbol || (X.symbol < 0 && X.constant != Y.constant)))
      return false;
  }
  return true;
}

const Value *objectOf(const Value *Place) {
  const Value *V = getUnderlyingObject(Place);
  if (const auto *Frozen = dyn_cast<FreezeInst>(V))
    V = getUnderlyingObject(Frozen->getOperand(0));
  return V;
}

// i1 (axes, count, record, out_at, in_at, distance, out_bytes, in_bytes): do
// out, and what begins `distance` bytes behind it, lie beside each other in
// every period?  Axes are records of so many numbers: the extent, and strides,
// of which those of both are at these places.
enum BesideArgument {
  AXES,
  COUNT,
  RECORD,
  OUT_AT,
  IN_AT,
  DISTANCE,
  OUT_BYTES,
  IN_BYTES
};

Function *besideFunction(Module &M) {
  if (Function *F = M.getFunction(BesideName))
    return F;
  LLVMContext &X = M.getContext();
  SmallVector<Type *, 8> Arguments(IN_BYTES + 1, Type::getInt64Ty(X));
  Arguments[AXES] = bytePointer(X);
  auto *T = FunctionType::get(Type::getInt1Ty(X), Arguments, false);
  auto *F =
      Function::Create(T, GlobalValue::ExternalWeakLinkage, BesideName, M);
  F->setDoesNotThrow();
  return F;
}

// In the slots, or in a table of constants.
Value *axesIn(IRBuilder<> &B, const CpuSlots &Slots) {
  if (Slots.AxesPlace)
    return Slots.AxesPlace;
  SmallVector<uint64_t, 16> Numbers;
  for (Value *V : Slots.Axes)
    Numbers.push_back(cast<ConstantInt>(V)->getZExtValue());
  Constant *Table = ConstantDataArray::get(B.getContext(), Numbers);
  auto *G = new GlobalVariable(
      *B.GetInsertBlock()->getModule(), Table->getType(), true,
      GlobalValue::PrivateLinkage, Table, "nputeir.axes");
  return ConstantExpr::getPointerCast(G, bytePointer(B.getContext()));
}

} // namespace

unsigned cpuMayOverlap(const contraction &C, const CpuOperands &X) {
  unsigned Tensors = 0;
  const Value *Out = objectOf(X.Tensor[OUT]);
  for (unsigned T = 0; T < tensorsOf(C); T++) {
    if (T == OUT || (T >= TENSORS && C.extra[T - TENSORS].tensor < 0))
      continue;
    const Value *In = objectOf(X.Tensor[T]);
    if (In == Out || !isIdentifiedObject(In) || !isIdentifiedObject(Out))
      Tensors |= 1u << T;
  }
  return Tensors;
}

CpuOverlap::CpuOverlap(IRBuilder<> &B, const contraction &C,
                       const CpuOperands &X, unsigned Tensors)
    : C(C) {
  Range Out = rangeOf(B, C, X, OUT);
  for (unsigned T = 0; T < tensorsOf(C); T++) {
    if (!(Tensors >> T & 1))
      continue;
    Range In = rangeOf(B, C, X, T);
    Value *Distance = B.CreateSub(In.Low, Out.Low);
    if (T == IN0 || T == IN1)
      clip(B, C, X, (int)T, In);
    Value *Apart = B.CreateOr(B.CreateICmpULE(Out.High, In.Low),
                              B.CreateICmpULE(In.High, Out.Low));
    if (T >= TENSORS && movesLikeOut(C, T)) // element by element
      Apart = B.CreateOr(Apart, B.CreateICmpEQ(X.Tensor[T], X.Tensor[OUT]));
    Reads.push_back({T, Apart, Distance});
  }
}

Value *CpuOverlap::isApart(IRBuilder<> &B) const {
  Value *Apart = B.getTrue();
  for (const Read &R : Reads)
    Apart = B.CreateAnd(Apart, R.IsApart);
  return Apart;
}

Value *CpuOverlap::isBeside(IRBuilder<> &B, const CpuSlots &Slots) const {
  Function *Beside = besideFunction(*B.GetInsertBlock()->getModule());
  auto Number = [&](uint64_t N) { return B.getInt64(N); };
  Value *Axes = axesIn(B, Slots), *All = B.getTrue();
  for (const Read &R : Reads) {
    Value *Is = B.CreateCall(
        Beside,
        {Axes, Number(Slots.Axes.size() / Slots.Record), Number(Slots.Record),
         Number(Slots.strideOf(OUT)), Number(Slots.strideOf(R.Tensor)),
         R.Distance, Number((uint64_t)dtype_bytes(typeOf(C, OUT))),
         Number((uint64_t)dtype_bytes(typeOf(C, R.Tensor)))});
    All = B.CreateAnd(All, B.CreateOr(R.IsApart, Is));
  }
  return All;
}

// Any stride may be the period.  In one, a tensor covers what the axes reach
// that do not move by whole periods, from its first byte on.
void defineBeside(Function &F) {
  Code B(F);
  Value *Axes = B.argument(AXES);
  Value *End = B.times(B.argument(COUNT), B.argument(RECORD));
  auto Last = [&](Value *Axis) {
    return B.CreateSub(B.getNumber(Axes, Axis), B.number(1));
  };
  auto Stride = [&](Value *Axis, BesideArgument Of) {
    return B.getNumber(Axes, B.plus(Axis, B.argument(Of)));
  };
  auto Positive = [&](Value *X) {
    return B.CreateSelect(B.CreateICmpSLT(X, B.number(0)), B.CreateNeg(X), X);
  };
  auto Reach = [&](Value *Axis, BesideArgument Of, Value *Period) {
    Value *Step = Stride(Axis, Of);
    Value *Way = Positive(B.times(Last(Axis), Step));
    Value *Whole = B.CreateICmpEQ(B.CreateSRem(Step, Period), B.number(0));
    return B.CreateSelect(Whole, B.number(0), Way);
  };
  auto Holds = [&](Value *Period) -> Code::Values {
    Code::Values Width =
        B.carry(B.number(0), End, B.argument(RECORD),
                {B.argument(OUT_BYTES), B.argument(IN_BYTES)},
                [&](Value *Axis, ArrayRef<Value *> W) -> Code::Values {
                  return {B.plus(W[0], Reach(Axis, OUT_AT, Period)),
                          B.plus(W[1], Reach(Axis, IN_AT, Period))};
                });
    Value *Behind = B.CreateSRem(B.argument(DISTANCE), Period);
    Behind = B.CreateSelect(B.CreateICmpSLT(Behind, B.number(0)),
                            B.plus(Behind, Period), Behind);
    return {
        B.CreateAnd(B.CreateICmpSGE(Behind, Width[0]),
                    B.CreateICmpSLE(Width[1], B.CreateSub(Period, Behind)))};
  };
  Value *Is = B.getFalse();
  for (BesideArgument Of : {OUT_AT, IN_AT})
    Is = B.carry(
        B.number(0), End, B.argument(RECORD), {Is},
        [&](Value *Axis, ArrayRef<Value *> Now) -> Code::Values {
          Value *Period = Positive(Stride(Axis, Of));
          Value *Asks = B.CreateAnd(B.CreateICmpNE(Period, B.number(0)),
                                    B.CreateNot(Now[0]));
          return B.choose(Asks, {Now[0]}, [&] { return Holds(Period); });
        })[0];
  B.CreateRet(Is);
}

} // namespace nputeir
