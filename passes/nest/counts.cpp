// counts.cpp -- how often loops run, and what ScalarEvolution does not know
// about the variables that they step along.
//
// ScalarEvolution counts most loops.  It gives up on some that end at an
// address: `p != end` may miss its end, and `p < end` may find it below the
// start in some iteration of the loops around.  Here their count is the
// distance from start to end, divided by the step; that it comes out even, or
// that neither end lies so far away that an address wraps, is asked before the
// nest.  Behind such a loop, its variables have moved by step times count.
#include "counts.h"
#include "conditions.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_scev.h"
#include "versions.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

using namespace llvm;

namespace nputeir {
namespace {

class Resolver : public SCEVRewriteVisitor<Resolver> {
  function_ref<const SCEV *(Value &)> Known;

public:
  Resolver(ScalarEvolution &SE, function_ref<const SCEV *(Value &)> Known)
      : SCEVRewriteVisitor(SE), Known(Known) {}

  const SCEV *visitUnknown(const SCEVUnknown *U) {
    const SCEV *S = Known(*U->getValue());
    return S ? S : U;
  }
};

// Recurrences of loops that have ended -> their last values.
class Ender : public SCEVRewriteVisitor<Ender> {
  using Base = SCEVRewriteVisitor<Ender>;
  function_ref<const SCEV *(const SCEVAddRecExpr &)> Last;

public:
  Ender(ScalarEvolution &SE,
        function_ref<const SCEV *(const SCEVAddRecExpr &)> Last)
      : Base(SE), Last(Last) {}

  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *Old) {
    const SCEV *S = Base::visitAddRecExpr(Old);
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    return Rec ? Last(*Rec) : S;
  }
};

// A value in an iteration of L -> the same value one iteration before.
class Earlier : public SCEVRewriteVisitor<Earlier> {
  const Loop &L;

public:
  bool Found = true; // false: it is not known what it was

  Earlier(ScalarEvolution &SE, const Loop &L) : SCEVRewriteVisitor(SE), L(L) {}

  const SCEV *visitUnknown(const SCEVUnknown *U) {
    Found &= SE.isLoopInvariant(U, &L);
    return U;
  }
  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *Rec) {
    if (Rec->getLoop() == &L && Rec->isAffine()) {
      const SCEV *Step = Rec->getStepRecurrence(SE);
      return SE.getAddRecExpr(SE.getMinusSCEV(Rec->getStart(), Step), Step, &L,
                              SCEV::FlagAnyWrap);
    }
    Found &= SE.isLoopInvariant(Rec, &L);
    return Rec;
  }
};

// What a value is in the first iteration of L.
class AtFirst : public SCEVRewriteVisitor<AtFirst> {
  const Loop &L;

public:
  AtFirst(ScalarEvolution &SE, const Loop &L) : SCEVRewriteVisitor(SE), L(L) {}

  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *Rec) {
    return Rec->getLoop() == &L ? Rec->getStart() : Rec;
  }
};

} // namespace

// ---- what a value is ----

bool Counts::usable(const SCEV *S) {
  return SE.isLoopInvariant(S, &Outer) &&
         SE.properlyDominates(S, Outer.getHeader()) &&
         Expander(SE, *Outer.getHeader()->getModule()).isSafe(S);
}

// S as it is in Scope, or behind all loops that are not around Scope.
const SCEV *Counts::resolve(const SCEV *S, const Loop *Scope) {
  S = Resolver(SE, [&](Value &W) { return known(W); }).visit(S);
  return Ender(SE,
               [&](const SCEVAddRecExpr &Rec) {
                 return Scope && Rec.getLoop()->contains(Scope)
                            ? &Rec
                            : last(Rec, Scope);
               })
      .visit(S);
}

const SCEV *Counts::last(const SCEVAddRecExpr &Rec, const Loop *Scope) {
  auto &L = const_cast<Loop &>(*Rec.getLoop());
  const SCEV *Count =
      Outer.contains(&L) && Code.runs(L.getHeader()) && !Code.Clipped.at(L)
          ? count(L)
          : nullptr;
  const SCEV *Step = Rec.getStepRecurrence(SE);
  if (!Count || !Rec.isAffine() || SE.getTypeSizeInBits(Step->getType()) > 64)
    return SE.getSCEVAtScope(&Rec, Scope);
  if (!exitsBeforeBody(L))
    Count = SE.getMinusSCEV(Count, SE.getOne(Count->getType()));
  Count = SE.getTruncateOrNoop(Count, Step->getType());
  return SE.getAddExpr(Rec.getStart(), SE.getMulExpr(Step, Count));
}

