// clipped_loops.cpp -- loops of a nest that are cut off at an edge.
//
// Such a loop is described as if it ran over all numbers, under conditions.
// What it computes from its counter is the same function of the counter in
// both, so an address is what it would be had the counter begun at First: in
// ScalarEvolution's words, Start is replaced by First wherever it stands.  For
// that nothing but the counter may depend on Start.
//
// Within an extension of fewer bits the counter must be the loop's recurrence:
// then Addresses asks that no number of the whole range wraps.
#include "clipped_loops.h"
#include "ir_exits.h"
#include "ir_marks.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace nputeir {

static const SCEV *widened(const SCEV *S, ScalarEvolution &SE) {
  return SE.getNoopOrSignExtend(S, Type::getInt64Ty(SE.getContext()));
}

namespace {

// Start -> First, in all its widths.  Where it stands matters, so nothing that
// was visited is remembered.
class Unclip : public SCEVRewriteVisitor<Unclip> {
  using Base = SCEVVisitor<Unclip, const SCEV *>;
  const Loop &L;
  const SCEV *Start, *First; // 64 bits
  bool InCast = false, InCounter = false;
  int Looks = 0;

public:
  bool Good = true;

  Unclip(ScalarEvolution &SE, const Loop &L, const SCEV *Start,
         const SCEV *First)
      : SCEVRewriteVisitor(SE), L(L), Start(Start), First(First) {}

  const SCEV *visit(const SCEV *S) {
    enum { LooksMax = 5000 };
    Good &= Looks++ < LooksMax;
    if (!Good)
      return S;
    if (const SCEV *To = replaced(S)) {
      Good = !InCast || InCounter;
      return To;
    }
    bool Cast = InCast, Counter = InCounter;
    if (isa<SCEVZeroExtendExpr>(S) || isa<SCEVSignExtendExpr>(S)) {
      InCast = true;
      InCounter = false;
    }
    const SCEV *To = Base::visit(S);
    InCast = Cast;
    InCounter = Counter;
    return To;
  }

  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *Rec) {
    InCounter |= Rec->getLoop() == &L;
    SmallVector<const SCEV *, 2> Part;
    for (const SCEV *S : Rec->operands())
      Part.push_back(visit(S));
    return equal(Part, Rec->operands())
               ? Rec
               : SE.getAddRecExpr(Part, Rec->getLoop(), SCEV::FlagAnyWrap);
  }

private:
  const SCEV *replaced(const SCEV *S) {
    Type *T = S->getType();
    if (!T->isIntegerTy() || SE.getTypeSizeInBits(T) > 64)
      return nullptr;
    return S == SE.getTruncateOrNoop(Start, T) ? SE.getTruncateOrNoop(First, T)
                                               : nullptr;
  }
};

// What P is on each side of the branch that decides on it.
struct Parted {
  const BranchInst *Branch = nullptr;        // null: there is none such
  const Value *Side[2] = {nullptr, nullptr}; // false, true

  explicit Parted(const PHINode &P) {
    if (P.getNumIncomingValues() != 2)
      return;
    const BranchInst *Found[2] = {nullptr, nullptr};
    for (unsigned I = 0; I < 2; I++) {
      const BasicBlock *To = P.getParent(), *B = P.getIncomingBlock(I);
      enum { StepsMax = 8 };
      for (int N = 0;
           N < StepsMax && B->getSingleSuccessor() && B->getSinglePredecessor();
           N++) {
        To = B;
        B = B->getSinglePredecessor();
      }
      Found[I] = dyn_cast<BranchInst>(B->getTerminator());
      if (!Found[I] || !Found[I]->isConditional())
        return;
      Side[Found[I]->getSuccessor(0) == To] = P.getIncomingValue(I);
    }
    if (Found[0] == Found[1] && Side[0] && Side[1])
      Branch = Found[0];
  }
};

// What a condition chooses whose side is given.
class Chooser : public SCEVRewriteVisitor<Chooser> {
  const Loop &Outer;
  Sides &Ways;
  int Looks = 0;

public:
  Chooser(ScalarEvolution &SE, const Loop &Outer, Sides &Ways)
      : SCEVRewriteVisitor(SE), Outer(Outer), Ways(Ways) {}

