// worth.cpp -- is a function worth a closer look?
#include "worth.h"
#include "collapsed.h"
#include "ir_sums.h"
#include "versions.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

unsigned endLine(const Loop &L) {
  DebugLoc End = L.getLocRange().getEnd();
  return End ? End.getLine() : 0;
}

static unsigned depthOfAny(const Loop &L, const LoopInfo &LI,
                           bool (*Is)(const Instruction &)) {
  unsigned Depth = 0;
  for (const BasicBlock *B : L.blocks())
    if (LI.getLoopDepth(B) > Depth && any_of(*B, Is))
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
  for (Loop *L : LI) {
    unsigned Depth = depthOfAny(*L, LI, isRunningSum);
    Depth += Depth == 2 && isCollapsed(*L);
    unsigned Other = Depth ? 0 : depthOfAny(*L, LI, combinesElements);
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
    Deepest = std::max(Deepest, Depth);
  }
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
