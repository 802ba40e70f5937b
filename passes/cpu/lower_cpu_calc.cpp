// lower_cpu_calc.cpp -- element-wise expressions as IR, with the bits that
// base/calc_run.c gives: every operation rounds to its own type, integers wrap,
// nothing is undefined.
#include "lower_cpu.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace nputeir {

static Type *integer(LLVMContext &X, dtype T) {
  return Type::getIntNTy(X, (unsigned)dtype_bytes(T) * 8);
}

Type *storedType(LLVMContext &X, dtype T) {
  switch (T) {
  case DTYPE_F16:
    return Type::getHalfTy(X);
  case DTYPE_F32:
    return Type::getFloatTy(X);
  case DTYPE_F64:
    return Type::getDoubleTy(X);
  default: // bf16 as its bits
    return integer(X, T);
  }
}

Type *computedType(LLVMContext &X, dtype T) {
  return dtype_is_half(T) ? Type::getFloatTy(X) : storedType(X, T);
}

// T, or as many of it as V has.
static Type *like(Value *V, Type *T) {
  auto *Shape = dyn_cast<VectorType>(V->getType());
  return Shape ? VectorType::get(T, Shape->getElementCount()) : T;
}

Value *fromStored(Code &C, dtype T, Value *V) {
  if (T == DTYPE_F16)
    return C.CreateFPExt(V, like(V, C.getFloatTy()));
  if (!dtype_is_bf16(T))
    return V;
  Type *Bits = like(V, C.getInt32Ty());
  Value *High = C.CreateShl(C.CreateZExt(V, Bits), ConstantInt::get(Bits, 16));
  return C.CreateBitCast(High, like(V, C.getFloatTy()));
}

static Value *toBF16(Code &C, Value *V) {
  Type *Word = like(V, C.getInt32Ty()), *Half = like(V, C.getInt16Ty());
  auto N = [&](unsigned X) { return ConstantInt::get(Word, X); };
  Value *Bits = C.CreateBitCast(V, Word);
  Value *Odd = C.CreateAnd(C.CreateLShr(Bits, N(16)), N(1));
  Value *Rounded = C.CreateAdd(Bits, C.CreateAdd(Odd, N(0x7fff)));
  Value *Quiet = C.CreateOr(Bits, N(0x400000));
  Value *Is = C.CreateSelect(C.CreateFCmpUNO(V, V), Quiet, Rounded);
  return C.CreateTrunc(C.CreateLShr(Is, N(16)), Half);
}

Value *toStored(Code &C, dtype T, Value *V) {
  if (dtype_is_bf16(T))
    return toBF16(C, V);
  if (T == DTYPE_F16)
    return C.CreateFPTrunc(V, like(V, C.getHalfTy()));
  return V;
}

static bool isSigned(dtype T) { return dtype_kind(T) == DTYPE_SIGNED; }
static bool isFloat(dtype T) { return dtype_kind(T) == DTYPE_FLOAT; }

// To a half only from what a float holds exactly, or it is rounded twice.
static bool convertsOnce(dtype From, dtype To) {
  return !dtype_is_half(To) || dtype_is_half(From) || From == DTYPE_F32 ||
         (!isFloat(From) && dtype_bytes(From) <= 2);
}

Value *convert(Code &C, dtype From, dtype To, Value *V) {
  if (From == To)
    return V;
  Type *T = like(V, computedType(C.getContext(), To));
  if (isFloat(From) && isFloat(To))
    V = C.CreateFPCast(V, T);
  else if (isFloat(To))
    V = isSigned(From) ? C.CreateSIToFP(V, T) : C.CreateUIToFP(V, T);
  else if (isFloat(From))
    return C.CreateIntrinsic(isSigned(To) ? Intrinsic::fptosi_sat
                                          : Intrinsic::fptoui_sat,
                             {T, V->getType()}, {V});
  else
    return C.CreateIntCast(V, T, isSigned(From));
  return dtype_is_half(To) ? fromStored(C, To, toStored(C, To, V)) : V;
}

