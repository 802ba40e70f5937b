// ir_loops.h -- where code stands in a nest of loops, and copies of loops.
#ifndef NPUTEIR_IR_LOOPS_H
#define NPUTEIR_IR_LOOPS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace nputeir {

// The loads and stores of L; false: something else touches memory, or code may
// end before it reaches them all.
bool findAccesses(const llvm::Loop &L,
                  llvm::SmallVectorImpl<llvm::Instruction *> &Found);
// In each iteration of the innermost loop around both, what holds X stands in
// front of what holds Y.
bool comesBefore(const llvm::Instruction &X, const llvm::Instruction &Y,
                 const llvm::LoopInfo &LI, const llvm::DominatorTree &DT);
// A branch goes the way of its condition, or the other one.
struct Guard {
  llvm::BranchInst *Branch;
  bool Holds;
};
// In each iteration of the loops from Outer to the one around I, these decide
// whether I runs, each where those before it hold; false: it depends on more.
bool findGuards(const llvm::Instruction &I, const llvm::Loop &Outer,
                const llvm::LoopInfo &LI, const llvm::DominatorTree &DT,
                const llvm::PostDominatorTree &PDT,
                llvm::SmallVectorImpl<Guard> &Found);
// The innermost one.
const llvm::Loop *loopAround(const llvm::Instruction &X,
                             const llvm::Instruction &Y,
                             const llvm::LoopInfo &LI);
// What L computes is read behind it.
bool isUsedAfter(const llvm::Loop &L);

// Stands in front of its own first block, and is left to one block.
bool canBeCopied(const llvm::Loop &L);
// A copy of L that is left to Out, or, with null, to where L is left to.  The
// block in front of it, to which nothing leads yet.
llvm::BasicBlock *copyLoop(llvm::Loop &L, llvm::BasicBlock *Out,
                           llvm::ValueToValueMapTy &Map);
// A block in front of L alone, to which nothing leads yet; what led to L ends
// without a branch.
llvm::BasicBlock *detach(llvm::Loop &L);

} // namespace nputeir

#endif
