// worth.cpp -- is a function worth a closer look?
#include "worth.h"
#include "collapsed.h"
#include "ir_calls.h"
#include "ir_exits.h"
#include "ir_moves.h"
#include "ir_results.h"
#include "ir_sums.h"
#include "rewrite.h"
#include "versions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

unsigned endLine(const Loop &L) {
  DebugLoc End = L.getLocRange().getEnd();
  return End ? End.getLine() : 0;
}

// ---- which loops around it could be read ----

namespace {

// What keeps all loops around some sum from being read.
struct Obstacle {
  rule Which = RULE_TAKEN; // none
  std::string Why;
};

// How deep in loops sums of products are.
class SumDepths {
  const LoopInfo &LI;
  const DominatorTree &DT;
  ScalarEvolution &SE;
  FactorMoves Moves;
  DenseMap<const Loop *, Obstacle> OfLoop, OfInnermost;

public:
  struct Depths {
    unsigned All = 0;   // loops around the deepest sum
    unsigned Whole = 0; // of one sum, up to one that cannot be read
    Obstacle Found;     // by the way
  };

  SumDepths(const LoopInfo &LI, const DominatorTree &DT, ScalarEvolution &SE)
      : LI(LI), DT(DT), SE(SE), Moves(LI, SE) {}

  Depths of(const Loop &L) {
    Depths D;
    for (const BasicBlock *B : L.blocks())
      if (LI.getLoopDepth(B) > D.Whole)
        for (const Instruction &I : *B)
          if (isRunningSum(I) && isAddedUp(I, LI, SE))
            add(I, D);
    return D;
  }

private:
  void add(const Instruction &I, Depths &D) {
    const Loop *Home = LI.getLoopFor(I.getParent());
    D.All = std::max(D.All, Home->getLoopDepth());
    const Loop *Outermost = nullptr;
    for (const Loop *In = Home; In; In = In->getParentLoop()) {
      const Obstacle &X = inLoop(*In, In == Home);
      if (X.Which != RULE_TAKEN) {
        D.Found = X;
        break;
      }
      if (const char *Why = Moves.indexObstacle(I, *In)) {
        D.Found = {RULE_NON_AFFINE, Why};
        break;
      }
      if (const char *Why = Moves.factorObstacle(I, *In)) {
        D.Found = {RULE_NOT_PRODUCT_SUM, Why};
        break;
      }
      Outermost = In;
    }
    if (!Outermost)
      return;
    unsigned Whole = Home->getLoopDepth() + 1 - Outermost->getLoopDepth();
    if (Whole <= D.Whole)
      return;
    if (Moves.mayFormMatrix(I, *Outermost))
      D.Whole = Whole;
    else if (D.Found.Which == RULE_TAKEN)
      D.Found = {RULE_ROLES, "each loop of the nest moves all elements that "
                             "are multiplied, or none"};
  }

  // In the innermost loop around a sum nothing is done that is no part of it.
  const Obstacle &inLoop(const Loop &L, bool IsInnermost) {
    auto [At, IsNew] = (IsInnermost ? OfInnermost : OfLoop).try_emplace(&L);
    if (!IsNew)
      return At->second;
    if (followsList(L))
      At->second = {RULE_UNCOUNTABLE, "the number of iterations of a loop is "
                                      "not known before it starts"};
    else if (isLeftEarly(L))
      At->second = {RULE_EARLY_EXIT, leftFromElsewhere(L)};
    else if (const CallBase *Call = IsInnermost ? callInEach(L) : nullptr)
      At->second = {RULE_SIDE_EFFECT, "the nest " + callWords(*Call)};
    return At->second;
  }

  // A call that is made in each iteration of L.
  const CallBase *callInEach(const Loop &L) {
    for (const BasicBlock *B : L.blocks())
      if (L.getLoopLatch() && DT.dominates(B, L.getLoopLatch()))
        for (const Instruction &I : *B)
          if (const auto *Call = dyn_cast<CallBase>(&I);
              Call && !isa<IntrinsicInst>(Call) && !onlyComputes(*Call))
            return Call;
    return nullptr;
  }
};

} // namespace

