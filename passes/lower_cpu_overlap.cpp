// lower_cpu_overlap.cpp -- may the code for the processor run, or does its
// result overlap what it reads?  Mostly ranges of bytes are apart, which is
// asked where the code is called.  Where they overlap, parts of one array may
// lie beside each other, as columns of a matrix do: a function that the whole
// program shares tells, from the extents and strides.
#include "lower_cpu_form.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

struct Range {
  Value *Low, *High; // the last byte's place, plus one
};

Range rangeOf(IRBuilder<> &B, const contraction &C, const CpuOperands &X,
              unsigned T) {
  Value *Zero = B.getInt64(0);
  Value *Place = B.CreatePtrToInt(X.Tensor[T], B.getInt64Ty());
  dtype Type = T < TENSORS ? C.type[T] : C.extra[T - TENSORS].type;
  Range R = {Place,
             B.CreateAdd(Place, B.getInt64((uint64_t)dtype_bytes(Type)))};
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

// What is read, and not from another object than out is in.
SmallVector<unsigned, 4> mayOverlap(const contraction &C,
                                    const CpuOperands &X) {
  SmallVector<unsigned, 4> Read;
  const Value *Out = objectOf(X.Tensor[OUT]);
  for (unsigned T = 0; T < tensorsOf(C); T++) {
    if (T == OUT || (T >= TENSORS && C.extra[T - TENSORS].tensor < 0))
      continue;
    const Value *In = objectOf(X.Tensor[T]);
    if (In == Out || !isIdentifiedObject(In) || !isIdentifiedObject(Out))
      Read.push_back(T);
  }
  return Read;
}

Value *isApart(IRBuilder<> &B, const contraction &C, const CpuOperands &X,
               unsigned T) {
  Range Out = rangeOf(B, C, X, OUT), In = rangeOf(B, C, X, T);
  if (T == IN0 || T == IN1)
    clip(B, C, X, (int)T, In);
  Value *Apart = B.CreateOr(B.CreateICmpULE(Out.High, In.Low),
                            B.CreateICmpULE(In.High, Out.Low));
  if (T >= TENSORS && movesLikeOut(C, T)) // element by element
    Apart = B.CreateOr(Apart, B.CreateICmpEQ(X.Tensor[T], X.Tensor[OUT]));
  return Apart;
}

// i1 (axes, count, distance, out_bytes, in_bytes): do out, and what begins
// `distance` bytes behind it, lie beside each other in every period?  By axis:
// the extent less 1, and the strides of both.
enum BesideAxis { LAST, OF_OUT, OF_IN, BESIDE_AXIS };

Function *besideFunction(Module &M) {
  if (Function *F = M.getFunction(BesideName))
    return F;
  LLVMContext &X = M.getContext();
  Type *I64 = Type::getInt64Ty(X);
  auto *T = FunctionType::get(Type::getInt1Ty(X),
                              {bytePointer(X), I64, I64, I64, I64}, false);
  auto *F =
      Function::Create(T, GlobalValue::ExternalWeakLinkage, BesideName, M);
  F->setDoesNotThrow();
  return F;
}

Value *isBeside(IRBuilder<> &B, const contraction &C, const CpuOperands &X,
                unsigned T) {
  SmallVector<Value *, 16> Axes;
  for (int I = 0; I < C.axis_count; I++) {
    value Out = strideOf(C, I, OUT), In = strideOf(C, I, T);
    if (isMoved(Out) || isMoved(In))
      Axes.append({B.CreateSub(X.Number(C.axis[I].extent), B.getInt64(1)),
                   X.Number(Out), X.Number(In)});
  }
  Function &F = *B.GetInsertBlock()->getParent();
  BasicBlock &Entry = F.getEntryBlock();
  auto *Array = ArrayType::get(B.getInt64Ty(), Axes.size());
  Value *Place = IRBuilder<>(&Entry, Entry.getFirstInsertionPt())
                     .CreateAlloca(Array, nullptr, "nputeir.beside");
  for (size_t I = 0; I < Axes.size(); I++)
    B.CreateAlignedStore(
        Axes[I], B.CreateConstInBoundsGEP2_64(Array, Place, 0, I), Align(8));
  Range Out = rangeOf(B, C, X, OUT), In = rangeOf(B, C, X, T);
  dtype Read = T < TENSORS ? C.type[T] : C.extra[T - TENSORS].type;
  return B.CreateCall(besideFunction(*F.getParent()),
                      {B.CreatePointerCast(Place, bytePointer(F.getContext())),
                       B.getInt64(Axes.size() / BESIDE_AXIS),
                       B.CreateSub(In.Low, Out.Low),
                       B.getInt64((uint64_t)dtype_bytes(C.type[OUT])),
                       B.getInt64((uint64_t)dtype_bytes(Read))});
}

} // namespace

