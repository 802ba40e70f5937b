// body.h -- the code of a nest that runs: which blocks, in which order.
#ifndef NPUTEIR_BODY_H
#define NPUTEIR_BODY_H

#include "clipped_loops.h"
#include "ir_exits.h"
#include "local_arrays.h"
#include "sides.h"

extern "C" {
#include "recognizer.h"
}

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace nputeir {

// A branch that must take one side in every iteration for the description to
// hold.
struct Assertion {
  const llvm::BranchInst *At;
  bool Side;
};

class Body {
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;
  arena *A;
  verdict &V;
  const llvm::Loop *First; // what is described; null: all of it
  llvm::SmallPtrSet<llvm::BasicBlock *, 32> Seen;
  llvm::DenseMap<const llvm::BasicBlock *, const llvm::BasicBlock *> Taken;
  llvm::SmallPtrSet<const llvm::BasicBlock *, 8> Conditional;

public:
  // In program order: a loop's blocks stand together, before what follows it.
  llvm::SmallVector<llvm::BasicBlock *, 32> Blocks;
  llvm::DenseMap<const llvm::Instruction *, int> Order;
  // Conditions that do not change in the nest.
  Sides &Ways;
  // The side that is described of these, and ways out that never return.
  std::vector<Assertion> Asserted;
  // What the body writes and nobody else reads.
  const LocalArrays Local;
  // Loops that run over fewer numbers than they are described with.
  ClippedLoops Clipped;

  Body(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
       llvm::DominatorTree &DT, arena *A, verdict &V, Sides &Ways,
       const llvm::Loop *First)
      : Outer(Outer), LI(LI), SE(SE), DT(DT), A(A), V(V), First(First),
        Ways(Ways), Local(findLocalArrays(Outer)), Clipped(Outer, SE, Ways) {}
  // False and a verdict when some code does what a contraction does not.
  bool read();
  // False and a verdict when a value is used after the nest.
  bool checkLiveOuts();
  // An address in a local array.
  bool isLocal(const llvm::SCEV *Address) const;
  bool runs(const llvm::BasicBlock *B) const {
    return Seen.count(const_cast<llvm::BasicBlock *>(B));
  }
  // There is code that is not described.
  bool hasOther() const { return First; }
  // The loop, which runs, is described: it is around what comes first, or in
  // it.
  bool isPart(const llvm::Loop &L) const {
    return !First || L.contains(First) || First->contains(&L);
  }
  // Not in every iteration of the innermost loop around it.
  bool isConditional(const llvm::BasicBlock *B) const {
    return Conditional.count(B);
  }
  // Not in every iteration of all loops around it, as they are described.
  bool isGuarded(const llvm::BasicBlock *B) const;
  // The last block before B, in the same loop, that is not conditional.
  const llvm::BasicBlock *unconditionalBefore(const llvm::BasicBlock *B) const;
  // Control may go from B to Next, which follows it.
  bool goes(const llvm::BasicBlock *B, const llvm::BasicBlock *Next) const;
  // It may go from B to several blocks of the innermost loop around it.
  bool forks(const llvm::BasicBlock *B) const;
  // The comparison with zero that alone decides, in the loop around B, whether
  // B runs, and its side; null: there is none.  The same of all loops around B.
  const llvm::BranchInst *skipOf(const llvm::BasicBlock *B, bool &Side) const;
  const llvm::BranchInst *onlySkipOf(const llvm::BasicBlock *B,
                                     bool &Side) const;
  // The same place is accessed whichever way is taken.
  bool isReadAnyway(const llvm::LoadInst &L) const;
  // The one incoming edge of a phi that runs; -1: there are several.
  int onlyWayInto(const llvm::PHINode &P) const;
  // A branch that decides on P, to which several ways lead, and does not change
  // in the nest; null: none.
  const llvm::BranchInst *unchangingBefore(const llvm::PHINode &P) const;
  // The side of its condition that is given; nothing: it changes, or none is.
  std::optional<bool> sideOf(const llvm::SelectInst &S) const;
  // The variable of a loop whose present or last value W is; null: none.  Looks
  // through phis that only one way of control reaches, among them those that
  // LCSSA form puts behind an inner loop.
  const llvm::PHINode *variableOf(const llvm::Value *W) const;

private:
  const llvm::Value *onlyValueOf(const llvm::PHINode &P) const;
  const llvm::SCEV *followed(const llvm::Value *V, const llvm::Loop &L) const;
  bool isUnchanging(const llvm::Value *Condition, const llvm::Loop &L) const;
  void choose(llvm::BasicBlock *B, const llvm::BranchInst &Branch);
  bool stay(llvm::BasicBlock *B, const llvm::BranchInst &Branch);
  void findConditional(const llvm::Loop &L);
  bool checkLoops();
  bool declineJump(const llvm::Instruction &Jump);
  bool visit(llvm::BasicBlock *B);
  bool check(const llvm::Instruction &I);
  bool checkOther(const llvm::Instruction &I);
  bool isIdle(const llvm::Use &U) const;
};

} // namespace nputeir

#endif
