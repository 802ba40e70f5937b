// conditions.cpp -- what must hold for numbers of iterations to be what is
// said.
#include "conditions.h"

using namespace llvm;

namespace nputeir {

void Conditions::atLeast(const SCEV *Large, const SCEV *Small) {
  assert(Large->getType() == Small->getType());
  if (!SE.isKnownPredicate(ICmpInst::ICMP_SGE, Large, Small))
    List.push_back({Large, Small});
}

void Conditions::within(const SCEV *S, int64_t Smallest, int64_t Largest) {
  assert(Smallest <= Largest);
  atLeast(S, SE.getConstant(S->getType(), (uint64_t)Smallest, true));
  atLeast(SE.getConstant(S->getType(), (uint64_t)Largest, true), S);
}

} // namespace nputeir