// Of more than two loops.
static unsigned depthOfOther(const Loop &L, const LoopInfo &LI) {
  unsigned Depth = 2;
  for (const BasicBlock *B : L.blocks())
    if (LI.getLoopDepth(B) > Depth && any_of(*B, combinesElements))
      Depth = LI.getLoopDepth(B);
  return Depth > 2 ? Depth : 0;
}

// Some block leads back to one in front of it, or to itself.
static bool leadsBack(const Function &F) {
  SmallPtrSet<const BasicBlock *, 32> Before;
  return any_of(F, [&](const BasicBlock &B) {
    Before.insert(&B);
    return any_of(successors(&B),
                  [&](const BasicBlock *To) { return Before.count(To) > 0; });
  });
}

// A loop so deep multiplies, and stores in a small variable: what was inlined
// has given a complex number there, and it is not known yet what becomes of it.
static bool mayHideSums(const LoopInfo &LI, unsigned Depth) {
  for (const Loop *L : LI.getLoopsInPreorder()) {
    if (L->getLoopDepth() != Depth)
      continue;
    bool Multiplies = false, Stores = false;
    for (const BasicBlock *B : L->blocks())
      for (const Instruction &I : *B) {
        Multiplies |= I.getOpcode() == Instruction::FMul;
        const auto *S = dyn_cast<StoreInst>(&I);
        Stores |= S && complexIn(*S);
      }
    if (Multiplies && Stores)
      return true;
  }
  return false;
}

bool hasSums(Function &F, unsigned Least, FunctionAnalysisManager &FAM,
             std::vector<Finding> &Declined) {
  if (!leadsBack(F))
    return false;
  DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  LoopInfo LI(DT); // of our own: what the compiler does depends on its own
  ScalarEvolution SE(F, FAM.getResult<TargetLibraryAnalysis>(F),
                     FAM.getResult<AssumptionAnalysis>(F), DT, LI);
  SumDepths Sums(LI, DT, SE);
  unsigned Deepest = 0;
  std::vector<Finding> Early;
  for (Loop *L : LI) {
    SumDepths::Depths D = Sums.of(*L);
    unsigned Whole = D.Whole, Depth = D.All;
    if (Whole == 2 && isCollapsed(*L)) {
      Whole++;
      Depth = std::max(Depth, Whole);
    }
    unsigned Other = Depth ? 0 : depthOfOther(*L, LI);
    Finding N;
    N.Depth = std::max(Depth, Other);
    N.At = L->getStartLoc();
    N.EndLine = endLine(*L);
    if (Depth == 2 && Least > 2)
      verdict_decline(&N.V, RULE_VECTOR, loc_none(),
                      "two loops form no matrix product: vectors move more "
                      "than they compute");
    else if (Other)
      verdict_decline(&N.V, RULE_NO_PRODUCT, loc_none(),
                      "elements are combined in another way than by summing "
                      "products");
    if (N.V.diag.kind != DIAG_NONE)
      Declined.push_back(std::move(N));
    else if (Depth >= Least && Whole < Least) {
      assert(D.Found.Which != RULE_TAKEN);
      verdict_decline(&N.V, D.Found.Which, loc_none(), "%s",
                      D.Found.Why.c_str());
      Early.push_back(std::move(N));
    }
    Deepest = std::max(Deepest, Whole);
  }
  if (Deepest >= Least || mayHideSums(LI, Least)) // .. says it of them
    return true;
  Declined.insert(Declined.end(), Early.begin(), Early.end());
  return false;
}

// The runtime is for the program's own processor, not for a graphics card.
static bool isHost(const Module &M) {
  Triple T(M.getTargetTriple());
  const DataLayout &DL = M.getDataLayout();
  bool Known = T.getArch() == Triple::UnknownArch || T.isX86() ||
               T.isAArch64() || T.getArch() == Triple::riscv64 ||
               T.getArch() == Triple::ppc64le;
  return Known && DL.getPointerSizeInBits() == 64 && DL.isLittleEndian();
}

bool isExcluded(const Function &F) {
  const Function *Runtime = F.getParent()->getFunction(CallName);
  return F.isDeclaration() || F.hasOptNone() ||
         F.hasFnAttribute(Attribute::Naked) ||
         F.hasFnAttribute(Attribute::SanitizeMemory) ||
         F.hasAvailableExternallyLinkage() ||
         (Runtime && !Runtime->isDeclaration()) || !isHost(*F.getParent());
}

} // namespace nputeir
