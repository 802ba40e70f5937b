// triangular_solves.h -- solutions of triangular systems, as products of those
// rows that are known.
#ifndef NPUTEIR_TRIANGULAR_SOLVES_H
#define NPUTEIR_TRIANGULAR_SOLVES_H

#include "distribute.h"

namespace nputeir {

// L subtracts multiples of each row from those behind it.
bool isTriangularSolve(llvm::Loop &L, LoopFacts &Facts);
// Splits such a nest.  Analyses are stale then.
bool splitTriangularSolve(llvm::Loop &L, LoopFacts &Facts);

} // namespace nputeir

#endif
