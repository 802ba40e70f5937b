// sum_loops.h -- sums of products that are formed before the rest of their
// nest.
#ifndef NPUTEIR_SUM_LOOPS_H
#define NPUTEIR_SUM_LOOPS_H

#include "read_ir.h"
#include "rewrite.h"

namespace nputeir {

// Loops within L that do nothing but form sums, which other code of L uses.
llvm::SmallVector<SumLoop, 2> findSumLoops(const llvm::Loop &L);
// The array's address until it has one.
void addArray(llvm::Loop &Outer, SumLoop &S);
void dropArray(SumLoop &S);

// Puts the array and what fills it in front of Outer, and a copy of Outer that
// reads the sums there, which runs if the array has been filled.
void rewriteSums(llvm::Loop &Outer, SumLoop &S, llvm::LoopInfo &LI,
                 llvm::ScalarEvolution &SE, llvm::DominatorTree &DT, IRNest &I,
                 const Plan &P, const options &O, const std::string &TEIR,
                 llvm::StringRef Where);

} // namespace nputeir

#endif
