// body.cpp -- the code of a nest that runs: which blocks, in which order, and
// whether any of it does what a contraction does not.
//
// A condition that has one outcome for the whole nest does not stand in the
// way: the description holds on the side where products are summed, or else
// where elements are touched, and the call is made only when the condition
// takes that side.  This is how the "n > 0" in front of a loop that LLVM has
// turned round already, and a flag tested inside the nest, are carried.
#include "body.h"
#include "call_effects.h"
#include "ir_calls.h"
#include "ir_marks.h"
#include "ir_matrix.h"
#include "ir_sums.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

#include <algorithm>

using namespace llvm;

namespace nputeir {

// Room between two instructions for the statements that fall on one branch; and
// a bound on the code of a nest, which is walked recursively.
enum { OrderStep = 64, BlocksMax = 400 };

static bool sums(const BasicBlock &B) {
  for (const Instruction &I : B)
    if (isSumOfProduct(I))
      return true;
  return false;
}

static bool touchesMemory(const BasicBlock &B) {
  return any_of(B, [](const Instruction &I) {
    return I.mayReadOrWriteMemory() && !isa<IntrinsicInst>(I);
  });
}

namespace {

// Of ways that meet, those that are not taken do not matter.
class Merged : public SCEVRewriteVisitor<Merged> {
  const function_ref<const Value *(const PHINode &)> OnlyValue;
  int Looks = 0;

public:
  Merged(ScalarEvolution &SE,
         function_ref<const Value *(const PHINode &)> OnlyValue)
      : SCEVRewriteVisitor(SE), OnlyValue(OnlyValue) {}

