// ir_scev.h -- questions about numbers that ScalarEvolution describes.
#ifndef NPUTEIR_IR_SCEV_H
#define NPUTEIR_IR_SCEV_H

#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// Known or written to be below zero.
bool looksNegative(const llvm::SCEV *S);
// A number that is never below zero, max(a, b) - b, without saying so: a - b.
// That this is not below zero in any row is to be asked in front of the nest,
// and that b, which is a without it, has not wrapped.  End: a, if there was a
// maximum, else null; Signed: how both were compared.
const llvm::SCEV *withoutMaximum(const llvm::SCEV *N, llvm::ScalarEvolution &SE,
                                 const llvm::SCEV *&End, bool &Signed);

// Taken, how often a loop is taken back, is a constant where End, at which its
// counter ends, has not wrapped, and zero where it has: that constant.  Null:
// it is something else.
const llvm::SCEV *lengthTo(const llvm::SCEV *Taken, llvm::ScalarEvolution &SE,
                           const llvm::SCEV *&End, bool &Signed);

} // namespace nputeir

#endif
