// body.h -- the code of a nest that runs: which blocks, in which order.
#ifndef NPUTEIR_BODY_H
#define NPUTEIR_BODY_H

#include "passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace nputeir {

class Body {
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  arena *A;
  verdict &V;
  llvm::SmallPtrSet<llvm::BasicBlock *, 32> Seen;
  llvm::DenseMap<const llvm::BasicBlock *, const llvm::BasicBlock *> Taken;

public:
  // In program order: a loop's blocks stand together, before what follows it.
  llvm::SmallVector<llvm::BasicBlock *, 32> Blocks;
  llvm::DenseMap<const llvm::Instruction *, int> Order;
  // Conditions that do not change in the nest, and the side on which the
  // description holds.
  std::vector<std::pair<llvm::Value *, bool>> Assumed;

  Body(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::DominatorTree &DT, arena *A,
       verdict &V)
      : Outer(Outer), LI(LI), DT(DT), A(A), V(V) {}
  // False and a verdict when some code may not run once per iteration of the
  // loops around it, or does what a contraction does not.
  bool read();
  bool runs(const llvm::BasicBlock *B) const {
    return Seen.count(const_cast<llvm::BasicBlock *>(B));
  }
  // The one incoming edge of a phi that runs; -1: there are several.
  int onlyWayInto(const llvm::PHINode &P) const;

private:
  bool choose(llvm::BasicBlock *B, const llvm::BranchInst &Branch);
  bool visit(llvm::BasicBlock *B);
  bool check(const llvm::Instruction &I);
};

} // namespace nputeir

#endif
