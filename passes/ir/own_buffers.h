// own_buffers.h -- memory that a function alone knows of.
#ifndef NPUTEIR_OWN_BUFFERS_H
#define NPUTEIR_OWN_BUFFERS_H

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Function.h"

namespace nputeir {

// What lies in the frame, in memory that the function has got, or in the
// module; null: somebody else may have it.
const llvm::Value *bufferOf(const llvm::Value *Pointer);

// It holds zeros until it is stored to.
bool startsZeroed(const llvm::Value &Buffer);
// It holds nothing that anybody may rely on until it is stored to.
bool startsEmpty(const llvm::Value &Buffer);
// I sets memory to zero, and does nothing else.
bool clears(const llvm::Instruction &I);

// A function that reads one.
bool readsOwnBuffer(const llvm::Function &F);

// Gathers the instructions that do more with the buffer's address than to
// compute or compare with it, free it, or say how long it lives; false: there
// are very many, or a number becomes an address.
// Same: functions of which Here is a copy.
bool findUses(const llvm::Value &Buffer, const llvm::Function &Here,
              llvm::ArrayRef<const llvm::Function *> Same,
              llvm::SmallSetVector<llvm::Instruction *, 16> &Found);

} // namespace nputeir

#endif
