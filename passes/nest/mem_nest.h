// mem_nest.h -- a memset or memcpy inside a nest, as the loops that it stands
// for.
#ifndef NPUTEIR_MEM_NEST_H
#define NPUTEIR_MEM_NEST_H

#include "addresses.h"

#include "llvm/IR/IntrinsicInst.h"

namespace nputeir {

struct MemNest {
  const llvm::MemIntrinsic *Call;
  const llvm::StoreInst *Like; // writes the same places, one by one
  Address To, From;            // memset: From is empty
  // From the outermost to the innermost: extent and stride in bytes.
  llvm::SmallVector<std::pair<const llvm::SCEV *, const llvm::SCEV *>, 4> Loops;
  // Must be equal for the loops to fill what the call fills.
  llvm::SmallVector<std::pair<const llvm::SCEV *, const llvm::SCEV *>, 4> Equal;
};

// Null, or why the call does not fill the places that a store of the nest
// writes in the loops that do not enclose the call.
const char *readMemNest(const llvm::MemIntrinsic &Call,
                        llvm::ArrayRef<llvm::BasicBlock *> Blocks,
                        Addresses &Places, llvm::ScalarEvolution &SE,
                        MemNest &Result);

} // namespace nputeir

#endif
