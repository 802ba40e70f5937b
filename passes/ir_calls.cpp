// ir_calls.cpp -- what calls do, beside what they compute.
#include "ir_calls.h"

#include "llvm/IR/Function.h"

using namespace llvm;

namespace nputeir {

bool onlyComputes(const CallBase &Call) {
  return !Call.mayHaveSideEffects() && !Call.mayReadFromMemory() &&
         Call.doesNotThrow() && !Call.isConvergent();
}

std::string callWords(const CallBase &Call) {
  if (Call.isInlineAsm())
    return "holds assembly";
  const Function *Callee = Call.getCalledFunction();
  return Callee ? ("calls " + Callee->getName()).str()
                : "calls a function through a pointer";
}

} // namespace nputeir
