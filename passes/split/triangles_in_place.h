// triangles_in_place.h -- a triangular matrix times the rows of another one, or
// a system of such, in place.
#ifndef NPUTEIR_TRIANGLES_IN_PLACE_H
#define NPUTEIR_TRIANGLES_IN_PLACE_H

#include "distribute.h"

namespace nputeir {

// L adds multiples of each row of a matrix to those in front of it or behind
// it, or of those to it.
bool isTriangleInPlace(llvm::Loop &L, LoopFacts &Facts);
// Splits such a nest.  Analyses are stale then.  Parts: first blocks of loops
// that do some of it.
bool splitTriangleInPlace(llvm::Loop &L, LoopFacts &Facts,
                          llvm::SmallVectorImpl<llvm::BasicBlock *> &Parts);

} // namespace nputeir

#endif
