// steps.h -- no loop of ours runs for ever inside somebody's compiler.
//
// A loop that rewrites code until nothing is left to rewrite has a measure that
// falls with every step, which is stated where the loop stands: loads that are
// still in the nest, values that were not seen yet.  Steps counts against what
// the measure was at first.  More steps than that are a mistake of ours: with
// assertions, the compiler ends and names the loop; without, the loop ends.
#ifndef NPUTEIR_STEPS_H
#define NPUTEIR_STEPS_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstddef>

namespace nputeir {

class Steps {
  const char *Where;
  size_t Left;

public:
  Steps(const char *Where, size_t Max) : Where(Where), Left(Max) {}
  // Asked before each step; false: end the loop.
  bool next() {
    if (Left > 0) {
      Left--;
      return true;
    }
#ifndef NDEBUG
    llvm::report_fatal_error(llvm::Twine("nputeir: ") + Where +
                             " takes more steps than there is work");
#endif
    (void)Where;
    return false;
  }
};

} // namespace nputeir

#endif
