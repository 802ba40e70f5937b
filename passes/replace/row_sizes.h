// row_sizes.h -- sizes of rows that lie in memory one by one, taken for one
// number.
#ifndef NPUTEIR_ROW_SIZES_H
#define NPUTEIR_ROW_SIZES_H

#include "read_ir.h"
#include "rewrite.h"

namespace nputeir {

// As of a std::vector of vectors: where each row begins and where it ends lie
// in an array along a loop.
struct RowSize {
  struct Place {
    llvm::LoadInst *Load;
    const llvm::SCEV *Start; // of the first row's, known in front of the nest
  };
  llvm::Instruction *End, *Begin; // of a row, in the nest
  Place Ends, Begins;
  const llvm::SCEV *Step, *Count;     // from row to row; of rows
  llvm::Instruction *First = nullptr; // bytes of the first row, in front
};

// Of a row, the distance from its begin to its end, a comparison of both for
// equality, or one that ends a loop over its elements.  False: I is none, or
// none that is known in front of the nest.  A loop along rows holds two loops
// one in the other at most: if rows turn out to have other sizes the nest stays
// as it is, so what is within must not be a product of matrices by itself.
bool readRowSize(const llvm::Instruction &I, const llvm::Loop &Outer,
                 llvm::ScalarEvolution &SE, RowSize &R);
// Asks in front of the nest whether all rows have the size of the first one;
// that they do becomes one more assumption.  Of little work nothing is asked.
void checkRowSizes(llvm::ArrayRef<RowSize> All, llvm::Loop &Outer,
                   llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
                   llvm::DominatorTree &DT, IRNest &N, const Plan &P);

} // namespace nputeir

#endif
