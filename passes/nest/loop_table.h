// loop_table.h -- the loops of a nest, and how the iterations of those that are
// parts of one are numbered.
#ifndef NPUTEIR_LOOP_TABLE_H
#define NPUTEIR_LOOP_TABLE_H

#include "counts.h"

namespace nputeir {

struct Address {
  const llvm::SCEV *Start;
  llvm::SmallVector<const llvm::SCEV *, 8> Stride; // null: the loop moves none
};

class LoopTable : public Counts {
public:
  enum { LoopsMax = 32 }; // of a nest
protected:
  llvm::SmallVector<llvm::Loop *, 8> Loops;
  llvm::DenseMap<const llvm::Loop *, int> Index;
  llvm::SmallVector<const llvm::SCEV *, 8> Extents; // 64 bits
  llvm::SmallVector<int, 8> TileLoops; // of point loops: tile loops; -1: none
  llvm::SmallVector<const llvm::SCEV *, 8> InTile; // extents, or of a tile
  // Loops that go on where loop After has ended: After steps over as much as
  // Ratio iterations do, and has gone over Distance of them.
  struct Remainder {
    int After = -1; // none
    int64_t Ratio = 1;
    const llvm::SCEV *Distance = nullptr;
  };
  llvm::SmallVector<Remainder, 8> Remainders;
  llvm::SmallVector<int64_t, 8> Steps; // from number to number; mostly 1
  llvm::SmallVector<const llvm::SCEV *, 4> Strides; // per number, of parts
  // Of starts that turn out to be the same, the one that is used.
  llvm::DenseMap<const llvm::SCEV *, const llvm::SCEV *> Joined;
  llvm::SmallVector<bool, 8> Reversed;

public:
  using Counts::Counts;
  void addLoop(llvm::Loop *L, const llvm::SCEV *Extent);
  llvm::Loop *loop(int Index) const { return Loops[Index]; }
  int after(int Index) const { return Remainders[Index].After; } // -1: none
  int64_t step(int Index) const { return Steps[Index]; }
  // Where its numbers end: how often it runs, unless it is a part.
  const llvm::SCEV *extent(int Index) const;
  int cutter(int Index) const { return TileLoops[Index]; }
  bool isReversed(int Index) const { return Reversed[Index]; }
  // All its numbers are its own iterations.
  bool isPlain(int Index) const;

protected:
  void cut(int L, int TileLoop, const llvm::SCEV *Length,
           const llvm::SCEV *Whole);
  const llvm::SCEV *recurrence(const llvm::SCEV *Start, const llvm::SCEV *Step,
                               int L);
  bool isSame(const llvm::SCEV *X, const llvm::SCEV *Y);
  bool areSame(const llvm::SCEV *X, const llvm::SCEV *Y);
  const llvm::SCEV *constant(int64_t Number) const;
  bool isPart(int L) const;
  const llvm::SCEV *withoutWayBack(const llvm::SCEV *Step);
  void numberThrough(Address &X);
  bool numberOn(Address &X);
  void reverseLoops(Address &X);

private:
  const llvm::SCEV *firstNumber(int L) const;
  const llvm::SCEV *strideOf(int L, const llvm::SCEV *Stride);
};

} // namespace nputeir

#endif
