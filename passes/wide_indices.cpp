// wide_indices.cpp -- indices of fewer bits than an address has.
#include "wide_indices.h"
#include "ir_scev.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

namespace {

// ext(recurrence) -> recurrence of exts, with a note that it must not wrap.
class Widener : public SCEVRewriteVisitor<Widener> {
  using Base = SCEVRewriteVisitor<Widener>;
  function_ref<const SCEV *(const Loop &)> Extent;
  std::vector<NoWrap> &Bounded;
  Type *I64;

public:
  Widener(ScalarEvolution &SE, function_ref<const SCEV *(const Loop &)> Extent,
          std::vector<NoWrap> &Bounded)
      : Base(SE), Extent(Extent), Bounded(Bounded),
        I64(Type::getInt64Ty(SE.getContext())) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *Z) {
    return widen(Z, false);
  }
  const SCEV *visitSignExtendExpr(const SCEVSignExtendExpr *S) {
    return widen(S, true);
  }

private:
  // A multiple of a number is multiplied in T, where neither wraps.
  const SCEV *extend(const SCEV *S, Type *T, bool Signed) {
    const auto *M = dyn_cast<SCEVMulExpr>(S);
    if (Signed && M && isa<SCEVConstant>(M->getOperand(0))) {
      SmallVector<const SCEV *, 4> Factors(drop_begin(M->operands()));
      return SE.getMulExpr(SE.getSignExtendExpr(M->getOperand(0), T),
                           SE.getSignExtendExpr(SE.getMulExpr(Factors), T));
    }
    return Signed ? SE.getSignExtendExpr(S, T) : SE.getZeroExtendExpr(S, T);
  }

  // Within an index there may be one of fewer bits yet.
  const SCEV *widen(const SCEVCastExpr *Cast, bool Signed) {
    const SCEV *S = visit(Cast->getOperand());
    Type *T = Cast->getType();
    const SCEV *Same =
        Signed ? SE.getSignExtendExpr(S, T) : SE.getZeroExtendExpr(S, T);
    unsigned Bits = (unsigned)SE.getTypeSizeInBits(S->getType());
    bool IsIndex = Bits >= 8 && Bits <= 32; // fewer: i & 1
    if (SE.getTypeSizeInBits(T) > 64 || !IsIndex)
      return Same;
    NoWrap Sum = {Bits, Signed, {nullptr, {}}};
    SmallVector<std::pair<const SCEV *, const Loop *>, 4> Steps;
    while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
      const SCEV *Times = Extent(*Rec->getLoop());
      if (!Times)
        break; // a loop around the nest
      if (!Rec->isAffine())
        return Same;
      const SCEV *Step = Rec->getStepRecurrence(SE);
      bool HasSign = Signed || looksNegative(Step);
      Sum.Of.Terms.push_back({extend(Step, I64, HasSign), Times});
      Steps.push_back({extend(Step, T, HasSign), Rec->getLoop()});
      S = Rec->getStart();
    }
    const SCEV *Wide = extend(S, T, Signed);
    Sum.Of.Start = extend(S, I64, Signed);
    if (Steps.empty() && (T != I64 || Wide == Same))
      return Same;
    for (auto [Step, L] : reverse(Steps))
      Wide = SE.getAddRecExpr(Wide, Step, L, SCEV::FlagAnyWrap);
    Bounded.push_back(std::move(Sum));
    return Wide;
  }
};

} // namespace

const SCEV *widenIndices(const SCEV *S, ScalarEvolution &SE,
                         function_ref<const SCEV *(const Loop &)> Extent,
                         std::vector<NoWrap> &Bounded) {
  return Widener(SE, Extent, Bounded).visit(S);
}

} // namespace nputeir
