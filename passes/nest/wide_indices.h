// wide_indices.h -- indices of fewer bits than an address has, which may wrap
// before they are widened to one.
#ifndef NPUTEIR_WIDE_INDICES_H
#define NPUTEIR_WIDE_INDICES_H

#include "read_ir.h"

namespace nputeir {

// S with each widened recurrence as one of 64 bits.  Bounded gets what must not
// wrap, so that it is the same.  Extent: of a loop; null: it is none of the
// nest's.
const llvm::SCEV *
widenIndices(const llvm::SCEV *S, llvm::ScalarEvolution &SE,
             llvm::function_ref<const llvm::SCEV *(const llvm::Loop &)> Extent,
             std::vector<NoWrap> &Bounded);

} // namespace nputeir

#endif
