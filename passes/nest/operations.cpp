// operations.cpp -- one instruction of the IR as an expression of the nest
// description, with the bits of the instruction: whatever calc.def cannot say
// exactly becomes NEST_OTHER, which no contraction contains.
//
// Where the IR leaves a result open (poison, the order of a fused
// multiply-add), the description takes one of the permitted ones.
#include "operations.h"
#include "lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace nputeir {

static bool allowsReassoc(const Instruction &I) {
  const auto *FP = dyn_cast<FPMathOperator>(&I);
  return !FP || FP->hasAllowReassoc();
}

static bool isFinite(const Instruction &I) {
  const auto *FP = dyn_cast<FPMathOperator>(&I);
  return !FP || (FP->hasNoNaNs() && FP->hasNoInfs());
}

// What a shift by a constant leaves of the sign is cut off by all users, as in
// the high half of a product; LLVM then writes either shift.
static bool ignoresSign(const Instruction &I) {
  const auto *By = dyn_cast<ConstantInt>(I.getOperand(1));
  unsigned Bits = I.getType()->getScalarSizeInBits();
  return By && By->getValue().ult(Bits) &&
         all_of(I.users(), [&](const User *U) {
           return isa<TruncInst>(U) &&
                  U->getType()->getScalarSizeInBits() + By->getZExtValue() <=
                      Bits;
         });
}

static bool isTruth(const Value &V) {
  return V.getType()->getScalarType()->isIntegerTy(1);
}

nest_expr *Operations::readOne(nest_op Op, const Instruction &I, int Depth) {
  nest_expr *X = read(I.getOperand(0), false, Depth + 1);
  return make(Op, X->type, at(I), X);
}

nest_expr *Operations::readTwo(nest_op Op, const Instruction &I, bool Unsigned,
                               int Depth) {
  dtype T = typeOf(I.getType(), Unsigned);
  assert(I.getOperand(0)->getType() == I.getType());
  assert(I.getOperand(1)->getType() == I.getType());
  if (Unsigned && dtype_kind(T) != DTYPE_UNSIGNED)
    return other("an operation on unsigned 64-bit numbers", at(I));
  if (isTruth(I) && Op != NEST_AND && Op != NEST_OR && Op != NEST_XOR)
    return other("arithmetic on truth values", at(I));
  nest_expr *E = make(Op, T, at(I), read(I.getOperand(0), Unsigned, Depth + 1),
                      read(I.getOperand(1), Unsigned, Depth + 1));
  E->reassoc = allowsReassoc(I);
  Infinite |= !isFinite(I);
  return E;
}

nest_expr *Operations::sumIn(const Instruction &I, nest_expr *X, nest_expr *Y) {
  nest_expr *E = make(NEST_ADD, X->type, at(I), X, Y);
  E->reassoc = allowsReassoc(I);
  Infinite |= !isFinite(I);
  return E;
}

static bool isElement(const Value *V) {
  while (const auto *C = dyn_cast<CastInst>(V))
    V = C->getOperand(0);
  return isa<LoadInst>(V);
}

// The call adds a product to the sum so far, be it a variable or a place that
// nothing else writes: then how it rounds is a matter of the sum's order, for
// which permission is asked.
static bool isStepOfSum(const IntrinsicInst &I) {
  if (!I.hasOneUse() || !isElement(I.getArgOperand(0)) ||
      !isElement(I.getArgOperand(1)))
    return false;
  const User *Next = I.user_back();
  const Value *Old = I.getArgOperand(2);
  const auto *S = dyn_cast<StoreInst>(Next);
  const auto *L = dyn_cast<LoadInst>(Old);
  if (!S || !L)
    return isa<PHINode>(Next) && Old == Next;
  const Value *Place = S->getPointerOperand();
  return L->getPointerOperand() == Place && L->getParent() == S->getParent() &&
         count_if(Place->users(),
                  [](const User *U) { return isa<StoreInst>(U); }) == 1;
}

