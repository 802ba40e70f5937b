// rewrite.h -- a guarded call, and code for the processor, in front of a nest.
#ifndef NPUTEIR_REWRITE_H
#define NPUTEIR_REWRITE_H

#include "read_ir.h"

#include <string>

namespace nputeir {

// The code of a nest: First is entered from Entry alone, and left to After
// alone.
struct Region {
  llvm::BasicBlock *Entry, *First, *After;
  llvm::DebugLoc At;
  // Where control goes when the work is done; null: to After.
  llvm::BasicBlock *Done = nullptr;
};
// What may stand in front of a nest, one of them at least.
struct Plan {
  const contraction *Npu = nullptr; // for a call of the runtime
  const contraction *Cpu = nullptr; // for code in the object
  int64_t LeastMacs = 0;            // that were asked for; below 0: nothing
  int64_t CpuLeastMacs = 0;         // the same for code in the object
};
// Puts the guarded call in front of the code.  Keeps the loops and dominators
// up to date; what was asked about values of the code, behind it, is stale.
// Where: the function's name in the runtime's messages.  Returns what the
// runtime said, where the code begins that was there: more than 1, and it
// compares. Null: it is not asked.
llvm::PHINode *rewriteNest(const Region &Old, llvm::LoopInfo &LI,
                           llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                           const IRNest &I, const Plan &P, const options &O,
                           const std::string &TEIR, llvm::StringRef Where);
// The runtime is there.
llvm::Value *isLinked(llvm::Instruction *At);
constexpr const char *CallName = "nputeir_call_1";
constexpr const char *LeastName = "nputeir_least_macs_1";
constexpr const char *CompareName = "nputeir_compare_1";

} // namespace nputeir

#endif
