// hoist.cpp -- what a nest needs to know beforehand is computed beforehand.
//
// Pure instructions with unchanging operands move out of their loops (a bound
// such as n / 2).  So do loads that nothing in the outermost loop can change:
// the members of a struct of sizes, a global; and divisions, which may trap.
// Those of a body run only when the loops around it have work, and where a
// condition holds that a loop does not change (clang asks so for the work of
// `omp simd`), so they move into a branch that asks exactly that:
//
//     before:  rows > 0 ? ask : on          (rows is known by now)
//     ask:     columns' = load
//     on:      columns = phi [columns', ask], [0, before]
//
// Nothing is divided that the source would not divide, nor read that it would
// not read: behind checks, which may end the program, only if they pass until
// it is read for the first time, or if it is known that it may be.  Behind a
// loop, the value of a pointer that was stepped along is its start plus steps
// times iterations.
#include "hoist.h"
#include "call_effects.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_sums.h"
#include "ir_tags.h"
#include "local_arrays.h"
#include "steps.h"
#include "versions.h"

#include "ir_candidates.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;
using namespace PatternMatch;

namespace nputeir {

// Runs in every iteration of the loop, up to the header's exit test.
static bool always(const BasicBlock *B, const Loop &L,
                   const DominatorTree &DT) {
  return B == L.getHeader() ||
         (L.getLoopLatch() && DT.dominates(B, L.getLoopLatch()));
}

// Comparisons, each true or false, that decide that Branch takes the side
// Holds: it does if all are so.  False: it depends on more.
using Comparisons = SmallVector<std::pair<const ICmpInst *, bool>, 4>;
static bool comparisonsOf(const BranchInst &Branch, bool Holds,
                          Comparisons &Found) {
  enum { AskedMax = 16 }; // at once
  SmallVector<std::pair<const Value *, bool>, 4> Open = {
      {Branch.getCondition(), Holds}};
  while (!Open.empty()) { // the operands of one expression
    auto [Asked, Side] = Open.pop_back_val();
    const Value *X, *Y;
    if (match(Asked, m_Not(m_Value(X)))) {
      Open.push_back({X, !Side});
      continue;
    }
    if ((Side ? match(Asked, m_LogicalAnd(m_Value(X), m_Value(Y)))
              : match(Asked, m_LogicalOr(m_Value(X), m_Value(Y)))) &&
        Open.size() < AskedMax) {
      Open.append({{Y, Side}, {X, Side}});
      continue;
    }
    const auto *Compare = dyn_cast<ICmpInst>(Asked);
    if (!Compare || !Compare->getOperand(0)->getType()->isIntegerTy())
      return false;
    Found.push_back({Compare, Side});
  }
  return true;
}

// What there is 0 of unless the comparison is as Holds says.  Null: it is not
// of that kind.
const SCEV *Hoister::surplus(const ICmpInst &Asked, bool Holds) {
  CmpInst::Predicate How =
      Holds ? Asked.getPredicate() : Asked.getInversePredicate();
  const SCEV *More = SE.getSCEV(Asked.getOperand(0)),
             *Less = SE.getSCEV(Asked.getOperand(1));
  if (ICmpInst::isLT(How) || ICmpInst::isLE(How)) {
    std::swap(More, Less);
    How = CmpInst::getSwappedPredicate(How);
  }
  if (ICmpInst::isGE(How)) { // one more is larger, in a type that has room
    auto *Wide = IntegerType::get(
        SE.getContext(), (unsigned)SE.getTypeSizeInBits(More->getType()) + 1);
    bool Signed = CmpInst::isSigned(How);
    auto Widened = [&](const SCEV *S) {
      return Signed ? SE.getSignExtendExpr(S, Wide)
                    : SE.getZeroExtendExpr(S, Wide);
    };
    Less = Widened(Less);
    More = SE.getAddExpr(Widened(More), SE.getOne(Wide));
    How = Signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
  }
  if (How == CmpInst::ICMP_SGT)
    More = SE.getSMaxExpr(More, Less);
  else if (How == CmpInst::ICMP_UGT)
    More = SE.getUMaxExpr(More, Less);
  else if (How != CmpInst::ICMP_NE)
    return nullptr;
  return SE.getMinusSCEV(More, Less);
}

// The same of the conditions behind which B is reached alone, as noneIsZero
// writes several.  False: one is not of that kind.
bool Hoister::surplusesOf(const BasicBlock *B,
                          SmallVectorImpl<const SCEV *> &Counts) {
  const BasicBlock *From = B->getSinglePredecessor();
  const auto *Branch =
      From ? dyn_cast<BranchInst>(From->getTerminator()) : nullptr;
  Comparisons All;
  bool Holds = Branch && Branch->getSuccessor(0) == B;
  if (!Branch || !Branch->isConditional() ||
      !comparisonsOf(*Branch, Holds, All))
    return false;
  for (auto [Asked, Side] : All) {
    Counts.push_back(surplus(*Asked, Side));
    if (!Counts.back())
      return false;
  }
  return true;
}

// What leads to L says that it has work, as a row of a triangle that has its
// diagonal.
bool Hoister::alwaysRuns(const Loop &L) {
  const auto *Branch = dyn_cast<BranchInst>(L.getHeader()->getTerminator());
  const auto *Asked = Branch && Branch->isConditional()
                          ? dyn_cast<ICmpInst>(Branch->getCondition())
                          : nullptr;
  if (!Asked || !SE.isSCEVable(Asked->getOperand(0)->getType()))
    return false;
  CmpInst::Predicate Stays = L.contains(Branch->getSuccessor(0))
                                 ? Asked->getPredicate()
                                 : Asked->getInversePredicate();
  auto AtFirst = [&](unsigned Operand) {
    const SCEV *S = SE.getSCEV(Asked->getOperand(Operand));
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    return Rec && Rec->getLoop() == &L ? Rec->getStart() : S;
  };
  const SCEV *Left = AtFirst(0), *Right = AtFirst(1);
  return SE.isLoopInvariant(Left, &L) && SE.isLoopInvariant(Right, &L) &&
         SE.isLoopEntryGuardedByCond(&L, Stays, Left, Right);
}

// None of the counts is 0 when B runs in the loops around it, which runs then.
// False: that depends on more.
bool Hoister::countsBefore(const BasicBlock *B,
                           SmallVectorImpl<const SCEV *> &Counts) {
  assert(Outer.contains(B));
  for (Loop *Around = LI.getLoopFor(B);; Around = Around->getParentLoop()) {
    const BasicBlock *From = exitOf(*Around).From;
    if (!Around->isLoopSimplifyForm() || !From)
      return false;
    for (; !always(B, *Around, DT); B = B->getSinglePredecessor())
      if (!surplusesOf(B, Counts))
        return false;
    if (DT.properlyDominates(From, B) &&
        !(From == Around->getHeader() && alwaysRuns(*Around)))
      Counts.push_back(SE.getExitCount(Around, From));
    if (Around == &Outer)
      break;
    B = Around->getLoopPreheader();
  }
  std::reverse(Counts.begin(), Counts.end());
  return true;
}

const BasicBlock *stepOf(const BasicBlock *B, const Loop &L,
                         const LoopInfo &LI) {
  for (const Loop *In = LI.getLoopFor(B); In != &L; In = In->getParentLoop())
    B = In->getHeader();
  return B;
}

// Where every iteration of L comes by that runs B, of which countsBefore knows.
static const BasicBlock *stepBefore(const BasicBlock *B, const Loop &L,
                                    const LoopInfo &LI,
                                    const DominatorTree &DT) {
  for (const Loop *In = LI.getLoopFor(B);; In = In->getParentLoop()) {
    while (!always(B, *In, DT))
      B = B->getSinglePredecessor();
    if (In == &L)
      return B;
    B = In->getLoopPreheader();
  }
}

// May be taken before I, which runs in the first iteration of all loops around
// it if what countsBefore asks for holds, runs for the first time.
SmallVector<Loop::Edge, 4> Hoister::exitsBefore(const Instruction &I) const {
  SmallVector<Loop::Edge, 4> Edges;
  Outer.getExitEdges(Edges);
  erase_if(Edges, [&](const Loop::Edge &E) {
    const Loop *Both = LI.getLoopFor(E.first);
    while (!Both->contains(&I))
      Both = Both->getParentLoop();
    return E.first == exitOf(Outer).From ||
           DT.dominates(stepBefore(I.getParent(), *Both, LI, DT),
                        stepOf(E.first, *Both, LI));
  });
  return Edges;
}

bool Hoister::mayFailBefore(const Instruction &I) const {
  SmallVector<Loop::Edge, 4> Edges;
  Outer.getExitEdges(Edges);
  return any_of(Edges, [&](const Loop::Edge &E) {
    return E.first != exitOf(Outer).From &&
           !DT.dominates(I.getParent(), E.first);
  });
}

// In front.
bool Hoister::areKnown(ArrayRef<const SCEV *> Counts) {
  Expander Code(SE, *Outer.getHeader()->getModule());
  return all_of(Counts, [&](const SCEV *S) {
    return !isa<SCEVCouldNotCompute>(S) && SE.isLoopInvariant(S, &Outer) &&
           SE.properlyDominates(S, Outer.getHeader()) && Code.isSafe(S);
  });
}

namespace {

// A number as it is in one iteration of each loop in Outer, which Pick tells of
// the loop and its exit count; null: the first.
class InIteration : public SCEVRewriteVisitor<InIteration> {
  using Picked = function_ref<const SCEV *(const Loop &, const SCEV *)>;
  const Loop &Outer;
  Picked Pick;

public:
  InIteration(ScalarEvolution &SE, const Loop &Outer, Picked Pick)
      : SCEVRewriteVisitor(SE), Outer(Outer), Pick(Pick) {}

