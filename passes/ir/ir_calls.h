// ir_calls.h -- what calls do, beside what they compute.
#ifndef NPUTEIR_IR_CALLS_H
#define NPUTEIR_IR_CALLS_H

#include "llvm/IR/InstrTypes.h"

#include <string>

namespace nputeir {

// Has no effect but its result, which depends on what it is passed.
bool onlyComputes(const llvm::CallBase &Call);
// The compiler's own, for C's complex numbers.
bool isComplexProduct(const llvm::CallBase &Call);
// What it is, in a programmer's words: "calls sqrtf".
std::string callWords(const llvm::CallBase &Call);

} // namespace nputeir

#endif
