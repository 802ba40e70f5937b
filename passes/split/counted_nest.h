// counted_nest.h -- nests whose loops change nothing from one iteration to the
// next but where they are: what every way to do iterations in another order
// needs.
#ifndef NPUTEIR_COUNTED_NEST_H
#define NPUTEIR_COUNTED_NEST_H

#include "checks.h"
#include "distribute.h"
#include "overlaps.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

namespace nputeir {

class CountedNest {
protected:
  llvm::Loop &L; // the nest
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  llvm::Type *I64;
  Overlaps Places;

  CountedNest(llvm::Loop &L, LoopFacts &Facts)
      : L(L), LI(Facts.LI), DT(Facts.DT), SE(Facts.SE),
        I64(llvm::Type::getInt64Ty(L.getHeader()->getContext())),
        Places(L, Facts.SE, Facts.AA) {}

  // How often the body runs; null: that is not known.
  const llvm::SCEV *iterations(const llvm::Loop &X) {
    const llvm::SCEV *End;
    return iterations(X, End);
  }
  // The same, which is wrong where End, if it is not null, is less (without a
  // sign): the counter of X began with what had wrapped.
  const llvm::SCEV *iterations(const llvm::Loop &X, const llvm::SCEV *&End);
  // As often in each iteration of the loops around, which is known in front of
  // L.
  bool runsEvenly(const llvm::Loop &X);
  // How often loops of L around I but for these run, if they may not run at
  // all; false: that is not known in front of L.
  bool timesAround(const llvm::Instruction &I,
                   llvm::ArrayRef<const llvm::Loop *> Without,
                   llvm::SmallVectorImpl<const llvm::SCEV *> &Times);
  // What X changes from one iteration to the next is where it is.
  bool countsOnly(const llvm::Loop &X);
  // Null: P does not count the iterations of X.
  const llvm::SCEVAddRecExpr *counter(const llvm::PHINode &P,
                                      const llvm::Loop &X);

  // The product of two numbers without a sign, or Fits becomes false.
  static llvm::Value *times(llvm::IRBuilder<> &B, llvm::Value *X,
                            llvm::Value *Y, llvm::Value *&Fits);

  llvm::DebugLoc DL;
  llvm::DenseMap<const llvm::PHINode *, llvm::Value *> Steps; // of all counters

  void findSteps(llvm::Loop &X, llvm::Instruction *At);
  // X is a loop, or one of a copy of it: Map gives what is there for a value of
  // X.  Its first iteration is what Begin was.
  void startAt(llvm::Loop &X, llvm::ValueToValueMapTy *Map, llvm::Value *Begin,
               llvm::BasicBlock *Front);
  static llvm::BasicBlock *frontOf(llvm::Loop &X, llvm::ValueToValueMapTy *Map);
  // Of what I loads or stores.
  static uint64_t bytesOf(const llvm::Instruction &I);

  // How far an access goes with each iteration of a loop.
  using LoopSteps =
      llvm::SmallDenseMap<const llvm::Loop *, const llvm::SCEV *, 4>;
  // False: that varies.  Place: of the first iteration.
  bool stepsOf(const llvm::Instruction &I, const llvm::SCEV *&Place,
               LoopSteps &Step);
};

} // namespace nputeir

#endif