  const SCEV *visitAddRecExpr(const SCEVAddRecExpr *Rec) {
    const Loop *L = Rec->getLoop();
    if (!Outer.contains(L) || !Rec->isAffine())
      return Rec;
    const BasicBlock *From = exitOf(*L).From;
    const SCEV *Count =
        From ? SE.getExitCount(L, From) : SE.getCouldNotCompute();
    if (isa<SCEVCouldNotCompute>(Count))
      return Rec;
    const SCEV *Which = Pick(*L, Count);
    if (!Which)
      return visit(Rec->getStart());
    return SE.getAddExpr(visit(Rec->getStart()),
                         SE.getMulExpr(visit(Rec->getStepRecurrence(SE)),
                                       SE.getTruncateOrZeroExtend(
                                           visit(Which), Rec->getType())));
  }
};

// S stays in L, or counts its iterations up from a constant and cannot wrap
// before the last one, even where a check ends the loop in front of it.
bool countsUp(const SCEV *S, const Loop &L, bool Signed, ScalarEvolution &SE) {
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
  if (!Rec || Rec->getLoop() != &L)
    return SE.isLoopInvariant(S, &L);
  const auto *From = dyn_cast<SCEVConstant>(Rec->getStart());
  const BasicBlock *Exit = exitOf(L).From;
  const SCEV *Count = Exit ? SE.getExitCount(&L, Exit) : nullptr;
  if (!From || From->getAPInt().isNegative() || !Count ||
      isa<SCEVCouldNotCompute>(Count) || !Rec->getStepRecurrence(SE)->isOne())
    return false;
  unsigned Bits = From->getAPInt().getBitWidth();
  APInt Most = SE.getUnsignedRangeMax(Count);
  if (Most.getActiveBits() > Bits)
    return false;
  Most = Most.zextOrTrunc(Bits + 1) + From->getAPInt().zext(Bits + 1);
  APInt Room =
      Signed ? APInt::getSignedMaxValue(Bits) : APInt::getMaxValue(Bits);
  return Most.ule(Room.zext(Bits + 1));
}

// What there is 0 of where what counts up in L may meet what stands still: it
// starts at another number and ends before it.  Null: it is not of that kind.
const SCEV *surplusBeforeMeeting(const SCEV *X, const SCEV *Y, const Loop &L,
                                 ScalarEvolution &SE) {
  if (SE.isLoopInvariant(X, &L))
    std::swap(X, Y);
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(X);
  const BasicBlock *Exit = exitOf(L).From;
  const SCEV *Count = Exit ? SE.getExitCount(&L, Exit) : nullptr;
  if (!Rec || Rec->getLoop() != &L || !Rec->getStepRecurrence(SE)->isOne() ||
      !SE.isLoopInvariant(Y, &L) || !Count || isa<SCEVCouldNotCompute>(Count) ||
      SE.getTypeSizeInBits(Count->getType()) >
          SE.getTypeSizeInBits(X->getType()))
    return nullptr;
  Count = SE.getNoopOrZeroExtend(Count, X->getType());
  const SCEV *Last = SE.getMinusSCEV(Count, SE.getOne(X->getType()));
  const SCEV *Way = SE.getMinusSCEV(Y, Rec->getStart());
  return SE.getMinusSCEV(SE.getUMaxExpr(Way, Last), Last);
}

} // namespace

// A check is passed until I runs for the first time if it is in the first
// iteration of the loops around both, and in the first and the last one of a
// loop around the check alone, or in all of that.  This must be known in front
// of the loops around Outer, too, where a condition in front of it would decide
// on its iterations.
bool Hoister::passesIf(const Loop::Edge &Exit, const Instruction &I,
                       SmallVectorImpl<const SCEV *> &Counts) {
  const auto *Check = dyn_cast<BranchInst>(Exit.first->getTerminator());
  Comparisons All;
  if (!Check || !Check->isConditional())
    return false;
  bool Holds = Check->getSuccessor(1) == Exit.second;
  if (!Outer.contains(Check->getSuccessor(!Holds)) ||
      !comparisonsOf(*Check, Holds, All))
    return false;
  const Loop *Alone = LI.getLoopFor(Exit.first);
  if (Alone->contains(&I))
    Alone = nullptr;
  else if (!Alone->getParentLoop()->contains(&I))
    return false;
  for (auto [Asked, Side] : All) {
    bool Meets = Alone && Asked->isEquality();
    const SCEV *More = surplus(*Asked, Side);
    if (Meets && More)
      More = surplusBeforeMeeting(SE.getSCEV(Asked->getOperand(0)),
                                  SE.getSCEV(Asked->getOperand(1)), *Alone, SE);
    auto Require = [&](bool Last) {
      auto Pick = [&](const Loop &L, const SCEV *Count) -> const SCEV * {
        return Last && &L == Alone
                   ? SE.getMinusSCEV(Count, SE.getOne(Count->getType()))
                   : nullptr;
      };
      const SCEV *S = InIteration(SE, Outer, Pick).visit(More);
      if (!SE.isKnownNonZero(S) && !is_contained(Counts, S))
        Counts.push_back(S);
      return !SE.containsAddRecurrence(S);
    };
    auto CountsUp = [&, Of = Asked](unsigned Operand) {
      return countsUp(SE.getSCEV(Of->getOperand(Operand)), *Alone,
                      Of->isSigned(), SE);
    };
    if (!More || (Alone && !Meets && (!CountsUp(0) || !CountsUp(1))))
      return false;
    if (!Require(false) || (Alone && !Meets && !Require(true)))
      return false;
  }
  return true;
}

bool Hoister::runsIf(const Instruction &I,
                     SmallVectorImpl<const SCEV *> &Counts) {
  if (!countsBefore(I.getParent(), Counts) || !areKnown(Counts))
    return false;
  const auto *L = dyn_cast<LoadInst>(&I);
  if (L && mayReadEarly(*L, front(), DT))
    return true;
  SmallVector<Loop::Edge, 4> Exits = exitsBefore(I), All;
  if (Exits.empty())
    return true;
  Outer.getExitEdges(All);
  return All.size() <= ChecksMax &&
         all_of(Exits,
                [&](const Loop::Edge &E) { return passesIf(E, I, Counts); }) &&
         areKnown(Counts);
}

// Margins leave out iterations at the ends of loops.
bool Hoister::runsInMiddleIf(const Instruction &I,
                             SmallVectorImpl<const SCEV *> &Counts) {
  Counts.clear();
  if (!countsBefore(I.getParent(), Counts) || mayFailBefore(I))
    return false;
  auto Half = [&](const Loop &, const SCEV *Count) {
    return SE.getUDivExpr(Count, SE.getConstant(Count->getType(), 2));
  };
  InIteration Middle(SE, Outer, Half);
  for (const SCEV *&S : Counts)
    if (!isa<SCEVCouldNotCompute>(S))
      S = Middle.visit(S);
  return areKnown(Counts);
}

Value *Hoister::noneIsZero(ArrayRef<const SCEV *> Counts) {
  Expander Code(SE, *Outer.getHeader()->getModule());
  IRBuilder<> B(front());
  Value *Works = nullptr;
  for (const SCEV *S : Counts) {
    Value *N = Code.expand(S, S->getType(), front());
    B.SetInsertPoint(front());
    // Where an outer loop has no work, an inner one's count may be poison.
    Value *Some =
        B.CreateICmpNE(B.CreateFreeze(N), ConstantInt::get(N->getType(), 0));
    Works = Works ? B.CreateAnd(Works, Some) : Some;
  }
  return Works;
}

Value *Hoister::move(Instruction &I, Value *Runs) {
  Instruction *End = front();
  assert(Outer.hasLoopInvariantOperands(&I));
  assert(!Runs || Runs->getType()->isIntegerTy(1));
  if (!Runs) {
    moveBefore(I, End);
    return &I;
  }
  BasicBlock *Before = End->getParent();
  DomTreeUpdater DTU(DT, DomTreeUpdater::UpdateStrategy::Eager);
  Instruction *Then =
      SplitBlockAndInsertIfThen(Runs, End, false, nullptr, &DTU, &LI);
  moveBefore(I, Then);
  IRBuilder<> B(&End->getParent()->front());
  PHINode *Phi = B.CreatePHI(I.getType(), 2);
  Phi->setDebugLoc(I.getDebugLoc());
  markHoisted(*Phi);
  I.replaceAllUsesWith(Phi);
  Phi->addIncoming(&I, Then->getParent());
  Phi->addIncoming(Constant::getNullValue(I.getType()), Before);
  return Phi;
}

namespace {

bool hoistPure(Loop &L) {
  bool Changed = false;
  Instruction *End = L.getLoopPreheader()->getTerminator();
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : make_early_inc_range(*B))
      if (!I.isTerminator() && !isa<PHINode>(I) && !I.mayReadFromMemory() &&
          !I.getType()->isVoidTy())
        L.makeLoopInvariant(&I, Changed, End);
  for (Loop *Inner : L.getSubLoops())
    if (Inner->isLoopSimplifyForm())
      Changed |= hoistPure(*Inner);
  return Changed;
}

// ScalarEvolution would look through the division, which it cannot compute
// again elsewhere: the divisor may be zero there.
void seal(Instruction &I, Instruction &At) {
  Value *Quotient = IRBuilder<>(&At).CreateFreeze(&I);
  I.replaceUsesWithIf(Quotient,
                      [&](Use &U) { return U.getUser() != Quotient; });
}

class GuardedHoister {
  Loop &Outer;
  ScalarEvolution &SE;
  DominatorTree &DT;
  AAResults &AA;
  Hoister Places;
  SmallVector<Instruction *, 32>
      Open; // loads and divisions that are inside yet
  SmallVector<Instruction *, 16> Writers;

public:
  GuardedHoister(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                 DominatorTree &DT, AAResults &AA)
      : Outer(Outer), SE(SE), DT(DT), AA(AA), Places(Outer, LI, SE, DT) {}

