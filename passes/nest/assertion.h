// assertion.h -- branches that take one side in every iteration of a nest, as
// conditions that can be asked before it.
#ifndef NPUTEIR_ASSERTION_H
#define NPUTEIR_ASSERTION_H

#include "addresses.h"

namespace nputeir {

// Adds to R all that must hold for the nest to be what Code and Places say.
// False and a verdict: it cannot be asked before the nest.
bool readConditions(const Body &Code, const llvm::Loop &Outer,
                    Addresses &Places, llvm::ScalarEvolution &SE, arena *A,
                    IRNest &R, verdict &V);

} // namespace nputeir

#endif
