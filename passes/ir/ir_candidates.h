// ir_candidates.h -- loops that may hold a product.
#ifndef NPUTEIR_IR_CANDIDATES_H
#define NPUTEIR_IR_CANDIDATES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/PassManager.h"

namespace nputeir {

// Loops one in the other, with L.
unsigned depthOf(const llvm::Loop &L);
// Holds products of matrices, and stores some that are not kept.
bool holdsMatrixProduct(const llvm::Loop &L);

// Loops that are prepared, which may cost a walk over all code in front of
// each.  Others are spared.
class Candidates {
  struct Facts {
    bool Reads = false;                // it has something to read
    bool Sums = false, Copies = false; // an index, and elements
    bool Product = false, StoresMatrix = false;
    bool LeftEarly = false, IsKnown = false; // LeftEarly is
  };
  llvm::DenseMap<const llvm::Loop *, Facts> Of;

public:
  Candidates(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);
  // L adds up products, or copies elements that these may be read from, or a
  // loop around it does that is no more than its nest.
  bool mayBeRead(const llvm::Loop &L);

private:
  bool isLeftEarly(const llvm::Loop &L);
};

} // namespace nputeir

#endif