  // Each may make the next one's operand or its loop's number of iterations
  // known, so they are gone through again until none moves.  Every time but
  // the last takes one out of the loop at least, and nothing puts one in.
  bool run() {
    for (BasicBlock *B : Outer.blocks()) {
      if (!comesToEnd(*B))
        return false; // a call may end the program before that is reached
      for (Instruction &I : *B) {
        if (isa<LoadInst>(I) || I.isIntDivRem())
          Open.push_back(&I);
        if (I.mayWriteToMemory())
          Writers.push_back(&I);
      }
    }
    bool Changed = false;
    for (Steps S("hoisting", Open.size()); hoistOpen() && S.next();)
      Changed = true;
    return Changed;
  }

private:
  bool hoistOpen() {
    size_t Before = Open.size();
    erase_if(Open, [&](Instruction *I) {
      if (!Outer.contains(I))
        return true; // with what is pure
      if (!isFixed(*I) || !hoist(*I))
        return false;
      assert(!Outer.contains(I));
      hoistPure(Outer);
      SE.forgetLoop(&Outer);
      return true;
    });
    return Open.size() < Before;
  }

  // Gives the same whenever the nest computes it.
  bool isFixed(const Instruction &I) {
    if (!Outer.hasLoopInvariantOperands(&I))
      return false;
    const auto *L = dyn_cast<LoadInst>(&I);
    return L ? L->isSimple() && !mayChange(*L) : I.isIntDivRem();
  }

