// tiles.h -- loops that a loop around them cuts into tiles, as in manual
// tiling.
#ifndef NPUTEIR_TILES_H
#define NPUTEIR_TILES_H

#include "conditions.h"

namespace nputeir {

// In iteration p of TileLoop, a loop runs min(Length, Whole - Step * p) times,
// or not at all if that is less than one.  All in 64 bits.
struct PointLoop {
  const llvm::Loop *TileLoop;
  const llvm::SCEV *Length, *Step, *Whole;
  bool RemainderMayWrap; // Whole - Step * p below zero would count as large
};

// Taken: how often L is taken back, as ScalarEvolution has it.  Widen
// turns extensions of recurrences into recurrences of 64 bits.
bool readPointLoop(
    const llvm::Loop &L, const llvm::SCEV *Taken, llvm::ScalarEvolution &SE,
    llvm::function_ref<const llvm::SCEV *(const llvm::SCEV *)> Widen,
    Conditions &If, PointLoop &P);

} // namespace nputeir

#endif