// a * b + c in one instruction.  fmuladd leaves open whether it rounds once.
nest_expr *Operations::readFused(const IntrinsicInst &I, int Depth) {
  bool Reassoc = allowsReassoc(I);
  nest_expr *X = read(I.getArgOperand(0), false, Depth + 1);
  nest_expr *Y = read(I.getArgOperand(1), false, Depth + 1);
  nest_expr *Z = read(I.getArgOperand(2), false, Depth + 1);
  if (I.getIntrinsicID() == Intrinsic::fma && !Reassoc && !isStepOfSum(I))
    return make(NEST_FMA, X->type, at(I), X, Y, Z);
  nest_expr *Product = make(NEST_MUL, X->type, at(I), X, Y);
  nest_expr *E = make(NEST_ADD, X->type, at(I), Product, Z);
  E->reassoc = Product->reassoc = Reassoc;
  Infinite |= !isFinite(I);
  return E;
}

// To an integer from a float: out of range is undefined or saturates.
nest_expr *Operations::readToInt(const Instruction &I, bool Unsigned,
                                 int Depth) {
  dtype T = typeOf(I.getType(), Unsigned);
  if (isTruth(I) || (Unsigned && dtype_kind(T) != DTYPE_UNSIGNED))
    return other("a conversion to an unsigned 64-bit number", at(I));
  return make(NEST_CAST, T, at(I), read(I.getOperand(0), false, Depth + 1));
}

nest_expr *Operations::readSameBits(const CastInst &C, int Depth) {
  dtype To, From;
  const Type *T = C.getType(), *Was = C.getOperand(0)->getType();
  if (!typeOf(T->getScalarType(), false, To) ||
      !typeOf(Was->getScalarType(), false, From) ||
      laneCount(T) != laneCount(Was) || dtype_bytes(To) != dtype_bytes(From) ||
      isTruth(C))
    return other("a conversion between several numbers and one", at(C));
  return make(NEST_BITS, To, at(C), read(C.getOperand(0), false, Depth + 1));
}

// A product of floats that is widened and added, where contraction may leave
// out that it is rounded before: x * y in the type of the sum, as a fused
// multiply-add of that type has it.  Of types with few bits, how it is rounded
// is much of what the product is.
static const Instruction *contractedProduct(const CastInst &C) {
  const auto *P = dyn_cast<Instruction>(C.getOperand(0));
  const auto *Next =
      C.hasOneUse() ? dyn_cast<Instruction>(C.user_back()) : nullptr;
  bool IsAdded = Next && (Next->getOpcode() == Instruction::FAdd ||
                          Next->getOpcode() == Instruction::FSub);
  return IsAdded && P && P->getType()->getScalarType()->isFloatTy() &&
                 P->getOpcode() == Instruction::FMul && P->hasAllowContract() &&
                 Next->hasAllowContract()
             ? P
             : nullptr;
}

nest_expr *Operations::readWidened(const CastInst &C, int Depth) {
  dtype T = typeOf(C.getType(), false);
  const Instruction *P = contractedProduct(C);
  if (!P)
    return make(NEST_CAST, T, at(C), read(C.getOperand(0), false, Depth + 1));
  auto Widen = [&](unsigned Factor) {
    return make(NEST_CAST, T, at(C),
                read(P->getOperand(Factor), false, Depth + 1));
  };
  nest_expr *E = make(NEST_MUL, T, at(*P), Widen(0), Widen(1));
  E->reassoc = allowsReassoc(*P);
  Infinite |= !isFinite(*P);
  return E;
}

