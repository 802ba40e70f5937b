// substitute.h -- the nest of a product with what a copy nest before it has
// copied read in the place of the copy.
#ifndef NPUTEIR_SUBSTITUTE_H
#define NPUTEIR_SUBSTITUTE_H

#include "read_ir.h"

namespace nputeir {

// Product reads, in one way, the elements of Buffer that Copy stores, each of
// them once, or, where it is Zeroed, some of them, and the others are zero.
// Result: Product's nest, in which a loop over the buffer is one
// loop for each of those of Copy that fill what it reads.  False: it is not
// known that each element that is read is stored once.
// Filled: that this is so, as far as it is asked at run time; it is in Result,
// too.
using Equalities =
    std::vector<std::pair<const llvm::SCEV *, const llvm::SCEV *>>;
bool substituteCopy(const IRNest &Product, const IRNest &Copy,
                    const llvm::Value &Buffer, bool Zeroed,
                    llvm::ScalarEvolution &SE, arena *A, IRNest &Result,
                    Equalities &Filled);

} // namespace nputeir

#endif
