// split_products.h -- a sum of several products as several sums.
#ifndef NPUTEIR_SPLIT_PRODUCTS_H
#define NPUTEIR_SPLIT_PRODUCTS_H

#include "llvm/Analysis/LoopInfo.h"

namespace nputeir {

// Splits the sums within L that add several products in each step, where their
// order may be changed.  Analyses are stale then.
bool splitProducts(llvm::Loop &L);

} // namespace nputeir

#endif
