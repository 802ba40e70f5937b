// ir_loops.h -- loops that are put into a function.
#ifndef NPUTEIR_IR_LOOPS_H
#define NPUTEIR_IR_LOOPS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace nputeir {

// for (i = From; i < To; i++) Body(i), at the end of B's block, which has no
// terminator; B goes on behind the loop.
void emitLoop(llvm::IRBuilder<> &B, llvm::Value *From, llvm::Value *To,
              llvm::function_ref<void(llvm::Value *)> Body);

} // namespace nputeir

#endif
