// check_functions.h -- long checks as calls, so that a function that has many
// of them stays short, and no other pass looks into them.
#ifndef NPUTEIR_CHECK_FUNCTIONS_H
#define NPUTEIR_CHECK_FUNCTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace nputeir {

// Numbers are of 64 bits.  A sum is where it starts, and the step and the
// extent of each loop that moves it; what it reaches is its smallest and its
// largest value.  Sums that do not fit stop at the ends, and one of which a
// product does not fit reaches from end to end.
enum class CheckFunction {
  Range,  // a sum: what it reaches
  Apart,  // what each of two reaches, and its bytes: do they share none?
  Period, // the first byte, the bytes, the period, and steps and extents: the
          // first byte and the bytes in any period
  Beside, // what each of two reaches, what Period gives of each, the period: do
          // they lie beside each other in every period?
  Own     // as of Apart, and steps and extents of loops around both: does what
          // one iteration of them reaches share nothing with another's?
};
constexpr const char *CheckFunctionPrefix = "nputeir.check.";

llvm::Value *callCheck(llvm::IRBuilder<> &B, CheckFunction Which,
                       llvm::ArrayRef<llvm::Value *> Arguments);
// The code of one that was called, which has none yet.
void writeCheck(llvm::Function &F, llvm::StringRef Name);

} // namespace nputeir

#endif
