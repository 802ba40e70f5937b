// ir_candidates.cpp -- loops that may hold a product.
#include "ir_candidates.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_matrix.h"
#include "ir_sums.h"

using namespace llvm;

namespace nputeir {

bool holdsMatrixProduct(const Loop &L) {
  bool Product = false, Stores = false;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B) {
      Product |= isMatrixProduct(I);
      Stores |= storesMatrix(I) && !isKept(I);
    }
  return Product && Stores;
}

bool mayBeRead(const Loop &L) {
  const Loop *Outermost = &L;
  while (!sumsProducts(*Outermost) && !holdsMatrixProduct(*Outermost)) {
    Outermost = Outermost->getParentLoop();
    if (!Outermost || isLeftEarly(*Outermost) || followsList(*Outermost))
      return false;
  }
  return true;
}

} // namespace nputeir
