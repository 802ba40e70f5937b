// clipped_loops.h -- loops of a nest that are cut off at an edge:
//
//     for (k = max(0, -y); k < min(n, h - y); k++)
//
// is every k from 0 to n for which k >= -y and k < h - y, as convolutions that
// leave out what lies beside the image have it.
#ifndef NPUTEIR_CLIPPED_LOOPS_H
#define NPUTEIR_CLIPPED_LOOPS_H

#include "sides.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// Numbers are signed and of any width.
struct ClippedLoop {
  // What counters are compared with: the number At, or of X / Times, which C
  // rounds to zero, Of = X - Times + 1 with Times above zero.  Then k >= At,
  // for k >= 0, is k * Times >= Of.
  struct Cut {
    const llvm::SCEV *At, *Of, *Times; // Times null: 1
  };
  const llvm::SCEV *Start = nullptr; // of the counter, which steps by one
  const llvm::SCEV *First, *End;     // the same, and its end, without the cuts
  llvm::SmallVector<Cut, 2> Least, Limit;
  // The branch in front of the loop that asks whether it runs at all, which its
  // cuts say, too, and the side where it does; null: there is none.
  llvm::BasicBlock *Guard = nullptr, *Into = nullptr;
};

class ClippedLoops {
  llvm::Loop &Outer;
  llvm::ScalarEvolution &SE;
  Sides &Ways;

public:
  llvm::DenseMap<const llvm::Loop *, ClippedLoop> All;

  ClippedLoops(llvm::Loop &Outer, llvm::ScalarEvolution &SE, Sides &Ways)
      : Outer(Outer), SE(SE), Ways(Ways) {}
  void find();
  // Null: L is none.
  const ClippedLoop *at(const llvm::Loop &L) const;
  // Its counter, without the cuts.
  static const llvm::SCEV *counter(const ClippedLoop &C, const llvm::Loop &L,
                                   llvm::ScalarEvolution &SE);
  // How often L runs without the cuts, in 64 bits.
  const llvm::SCEV *extent(const ClippedLoop &C) const;
  // A value in Scope as the loops around that are clipped would compute it in
  // all iterations that they have without the cuts.
  const llvm::SCEV *whole(const llvm::SCEV *S, const llvm::Loop *Scope) const;

private:
  bool read(llvm::Loop &L, ClippedLoop &C) const;
  bool split(const llvm::SCEV *S, bool Lower, const llvm::SCEV *&Still,
             llvm::SmallVectorImpl<ClippedLoop::Cut> &Moving) const;
  ClippedLoop::Cut cut(const llvm::SCEV *At) const;
  bool findGuard(const llvm::Loop &L, const llvm::SCEV *End,
                 ClippedLoop &C) const;
  bool asksWhether(const llvm::BranchInst &Branch, bool Side,
                   const llvm::SCEV *End, const ClippedLoop &C) const;
  bool startsCounterOnly(const llvm::Loop &L, const llvm::PHINode &Counter,
                         const llvm::ICmpInst &Compare,
                         const ClippedLoop &C) const;
};

} // namespace nputeir

#endif
