// whole_factors.h -- factors all of whose elements a nest with limits reads.
#ifndef NPUTEIR_WHOLE_FACTORS_H
#define NPUTEIR_WHOLE_FACTORS_H

extern "C" {
#include "recognizer.h"
}

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace nputeir {

// Whether limits that do not say which elements of an input are read let each
// of them take part in some product.  Where every axis has an extent above
// zero.
llvm::Value *areFactorsWhole(llvm::IRBuilder<> &B, const contraction &C,
                             llvm::function_ref<llvm::Value *(value)> Number);

} // namespace nputeir

#endif
