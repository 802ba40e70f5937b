// body.cpp -- the code of a nest that runs: which blocks, in which order, and
// whether any of it does what a contraction does not.
//
// A condition that has one outcome for the whole nest does not stand in the
// way: the description holds on the side where products are summed, and the
// call is made only when the condition takes that side.  This is how the
// "n > 0" in front of a loop that LLVM has turned round already, and a flag
// tested inside the nest, are carried.
#include "body.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <algorithm>

using namespace llvm;

namespace nputeir {

static const char *const KeptMark = "nputeir.kept";

bool isKept(const Loop &L) {
  if (findStringMetadataForLoop(&L, KeptMark))
    return true;
  if (L.getSubLoops().empty())
    for (const BasicBlock *B : L.blocks())
      for (const Instruction &I : *B)
        if (isa<StoreInst>(I) && I.getMetadata(KeptMark))
          return true;
  return false;
}

// Two marks, because a pass that rebuilds a loop may drop either.
void markKept(Loop &Outer) {
  for (Loop *L : Outer.getLoopsInPreorder())
    addStringMetadataToLoop(L, KeptMark, 1);
  LLVMContext &X = Outer.getHeader()->getContext();
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      if (isa<StoreInst>(I))
        I.setMetadata(KeptMark, MDNode::get(X, {}));
}

loc locOf(const DebugLoc &DL, arena *A) {
  if (!DL)
    return loc_none();
  const auto *Scope = cast<DIScope>(DL.getScope());
  return {arena_string(A, Scope->getFilename().str().c_str()),
          (int)DL.getLine(), (int)DL.getCol()};
}

// Room between two instructions for the statements that fall on one branch; and
// a bound on the code of a nest, which is walked recursively.
enum { OrderStep = 64, BlocksMax = 400 };

static bool sums(const BasicBlock &B) {
  for (const Instruction &I : B)
    if (isSumOfProduct(I))
      return true;
  return false;
}

// The side of an unchanging condition on which products are summed.
bool Body::choose(BasicBlock *B, const BranchInst &Branch) {
  Value *Condition = Branch.getCondition();
  if (!Outer.isLoopInvariant(Condition))
    return false;
  bool Side[2] = {false, false};
  for (int I = 0; I < 2; I++) {
    BasicBlockEdge Edge(B, Branch.getSuccessor(I));
    for (BasicBlock *Other : Outer.blocks())
      Side[I] |= sums(*Other) && DT.dominates(Edge, Other);
  }
  if (Side[0] == Side[1])
    return false;
  Taken[B] = Branch.getSuccessor(Side[0] ? 0 : 1);
  Assumed.push_back({Condition, Side[0]});
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
  if (!Branch || (Branch->isConditional() && !Leaves && !choose(B, *Branch)))
    return verdict_decline(&V, RULE_GUARDED,
                           locOf(B->getTerminator()->getDebugLoc(), A),
                           "a condition inside the nest decides what runs");
  for (bool Outside : {true, false})
    for (BasicBlock *Next : successors(B))
      if (L->contains(Next) != Outside &&
          (!Taken.count(B) || Taken[B] == Next) && !visit(Next))
        return false;
  Blocks.push_back(B);
  return true;
}

int Body::onlyWayInto(const PHINode &P) const {
  int Found = -1;
  for (unsigned I = 0; I < P.getNumIncomingValues(); I++) {
    const BasicBlock *From = P.getIncomingBlock(I);
    auto It = Taken.find(From);
    if (!runs(From) || (It != Taken.end() && It->second != P.getParent()))
      continue;
    if (Found >= 0)
      return -1;
    Found = (int)I;
  }
  return Found;
}

// Without effect on memory, on control, or on anything but its result.
static bool harmless(const Instruction &I) {
  if (isa<DbgInfoIntrinsic>(I) || isa<AssumeInst>(I) ||
      isa<NoAliasScopeDeclInst>(I))
    return true;
  if (isa<CallBase>(I))
    return !I.mayHaveSideEffects() && !I.mayReadFromMemory() &&
           cast<CallBase>(I).doesNotThrow() &&
           !cast<CallBase>(I).isConvergent();
  return !I.mayHaveSideEffects() && !isa<AllocaInst>(I);
}

bool Body::check(const Instruction &I) {
  loc At = locOf(I.getDebugLoc(), A);
  if (const auto *S = dyn_cast<StoreInst>(&I))
    return S->isSimple() ||
           verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest writes a volatile or atomic object");
  if (const auto *L = dyn_cast<LoadInst>(&I))
    return L->isSimple() ||
           verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest reads a volatile or atomic object");
  if (I.isAtomic())
    return verdict_decline(&V, RULE_VOLATILE, At,
                           "the nest holds an atomic operation");
  if (harmless(I) || I.isTerminator())
    return true;
  const auto *Call = dyn_cast<CallBase>(&I);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return verdict_decline(&V, RULE_SIDE_EFFECT, At, "the nest %s%s",
                         Callee ? "calls " : "has a side effect",
                         Callee ? Callee->getName().str().c_str() : "");
}

bool Body::read() {
  if (Outer.getNumBlocks() > BlocksMax)
    return verdict_decline(&V, RULE_GUARDED, locOf(Outer.getStartLoc(), A),
                           "the nest has more than %d blocks of code",
                           (int)BlocksMax);
  if (!visit(Outer.getHeader()))
    return false;
  std::reverse(Blocks.begin(), Blocks.end());
  int Next = 0;
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B) {
      Order[&I] = Next += OrderStep;
      if (!check(I))
        return false;
    }
  // What starts before the nest has the lowest order.
  Order[Outer.getLoopPreheader()->getTerminator()] = 0;
  return true;
}

} // namespace nputeir
