// row_pointers.h -- rows that a nest finds through arrays of addresses.
#ifndef NPUTEIR_ROW_POINTERS_H
#define NPUTEIR_ROW_POINTERS_H

#include "checks.h"
#include "rewrite.h"

namespace nputeir {

// Of rows that do not lie evenly.
struct RowCopies {
  llvm::Value *Memory = nullptr; // null at run time: no copies; null: never any
  llvm::SmallVector<llvm::Value *, 1> Written; // rows of which one is written

  // Releases the copies behind a nest.
  void enclose(llvm::Loop &Outer, Region &Old, bool MayCompare,
               llvm::LoopInfo &LI, llvm::DominatorTree &DT) const;
  // Where it was run otherwise, which is known then, the rows get what that
  // wrote.
  void putBack(const Region &Old, llvm::LoopInfo &LI,
               llvm::DominatorTree &DT) const;
};

// Computes what the nest assumes of its rows, in front of it; that it holds
// becomes one more assumption.  P: what may stand in front of the nest; null:
// its rows are not copied.  OnlySums: it stores nothing but sums, to an array
// of their own that does not exist yet.
RowCopies checkRowPointers(llvm::Loop &Outer, llvm::LoopInfo &LI,
                           llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                           IRNest &N, const Plan *P, bool OnlySums = false);
// For a nest that is kept.
void dropRowPointers(IRNest &N);

} // namespace nputeir

#endif
