// calls.h -- calls of library functions that are matrix products.
#ifndef NPUTEIR_CALLS_H
#define NPUTEIR_CALLS_H

#include "read_ir.h"

namespace nputeir {

// A call of a library function that is a matrix product; and not kept.
bool callsProduct(const llvm::Instruction &I);
bool isProductCall(const llvm::Instruction &I);
// It gets sizes and factors themselves, as opposed to pointers to them.
bool takesNumbers(const llvm::CallInst &Call);
// False and a verdict when the call is not described.  Adds loads of numbers
// that are passed by pointer in front of the call.
bool readCall(llvm::CallInst &Call, llvm::ScalarEvolution &SE,
              llvm::AAResults &AA, arena *A, IRNest &Result, verdict &V);

} // namespace nputeir

#endif
