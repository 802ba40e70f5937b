// row_places.h -- where rows lie that a nest which is split finds through an
// array of addresses, as in float **.
#ifndef NPUTEIR_ROW_PLACES_H
#define NPUTEIR_ROW_PLACES_H

#include "checks.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"

namespace nputeir {

// S is the same in all of L, and may be computed in front of it: the source may
// come to a division only if its divisor is not zero.
bool isKnownBefore(const llvm::Loop &L, const llvm::SCEV *S,
                   llvm::ScalarEvolution &SE);

class RowPlaces {
  llvm::Loop &Outer;
  llvm::ScalarEvolution &SE;
  llvm::AAResults &AA;
  const llvm::LoopInfo *LI;
  const llvm::DominatorTree *DT;
  std::vector<RowPointers> Rows; // that places were taken from
  std::vector<AtLeast> Work;     // where all are read
  std::vector<std::pair<llvm::Value *, bool>> Assumed;

public:
  // LI and DT: null, where nobody will ask for rows.
  RowPlaces(llvm::Loop &Outer, llvm::ScalarEvolution &SE, llvm::AAResults &AA,
            const llvm::LoopInfo *LI, const llvm::DominatorTree *DT)
      : Outer(Outer), SE(SE), AA(AA), LI(LI), DT(DT) {}
  RowPlaces(const RowPlaces &) = delete;
  RowPlaces &operator=(const RowPlaces &) = delete;
  ~RowPlaces() { forget(); }

  // What loads the pointer that a place starts from; null: it is none of a row.
  const llvm::LoadInst *rowOf(const llvm::SCEV *Place) const;
  // Every iteration of the loops around I, to Outer, runs I, and each of them
  // as often whenever it is run.
  bool runsAlways(const llvm::Instruction &I,
                  llvm::SmallVectorImpl<const llvm::Loop *> &Around) const;
  // The row that is loaded from Array in as many iterations: X starts so many
  // bytes within the first one, if all loops around run at least once, which
  // their Times say.
  bool reach(const llvm::LoadInst &Row, const llvm::SCEVAddRecExpr &Array,
             const llvm::SCEV *Within, const llvm::SCEV *Count,
             llvm::ArrayRef<const llvm::SCEV *> Times, Apart::Reach &X);
  // Both of X are in rows of one array.
  bool areIn(const Apart &X) const;

  bool empty() const { return Rows.empty(); }
  void forget();
  // In front of Outer, whether the rows lie as was taken; and that they do.
  // Bounded: where their addresses are read from.  Pairs: what is asked of
  // places that are apart.  Else: more is asked.
  void ask(llvm::LoopInfo &LI, llvm::DominatorTree &DT,
           const std::vector<NoWrap> &Bounded, llvm::ArrayRef<Apart> Pairs,
           bool Else);
  llvm::Value *hold(Checks &C) const;

private:
  RowPointers &rowAt(const llvm::LoadInst &Row,
                     const llvm::SCEVAddRecExpr &Array,
                     const llvm::SCEV *Count);
};

} // namespace nputeir

#endif
