// directions.h -- elements that a nest reads backwards while it goes forwards
// through its other tensors.
#ifndef NPUTEIR_DIRECTIONS_H
#define NPUTEIR_DIRECTIONS_H

#include "overlaps.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Instructions.h"

namespace nputeir {

// Which loops move some accesses up or down in memory.
struct Directions {
  llvm::SmallPtrSet<const llvm::Loop *, 8> Up, Down;

  // False: where one of them lies is no start plus a stride per loop.
  bool add(const llvm::Instruction &Access, llvm::Loop &Outer, Overlaps &Places,
           llvm::ScalarEvolution &SE);
  // No loop moves them both ways.
  bool agree() const;
};

// Of the elements that Outer multiplies, the one without which all other
// accesses agree, and of several the one that the fewest loops move; null:
// there is none, or all agree as it is.
llvm::LoadInst *findOpposite(llvm::Loop &Outer,
                             llvm::ArrayRef<llvm::Instruction *> Accesses,
                             Overlaps &Places, llvm::ScalarEvolution &SE);

} // namespace nputeir

#endif
