// lane_loops.h -- loops over the lanes of a vector that was put into an array.
#ifndef NPUTEIR_LANE_LOOPS_H
#define NPUTEIR_LANE_LOOPS_H

#include "llvm/IR/PassManager.h"

namespace nputeir {

struct LaneLoopsPass : llvm::PassInfoMixin<LaneLoopsPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM);
};

} // namespace nputeir

#endif