  bool mayChange(const LoadInst &L) {
    MemoryLocation Place = MemoryLocation::get(&L);
    const auto *Variable = dyn_cast<AllocaInst>(L.getPointerOperand());
    if (Variable && isLoopBound(*Variable))
      return any_of(Writers, [&](const Instruction *I) {
        return !isa<StoreInst>(I) || is_contained(I->operands(), Variable);
      });
    return any_of(
        Writers, [&](const Instruction *I) { return mayWrite(*I, Place, AA); });
  }

  // Where nobody knows whether it is read, as in tiles, it is if it may be.
  bool hoist(Instruction &I) {
    SmallVector<const SCEV *, 4> Counts;
    const auto *L = dyn_cast<LoadInst>(&I);
    bool Runs = Places.runsIf(I, Counts);
    if (!Runs && !(L && mayReadEarly(*L, Places.front(), DT)))
      return false;
    if (!Runs)
      Counts.clear();
    if (!Runs || Places.mayFailBefore(I))
      keepTypeAlone(I); // what else is said holds only if it is reached
    Value *Result = Places.move(I, Places.noneIsZero(Counts));
    if (Result == &I && I.getOpcode() == Instruction::UDiv)
      seal(I, *Places.front());
    return true;
  }
};

struct HoistPass : PassInfoMixin<HoistPass> {
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
    DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
    AAResults &AA = FAM.getResult<AAManager>(F);
    bool Changed = false;
    for (Instruction &I : make_early_inc_range(instructions(F)))
      if (I.getOpcode() == Instruction::UDiv && !LI.getLoopFor(I.getParent()) &&
          !isa<Constant>(I.getOperand(1))) {
        seal(I, *I.getNextNode());
        Changed = true;
      }
    // Outer loops first: what cannot leave them may still leave inner ones.
    for (Loop *L : LI.getLoopsInPreorder()) {
      if (L->isInnermost() || !L->isLoopSimplifyForm() || !sumsProducts(*L))
        continue;
      Changed |= hoistPure(*L);
      SE.forgetLoop(L);
      if (!GuardedHoister(*L, LI, SE, DT, AA).run())
        continue;
      Changed = true;
      // What is asked in front of L may be known in front of the loops around.
      Loop *Top = L;
      while (Top->getParentLoop() && Top->getParentLoop()->isLoopSimplifyForm())
        Top = Top->getParentLoop();
      if (Top != L)
        hoistPure(*Top);
    }
    return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};

// Needs LCSSA form: a value that leaves a loop does so through a phi.
struct ExitValuePass : PassInfoMixin<ExitValuePass> {
  // Where the loops around L change how often it runs, so do they what its
  // variables hold at the end; extents.cpp may know better.
  static bool runsAlike(const Loop &L, ScalarEvolution &SE) {
    const Loop *Top = &L;
    while (Top->getParentLoop())
      Top = Top->getParentLoop();
    const SCEV *Taken = SE.getBackedgeTakenCount(&L);
    return !isa<SCEVCouldNotCompute>(Taken) && SE.isLoopInvariant(Taken, Top);
  }

