// worth.cpp -- is a function worth a closer look?
#include "worth.h"
#include "collapsed.h"
#include "ir_exits.h"
#include "ir_sums.h"
#include "versions.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

unsigned endLine(const Loop &L) {
  DebugLoc End = L.getLocRange().getEnd();
  return End ? End.getLine() : 0;
}

// ---- what becomes of a sum ----

// What is computed from I reaches memory or whoever gets it, or the next turn
// of a loop around I.  Other sums become addresses and choices.
static bool isResult(const Instruction &I, const LoopInfo &LI) {
  enum { UsersMax = 64 };
  const Loop *Home = LI.getLoopFor(I.getParent());
  SetVector<const Instruction *> Ahead;
  Ahead.insert(&I);
  for (unsigned At = 0; At < Ahead.size(); At++)
    for (const Use &U : Ahead[At]->uses()) {
      const auto *To = cast<Instruction>(U.getUser());
      const Loop *Of = LI.getLoopFor(To->getParent());
      if (isa<PHINode>(To) && Of && Of->getHeader() == To->getParent() &&
          Of->contains(Home))
        return true;
      if (isa<GetElementPtrInst, BranchInst, SwitchInst>(To) ||
          (isa<SelectInst>(To) && U.getOperandNo() == 0))
        continue;
      bool Computes = !To->mayHaveSideEffects() && !To->isTerminator();
      if (!Computes || Ahead.size() == UsersMax)
        return true;
      Ahead.insert(To);
    }
  return false;
}

// ---- which loops around it could be read ----

// V is only known when L has read it from memory, or called something.
static bool isReadIn(const Loop &L, const Value *V) {
  enum { ValuesMax = 64 };
  SetVector<const Value *> Open;
  Open.insert(V);
  for (unsigned At = 0; At < Open.size() && At < ValuesMax; At++) {
    const auto *I = dyn_cast<Instruction>(Open[At]);
    if (!I || !L.contains(I) ||
        (isa<PHINode>(I) && I->getParent() == L.getHeader()))
      continue;
    if (I->mayReadOrWriteMemory())
      return true;
    Open.insert(I->op_begin(), I->op_end());
  }
  return false;
}

// One of several ways out of L depends on what L reads, so that no preparation
// makes them one.
static bool isLeftEarly(const Loop &L) {
  SmallVector<Loop::Edge, 4> Edges;
  L.getExitEdges(Edges);
  bool Reads = false;
  unsigned Ways = 0;
  for (auto [From, To] : Edges) {
    if (neverReturns(To))
      continue;
    Ways++;
    Reads |= isReadIn(L, From->getTerminator());
  }
  return Ways > 1 && Reads;
}

namespace {
struct Depths {
  unsigned All = 0;           // loops around the deepest sum
  unsigned Whole = 0;         // of one sum, up to one that is left early
  const Loop *Left = nullptr; // such a one
};
} // namespace

static Depths depthsOfSums(const Loop &L, const LoopInfo &LI) {
  Depths D;
  for (const BasicBlock *B : L.blocks()) {
    unsigned Depth = LI.getLoopDepth(B);
    if (Depth <= D.Whole || none_of(*B, [&](const Instruction &I) {
          return isRunningSum(I) && isResult(I, LI);
        }))
      continue;
    unsigned Whole = 0;
    for (const Loop *In = LI.getLoopFor(B); In; In = In->getParentLoop()) {
      if (isLeftEarly(*In)) {
        D.Left = In;
        break;
      }
      Whole++;
    }
    D.All = std::max(D.All, Depth);
    D.Whole = std::max(D.Whole, Whole);
  }
  return D;
}

static unsigned depthOfOther(const Loop &L, const LoopInfo &LI) {
  unsigned Depth = 0;
  for (const BasicBlock *B : L.blocks())
    if (LI.getLoopDepth(B) > Depth && any_of(*B, combinesElements))
      Depth = LI.getLoopDepth(B);
  return Depth;
}

bool hasSums(Function &F, unsigned Least, std::vector<Finding> &Declined) {
  if (F.size() < 3)
    return false;
  if (none_of(instructions(F), isRunningSum) &&
      none_of(instructions(F), combinesElements))
    return false;
  DominatorTree DT(F);
  LoopInfo LI(DT);
  unsigned Deepest = 0;
  std::vector<Finding> Early;
  for (Loop *L : LI) {
    Depths D = depthsOfSums(*L, LI);
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
    else if (Other > 2)
      verdict_decline(&N.V, RULE_NO_PRODUCT, loc_none(),
                      "elements are combined in another way than by summing "
                      "products");
    if (N.V.diag.kind != DIAG_NONE)
      Declined.push_back(std::move(N));
    else if (Depth >= Least && Whole < Least) {
      verdict_decline(&N.V, RULE_EARLY_EXIT, loc_none(), "%s",
                      leftFromElsewhere(*D.Left));
      Early.push_back(std::move(N));
    }
    Deepest = std::max(Deepest, Whole);
  }
  if (Deepest < Least) // else a closer look says it of them
    Declined.insert(Declined.end(), Early.begin(), Early.end());
  return Deepest >= Least;
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