Value *cpuIsApart(IRBuilder<> &B, const contraction &C, const CpuOperands &X) {
  Value *Apart = B.getTrue();
  for (unsigned T : mayOverlap(C, X))
    Apart = B.CreateAnd(Apart, isApart(B, C, X, T));
  return Apart;
}

Value *cpuIsBeside(IRBuilder<> &B, const contraction &C, const CpuOperands &X) {
  Value *Beside = B.getTrue();
  for (unsigned T : mayOverlap(C, X))
    Beside = B.CreateAnd(Beside,
                         B.CreateOr(isApart(B, C, X, T), isBeside(B, C, X, T)));
  return Beside;
}

// Any stride may be the period.  In one, a tensor covers what the axes reach
// that do not move by whole periods, from its first byte on.
void defineBeside(Function &F) {
  Code B(F);
  Value *Axes = B.argument(0), *Count = B.argument(1);
  auto Number = [&](Value *Axis, BesideAxis Which) {
    return B.getNumber(Axes, B.plus(B.times(Axis, BESIDE_AXIS), Which));
  };
  auto Positive = [&](Value *X) {
    return B.CreateSelect(B.CreateICmpSLT(X, B.number(0)), B.CreateNeg(X), X);
  };
  auto Reach = [&](Value *Axis, BesideAxis Of, Value *Period) {
    Value *Stride = Number(Axis, Of);
    Value *Way = Positive(B.times(Number(Axis, LAST), Stride));
    Value *Whole = B.CreateICmpEQ(B.CreateSRem(Stride, Period), B.number(0));
    return B.CreateSelect(Whole, B.number(0), Way);
  };
  auto Holds = [&](Value *Period) -> Code::Values {
    Code::Values Width =
        B.carry(B.number(0), Count, B.number(1), {B.argument(3), B.argument(4)},
                [&](Value *Axis, ArrayRef<Value *> W) -> Code::Values {
                  return {B.plus(W[0], Reach(Axis, OF_OUT, Period)),
                          B.plus(W[1], Reach(Axis, OF_IN, Period))};
                });
    Value *Behind = B.CreateSRem(B.argument(2), Period);
    Behind = B.CreateSelect(B.CreateICmpSLT(Behind, B.number(0)),
                            B.plus(Behind, Period), Behind);
    return {
        B.CreateAnd(B.CreateICmpSGE(Behind, Width[0]),
                    B.CreateICmpSLE(Width[1], B.CreateSub(Period, Behind)))};
  };
  Value *Is = B.getFalse();
  for (BesideAxis Of : {OF_OUT, OF_IN})
    Is = B.carry(
        B.number(0), Count, B.number(1), {Is},
        [&](Value *Axis, ArrayRef<Value *> Now) -> Code::Values {
          Value *Period = Positive(Number(Axis, Of));
          Value *Asks = B.CreateAnd(B.CreateICmpNE(Period, B.number(0)),
                                    B.CreateNot(Now[0]));
          return B.choose(Asks, {Now[0]}, [&] { return Holds(Period); });
        })[0];
  B.CreateRet(Is);
}

} // namespace nputeir
