// ir_calls.cpp -- what calls do, beside what they compute.
#include "ir_calls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"

using namespace llvm;

namespace nputeir {

bool onlyComputes(const CallBase &Call) {
  return !Call.mayHaveSideEffects() && !Call.mayReadFromMemory() &&
         Call.doesNotThrow() && !Call.isConvergent();
}

bool isComplexProduct(const CallBase &Call) {
  static const char *const Names[] = {"__mulhc3", "__mulsc3", "__muldc3",
                                      "__mulxc3", "__multc3"};
  const Function *Callee = Call.getCalledFunction();
  return Callee && is_contained(Names, Callee->getName());
}

std::string callWords(const CallBase &Call) {
  if (Call.isInlineAsm())
    return "holds assembly";
  const Function *Callee = Call.getCalledFunction();
  return Callee ? ("calls " + Callee->getName()).str()
                : "calls a function through a pointer";
}

} // namespace nputeir