  // V is P, or is computed from it where P stands.
  static bool isComputedFrom(const Value &V, const PHINode &P) {
    SmallPtrSet<const Value *, 8> Seen;
    SmallVector<const Value *, 8> Open = {&V};
    while (!Open.empty()) { // no value is opened twice
      const Value *W = Open.pop_back_val();
      if (W == &P)
        return true;
      const auto *I = dyn_cast<Instruction>(W);
      if (I && !isa<PHINode>(I) && I->getParent() == P.getParent() &&
          Seen.insert(I).second)
        Open.append(I->value_op_begin(), I->value_op_end());
    }
    return false;
  }

  // Every phi of the exit is looked at once; none is added there.
  static bool rewrite(Loop &L, LoopInfo &LI, ScalarEvolution &SE,
                      Expander &Code) {
    BasicBlock *Exit = L.getUniqueExitBlock();
    if (!Exit || !L.isLoopSimplifyForm() || !runsAlike(L, SE))
      return false;
    bool Changed = false;
    for (PHINode &P : make_early_inc_range(Exit->phis())) {
      auto *I = dyn_cast<Instruction>(P.getIncomingValue(0));
      if (!I || P.getNumIncomingValues() != 1 || !L.contains(I) ||
          !SE.isSCEVable(P.getType()))
        continue;
      const SCEV *S = SE.getSCEVAtScope(I, LI.getLoopFor(Exit));
      if (isa<SCEVCouldNotCompute>(S) || !SE.isLoopInvariant(S, &L) ||
          !Code.isSafe(S))
        continue;
      // The expander takes any value that is known to equal S, and P itself
      // would be one.
      SE.forgetValue(&P);
      Value *End = Code.expand(S, P.getType(), &*Exit->getFirstInsertionPt());
      Changed = true;
      if (isComputedFrom(*End, P))
        continue; // replacing P there would never end
      P.replaceAllUsesWith(End);
      P.eraseFromParent();
    }
    return Changed;
  }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
    ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
    Expander Code(SE, *F.getParent());
    Candidates Found(F, FAM);
    bool Changed = false;
    SmallVector<Loop *, 8> Loops = LI.getLoopsInPreorder();
    for (Loop *L : reverse(Loops)) // inner loops first
      if (Found.mayBeRead(*L) && rewrite(*L, LI, SE, Code)) {
        Changed = true;
        for (Loop *Around = L; Around; Around = Around->getParentLoop())
          SE.forgetLoop(Around);
      }
    Code.clear();
    return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
};

} // namespace

void addHoistPasses(FunctionPassManager &Passes) {
  Passes.addPass(HoistPass());
  Passes.addPass(LoopSimplifyPass());
  Passes.addPass(LCSSAPass());
  Passes.addPass(ExitValuePass());
}

} // namespace nputeir
