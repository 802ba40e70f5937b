// lanes.h -- code that is written with vectors (intrinsics, vector_size), lane
// by lane: as the nest that it would be with numbers.
#ifndef NPUTEIR_LANES_H
#define NPUTEIR_LANES_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

namespace nputeir {

enum { LanesMax = 32 };

// Of a vector of numbers that lie in memory as those of an array do; 0: of
// anything else.
int laneCount(const llvm::Type *T);

// A number, or a lane of a vector.
struct Element {
  const llvm::Value *Of; // null: no value is known
  int Lane;              // -1: Of is no vector
};
// Looks through what only moves elements: insertions, shuffles, constants.
Element elementOf(const llvm::Value *V, int Lane);

// The 16 bits of which I makes a float by a shift, or which it takes for a bf16
// (Same); null: it does neither.
const llvm::Value *halfOf(const llvm::Instruction &I, bool &Same);

// What functions of LLVM's or a processor's make of lanes.
enum class Across {
  No,
  Sum,         // of all lanes, and of a number that stands before them
  Neighbours,  // added: those of the first operand, then of the second one
  WidePairs,   // neighbours of one operand, widened and added (saddlp)
  WideProduct, // widened and multiplied (smull)
  Products,    // that, and neighbours' products added (pmaddwd)
  Dot, // four neighbours' products are added to the first operand (sdot)
};
Across acrossLanes(const llvm::Instruction &I, bool &Unsigned);
bool multipliesAcross(const llvm::Instruction &I);

bool storesVector(const llvm::StoreInst &S);
// Vectors are read or written in L, in F.
bool movesVectors(const llvm::Loop &L);
bool movesVectors(const llvm::Function &F);

} // namespace nputeir

#endif
