// conditions.h -- what must hold for numbers of iterations to be what is said.
#ifndef NPUTEIR_CONDITIONS_H
#define NPUTEIR_CONDITIONS_H

#include "read_ir.h"

namespace nputeir {

// Conditions under which a number of iterations is what it is said to be: the
// first is at least the second, signed, in 64 bits.  What is known to hold is
// left out.
class Conditions {
  llvm::ScalarEvolution &SE;
  std::vector<AtLeast> &List;

public:
  Conditions(llvm::ScalarEvolution &SE, std::vector<AtLeast> &List)
      : SE(SE), List(List) {}
  void atLeast(const llvm::SCEV *Large, const llvm::SCEV *Small);
  void within(const llvm::SCEV *S, int64_t Smallest, int64_t Largest);
};

} // namespace nputeir

#endif