  const SCEV *visitUnknown(const SCEVUnknown *U) {
    enum { LooksMax = 64 };
    const auto *P = dyn_cast<PHINode>(U->getValue());
    const Value *Only = P && Looks++ < LooksMax ? OnlyValue(*P) : nullptr;
    return Only ? visit(SE.getSCEV(const_cast<Value *>(Only))) : U;
  }
};

} // namespace

// As far as control has been followed; null: not one.
const Value *Body::onlyValueOf(const PHINode &P) const {
  if (!Outer.contains(&P) ||
      LI.getLoopFor(P.getParent())->getHeader() == P.getParent() ||
      !Seen.count(const_cast<BasicBlock *>(P.getParent())))
    return nullptr;
  for (const BasicBlock *From : P.blocks())
    if (!runs(From) && goes(From, P.getParent()))
      return nullptr; // perhaps later
  int Way = onlyWayInto(P);
  return Way < 0 ? nullptr : P.getIncomingValue((unsigned)Way);
}

const SCEV *Body::followed(const Value *V, const Loop &L) const {
  const SCEV *S = Merged(SE, [&](const PHINode &P) {
                    return onlyValueOf(P);
                  }).visit(SE.getSCEV(const_cast<Value *>(V)));
  return SE.getSCEVAtScope(S, &L);
}

// Also a comparison whose sides move alike.
bool Body::isUnchanging(const Value *Condition, const Loop &L) const {
  if (Outer.isLoopInvariant(Condition))
    return true;
  const auto *Compare = dyn_cast<ICmpInst>(Condition);
  if (!Compare || !SE.isSCEVable(Compare->getOperand(0)->getType()))
    return false;
  const SCEV *Distance = SE.getMinusSCEV(followed(Compare->getOperand(0), L),
                                         followed(Compare->getOperand(1), L));
  return !isa<SCEVCouldNotCompute>(Distance) &&
         SE.isLoopInvariant(Distance, &Outer);
}

// The side of an unchanging condition that is given, or else on which products
// are summed, or, where that is no help, on which memory is touched: then
// products may be summed on the other one, too.
void Body::choose(BasicBlock *B, const BranchInst &Branch) {
  if (guardsHoisted(Branch) ||
      !isUnchanging(Branch.getCondition(), *LI.getLoopFor(B)))
    return;
  auto Take = [&](bool Side) {
    Taken[B] = Branch.getSuccessor(Side ? 0 : 1);
    Asserted.push_back({&Branch, Side});
  };
  if (auto Side = Ways.of(Branch, SE))
    return Take(*Side);
  if (First && !First->contains(B) && none_of(successors(B), [&](auto *Next) {
        return DT.dominates(BasicBlockEdge(B, Next), First->getHeader());
      }))
    return; // decides on other code
  bool Sums[2] = {false, false}, Touches[2] = {false, false};
  for (int I = 0; I < 2; I++) {
    BasicBlockEdge Edge(B, Branch.getSuccessor(I));
    for (BasicBlock *Other : Outer.blocks())
      if (DT.dominates(Edge, Other)) {
        Sums[I] |= sums(*Other);
        Touches[I] |= touchesMemory(*Other);
      }
  }
  if (Sums[0] && Sums[1])
    return Ways.meet(Branch);
  bool *Side = Sums[0] == Sums[1] ? Touches : Sums;
  if (!Side[0] && !Side[1])
    return;
  // On the other one, there may be a product without what is summed on this.
  BasicBlockEdge Edge(B, Branch.getSuccessor(Side[0] ? 0 : 1));
  if (Side == Touches || any_of(Outer.blocks(), [&](const BasicBlock *Other) {
        return sums(*Other) && !DT.dominates(Edge, Other);
      }))
    Ways.Taken.push_back({&Branch, Side[0]});
  Take(Side[0]);
}

bool Body::goes(const BasicBlock *B, const BasicBlock *Next) const {
  auto It = Taken.find(B);
  assert(It == Taken.end() || is_contained(successors(B), It->second));
  return It == Taken.end() || It->second == Next;
}

bool Body::declineJump(const Instruction &Jump) {
  loc At = locOf(Jump.getDebugLoc(), A);
  if (const auto *Call = dyn_cast<CallBase>(&Jump))
    return verdict_decline(&V, RULE_SIDE_EFFECT, At,
                           "the nest %s, which may throw or jump",
                           callWords(*Call).c_str());
  return verdict_decline(&V, RULE_GUARDED, At,
                         "a switch inside the nest decides what runs");
}

// The side of a branch that leaves a loop on which the loop goes on, unless
// this is where the loop has done its work.
bool Body::stay(BasicBlock *B, const BranchInst &Branch) {
  const Loop *L = LI.getLoopFor(B);
  if (!Branch.isConditional() || exitOf(*L).From == B)
    return true;
  bool Side = L->contains(Branch.getSuccessor(0));
  if (Outer.contains(Branch.getSuccessor(Side)) || // of 0 and 1, the other
      !neverReturns(Branch.getSuccessor(Side)))
    return verdict_decline(&V, RULE_EARLY_EXIT, locOf(Branch.getDebugLoc(), A),
                           "a loop of the nest has more than one way out");
  Taken[B] = Branch.getSuccessor(!Side);
  Asserted.push_back({&Branch, Side});
  return true;
}

// Post-order in which a loop's exit is finished before its body, so that in
// reverse every loop's blocks stand together and before what follows it.
bool Body::visit(BasicBlock *B) {
  if (!Outer.contains(B) || !Seen.insert(B).second)
    return true;
  const auto *Branch = dyn_cast<BranchInst>(B->getTerminator());
  const Loop *L = LI.getLoopFor(B);
  bool Leaves = any_of(successors(B),
                       [&](BasicBlock *Next) { return !L->contains(Next); });
  bool Other = First && !First->contains(B) && !Leaves;
  if (!Branch && !(Other && isa<SwitchInst>(B->getTerminator())))
    return declineJump(*B->getTerminator());
  if (Leaves && !stay(B, *Branch))
    return false;
  if (Branch && Branch->isConditional() && !Leaves)
    choose(B, *Branch);
  for (bool Outside : {true, false})
    for (BasicBlock *Next : successors(B))
      if (L->contains(Next) != Outside && goes(B, Next) && !visit(Next))
        return false;
  Blocks.push_back(B);
  return true;
}

// In program order, a block runs in every iteration when all edges between the
// blocks before it and the rest of the loop lead into it.
void Body::findConditional(const Loop &L) {
  SmallPtrSet<const BasicBlock *, 32> Before;
  int Open = 0;
  for (const BasicBlock *B : Blocks) {
    if (!L.contains(B))
      continue;
    for (const BasicBlock *From : predecessors(B))
      Open -= Before.count(From) && goes(From, B);
    assert(Open >= 0); // no edge ends that has not begun
    if (Open > 0 && LI.getLoopFor(B) == &L)
      Conditional.insert(B);
    for (const BasicBlock *Next : successors(B))
      Open +=
          L.contains(Next) && goes(B, Next) && !Before.count(Next) && Next != B;
    Before.insert(B);
  }
}

bool Body::checkLoops() {
  for (const Loop *L : Outer.getLoopsInPreorder())
    if (runs(L->getHeader()))
      findConditional(*L);
  for (const Loop *L : Outer.getLoopsInPreorder())
    if (runs(L->getHeader()) && !L->getLoopPreheader())
      return verdict_decline(&V, RULE_GUARDED, locOf(L->getStartLoc(), A),
                             "a condition inside the nest decides whether a "
                             "loop runs");
  return true;
}

bool Body::isGuarded(const BasicBlock *B) const {
  const Loop *L = LI.getLoopFor(B);
  return isConditional(B) || Clipped.at(*L) ||
         (L != &Outer && isGuarded(L->getLoopPreheader()));
}

const BasicBlock *Body::unconditionalBefore(const BasicBlock *B) const {
  const Loop *L = LI.getLoopFor(B);
  // Within a loop, a block is conditional or not in that loop's iterations.
  while (isConditional(B) || LI.getLoopFor(B) != L)
    B = DT.getNode(B)->getIDom()->getBlock();
  assert(Outer.contains(B)); // its header runs always
  return B;
}

bool Body::forks(const BasicBlock *B) const {
  const Loop *L = LI.getLoopFor(B);
  return count_if(successors(B), [&](const BasicBlock *Next) {
           return L->contains(Next) && goes(B, Next);
         }) > 1;
}

// A comparison with zero, of something that is computed from elements.
static bool comparesWithZero(const Value *Condition) {
  const auto *C = dyn_cast<CmpInst>(Condition);
  if (!C || !(C->isEquality() || C->getPredicate() == CmpInst::FCMP_ONE ||
              C->getPredicate() == CmpInst::FCMP_UEQ))
    return false;
  return any_of(C->operands(), [](const Use &U) {
    return PatternMatch::match(U.get(), PatternMatch::m_AnyZeroFP()) ||
           PatternMatch::match(U.get(), PatternMatch::m_Zero());
  });
}

const BranchInst *Body::skipOf(const BasicBlock *B, bool &Side) const {
  const Loop *L = LI.getLoopFor(B);
  const BasicBlock *Start = unconditionalBefore(B);
  const auto *Branch = dyn_cast<BranchInst>(Start->getTerminator());
  if (!Branch || !Branch->isConditional() ||
      !comparesWithZero(Branch->getCondition()) || isGuarded(Start))
    return nullptr;
  for (const BasicBlock *X : Blocks) {
    if (X == B)
      break;
    if (X != Start && LI.getLoopFor(X) == L && DT.dominates(Start, X) &&
        forks(X))
      return nullptr;
  }
  for (unsigned I = 0; I < 2; I++)
    if (DT.dominates(BasicBlockEdge(Start, Branch->getSuccessor(I)), B)) {
      Side = I == 0;
      return Branch;
    }
  return nullptr;
}

const BranchInst *Body::onlySkipOf(const BasicBlock *B, bool &Side) const {
  while (!isConditional(B)) {
    const Loop *L = LI.getLoopFor(B);
    if (L == &Outer)
      return nullptr;
    B = L->getLoopPreheader();
  }
  return skipOf(B, Side);
}

bool Body::isReadAnyway(const LoadInst &L) const {
  if (isGuarded(unconditionalBefore(L.getParent())))
    return false;
  const SCEV *Place = SE.getSCEV(const_cast<Value *>(L.getPointerOperand()));
  for (BasicBlock *B : Blocks)
    if (LI.getLoopFor(B) == LI.getLoopFor(L.getParent()) && !isConditional(B))
      for (Instruction &I : *B)
        if (Value *Other = getLoadStorePointerOperand(&I))
          if (SE.getSCEV(Other) == Place && getLoadStoreType(&I) == L.getType())
            return true;
  return false;
}

int Body::onlyWayInto(const PHINode &P) const {
  int Found = -1;
  for (unsigned I = 0; I < P.getNumIncomingValues(); I++) {
    const BasicBlock *From = P.getIncomingBlock(I);
    if (!runs(From) || !goes(From, P.getParent()))
      continue;
    if (Found >= 0)
      return -1;
    Found = (int)I;
  }
  return Found;
}

const BranchInst *Body::unchangingBefore(const PHINode &P) const {
  const Loop *L = LI.getLoopFor(P.getParent());
  const BasicBlock *D = DT.getNode(P.getParent())->getIDom()->getBlock();
  for (const BasicBlock *B : Blocks) {
    if (B == P.getParent())
      break;
    const auto *Branch = dyn_cast<BranchInst>(B->getTerminator());
    if (Branch && LI.getLoopFor(B) == L && DT.dominates(D, B) && forks(B) &&
        !guardsHoisted(*Branch) && isUnchanging(Branch->getCondition(), *L))
      return Branch;
  }
  return nullptr;
}

std::optional<bool> Body::sideOf(const SelectInst &S) const {
  if (!Outer.isLoopInvariant(S.getCondition()))
    return std::nullopt;
  auto Side = Ways.of(S, SE);
  if (!Side)
    Ways.meet(S);
  return Side;
}

// The variable whose value W is where loop L has ended; null: none.
static const PHINode *variableAfter(const Loop &L, const Value *W) {
  for (const PHINode &P : L.getHeader()->phis())
    if (W == (exitsBeforeBody(L)
                  ? static_cast<const Value *>(&P)
                  : P.getIncomingValueForBlock(L.getLoopLatch())))
      return &P;
  return nullptr;
}

const PHINode *Body::variableOf(const Value *W) const {
  for (;;) { // each way in leads back in program order
    const auto *P = dyn_cast<PHINode>(W);
    if (!P || !Outer.contains(P))
      return nullptr;
    const Loop *L = LI.getLoopFor(P->getParent());
    if (P->getParent() == L->getHeader())
      return P;
    int From = onlyWayInto(*P);
    if (From < 0)
      return nullptr;
    const Loop *Before = LI.getLoopFor(P->getIncomingBlock(From));
    W = P->getIncomingValue(From);
    if (Before != L)
      return Before && Before->getParentLoop() == L ? variableAfter(*Before, W)
                                                    : nullptr;
  }
}

// Without effect on memory, on control, or on anything but its result.
static bool harmless(const Instruction &I) {
  if (isa<DbgInfoIntrinsic>(I) || isa<AssumeInst>(I) ||
      isa<NoAliasScopeDeclInst>(I) || marksFrame(I))
    return true;
  if (const auto *Call = dyn_cast<CallBase>(&I))
    return onlyComputes(*Call);
  return !I.mayHaveSideEffects() && !isa<AllocaInst>(I);
}

// Code that stays where it is, behind all that comes first: what it writes is
// looked at later.
bool Body::checkOther(const Instruction &I) {
  loc At = locOf(I.getDebugLoc(), A);
  if (I.isAtomic())
    return verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest holds an atomic operation");
  const auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || isa<IntrinsicInst>(I))
    return true;
  if (!Call->doesNotThrow() && !I.getFunction()->doesNotThrow() &&
      !comesBack(*Call))
    return declineJump(I);
  return !(Call->cannotDuplicate() || Call->isConvergent() ||
           Call->hasFnAttr(Attribute::ReturnsTwice) ||
           Call->isMustTailCall()) ||
         declineJump(I);
}

