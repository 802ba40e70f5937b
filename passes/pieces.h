// pieces.h -- loops that a loop around them cuts into pieces, as in manual
// tiling.
#ifndef NPUTEIR_PIECES_H
#define NPUTEIR_PIECES_H

#include "passes.h"

namespace nputeir {

// Conditions under which a number of iterations is what it is said to be: the
// first is at least the second, signed, in 64 bits.  What is known to hold is
// left out.
class Conditions {
  llvm::ScalarEvolution &SE;
  std::vector<AtLeast> &List;

public:
  Conditions(llvm::ScalarEvolution &SE, std::vector<AtLeast> &List)
      : SE(SE), List(List) {}
  void atLeast(const llvm::SCEV *Large, const llvm::SCEV *Small);
  void within(const llvm::SCEV *S, int64_t Smallest, int64_t Largest);
};

// In iteration p of Cutter, a loop runs min(Length, Whole - Step * p) times, or
// not at all if that is less than one.  All in 64 bits.
struct Piece {
  const llvm::Loop *Cutter;
  const llvm::SCEV *Length, *Step, *Whole;
  bool RestMayWrap; // Whole - Step * p below zero would count as large
};

// Taken: how often a loop is taken back, as ScalarEvolution has it.  Widen
// turns extensions of recurrences into recurrences of 64 bits.
bool readPiece(const llvm::SCEV *Taken, llvm::ScalarEvolution &SE,
               llvm::function_ref<const llvm::SCEV *(const llvm::SCEV *)> Widen,
               Conditions &If, Piece &P);

} // namespace nputeir

#endif
