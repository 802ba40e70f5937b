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
  // A constant, or a number, or so many times one: S = Times * Of.
  static bool isPlain(const SCEV *S, int64_t &Times, const SCEV *&Of) {
    const auto *M = dyn_cast<SCEVMulExpr>(S);
    const auto *C = dyn_cast<SCEVConstant>(M ? M->getOperand(0) : S);
    Times = C ? C->getAPInt().getSExtValue() : 1;
    Of = M ? M->getOperand(1) : C ? nullptr : S;
    bool IsNumber =
        Of && isa<SCEVUnknown, SCEVMinMaxExpr, SCEVIntegralCastExpr>(Of);
    return M ? C && Times > 0 && M->getNumOperands() == 2 && IsNumber
             : C || IsNumber;
  }

  // A multiple of a number is multiplied in T, where neither wraps.
  const SCEV *extend(const SCEV *S, Type *T, bool Signed) {
    int64_t Times;
    const SCEV *Of;
    const auto *M = dyn_cast<SCEVMulExpr>(S);
    if (!Signed && M && isPlain(S, Times, Of))
      return SE.getMulExpr(SE.getConstant(T, (uint64_t)Times),
                           SE.getZeroExtendExpr(Of, T));
    if (Signed && M && isa<SCEVConstant>(M->getOperand(0))) {
      SmallVector<const SCEV *, 4> Factors(drop_begin(M->operands()));
      return SE.getMulExpr(SE.getSignExtendExpr(M->getOperand(0), T),
                           SE.getSignExtendExpr(SE.getMulExpr(Factors), T));
    }
    return Signed ? SE.getSignExtendExpr(S, T) : SE.getZeroExtendExpr(S, T);
  }

  enum { TermsMax = 8 };

  // Of what S is the sum, with (x + 1) * n as x * n and n.
  void addTerms(const SCEV *S, SmallVectorImpl<const SCEV *> &Terms) {
    if (const auto *Sum = dyn_cast<SCEVAddExpr>(S)) {
      for (const SCEV *Term : Sum->operands())
        addTerms(Term, Terms);
      return;
    }
    const auto *M = dyn_cast<SCEVMulExpr>(S);
    auto IsSum = [](const SCEV *Factor) {
      return isa<SCEVAddExpr>(Factor) &&
             cast<SCEVAddExpr>(Factor)->getNumOperands() <= TermsMax;
    };
    if (!M || count_if(M->operands(), IsSum) != 1) {
      Terms.push_back(S);
      return;
    }
    const SCEV *Sum = *find_if(M->operands(), IsSum);
    SmallVector<const SCEV *, 4> Others;
    copy_if(M->operands(), std::back_inserter(Others),
            [&](const SCEV *Factor) { return Factor != Sum; });
    for (const SCEV *Term : cast<SCEVAddExpr>(Sum)->operands()) {
      SmallVector<const SCEV *, 4> Factors(Others);
      Factors.push_back(Term);
      Terms.push_back(SE.getMulExpr(Factors));
    }
  }

  // How far starts lie from each other is seen where elements and rows, which
  // loops step over, are added in T.  Modulo what S wraps at that is the same,
  // and what is asked is that it does not wrap.
  const SCEV *extendStart(const SCEV *S, Type *T, bool Signed,
                          ArrayRef<const SCEV *> Rows) {
    SmallVector<const SCEV *, 4> Terms, Wide, Others;
    addTerms(S, Terms);
    for (const SCEV *Term : Terms) {
      int64_t Times;
      const SCEV *Of;
      if (isPlain(Term, Times, Of) && (!Of || is_contained(Rows, Of)))
        Wide.push_back(Of ? extend(Term, T, Signed)
                          : SE.getConstant(T, (uint64_t)Times, true));
      else
        Others.push_back(Term);
    }
    if (Wide.empty())
      return extend(S, T, Signed);
    if (!Others.empty())
      Wide.push_back(extend(SE.getAddExpr(Others), T, Signed));
    return SE.getAddExpr(Wide);
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
    SmallVector<const SCEV *, 4> Rows;
    while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
      const SCEV *Times = Extent(*Rec->getLoop());
      if (!Times)
        break; // a loop around the nest
      if (!Rec->isAffine())
        return Same;
      const SCEV *Step = Rec->getStepRecurrence(SE);
      bool HasSign = Signed || looksNegative(Step);
      int64_t Several;
      const SCEV *Row;
      if (isPlain(Step, Several, Row) && Row)
        Rows.push_back(Row);
      Sum.Of.Terms.push_back({extend(Step, I64, HasSign), Times});
      Steps.push_back({extend(Step, T, HasSign), Rec->getLoop()});
      S = Rec->getStart();
    }
    bool Moves = !Steps.empty();
    const SCEV *Wide =
        Moves ? extendStart(S, T, Signed, Rows) : extend(S, T, Signed);
    Sum.Of.Start =
        Moves ? extendStart(S, I64, Signed, Rows) : extend(S, I64, Signed);
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
