// canonical.h -- the passes that prepare a function for being read.
#ifndef NPUTEIR_CANONICAL_H
#define NPUTEIR_CANONICAL_H

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace nputeir {

// Analysis managers of our own, and the passes that prepare a function.
struct Canonical {
  llvm::LoopAnalysisManager LAM;
  llvm::FunctionAnalysisManager FAM;
  llvm::CGSCCAnalysisManager CGAM;
  llvm::ModuleAnalysisManager MAM;
  llvm::PassBuilder PB;
  llvm::FunctionPassManager Passes, AfterSplit;

  Canonical();
  // F is new: what is known of one that was dropped, and lay at its address, is
  // forgotten.
  void begin(llvm::Function &F) { FAM.clear(F, ""); }
  void run(llvm::Function &F);
  // Gives the loops numbers.
  void number(llvm::Function &F);
  // Code of which parts were taken.
  void tidy(llvm::Function &F);
};
// Loops of code that was rewritten.
void simplifyLoops(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);
// Of the branches that keep the analyses of many nests apart.
void removeBarriers(llvm::Function &F);

} // namespace nputeir

#endif