  const SCEV *visitUnknown(const SCEVUnknown *U) {
    enum { LooksMax = 100 };
    const auto *P = dyn_cast<PHINode>(U->getValue());
    if (!P || !Outer.contains(P) || hoistedValue(P) != P || ++Looks > LooksMax)
      return U;
    Parted At(*P);
    if (!At.Branch || !Outer.isLoopInvariant(At.Branch->getCondition()))
      return U;
    if (auto Side = Ways.of(*At.Branch, SE))
      return visit(SE.getSCEV(const_cast<Value *>(At.Side[*Side])));
    Ways.meet(*At.Branch);
    return U;
  }
};

} // namespace

const ClippedLoop *ClippedLoops::at(const Loop &L) const {
  auto It = All.find(&L);
  return It == All.end() ? nullptr : &It->second;
}

const SCEV *ClippedLoops::counter(const ClippedLoop &C, const Loop &L,
                                  ScalarEvolution &SE) {
  const SCEV *First = widened(C.First, SE);
  return SE.getAddRecExpr(First, SE.getOne(First->getType()), &L,
                          SCEV::FlagAnyWrap);
}

const SCEV *ClippedLoops::extent(const ClippedLoop &C) const {
  const SCEV *Count = SE.getMinusSCEV(widened(C.End, SE), widened(C.First, SE));
  return SE.getSMaxExpr(Count, SE.getZero(Count->getType()));
}

const SCEV *ClippedLoops::whole(const SCEV *S, const Loop *Scope) const {
  for (const Loop *L = Scope; L && !All.empty(); L = L->getParentLoop())
    if (const ClippedLoop *C = at(*L); C && !C->Least.empty()) {
      Unclip Counted(SE, *L, widened(C->Start, SE), widened(C->First, SE));
      const SCEV *To = Counted.visit(S);
      S = Counted.Good ? To : S;
    }
  return S;
}

ClippedLoop::Cut ClippedLoops::cut(const SCEV *At) const {
  const auto *Cast = dyn_cast<SCEVSignExtendExpr>(At);
  const auto *Number = dyn_cast<SCEVUnknown>(Cast ? Cast->getOperand() : At);
  const auto *Divide =
      Number ? dyn_cast<BinaryOperator>(hoistedValue(Number->getValue()))
             : nullptr;
  if (!Divide || Divide->getOpcode() != Instruction::SDiv)
    return {At, At, nullptr};
  const SCEV *By = widened(SE.getSCEV(Divide->getOperand(1)), SE);
  const SCEV *Of = widened(SE.getSCEV(Divide->getOperand(0)), SE);
  Of = SE.getMinusSCEV(Of, SE.getMinusSCEV(By, SE.getOne(By->getType())));
  return {At, Of, By};
}

// max(0, edge - y), where that does not wrap.  It does not where neither is
// negative; of -y Places asks it, as of all that a loop is cut at.
static const SCEV *leftUpTo(const SCEV *Edge, const SCEV *Y, bool Signed,
                            ScalarEvolution &SE) {
  bool Both = SE.isKnownNonNegative(Edge) && SE.isKnownNonNegative(Y);
  return Both || (Signed && Edge->isZero())
             ? SE.getSMaxExpr(SE.getMinusSCEV(Edge, Y),
                              SE.getZero(Y->getType()))
             : nullptr;
}

// The same, as it comes of `y < edge ? edge - y : 0` in the end: max(edge, y) -
// y, or edge - min(edge, y), or whether y is 0.
static const SCEV *cutStart(const SCEV *S, ScalarEvolution &SE) {
  const auto *Cast = dyn_cast<SCEVZeroExtendExpr>(S);
  const auto *Bit = Cast ? dyn_cast<SCEVUnknown>(Cast->getOperand()) : nullptr;
  ICmpInst::Predicate Is;
  Value *Counter;
  if (Bit &&
      PatternMatch::match(Bit->getValue(),
                          PatternMatch::m_ICmp(Is,
                                               PatternMatch::m_Value(Counter),
                                               PatternMatch::m_Zero())) &&
      Is == CmpInst::ICMP_EQ && SE.isSCEVable(Counter->getType())) {
    const SCEV *Y = SE.getSCEV(Counter);
    bool Fits = SE.getUnsignedRangeMax(Y).getActiveBits() <
                SE.getTypeSizeInBits(S->getType());
    if (Fits && Y->getType()->isIntegerTy())
      return leftUpTo(SE.getOne(S->getType()),
                      SE.getTruncateOrZeroExtend(Y, S->getType()), true, SE);
  }
  SmallVector<const SCEV *, 4> Parts = {S};
  if (const auto *Sum = dyn_cast<SCEVAddExpr>(S))
    Parts.append(Sum->operands().begin(), Sum->operands().end());
  for (const SCEV *Part : Parts) {
    const auto *Minus = dyn_cast<SCEVMulExpr>(Part);
    bool Negative = Minus && Minus->getNumOperands() == 2 &&
                    Minus->getOperand(0)->isAllOnesValue();
    const SCEV *Most = Negative ? Minus->getOperand(1) : Part;
    bool Signed = Negative ? isa<SCEVSMinExpr>(Most) : isa<SCEVSMaxExpr>(Most);
    if (!Signed &&
        !(Negative ? isa<SCEVUMinExpr>(Most) : isa<SCEVUMaxExpr>(Most)))
      continue;
    const auto *Pair = cast<SCEVNAryExpr>(Most);
    const SCEV *Edge = Pair->getOperand(0), *Y = Pair->getOperand(1);
    const SCEV *Rest = Negative ? Edge : SE.getNegativeSCEV(Y);
    if (Pair->getNumOperands() == 2 && isa<SCEVConstant>(Edge) &&
        SE.getMinusSCEV(S, Part) == Rest)
      return leftUpTo(Edge, Y, Signed, SE);
  }
  return nullptr;
}

