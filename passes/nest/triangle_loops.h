// triangle_loops.h -- loops of a nest that are the rows and the columns of a
// triangle:
//
//     for (i = 0; i < n; i++)  for (j = 0; j <= i; j++)  ..
//
// It is described as a nest over the rectangle around it, with a guard that
// says which iterations there are.  Rows may grow or shrink, and start or end
// in one column.
#ifndef NPUTEIR_TRIANGLE_LOOPS_H
#define NPUTEIR_TRIANGLE_LOOPS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// Numbers have 64 bits.
struct TriangleLoops {
  const llvm::Loop *OfRows = nullptr; // null: there is no triangle
  llvm::SmallVector<const llvm::Loop *, 4> Columns; // over them, alike
  bool Grows = false;     // by one column with each row; else it shrinks
  bool FromStart = false; // all rows start in one column; else they end in one
  const llvm::SCEV *AllRows = nullptr; // of the loop
  const llvm::SCEV *First = nullptr;   // columns of its first row
  // What is described: rows that have columns, behind Skipped of them (none, or
  // one), and the columns of the longest one.
  const llvm::SCEV *Skipped = nullptr, *Rows = nullptr, *Longest = nullptr;

  // Numbers at which columns end, where these were compared with their starts,
  // of as many bits as they have.
  struct End {
    const llvm::SCEV *Of;
    bool Signed;
  };
  llvm::SmallVector<End, 4> Ends;

  bool has(const llvm::Loop &L) const {
    return &L == OfRows || llvm::is_contained(Columns, &L);
  }
  const llvm::SCEV *extent(const llvm::Loop &L) const {
    return &L == OfRows ? Rows : Longest;
  }
};

} // namespace nputeir

#endif
