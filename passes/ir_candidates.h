// ir_candidates.h -- loops that may hold a product.
#ifndef NPUTEIR_IR_CANDIDATES_H
#define NPUTEIR_IR_CANDIDATES_H

#include "llvm/Analysis/LoopInfo.h"

namespace nputeir {

// Holds products of matrices, and stores some that are not kept.
bool holdsMatrixProduct(const llvm::Loop &L);
// L, or a loop around it that is no more than its nest, has something to read.
// Preparing a loop may cost a walk over all code in front of it, which others
// are spared.
bool mayBeRead(const llvm::Loop &L);

} // namespace nputeir

#endif