// The largest (smallest) of numbers that stand still in the nest and of some
// that move.  False: none stands still.
bool ClippedLoops::split(const SCEV *S, bool Lower, const SCEV *&Still,
                         SmallVectorImpl<ClippedLoop::Cut> &Moving) const {
  if (SE.isLoopInvariant(S, &Outer)) {
    Still = S;
    return true;
  }
  // An extension that keeps the sign, whatever it is called.
  if (const auto *Cast = dyn_cast<SCEVZeroExtendExpr>(S))
    S = SE.isKnownNonNegative(Cast->getOperand()) ? Cast->getOperand() : S;
  else if (const auto *Cast = dyn_cast<SCEVSignExtendExpr>(S))
    S = Cast->getOperand();
  if (const SCEV *Cut = Lower ? cutStart(S, SE) : nullptr)
    S = Cut;
  if (Lower ? !isa<SCEVSMaxExpr>(S) : !isa<SCEVSMinExpr>(S))
    return false;
  SmallVector<const SCEV *, 2> Parts;
  for (const SCEV *Part : cast<SCEVNAryExpr>(S)->operands())
    if (SE.isLoopInvariant(Part, &Outer))
      Parts.push_back(Part);
    else
      Moving.push_back(cut(Part));
  if (Parts.empty())
    return false;
  Still = Lower ? SE.getSMaxExpr(Parts) : SE.getSMinExpr(Parts);
  return true;
}

// On this side of the branch the loop has work, and on the other one none.
bool ClippedLoops::asksWhether(const BranchInst &Branch, bool Side,
                               const SCEV *End, const ClippedLoop &C) const {
  const auto *Compare = dyn_cast<ICmpInst>(Branch.getCondition());
  if (!Compare || !Compare->getOperand(0)->getType()->isIntegerTy() ||
      SE.getTypeSizeInBits(Compare->getOperand(0)->getType()) > 64)
    return false;
  const SCEV *X = widened(SE.getSCEV(Compare->getOperand(0)), SE);
  const SCEV *Y = widened(SE.getSCEV(Compare->getOperand(1)), SE);
  CmpInst::Predicate Is =
      Side ? Compare->getPredicate() : Compare->getInversePredicate();
  if (Is == CmpInst::ICMP_SGT) {
    std::swap(X, Y);
    Is = CmpInst::ICMP_SLT;
  }
  if (Is != CmpInst::ICMP_SLT)
    return false;
  // Of both, or of one pair of those that the largest and the smallest are made
  // of; of others it must be known.
  SmallVector<const SCEV *, 4> From = {C.Start}, To = {End};
  if (X != widened(C.Start, SE)) {
    From = {C.First};
    for (const ClippedLoop::Cut &Low : C.Least)
      From.push_back(Low.At);
  }
  if (Y != widened(End, SE)) {
    To = {C.End};
    for (const ClippedLoop::Cut &High : C.Limit)
      To.push_back(High.At);
  }
  bool Found = false;
  for (const SCEV *Low : From)
    for (const SCEV *High : To) {
      bool Is = widened(Low, SE) == X && widened(High, SE) == Y;
      Found |= Is;
      if (!Is && !SE.isKnownPredicate(CmpInst::ICMP_SLT, widened(Low, SE),
                                      widened(High, SE)))
        return false;
    }
  return Found;
}