nest_expr *Operations::readCast(const CastInst &C, int Depth) {
  dtype T = typeOf(C.getType(), false);
  bool FromTruth = isTruth(*C.getOperand(0));
  switch (C.getOpcode()) {
  case Instruction::UIToFP:
    if (C.getOperand(0)->getType()->getScalarType()->isIntegerTy(64))
      return other("a conversion from an unsigned 64-bit number", at(C));
    [[fallthrough]];
  case Instruction::ZExt:
    return make(NEST_CAST, T, at(C), read(C.getOperand(0), true, Depth + 1));
  case Instruction::FPExt:
    return readWidened(C, Depth);
  case Instruction::SExt:
  case Instruction::SIToFP:
  case Instruction::FPTrunc:
  case Instruction::Trunc: {
    nest_expr *E =
        make(NEST_CAST, T, at(C), read(C.getOperand(0), false, Depth + 1));
    if (FromTruth) // all bits of true are set
      return make(NEST_NEG, T, at(C), E);
    if (!isTruth(C))
      return E;
    nest_expr *One = make(NEST_NUMBER, T, at(C));
    One->number = (double)(One->integer = 1);
    return make(NEST_AND, T, at(C), E, One);
  }
  case Instruction::FPToSI:
  case Instruction::FPToUI:
    return readToInt(C, isa<FPToUIInst>(C), Depth);
  case Instruction::BitCast:
    return readSameBits(C, Depth);
  default:
    return other("a conversion between addresses and numbers", at(C));
  }
}

// Three comparisons are enough: the others are their mirror image or their
// opposite, which for floats changes "or not comparable", too.
nest_expr *Operations::readCompare(const CmpInst &C, CmpInst::Predicate P,
                                   int Depth) {
  bool Unsigned = CmpInst::isUnsigned(P);
  dtype T;
  if (!typeOf(C.getOperand(0)->getType()->getScalarType(), Unsigned, T))
    return other("a comparison of what is no number", at(C));
  if (Unsigned && dtype_kind(T) != DTYPE_UNSIGNED)
    return other("a comparison of unsigned 64-bit numbers", at(C));
  if (isTruth(*C.getOperand(0)) && !ICmpInst::isEquality(P))
    return other("a comparison of truth values", at(C));
  auto Ask = [&](nest_op Op, int First) {
    return make(Op, DTYPE_U8, at(C),
                read(C.getOperand(First), Unsigned, Depth + 1),
                read(C.getOperand(1 - First), Unsigned, Depth + 1));
  };
  switch (P) {
  case CmpInst::ICMP_EQ:
  case CmpInst::FCMP_OEQ:
    return Ask(NEST_EQ, 0);
  case CmpInst::ICMP_SLT:
  case CmpInst::ICMP_ULT:
  case CmpInst::FCMP_OLT:
    return Ask(NEST_LT, 0);
  case CmpInst::ICMP_SLE:
  case CmpInst::ICMP_ULE:
  case CmpInst::FCMP_OLE:
    return Ask(NEST_LE, 0);
  case CmpInst::ICMP_SGT:
  case CmpInst::ICMP_UGT:
  case CmpInst::FCMP_OGT:
    return Ask(NEST_LT, 1);
  case CmpInst::ICMP_SGE:
  case CmpInst::ICMP_UGE:
  case CmpInst::FCMP_OGE:
    return Ask(NEST_LE, 1);
  case CmpInst::FCMP_ONE:
    return make(NEST_OR, DTYPE_U8, at(C), Ask(NEST_LT, 0), Ask(NEST_LT, 1));
  case CmpInst::FCMP_ORD: {
    nest_expr *X = read(C.getOperand(0), false, Depth + 1);
    nest_expr *Y = read(C.getOperand(1), false, Depth + 1);
    return make(NEST_AND, DTYPE_U8, at(C), make(NEST_EQ, DTYPE_U8, at(C), X, X),
                make(NEST_EQ, DTYPE_U8, at(C), Y, Y));
  }
  case CmpInst::ICMP_NE:
  case CmpInst::FCMP_UNE:
  case CmpInst::FCMP_ULT:
  case CmpInst::FCMP_ULE:
  case CmpInst::FCMP_UGT:
  case CmpInst::FCMP_UGE:
  case CmpInst::FCMP_UEQ:
  case CmpInst::FCMP_UNO:
    return make(NEST_NOT, DTYPE_U8, at(C),
                readCompare(C, CmpInst::getInversePredicate(P), Depth));
  default:
    return other("a comparison with a known outcome", at(C));
  }
}

nest_expr *Operations::readSelect(const Instruction &I, int Depth) {
  nest_expr *Condition = read(I.getOperand(0), false, Depth + 1);
  nest_expr *Then = read(I.getOperand(1), false, Depth + 1);
  return make(NEST_SELECT, Then->type, at(I), Condition, Then,
              read(I.getOperand(2), false, Depth + 1));
}

