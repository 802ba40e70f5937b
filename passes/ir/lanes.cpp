// lanes.cpp -- lanes of vectors, and where they come from.
#include "lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace nputeir {

int laneCount(const Type *T) {
  const auto *Vector = dyn_cast<FixedVectorType>(T);
  if (!Vector || Vector->getNumElements() > LanesMax ||
      Vector->getScalarSizeInBits() % 8 != 0)
    return 0;
  return (int)Vector->getNumElements();
}

static int countOf(const Value *Vector) {
  const auto *T = dyn_cast<FixedVectorType>(Vector->getType());
  return T ? (int)T->getNumElements() : 0;
}

static int laneIn(const Value *Index, const Value *Vector) {
  const auto *C = dyn_cast<ConstantInt>(Index);
  bool Known = C && C->getValue().ult((uint64_t)countOf(Vector));
  return Known ? (int)C->getZExtValue() : -1;
}

// One step back; {X.Of, X.Lane} itself: there is none.
static Element before(const Element &X) {
  if (const auto *E = dyn_cast<ExtractElementInst>(X.Of)) {
    int Lane = laneIn(E->getIndexOperand(), E->getVectorOperand());
    return Lane < 0 ? Element{nullptr, -1}
                    : Element{E->getVectorOperand(), Lane};
  }
  if (X.Lane < 0)
    return X;
  if (const auto *C = dyn_cast<Constant>(X.Of))
    return {C->getAggregateElement((unsigned)X.Lane), -1};
  if (const auto *I = dyn_cast<InsertElementInst>(X.Of)) {
    int Lane = laneIn(I->getOperand(2), I);
    if (Lane < 0)
      return {nullptr, -1};
    return Lane == X.Lane ? Element{I->getOperand(1), -1}
                          : Element{I->getOperand(0), X.Lane};
  }
  if (const auto *S = dyn_cast<ShuffleVectorInst>(X.Of)) {
    int Count = countOf(S->getOperand(0)), From = S->getMaskValue(X.Lane);
    if (Count == 0 || From < 0)
      return {nullptr, -1};
    return From < Count ? Element{S->getOperand(0), From}
                        : Element{S->getOperand(1), From - Count};
  }
  return X;
}

Element elementOf(const Value *V, int Lane) {
  enum { StepsMax = 256 };
  Element X = {V, V->getType()->isVectorTy() ? Lane : -1};
  for (int Steps = 0; Steps < StepsMax; Steps++) {
    if (X.Of->getType()->isVectorTy() &&
        (X.Lane < 0 || X.Lane >= countOf(X.Of)))
      return {nullptr, -1};
    Element From = before(X);
    if (!From.Of || (From.Of == X.Of && From.Lane == X.Lane))
      return From;
    X = From;
  }
  return {nullptr, -1};
}

const Value *halfOf(const Instruction &I, bool &Same) {
  using namespace PatternMatch;
  const Type *T = I.getType()->getScalarType();
  Value *Half;
  bool Widened =
      T->isFloatTy() && match(&I, m_BitCast(m_Shl(m_ZExtOrSExt(m_Value(Half)),
                                                  m_SpecificInt(16))));
  Same = T->isBFloatTy() && match(&I, m_BitCast(m_Value(Half)));
  if ((!Widened && !Same) ||
      !Half->getType()->getScalarType()->isIntegerTy(16) ||
      laneCount(Half->getType()) != laneCount(I.getType()))
    return nullptr;
  return Half;
}

Across acrossLanes(const Instruction &I, bool &Unsigned) {
  const auto *Call = dyn_cast<IntrinsicInst>(&I);
  Unsigned = false;
  switch (Call ? Call->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::vector_reduce_add:
  case Intrinsic::vector_reduce_fadd:
    return Across::Sum;
  case Intrinsic::aarch64_neon_faddv: // in an order of its own
    return I.hasAllowReassoc() ? Across::Sum : Across::No;
  case Intrinsic::aarch64_neon_uaddv:
  case Intrinsic::aarch64_neon_saddv: { // of shorter numbers: what fits them
    const Type *T = I.getOperand(0)->getType()->getScalarType();
    return T == I.getType() ? Across::Sum : Across::No;
  }
  case Intrinsic::aarch64_neon_addp:
  case Intrinsic::aarch64_neon_faddp:
    return Across::Neighbours;
  case Intrinsic::aarch64_neon_uaddlp:
    Unsigned = true;
    return Across::WidePairs;
  case Intrinsic::aarch64_neon_saddlp:
    return Across::WidePairs;
  case Intrinsic::aarch64_neon_umull:
    Unsigned = true;
    return Across::WideProduct;
  case Intrinsic::aarch64_neon_smull:
    return Across::WideProduct;
  case Intrinsic::x86_sse2_pmadd_wd:
  case Intrinsic::x86_avx2_pmadd_wd:
  case Intrinsic::x86_avx512_pmaddw_d_512:
    return Across::Products;
  case Intrinsic::aarch64_neon_udot:
    Unsigned = true;
    return Across::Dot;
  case Intrinsic::aarch64_neon_sdot:
    return Across::Dot;
  default:
    return Across::No;
  }
}

bool multipliesAcross(const Instruction &I) {
  bool Unsigned;
  switch (acrossLanes(I, Unsigned)) {
  case Across::WideProduct:
  case Across::Products:
  case Across::Dot:
    return true;
  case Across::No:
  case Across::Sum:
  case Across::Neighbours:
  case Across::WidePairs:
    return false;
  }
  return false;
}

bool storesVector(const StoreInst &S) {
  return S.getValueOperand()->getType()->isVectorTy();
}

static bool moveVectors(const BasicBlock &B) {
  return any_of(B, [](const Instruction &I) {
    return getLoadStorePointerOperand(&I) &&
           getLoadStoreType(const_cast<Instruction *>(&I))->isVectorTy();
  });
}

bool movesVectors(const Loop &L) {
  return any_of(L.blocks(),
                [](const BasicBlock *B) { return moveVectors(*B); });
}

bool movesVectors(const Function &F) { return any_of(F, moveVectors); }

} // namespace nputeir
