// ir_moves.h -- which loops move what a product multiplies.
#ifndef NPUTEIR_IR_MOVES_H
#define NPUTEIR_IR_MOVES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"

#include <map>
#include <vector>

namespace nputeir {

class FactorMoves {
  struct Product {
    // The places of the elements that it is computed from; null: that is not
    // known of one.
    llvm::SmallVector<const llvm::SCEV *, 4> Places;
    llvm::SmallVector<const llvm::Value *, 4> Factors;
    // Whose counters it is computed from.
    llvm::SmallPtrSet<const llvm::Loop *, 2> Counted;
    // That hand a number it is computed from, which they change, on.
    llvm::SmallPtrSet<const llvm::Loop *, 2> Carried;
  };
  using Products = std::vector<Product>;
  using Blocks = llvm::SmallVector<const llvm::BasicBlock *, 2>;
  using Stored = llvm::SmallPtrSet<const llvm::Value *, 4>;

  const llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  std::map<const llvm::Instruction *, Products> OfSum; // stay where they are
  llvm::DenseMap<const llvm::Loop *, Products> InLoop;
  llvm::DenseMap<const llvm::Loop *, Stored> Counters; // places
  // Where an array in the frame gets what no input of a product can hold.
  llvm::DenseMap<const llvm::AllocaInst *, Blocks> Computed;

public:
  FactorMoves(const llvm::LoopInfo &LI, llvm::ScalarEvolution &SE)
      : LI(LI), SE(SE) {}
  // I adds a product.  False: each loop around it, up to Outermost, moves all
  // elements that are multiplied, or none.  A product of two matrices, or of a
  // matrix and a vector, has a loop that moves only one of its inputs, or has
  // been written out along it.
  bool mayFormMatrix(const llvm::Instruction &I, const llvm::Loop &Outermost);
  // Why L is no loop of a nest of which I is the sum; null: it may be one.
  // - An element that L moves says where a factor lies.
  const char *indexObstacle(const llvm::Instruction &I, const llvm::Loop &L);
  // - A factor is computed from L's counter, or from what L computes in each
  //   iteration from that of the one before, or lies in an array in the frame
  //   that L fills with more than copies and products.
  const char *factorObstacle(const llvm::Instruction &I, const llvm::Loop &L);

private:
  bool isCounter(const llvm::PHINode &P) const;
  bool isInnerSum(const llvm::Value *V, const llvm::Loop &Home,
                  int Depth = 0) const;
  void findPlaces(const llvm::Value *V, bool IsCondition, Product &Found,
                  int &Left);
  void findProducts(const llvm::Instruction &I, Products &Found);
  const Products &productsOf(const llvm::Instruction &I);
  const Products &productsIn(const llvm::Loop &L);
  const Stored &storedIn(const llvm::Loop &L);
  bool isUnchanging(const llvm::Value *V, const llvm::Loop &L);
  bool mayMove(const llvm::SCEV *Place, const llvm::Loop &L);
  bool changes(const llvm::SCEV *Place, const llvm::Loop &L);
  bool mayStay(const llvm::SCEV *Place, const llvm::Loop &L);
  bool mayMoveOne(const Product &X, const llvm::Loop &L);
  bool mayBeAlike(const llvm::SCEV *X, const llvm::SCEV *Y) const;
  bool isSame(const llvm::Value *X, const llvm::Value *Y, int Depth = 0) const;
  bool areWrittenOut(const Product &X, const Product &Y) const;
  bool namesPlace(const llvm::Value *V, const llvm::Loop &L, int &Left);
  bool isNamed(const llvm::SCEV *Place, const llvm::Loop &L);
  bool isComputed(const llvm::StoreInst &S) const;
  const Blocks &computedFor(const llvm::AllocaInst &Array);
};

} // namespace nputeir

#endif
