// split_nests.h -- nests that are split, so that a part of each may be
// replaced.
#ifndef NPUTEIR_SPLIT_NESTS_H
#define NPUTEIR_SPLIT_NESTS_H

#include "overlaps.h"

#include "llvm/ADT/DenseSet.h"

namespace nputeir {

struct SplitNest {
  int Outermost;             // number of the loop that was split
  llvm::DenseSet<int> Loops; // of all loops in it
};
// A nest that was kept for this reason may have parts that are not.
bool mayBeSplit(rule R);
// Splits each nest of F that is not kept and can be split, but for those of
// these numbers.  Loops are not simple then, and code may be dead.
// Least: products for each member of an element, of which fewer keep their
// code. WantsSquares: as of splitTriangle().  WantsVectors: products of a
// matrix and a vector are brought out, too.
std::vector<SplitNest> splitNests(llvm::Function &F,
                                  llvm::FunctionAnalysisManager &FAM,
                                  const llvm::DenseSet<int> &Without,
                                  int64_t Least, bool WantsSquares,
                                  bool WantsVectors);
// A product of a matrix and a vector may come out of one.
bool hasVectorsBeside(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

// Splits nests of F whose sums are as long as the row says, or scattered, but
// for those of these numbers; as they are before anything in them is replaced.
// Least: of products, below which a block of results keeps its code.
std::vector<SplitNest> cutNests(llvm::Function &F,
                                llvm::FunctionAnalysisManager &FAM,
                                const llvm::DenseSet<int> &Without,
                                int64_t Least);
// Splits products of symmetric matrices into nests of such sums.
std::vector<SplitNest>
splitSymmetricProducts(llvm::Function &F, llvm::FunctionAnalysisManager &FAM,
                       const llvm::DenseSet<int> &Without);
// There is one of these.
bool mayBeCut(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);

} // namespace nputeir

#endif