// Null: no more than ScalarEvolution says.
const SCEV *Counts::known(Value &W) {
  if (const LoadInst *L = hoistedLoad(&W))
    return rowAddress(*L);
  const Value *Moved = hoistedValue(&W);
  const SCEV *There =
      Moved == &W ? nullptr : SE.getSCEV(const_cast<Value *>(Moved));
  if (There && !isa<SCEVUnknown>(There)) // else it is known where it is now
    return resolve(There, LI.getLoopFor(cast<PHINode>(W).getParent()));
  // A value is looked through as often as others are computed from it, so that
  // a row of choices doubles the work with each.
  enum { LooksMax = 20000 };
  auto *I = dyn_cast<Instruction>(&W);
  // In front of the nest, a choice is what it is unless a side is given.
  if (auto *Choice = dyn_cast<SelectInst>(&W);
      Choice && !Outer.contains(I) && Code.Ways.of(*Choice, SE))
    return chosen(*Choice);
  if (!I || !Outer.contains(I) || Looks > LooksMax || !Open.insert(I).second)
    return nullptr;
  Looks++;
  const SCEV *S = nullptr;
  if (auto *Choice = dyn_cast<SelectInst>(I))
    S = chosen(*Choice);
  else if (auto *P = dyn_cast<PHINode>(I))
    S = variable(*P);
  Open.erase(I);
  return S;
}

// Of two values, one of which stands still, that one.
const SCEV *Counts::chosen(SelectInst &S) {
  if (!Outer.isLoopInvariant(S.getCondition()))
    return nullptr;
  const Loop *L = LI.getLoopFor(S.getParent());
  const SCEV *Side[] = {resolve(SE.getSCEV(S.getFalseValue()), L),
                        resolve(SE.getSCEV(S.getTrueValue()), L)};
  bool Still = usable(Side[1]);
  if (auto Given = Code.Ways.of(S, SE)) {
    Still = *Given;
  } else if (Still == usable(Side[0])) {
    Code.Ways.meet(S);
    return nullptr;
  }
  std::pair<Value *, bool> Choice(S.getCondition(), Still);
  if (!is_contained(Assumed, Choice))
    Assumed.push_back(Choice);
  return Side[Still];
}

const SCEV *Counts::variable(const PHINode &P) {
  Loop *L = LI.getLoopFor(P.getParent());
  if (P.getParent() == L->getHeader())
    return L->isLoopSimplifyForm() ? stepped(P, *L) : nullptr;
  int Way = Code.onlyWayInto(P);
  if (Way >= 0)
    return resolve(SE.getSCEV(P.getIncomingValue((unsigned)Way)), L);
  if (const BranchInst *Branch = Code.unchangingBefore(P))
    Code.Ways.meet(*Branch);
  return nullptr;
}

// A variable that every iteration of L moves by the same.
const SCEV *Counts::stepped(const PHINode &P, Loop &L) {
  assert(P.getParent() == L.getHeader() && L.getLoopPreheader());
  auto From = [&](const BasicBlock *B, const Loop *Scope) {
    return resolve(SE.getSCEV(P.getIncomingValueForBlock(B)), Scope);
  };
  const SCEV *Start = From(L.getLoopPreheader(), L.getParentLoop());
  const SCEV *Next = From(L.getLoopLatch(), &L);
  const SCEV *Step =
      SE.getMinusSCEV(Next, SE.getUnknown(const_cast<PHINode *>(&P)));
  if (isa<SCEVCouldNotCompute>(Step) || !usable(Step))
    return computedAhead(Start, Next, L);
  return SE.getAddRecExpr(Start, Step, &L, SCEV::FlagAnyWrap);
}

// A variable that every iteration computes for the next one, from the number
// of iterations that are left, say:
//
//     p = b;  do { .. *p ..; p = b + (n - --left); } while (left);
//
// In all iterations but the first it is what the one before made of it, and if
// that holds for the first, too, which is asked in front of the nest, in all.
const SCEV *Counts::computedAhead(const SCEV *Start, const SCEV *Next,
                                  const Loop &L) {
  if (Start->getType() != Next->getType() || SE.isLoopInvariant(Next, &L))
    return nullptr;
  Earlier Before(SE, L);
  const SCEV *Now = Before.visit(Next);
  if (!Before.Found)
    return nullptr;
  const SCEV *First = AtFirst(SE, L).visit(Now);
  if (First == Start)
    return Now;
  const SCEV *Apart = SE.getMinusSCEV(First, Start);
  if (SE.getTypeSizeInBits(First->getType()) > 64 || isa<SCEVConstant>(Apart))
    return nullptr; // never the same
  std::pair<const SCEV *, const SCEV *> Same(number(First, false),
                                             number(Start, false));
  if (!usable(Same.first) || !usable(Same.second))
    return nullptr;
  if (!is_contained(Equal, Same))
    Equal.push_back(Same);
  return Now;
}

