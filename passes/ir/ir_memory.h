// ir_memory.h -- which code of a loop writes what other code reads.
#ifndef NPUTEIR_IR_MEMORY_H
#define NPUTEIR_IR_MEMORY_H

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// A variable of which no code has the address, but to read and write it.
bool isPrivate(const llvm::Value &Base);

// W, which is in Outer, may change what X, a load or store, accesses in some
// iteration.
bool mayChange(const llvm::Instruction &W, const llvm::Instruction &X,
               const llvm::Loop &Outer, llvm::ScalarEvolution &SE,
               llvm::AAResults &AA);
// Their addresses are reached from one.
bool sharesBase(const llvm::Instruction &W, const llvm::Instruction &X,
                llvm::ScalarEvolution &SE);

} // namespace nputeir

#endif