nest_expr *Operations::readIntrinsic(const IntrinsicInst &I, int Depth) {
  switch (I.getIntrinsicID()) {
  case Intrinsic::fmuladd:
  case Intrinsic::fma:
    return readFused(I, Depth);
  case Intrinsic::abs:
  case Intrinsic::fabs:
    return readOne(NEST_ABS, I, Depth);
  case Intrinsic::floor:
    return readOne(NEST_FLOOR, I, Depth);
  case Intrinsic::ceil:
    return readOne(NEST_CEIL, I, Depth);
  case Intrinsic::trunc:
    return readOne(NEST_TRUNC, I, Depth);
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::roundeven:
    return readOne(NEST_RINT, I, Depth);
  case Intrinsic::round:
    return readOne(NEST_ROUND, I, Depth);
  case Intrinsic::lrint:
  case Intrinsic::llrint:
  case Intrinsic::lround:
  case Intrinsic::llround: {
    bool Even = I.getIntrinsicID() == Intrinsic::lrint ||
                I.getIntrinsicID() == Intrinsic::llrint;
    dtype T = typeOf(I.getType(), false);
    return make(NEST_CAST, T, at(I),
                readOne(Even ? NEST_RINT : NEST_ROUND, I, Depth));
  }
  case Intrinsic::fptosi_sat:
    return readToInt(I, false, Depth);
  case Intrinsic::fptoui_sat:
    return readToInt(I, true, Depth);
  case Intrinsic::smin:
  case Intrinsic::minnum:
    return readTwo(NEST_MIN, I, false, Depth);
  case Intrinsic::umin:
    return readTwo(NEST_MIN, I, true, Depth);
  case Intrinsic::smax:
  case Intrinsic::maxnum:
    return readTwo(NEST_MAX, I, false, Depth);
  case Intrinsic::umax:
    return readTwo(NEST_MAX, I, true, Depth);
  default:
    return other("a built-in function", at(I));
  }
}

nest_expr *Operations::readOperation(const Instruction &I, int Depth) {
  if (const auto *C = dyn_cast<CastInst>(&I))
    return readCast(*C, Depth);
  if (const auto *C = dyn_cast<CmpInst>(&I))
    return readCompare(*C, C->getPredicate(), Depth);
  if (const auto *C = dyn_cast<IntrinsicInst>(&I))
    return readIntrinsic(*C, Depth);
  switch (I.getOpcode()) {
  case Instruction::Add:
  case Instruction::FAdd:
    return readTwo(NEST_ADD, I, false, Depth);
  case Instruction::Sub:
  case Instruction::FSub:
    return readTwo(NEST_SUB, I, false, Depth);
  case Instruction::Mul:
  case Instruction::FMul:
    return readTwo(NEST_MUL, I, false, Depth);
  case Instruction::SDiv:
  case Instruction::FDiv:
    return readTwo(NEST_DIV, I, false, Depth);
  case Instruction::UDiv:
    return readTwo(NEST_DIV, I, true, Depth);
  case Instruction::And:
    return readTwo(NEST_AND, I, false, Depth);
  case Instruction::Or:
    return readTwo(NEST_OR, I, false, Depth);
  case Instruction::Xor:
    return readTwo(NEST_XOR, I, false, Depth);
  case Instruction::Shl:
    return readTwo(NEST_SHL, I, false, Depth);
  case Instruction::AShr:
    return readTwo(NEST_SHR, I, false, Depth);
  case Instruction::LShr:
    return readTwo(NEST_SHR, I, !ignoresSign(I), Depth);
  case Instruction::FNeg:
    return readOne(NEST_NEG, I, Depth);
  case Instruction::Select:
    return readSelect(I, Depth);
  case Instruction::Freeze:
    return read(I.getOperand(0), false, Depth + 1);
  case Instruction::SRem:
  case Instruction::URem:
  case Instruction::FRem:
    return other("a remainder", at(I));
  case Instruction::Call:
    return other("a call", at(I));
  default:
    return other("an operation that no contraction has", at(I));
  }
}

} // namespace nputeir
