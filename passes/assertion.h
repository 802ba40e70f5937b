// assertion.h -- branches that take one side in every iteration of a nest, as
// conditions that can be asked before it.
#ifndef NPUTEIR_ASSERTION_H
#define NPUTEIR_ASSERTION_H

#include "address.h"
#include "body.h"

namespace nputeir {

// Adds to R what makes the branch take its side; false: nothing is known that
// does.
bool readAssertion(const Assertion &A, const llvm::Loop &Outer,
                   Addresses &Places, llvm::ScalarEvolution &SE, IRNest &R);

} // namespace nputeir

#endif