bool Body::check(const Instruction &I) {
  if (First && !First->contains(&I))
    return checkOther(I);
  loc At = locOf(I.getDebugLoc(), A);
  if (const auto *S = dyn_cast<StoreInst>(&I))
    return S->isSimple() ||
           verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest writes a volatile or atomic object");
  if (const auto *L = dyn_cast<LoadInst>(&I))
    return L->isSimple() ||
           verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest reads a volatile or atomic object");
  if (isMatrixAccess(I))
    return true;
  if (I.isAtomic())
    return verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest holds an atomic operation");
  // How much it fills and with what is looked at later.
  if (isa<MemSetInst>(I) || isa<MemTransferInst>(I))
    return !isGuarded(I.getParent()) ||
           verdict_decline(&V, RULE_GUARDED, At,
                           "a condition inside the nest decides what is "
                           "written");
  const auto *Array = dyn_cast<AllocaInst>(&I);
  if (harmless(I) || I.isTerminator() || (Array && Local.count(Array)))
    return true;
  const auto *Call = dyn_cast<CallBase>(&I);
  if (Call && isComplexProduct(*Call))
    return verdict_decline(&V, RULE_COMPLEX, At,
                           "a product of complex numbers is formed again by a "
                           "call where it is no number");
  return verdict_decline(&V, RULE_SIDE_EFFECT, At, "the nest %s",
                         Call ? callWords(*Call).c_str() : "has a side effect");
}

