// digits.h -- a loop whose counter is divided to find the indices of several
// axes, as one loop for each.
#ifndef NPUTEIR_DIGITS_H
#define NPUTEIR_DIGITS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// What divides V, by a shift, say; null: U does not divide V.
llvm::Value *divisorOf(const llvm::User *U, const llvm::Value *V);

// U is what is left of V, divided by By, of which Quotients are results.
bool isRemainder(const llvm::User *U, const llvm::Value *V,
                 const llvm::Value *By,
                 llvm::ArrayRef<llvm::Instruction *> Quotients);

// Pointers that L steps on beside a counter that is divided are computed from
// the counter.
void countPointers(llvm::Loop &L, llvm::ScalarEvolution &SE);
// Puts another copy of the nest around L in front of it, in which L is several
// loops, under the condition that these are whole.  False: L's counter is not
// divided so.  Loops and dominators of the function change.
bool splitDigits(llvm::Loop &L, llvm::ScalarEvolution &SE);

// What was left as it was, where another part of the code does it as several
// loops; so are loops within.
void markSplit(llvm::Loop &L);
bool isSplit(const llvm::Loop &L);

} // namespace nputeir

#endif