// What a loop's variable holds before the first iteration, and V behind the
// last; null: V is none of them.
static const Value *before(const Loop &L, const Value *V) {
  for (const PHINode &P : L.getHeader()->phis())
    if (V == (exitsBeforeBody(L)
                  ? static_cast<const Value *>(&P)
                  : P.getIncomingValueForBlock(L.getLoopLatch())))
      return P.getIncomingValueForBlock(L.getLoopPreheader());
  return nullptr;
}

// The way from From around L does what L does without an iteration.
static bool goesAround(const BasicBlock &From, const BasicBlock *Around,
                       const Loop &L) {
  Exit Way = exitOf(L);
  const BasicBlock *Behind = Way.To;
  while (Behind != Around) { // nothing but phis of one value
    if (&*Behind->getFirstNonPHIOrDbg() != Behind->getTerminator() ||
        !Behind->getSinglePredecessor() || !Behind->getSingleSuccessor())
      return false;
    Way.From = const_cast<BasicBlock *>(Behind);
    Behind = Behind->getSingleSuccessor();
  }
  for (const PHINode &P : Around->phis()) {
    if (P.getBasicBlockIndex(Way.From) < 0)
      return false;
    const Value *After = P.getIncomingValueForBlock(Way.From);
    while (isa<PHINode>(After) && !L.contains(cast<PHINode>(After)) &&
           cast<PHINode>(After)->getNumIncomingValues() == 1)
      After = cast<PHINode>(After)->getIncomingValue(0);
    const Value *Skipped = P.getIncomingValueForBlock(&From);
    if (After != Skipped && before(L, After) != Skipped)
      return false;
  }
  return true;
}

// A loop that ends behind its body runs once more than it should where nobody
// has asked and it is not known.
bool ClippedLoops::findGuard(const Loop &L, const SCEV *End,
                             ClippedLoop &C) const {
  BasicBlock *Into = L.getLoopPreheader();
  BasicBlock *From = Into->getSinglePredecessor();
  const auto *Branch =
      From ? dyn_cast<BranchInst>(From->getTerminator()) : nullptr;
  bool First = Branch && Branch->getSuccessor(0) == Into;
  if (!Branch || !Branch->isConditional() || !Outer.contains(From) ||
      !goesAround(*From, Branch->getSuccessor(First), L) ||
      !asksWhether(*Branch, First, End, C))
    return SE.isLoopEntryGuardedByCond(&L, CmpInst::ICMP_SLT, C.Start, End);
  C.Guard = From;
  C.Into = Into;
  return true;
}

// I is used for nothing but the comparison that ends a loop.
static bool onlyEnds(const Instruction &I, const ICmpInst &Compare) {
  const Instruction *At = &I;
  for (int Depth = 0; Depth < 4 && At->hasOneUse(); Depth++) {
    At = cast<Instruction>(At->user_back());
    if (At == &Compare)
      return true;
  }
  return false;
}

// Nothing else depends on where the loop starts.
bool ClippedLoops::startsCounterOnly(const Loop &L, const PHINode &Counter,
                                     const ICmpInst &Compare,
                                     const ClippedLoop &C) const {
  const SCEV *Start = widened(C.Start, SE);
  auto Is = [&](const SCEV *S) {
    return S->getType()->isIntegerTy() &&
           SE.getTypeSizeInBits(S->getType()) <= 64 &&
           (widened(S, SE) == Start ||
            S == SE.getTruncateOrNoop(Start, S->getType()));
  };
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B) {
      if (!SE.isSCEVable(I.getType()))
        continue;
      const SCEV *S = SE.getSCEV(&I);
      if (L.contains(B) && Is(S))
        return false;
      if (L.contains(B))
        continue;
      if (!SCEVExprContains(S, Is) || onlyEnds(I, Compare))
        continue;
      if (!Is(S))
        return false;
      for (const User *U : I.users()) {
        const auto *By = cast<Instruction>(U);
        bool Again = !L.contains(By) && SE.isSCEVable(By->getType()) &&
                     Is(SE.getSCEV(const_cast<Instruction *>(By)));
        Again |= onlyEnds(*By, Compare);
        if (By != &Counter && !Again && (L.contains(By) || !isa<ICmpInst>(By)))
          return false;
      }
    }
  return true;
}