// ---- how often a loop runs ----

// As those that OpenMP's threads share, or that belong to the whole file.
static const char *const InMemory =
    "a loop's counter lies in memory, which others "
    "may change: declare it in the nest";

const SCEV *Counts::extentOf(Loop &L, arena *A, verdict &V) {
  loc At = locOf(L.getStartLoc(), A);
  auto Decline = [&](rule Rule, const char *Why) {
    verdict_decline(&V, Rule, At, "%s", Why);
    return nullptr;
  };
  if (const char *Why = leftFromElsewhere(L))
    return Decline(RULE_EARLY_EXIT, Why);
  if (Triangle.has(L))
    return Triangle.extent(L);
  if (const SCEV *Extent = count(L)) {
    const auto *C = dyn_cast<SCEVConstant>(Extent);
    return C && C->getAPInt().isNegative()
               ? Decline(RULE_UNCOUNTABLE, "a loop runs 2^63 times or more")
               : Extent;
  }
  if (countsInMemory(L))
    return Decline(RULE_UNCOUNTABLE, InMemory);
  if (isa<SCEVCouldNotCompute>(SE.getExitCount(&L, exitOf(L).From)))
    return Decline(RULE_UNCOUNTABLE, "the number of iterations of a loop is "
                                     "not known before it starts");
  declineVariant(L, A, V);
  return nullptr;
}

void Counts::declineVariant(const Loop &L, arena *A, verdict &V) {
  verdict_decline(&V, RULE_VARIANT_EXTENT, locOf(L.getStartLoc(), A),
                  "the number of iterations of a loop changes within the nest");
}

// X - min(X, 0) is max(X, 0), as which loops that run up have it.
static const SCEV *withoutMinimum(const SCEV *S, ScalarEvolution &SE) {
  const auto *Sum = dyn_cast<SCEVAddExpr>(S);
  if (!Sum)
    return S;
  for (const SCEV *Part : Sum->operands()) {
    const auto *Min = dyn_cast<SCEVSMinExpr>(SE.getNegativeSCEV(Part));
    const SCEV *X = SE.getMinusSCEV(S, Part);
    if (Min && Min->getNumOperands() == 2 && Min->getOperand(0)->isZero() &&
        Min->getOperand(1) == X)
      return SE.getSMaxExpr(SE.getZero(X->getType()), X);
  }
  return S;
}

// Null: not known before the nest.
const SCEV *Counts::count(Loop &L) {
  assert(Outer.contains(&L));
  if (!Known.try_emplace(&L, nullptr).second)
    return Known[&L];
  if (leftFromElsewhere(L))
    return nullptr;
  if (const ClippedLoop *C = Code.Clipped.at(L)) {
    const SCEV *Extent = Code.Clipped.extent(*C);
    return Known[&L] = usable(Extent) ? Extent : nullptr;
  }
  Type *I64 = Type::getInt64Ty(L.getHeader()->getContext());
  const SCEV *Taken =
      resolve(SE.getExitCount(&L, exitOf(L).From), L.getParentLoop());
  bool IsNumber = !isa<SCEVCouldNotCompute>(Taken) &&
                  SE.getTypeSizeInBits(Taken->getType()) <= 64;
  const SCEV *End;
  bool Signed;
  if (IsNumber && !usable(Taken))
    if (const SCEV *Length = lengthTo(Taken, SE, End, Signed);
        Length && (Signed || startsBelow(L, End, Length))) {
      Ends.push_back({End, L.getParentLoop(), Signed});
      Taken = Length;
    }
  Taken = IsNumber ? SE.getNoopOrZeroExtend(withoutMinimum(Taken, SE), I64)
                   : nullptr;
  if (!Taken || !usable(Taken))
    Taken = countDistance(L);
  if (Taken && !exitsBeforeBody(L))
    Taken = SE.getAddExpr(Taken, SE.getOne(I64));
  assert(!Taken || Taken->getType()->isIntegerTy(64));
  return Known[&L] = Taken;
}

// The counter of L without a sign, which ends at End, begins so much below it:
// it does so at first, and has not wrapped later.
bool Counts::startsBelow(const Loop &L, const SCEV *End, const SCEV *Length) {
  const SCEV *First = End;
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(First)) {
    if (!Outer.contains(Rec->getLoop()))
      break;
    First = Rec->getStart();
  }
  if (!usable(First))
    return false;
  Conditions(SE, Counted).atLeast(number(First, false), number(Length, false));
  Ends.push_back({SE.getMinusSCEV(End, Length), L.getParentLoop(), false});
  return true;
}

// In 64 bits; Signed: how fewer are widened.
const SCEV *Counts::number(const SCEV *S, bool Signed) {
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  if (S->getType()->isPointerTy())
    return SE.getLosslessPtrToIntExpr(S);
  return Signed ? SE.getNoopOrSignExtend(S, I64)
                : SE.getNoopOrZeroExtend(S, I64);
}

