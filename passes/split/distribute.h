// distribute.h -- a nest that writes several arrays as two that run one behind
// the other.
#ifndef NPUTEIR_DISTRIBUTE_H
#define NPUTEIR_DISTRIBUTE_H

#include "overlaps.h"

namespace nputeir {

// What is needed to look at the loops of a function.
struct LoopFacts {
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;
  llvm::PostDominatorTree &PDT;
  llvm::AAResults &AA;
};

// The first blocks of loops that a nest becomes.
struct NestParts {
  llvm::BasicBlock *Kept = nullptr; // stays as it was; null: there is none
  llvm::BasicBlock *Product = nullptr;
  llvm::BasicBlock *Rest = nullptr; // the other code, or more products
};
// Splits L when the stores of one product leave what the other code accesses
// alone, and it leaves what they are computed from.  Analyses are stale then.
// Vectors: the product may be one of a matrix and a vector.  What must be asked
// is asked at the branch to what L is part of, if there is one, and all of that
// is kept where it does not hold: so the code has the nest as it was once.  Of
// the members of an element, fewer products than Least are left to it, too.
bool distribute(llvm::Loop &L, LoopFacts &Facts, bool Vectors, int64_t Least,
                SplitBranches &Branches, NestParts &To);
// L stores a product, of a vector at least, beside something else.
bool storesProductBeside(llvm::Loop &L, LoopFacts &Facts);

// L forms a block of results that is written out, and what is left of it, each
// in a loop of its own.
bool hasRemainder(llvm::Loop &L, LoopFacts &Facts);
// Splits these two, of which the block is the product; fewer products than
// Least are left to the nest as it was.
bool splitRemainder(llvm::Loop &L, LoopFacts &Facts, int64_t Least,
                    NestParts &To);

} // namespace nputeir

#endif
