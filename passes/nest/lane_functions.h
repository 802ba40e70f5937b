// lane_functions.h -- what functions combine of lanes, and what lanes are parts
// of, in the words of the nest description.
#ifndef NPUTEIR_LANE_FUNCTIONS_H
#define NPUTEIR_LANE_FUNCTIONS_H

#include "operations.h"

namespace nputeir {

class LaneFunctions : protected Operations {
protected:
  int Lane = -1; // of what is read, where that is a vector

  LaneFunctions(arena *A, IRNest &R) : Operations(A, R) {}

  // 16 bits that are loaded, as a bf16; null: W is something else.
  virtual nest_expr *readHalf(const llvm::Value *W) = 0;

  // Null: it combines no lanes.
  nest_expr *readAcross(const llvm::Instruction &I, int Depth);
  // Null: it is not made of several numbers of which others than one are zero,
  // or shifted out.
  nest_expr *readParts(const llvm::Instruction &I, int Depth);

private:
  nest_expr *readLane(const llvm::Value *Of, int At, bool Unsigned, int Depth);
  nest_expr *readWide(const llvm::Value *Of, int At, dtype As, bool Unsigned,
                      int Depth);
};

} // namespace nputeir

#endif
