// local_arrays.h -- arrays in the frame that only one nest has.
#ifndef NPUTEIR_LOCAL_ARRAYS_H
#define NPUTEIR_LOCAL_ARRAYS_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

namespace nputeir {

using LocalArrays = llvm::SmallPtrSet<const llvm::AllocaInst *, 4>;
// Those that the loop stores to: nothing outside of it reads or writes them,
// and their addresses are used for nothing else.
LocalArrays findLocalArrays(const llvm::Loop &Outer);
// A variable whose address only OpenMP's runtime has, which sets the bounds of a
// thread's loop there: no other pointer leads to it.
bool isLoopBound(const llvm::AllocaInst &Variable);
// Says how long something in the frame lives, and does nothing else.
bool marksFrame(const llvm::Instruction &I);

} // namespace nputeir

#endif
