// switch_off.cpp -- a function that says `off` keeps its nests, also where it is
// inlined into one that does not.
#include "ir_marks.h"
#include "arena_scope.h"
#include "ir_matrix.h"
#include "matrix.h"
#include "calls.h"
#include "options.h"
#include "switch_off.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace nputeir {

// The code need not be understood to know that it multiplies matrices.
bool saysProduct(const Instruction &I) {
  return isProductCall(I) || isMatrixProduct(I);
}

void switchOff(Function &F) {
  DominatorTree DT(F);
  LoopInfo LI(DT);
  for (Loop *L : LI)
    markKept(*L);
  for (Instruction &I : instructions(F))
    if (saysProduct(I) || storesProduct(I))
      markKept(I);
}

PreservedAnalyses SwitchOffPass::run(Function &F, FunctionAnalysisManager &) {
  ArenaScope Scope;
  options O = options_default();
  diag Ignored = {}; // the pass itself complains
  if (!F.isDeclaration() && addAnnotations(F, Scope.A, O, &Ignored) && O.off)
    switchOff(F);
  return PreservedAnalyses::all();
}

} // namespace nputeir