bool canCompute(const calc *X) {
  if (X->op == CALC_CAST && !convertsOnce(X->arg[0]->type, X->type))
    return false;
  for (int I = 0; I < calc_operands(X->op); I++)
    if (!canCompute(X->arg[I]))
      return false;
  return true;
}

namespace {

class Computation {
  Code &C;
  ArrayRef<Value *> Input;
  DenseMap<const calc *, Value *> Known; // operands are shared

public:
  Computation(Code &C, ArrayRef<Value *> Input) : C(C), Input(Input) {}

  Value *of(const calc *X) {
    if (Value *V = Known.lookup(X))
      return V;
    Value *V = make(X);
    return Known[X] = V;
  }

private:
  Type *typeOf(dtype T) {
    return like(Input[0], computedType(C.getContext(), T));
  }

  Value *make(const calc *X) {
    switch (X->op) {
    case CALC_INPUT:
      return Input[(size_t)X->input];
    case CALC_NUMBER:
      return isFloat(X->type)
                 ? ConstantFP::get(typeOf(X->type), X->number)
                 : ConstantInt::get(typeOf(X->type), (uint64_t)X->integer);
    case CALC_CAST:
      return convert(C, X->arg[0]->type, X->type, of(X->arg[0]));
    case CALC_BITS:
      return bits(X);
    case CALC_SELECT: {
      Value *Which = of(X->arg[0]);
      Value *Is =
          C.CreateICmpNE(Which, Constant::getNullValue(Which->getType()));
      return C.CreateSelect(Is, of(X->arg[1]), of(X->arg[2]));
    }
    case CALC_FMA:
      return C.CreateIntrinsic(Intrinsic::fma, {typeOf(X->type)},
                               {of(X->arg[0]), of(X->arg[1]), of(X->arg[2])});
    default:
      return arithmetic(X);
    }
  }

  Value *bits(const calc *X) {
    dtype From = X->arg[0]->type;
    Value *Stored = toStored(C, From, of(X->arg[0]));
    Type *To = like(Input[0], storedType(C.getContext(), X->type));
    return fromStored(C, X->type, C.CreateBitCast(Stored, To));
  }

  Value *arithmetic(const calc *X) {
    dtype T = X->arg[0]->type;
    Value *A = of(X->arg[0]);
    Value *B = calc_operands(X->op) > 1 ? of(X->arg[1]) : A;
    if (X->op == CALC_LT || X->op == CALC_LE || X->op == CALC_EQ)
      return C.CreateZExt(compare(X->op, T, A, B), typeOf(DTYPE_U8));
    if (!isFloat(T))
      return integers(X->op, T, A, B);
    Value *V = floats(X->op, A, B);
    return dtype_is_half(T) ? fromStored(C, T, toStored(C, T, V)) : V;
  }

  Value *compare(calc_op Op, dtype T, Value *A, Value *B) {
    if (Op == CALC_EQ)
      return isFloat(T) ? C.CreateFCmpOEQ(A, B) : C.CreateICmpEQ(A, B);
    if (isFloat(T))
      return Op == CALC_LT ? C.CreateFCmpOLT(A, B) : C.CreateFCmpOLE(A, B);
    if (isSigned(T))
      return Op == CALC_LT ? C.CreateICmpSLT(A, B) : C.CreateICmpSLE(A, B);
    return Op == CALC_LT ? C.CreateICmpULT(A, B) : C.CreateICmpULE(A, B);
  }

  Value *unary(Intrinsic::ID Id, Value *A) {
    return C.CreateUnaryIntrinsic(Id, A);
  }

