// matrix.h -- code on whole matrices, and what may be done with it.
#ifndef NPUTEIR_MATRIX_H
#define NPUTEIR_MATRIX_H

#include "read_ir.h"

namespace nputeir {

// Stores a matrix that a product of the same block is part of, and is not kept.
bool storesProduct(const llvm::Instruction &I);

// A loop that holds matrix products.
bool readMatrixLoop(llvm::Loop &Outer, llvm::LoopInfo &LI,
                    llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                    llvm::AAResults &AA, arena *A, IRNest &Result, verdict &V);
// The code from First to the store, which stores a product.  Moves what others
// need from between them in front of First.
bool readMatrixStore(llvm::Instruction &Store, llvm::LoopInfo &LI,
                     llvm::ScalarEvolution &SE, arena *A, IRNest &Result,
                     llvm::Instruction *&First, verdict &V);

} // namespace nputeir

#endif
