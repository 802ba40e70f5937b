// hoist.h -- loads and divisions of a nest that are made in front of it.
#ifndef NPUTEIR_HOIST_H
#define NPUTEIR_HOIST_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/PassManager.h"

namespace nputeir {

// What stands for B among the blocks of L itself: B, or the header of the loop
// within L that B is in.
const llvm::BasicBlock *stepOf(const llvm::BasicBlock *B, const llvm::Loop &L,
                               const llvm::LoopInfo &LI);

class Hoister {
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;

public:
  Hoister(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
          llvm::DominatorTree &DT)
      : Outer(Outer), LI(LI), SE(SE), DT(DT) {}
  llvm::Instruction *front() const {
    return Outer.getLoopPreheader()->getTerminator();
  }
  // A check may end the program before I is reached.
  bool mayFailBefore(const llvm::Instruction &I) const;
  // I runs, or may do so, if none of the counts is zero, which are known in
  // front.  False: it depends on more than that.
  bool runsIf(const llvm::Instruction &I,
              llvm::SmallVectorImpl<const llvm::SCEV *> &Counts);
  // I runs at least once if none of these is.
  bool runsInMiddleIf(const llvm::Instruction &I,
                      llvm::SmallVectorImpl<const llvm::SCEV *> &Counts);
  // Null: there is no count.
  llvm::Value *noneIsZero(llvm::ArrayRef<const llvm::SCEV *> Counts);
  // I stands in front, in a branch if Runs is a condition; its users get what
  // is returned: I, or zero if it does not run.
  llvm::Value *move(llvm::Instruction &I, llvm::Value *Runs);

private:
  enum { ChecksMax = 32 };
  bool areKnown(llvm::ArrayRef<const llvm::SCEV *> Counts);
  llvm::SmallVector<llvm::Loop::Edge, 4>
  exitsBefore(const llvm::Instruction &I) const;
  const llvm::SCEV *surplus(const llvm::ICmpInst &Asked, bool Holds);
  bool passesIf(const llvm::Loop::Edge &Exit, const llvm::Instruction &I,
                llvm::SmallVectorImpl<const llvm::SCEV *> &Counts);
  bool surplusesOf(const llvm::BasicBlock *B,
                   llvm::SmallVectorImpl<const llvm::SCEV *> &Counts);
  bool alwaysRuns(const llvm::Loop &L);
  bool countsBefore(const llvm::BasicBlock *B,
                    llvm::SmallVectorImpl<const llvm::SCEV *> &Counts);
};

// Sizes and addresses that do not change in a nest are computed before it, and
// what a pointer or counter holds behind a loop is computed, not carried.
void addHoistPasses(llvm::FunctionPassManager &Passes);

} // namespace nputeir

#endif
