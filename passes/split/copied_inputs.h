// copied_inputs.h -- products that read what a loop before them has copied into
// a buffer of the function's own, as a convolution by way of im2col does.
#ifndef NPUTEIR_COPIED_INPUTS_H
#define NPUTEIR_COPIED_INPUTS_H

#include "code_parts.h"
#include "read_ir.h"
#include "rewrite.h"

namespace nputeir {

struct CopiedInput {
  llvm::Loop *Copy;
  Part Filled, Read; // around both, with nothing else that has an effect
  llvm::DebugLoc At; // the product's place
  IRNest Nest;       // the product's, which reads what the copy reads
};

// Sizes that are divided alike, here and in what was inlined, are one number.
bool joinQuotients(llvm::Function &F, llvm::ScalarEvolution &SE,
                   const llvm::DominatorTree &DT);

// F may have such a product.
bool mayReadCopies(const llvm::Function &F);
// The buffer that Product reads is filled by one loop before it and used
// nowhere else, and what the copy reads does not change until Product begins.
// Same: functions of which F is a copy.  False: that is not known.
bool readCopiedInput(llvm::Loop &Product,
                     llvm::ArrayRef<const llvm::Function *> Same,
                     const FunctionFacts &Facts, arena *A, CopiedInput &Result);
// The same of a library call.
bool readCopiedInput(llvm::CallInst &Product,
                     llvm::ArrayRef<const llvm::Function *> Same,
                     const FunctionFacts &Facts, arena *A, CopiedInput &Result);

// Moves the copy to where the product begins.  What the nest needs is computed
// in front of both.
Region moveCopy(const CopiedInput &X, llvm::LoopInfo &LI,
                llvm::DominatorTree &DT);

} // namespace nputeir

#endif