bool Body::isLocal(const SCEV *Address) const {
  if (!Address->getType()->isPointerTy())
    return false;
  const auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Address));
  const auto *Array = Base ? dyn_cast<AllocaInst>(Base->getValue()) : nullptr;
  return Array && Local.count(Array);
}

bool Body::read() {
  if (!Outer.getLoopPreheader())
    return verdict_decline(&V, RULE_EARLY_EXIT, locOf(Outer.getStartLoc(), A),
                           "a computed goto leads to the nest");
  if (Outer.getNumBlocks() > BlocksMax)
    return verdict_decline(&V, RULE_GUARDED, locOf(Outer.getStartLoc(), A),
                           "the nest has more than %d blocks of code",
                           (int)BlocksMax);
  Clipped.find();
  for (const auto &[L, C] : Clipped.All)
    if (C.Guard)
      Taken[C.Guard] = C.Into;
  if (!visit(Outer.getHeader()))
    return false;
  assert(Blocks.size() == Seen.size() && Blocks.back() == Outer.getHeader());
  std::reverse(Blocks.begin(), Blocks.end());
  if (!checkLoops())
    return false;
  if (First && isGuarded(First->getExitBlock()))
    return verdict_decline(&V, RULE_GUARDED, locOf(First->getStartLoc(), A),
                           "a condition inside the nest decides whether a "
                           "loop runs");
  int Next = 0;
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B)
      Order[&I] = Next += OrderStep;
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      if ((First || runs(B)) && !check(I))
        return false;
  erase_if(Blocks, [&](BasicBlock *B) { return !isPart(*LI.getLoopFor(B)); });
  // What starts before the nest has the lowest order.
  Order[Outer.getLoopPreheader()->getTerminator()] = 0;
  return true;
}

// On a way out that is not taken.
bool Body::isIdle(const Use &U) const {
  const auto *P = dyn_cast<PHINode>(U.getUser());
  return P && !goes(P->getIncomingBlock(U), P->getParent());
}

bool Body::checkLiveOuts() {
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      for (const Use &U : I.uses())
        if (!Outer.contains(cast<Instruction>(U.getUser())) && !isIdle(U))
          return verdict_decline(&V, RULE_LIVE_OUT, locOf(I.getDebugLoc(), A),
                                 "a value that the nest computes is used "
                                 "after it");
  return true;
}

} // namespace nputeir
