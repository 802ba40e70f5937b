// ir_scev.h -- questions about numbers that ScalarEvolution describes.
#ifndef NPUTEIR_IR_SCEV_H
#define NPUTEIR_IR_SCEV_H

#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// Known or written to be below zero.
bool looksNegative(const llvm::SCEV *S);

} // namespace nputeir

#endif