  Value *floats(calc_op Op, Value *A, Value *B) {
    switch (Op) {
    case CALC_ADD:
      return C.CreateFAdd(A, B);
    case CALC_SUB:
      return C.CreateFSub(A, B);
    case CALC_MUL:
      return C.CreateFMul(A, B);
    case CALC_DIV:
      return C.CreateFDiv(A, B);
    case CALC_NEG:
      return C.CreateFNeg(A);
    case CALC_ABS:
      return unary(Intrinsic::fabs, A);
    case CALC_MIN:
    case CALC_MAX: {
      Value *Better =
          Op == CALC_MIN ? C.CreateFCmpOLT(B, A) : C.CreateFCmpOGT(B, A);
      return C.CreateSelect(C.CreateOr(Better, C.CreateFCmpUNO(A, A)), B, A);
    }
    case CALC_FLOOR:
      return unary(Intrinsic::floor, A);
    case CALC_CEIL:
      return unary(Intrinsic::ceil, A);
    case CALC_TRUNC:
      return unary(Intrinsic::trunc, A);
    case CALC_RINT:
      return unary(Intrinsic::rint, A);
    case CALC_ROUND:
      return unary(Intrinsic::round, A);
    default:
      llvm_unreachable("no operation on floats");
    }
  }

  Value *divide(dtype T, Value *A, Value *B) {
    Type *Is = A->getType();
    Constant *Zero = Constant::getNullValue(Is);
    Value *None = C.CreateICmpEQ(B, Zero);
    Value *Safe = C.CreateSelect(None, ConstantInt::get(Is, 1), B);
    if (!isSigned(T))
      return C.CreateSelect(None, Zero, C.CreateUDiv(A, Safe));
    Value *Turns = C.CreateICmpEQ(B, Constant::getAllOnesValue(Is));
    Safe = C.CreateSelect(Turns, ConstantInt::get(Is, 1), Safe);
    Value *V = C.CreateSelect(Turns, C.CreateNeg(A), C.CreateSDiv(A, Safe));
    return C.CreateSelect(None, Zero, V);
  }

  Value *shift(calc_op Op, dtype T, Value *A, Value *B) {
    Type *Is = A->getType();
    Constant *Last = ConstantInt::get(Is, (uint64_t)dtype_bytes(T) * 8 - 1);
    Value *By = C.CreateAnd(B, Last);
    Value *V = Op == CALC_SHL ? C.CreateShl(A, By)
               : isSigned(T)  ? C.CreateAShr(A, By)
                              : C.CreateLShr(A, By);
    return C.CreateSelect(C.CreateICmpULE(B, Last), V,
                          Constant::getNullValue(Is));
  }

  Value *integers(calc_op Op, dtype T, Value *A, Value *B) {
    Constant *Zero = Constant::getNullValue(A->getType());
    switch (Op) {
    case CALC_ADD:
      return C.CreateAdd(A, B);
    case CALC_SUB:
      return C.CreateSub(A, B);
    case CALC_MUL:
      return C.CreateMul(A, B);
    case CALC_DIV:
      return divide(T, A, B);
    case CALC_NEG:
      return C.CreateNeg(A);
    case CALC_ABS:
      return isSigned(T)
                 ? C.CreateSelect(C.CreateICmpSLT(A, Zero), C.CreateNeg(A), A)
                 : A;
    case CALC_MIN:
      return C.CreateSelect(compare(CALC_LT, T, A, B), A, B);
    case CALC_MAX:
      return C.CreateSelect(compare(CALC_LT, T, B, A), A, B);
    case CALC_NOT:
      return C.CreateZExt(C.CreateICmpEQ(A, Zero), typeOf(DTYPE_U8));
    case CALC_AND:
      return C.CreateAnd(A, B);
    case CALC_OR:
      return C.CreateOr(A, B);
    case CALC_XOR:
      return C.CreateXor(A, B);
    case CALC_SHL:
    case CALC_SHR:
      return shift(Op, T, A, B);
    default:
      llvm_unreachable("no operation on integers");
    }
  }
};

} // namespace

Value *compute(Code &C, const calc *X, ArrayRef<Value *> Input) {
  return Computation(C, Input).of(X);
}

} // namespace nputeir
