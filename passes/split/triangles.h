// triangles.h -- a nest over a triangle as rectangles and what they leave.
#ifndef NPUTEIR_TRIANGLES_H
#define NPUTEIR_TRIANGLES_H

#include "distribute.h"

namespace nputeir {

// Splits L, over rows, when the loops over columns in it grow or shrink by one
// with each row and elements of the result are formed apart from each other.
// Analyses are stale then.  Kept: as of distribute().  WantsSquares: what is
// left along the diagonal is done as squares where that is possible, which
// computes twice what code that is kept would.
bool splitTriangle(llvm::Loop &L, LoopFacts &Facts, bool WantsSquares,
                   llvm::BasicBlock *&Kept);

} // namespace nputeir

#endif