// What L steps along, and goes on with while it Is End, which stands still in
// L; null: it ends otherwise.
const SCEVAddRecExpr *Counts::counter(Loop &L, const SCEV *&End,
                                      CmpInst::Predicate &Is) {
  const auto *Branch = dyn_cast<BranchInst>(exitOf(L).From->getTerminator());
  const auto *Compare = Branch && Branch->isConditional()
                            ? dyn_cast<ICmpInst>(Branch->getCondition())
                            : nullptr;
  if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType()) ||
      SE.getTypeSizeInBits(Compare->getOperand(0)->getType()) > 64)
    return nullptr;
  Is = L.contains(Branch->getSuccessor(0)) ? Compare->getPredicate()
                                           : Compare->getInversePredicate();
  const SCEV *X = resolve(SE.getSCEV(Compare->getOperand(0)), &L);
  End = resolve(SE.getSCEV(Compare->getOperand(1)), &L);
  if (SE.isLoopInvariant(X, &L)) {
    std::swap(X, End);
    Is = CmpInst::getSwappedPredicate(Is);
  }
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(X);
  return Rec && Rec->getLoop() == &L && Rec->isAffine() &&
                 SE.isLoopInvariant(End, &L)
             ? Rec
             : nullptr;
}

// How often L is taken back; null: it does not end where a recurrence meets or
// passes what stands still in L.
const SCEV *Counts::countDistance(Loop &L) {
  const SCEV *End;
  CmpInst::Predicate Is;
  const SCEVAddRecExpr *Rec = counter(L, End, Is);
  return Rec && Is != CmpInst::ICMP_EQ ? countTo(*Rec, End, Is) : nullptr;
}

// Steps of one from Start down past zero, where an unsigned counter is no
// longer below End.
static const SCEV *countPastZero(const SCEV *Start, const SCEV *End,
                                 bool OrEqual, ScalarEvolution &SE,
                                 Conditions If) {
  const SCEV *One = SE.getOne(Start->getType());
  const SCEV *Count = SE.getAddExpr(Start, One);
  If.within(Start, 0, (int64_t)1 << 61);
  If.atLeast(OrEqual ? SE.getAddExpr(End, One) : End, Count);
  return Count;
}

const SCEV *Counts::countTo(const SCEVAddRecExpr &Rec, const SCEV *End,
                            CmpInst::Predicate Is) {
  bool Meets = Is == CmpInst::ICMP_NE, Signed = !CmpInst::isUnsigned(Is);
  const SCEV *Start = Rec.getStart(), *Step = Rec.getStepRecurrence(SE);
  const SCEV *Distance =
      Meets && !Start->getType()->isPointerTy()
          ? number(SE.getMinusSCEV(End, Start), true)
          : SE.getMinusSCEV(number(End, Signed), number(Start, Signed));
  Step = number(Step, true);
  bool Down = looksNegative(Step);
  if (Down) {
    Distance = SE.getNegativeSCEV(Distance);
    Step = SE.getNegativeSCEV(Step);
  }
  const SCEV *One = SE.getOne(Step->getType());
  if (Down && (Is == ICmpInst::ICMP_ULT || Is == ICmpInst::ICMP_ULE) &&
      Step->isOne() && usable(Start) && usable(End))
    return countPastZero(number(Start, false), number(End, false),
                         Is == ICmpInst::ICMP_ULE, SE, {SE, Counted});
  Is = ICmpInst::getSignedPredicate(Is);
  if (!Meets && Down != (Is == CmpInst::ICMP_SGT || Is == CmpInst::ICMP_SGE))
    return nullptr;
  if (Is == CmpInst::ICMP_SLE || Is == CmpInst::ICMP_SGE)
    Distance = SE.getAddExpr(Distance, One);
  if (!usable(Distance) || !usable(Step))
    return nullptr;

  const SCEV *Positive = SE.getSMaxExpr(Step, One);
  const SCEV *Way = SE.getSMaxExpr(Distance, SE.getZero(Step->getType()));
  if (!Meets)
    Way = SE.getAddExpr(Way, SE.getMinusSCEV(Positive, One));
  const SCEV *Count = SE.getUDivExpr(Way, Positive);
  if (!usable(Count))
    return nullptr;
  Equal.push_back({Positive, Step});
  if (Meets)
    Equal.push_back({SE.getMulExpr(Count, Positive), Distance});
  else
    for (const SCEV *S : {static_cast<const SCEV *>(&Rec), End, Step})
      Ends.push_back({S, Rec.getLoop(), Signed});
  return Count;
}

} // namespace nputeir
