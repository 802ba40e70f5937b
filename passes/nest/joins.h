// joins.h -- loops of the source that are parts of one loop: the point loops of
// a tiled nest, and remainder loops.
#ifndef NPUTEIR_JOINS_H
#define NPUTEIR_JOINS_H

#include "addresses.h"

namespace nputeir {

class Joins : public Addresses {
public:
  using Addresses::Addresses;
  // Like addLoop, for a loop that one of those added before cuts into tiles; it
  // is added if it is one; false and a verdict if the tiles make no whole.
  bool addPointLoop(llvm::Loop *L, arena *A, verdict &V);
  // After the last loop: takes pairs of loops for one that is cut into tiles,
  // where every address goes on from tile to tile.
  void findTiles(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
  // After that: takes loops for the remainder loops of those before them, where
  // every address goes on.
  void findRemainders(llvm::ArrayRef<llvm::BasicBlock *> Blocks);
  // How far a loop's counter goes in each iteration; 0: that is not known.
  int64_t stepOfCounter(int L);

private:
  // Each pair of loops is tried once, and each pair of addresses for it.
  enum { ComparedMax = 1 << 20 };
  int Compared = 0; // pairs of addresses

  bool addPointers(llvm::ArrayRef<llvm::BasicBlock *> Blocks,
                   llvm::SmallVectorImpl<Address> &All);
  void addComparisons(llvm::ArrayRef<llvm::BasicBlock *> Blocks,
                      llvm::SmallVectorImpl<Address> &All);
  bool goesOn(int TileLoop, int L, const Address &X) const;
  bool findTiles(int TileLoop, llvm::ArrayRef<Address> All,
                 llvm::SmallVectorImpl<int> &PointLoops) const;
  bool movesAlike(const Address &X, int L, const Address &Y,
                  const Remainder &R);
  const llvm::SCEV *startBefore(const Address &X, int L, const Remainder &R);
  bool goesOn(const Address &X, int L, const Address &Y, const Remainder &R);
  bool isRemainder(int L, const Remainder &R, llvm::ArrayRef<Address> All);
  const llvm::SCEV *wayTo(int L, const Remainder &R,
                          llvm::ArrayRef<Address> All);
  llvm::SmallVector<int64_t, 4> ratiosOf(int L, int Before,
                                         llvm::ArrayRef<Address> All);
  const llvm::SCEV *countedTo(int L, int Before);
  bool findRemainder(int L, int Before, llvm::ArrayRef<Address> All);
};

} // namespace nputeir

#endif