// Of max(X, Start), as which a loop that ends at it has its end, X; Met: it is
// that.
static const SCEV *withoutStart(const SCEV *End, const SCEV *Start, bool &Met) {
  // A start that is not negative makes an end that is not, either.
  const auto *OfEnd = dyn_cast<SCEVZeroExtendExpr>(End);
  const auto *OfStart = dyn_cast<SCEVZeroExtendExpr>(Start);
  if (OfEnd && OfStart &&
      OfEnd->getOperand()->getType() == OfStart->getOperand()->getType()) {
    const SCEV *To =
        withoutStart(OfEnd->getOperand(), OfStart->getOperand(), Met);
    return Met ? To : End;
  }
  const auto *Max = dyn_cast<SCEVSMaxExpr>(End);
  SmallVector<const SCEV *, 2> Own, Others;
  if (const auto *Parts = dyn_cast<SCEVSMaxExpr>(Start))
    Own.append(Parts->operands().begin(), Parts->operands().end());
  else
    Own.push_back(Start);
  size_t Found = 0;
  for (const SCEV *Part : Max ? Max->operands() : ArrayRef<const SCEV *>()) {
    Found += is_contained(Own, Part);
    if (!is_contained(Own, Part))
      Others.push_back(Part);
  }
  Met = Found == Own.size() && Others.size() == 1;
  return Met ? Others[0] : End;
}

bool ClippedLoops::read(Loop &L, ClippedLoop &C) const {
  if (leftFromElsewhere(L) || !L.getLoopPreheader())
    return false;
  bool Ahead = exitsBeforeBody(L);
  const BasicBlock *From = exitOf(L).From;
  const auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
  const auto *Compare = Branch && Branch->isConditional()
                            ? dyn_cast<ICmpInst>(Branch->getCondition())
                            : nullptr;
  if (!Compare || !Compare->getOperand(0)->getType()->isIntegerTy())
    return false;
  bool Goes = L.contains(Branch->getSuccessor(0));
  for (PHINode &P : L.getHeader()->phis()) {
    // Behind the body the next number is compared, or this one.
    const Value *Next = P.getIncomingValueForBlock(L.getLoopLatch());
    const Value *Left = Compare->getOperand(0), *Right = Compare->getOperand(1);
    bool Swapped = Right == &P || (!Ahead && Right == Next);
    bool IsThis = (Swapped ? Right : Left) == &P;
    if (!(Swapped || Left == &P || (!Ahead && Left == Next)) ||
        !P.getType()->isIntegerTy() || SE.getTypeSizeInBits(P.getType()) > 64)
      continue;
    CmpInst::Predicate Is =
        Goes ? Compare->getPredicate() : Compare->getInversePredicate();
    Is = Swapped ? CmpInst::getSwappedPredicate(Is) : Is;
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&P));
    const SCEV *End = SE.getSCEV(Compare->getOperand(!Swapped));
    if (IsThis && !Ahead)
      End = SE.getAddExpr(End, SE.getOne(End->getType()));
    // Behind a branch that says Start < End both are positive.
    const auto *Cast = dyn_cast<SCEVZeroExtendExpr>(End);
    End = Cast && !Ahead ? Cast->getOperand() : End;
    if (!Rec || Rec->getLoop() != &L || !Rec->isAffine() ||
        !Rec->getStepRecurrence(SE)->isOne() || !SE.isLoopInvariant(End, &L) ||
        (Is != CmpInst::ICMP_SLT && Is != CmpInst::ICMP_NE &&
         (Ahead || Is != CmpInst::ICMP_ULT)))
      return false;
    C.Start = Rec->getStart();
    bool Met = false;
    End = withoutStart(End, C.Start, Met);
    if (Ahead && Is == CmpInst::ICMP_NE && !Met &&
        !SE.isKnownPredicate(CmpInst::ICMP_SLE, C.Start, End))
      return false;
    auto Chosen = [&](const SCEV *S) {
      return Chooser(SE, Outer, Ways).visit(S);
    };
    return split(Chosen(C.Start), true, C.First, C.Least) &&
           split(Chosen(End), false, C.End, C.Limit) &&
           C.Least.size() + C.Limit.size() > 0 &&
           SE.isKnownNonNegative(C.First) && (Ahead || findGuard(L, End, C)) &&
           (C.Least.empty() || startsCounterOnly(L, P, *Compare, C));
  }
  return false;
}

void ClippedLoops::find() {
  for (Loop *L : Outer.getLoopsInPreorder()) {
    ClippedLoop C;
    if (L != &Outer && read(*L, C))
      All[L] = C;
  }
}

} // namespace nputeir
