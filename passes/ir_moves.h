// ir_moves.h -- which loops move what a product multiplies.
#ifndef NPUTEIR_IR_MOVES_H
#define NPUTEIR_IR_MOVES_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"

#include <vector>

namespace nputeir {

class FactorMoves {
  // The places of the elements that a product is computed from; null: that is
  // not known of one.
  using Elements = llvm::SmallVector<const llvm::SCEV *, 4>;

  const llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DenseMap<const llvm::Loop *, std::vector<Elements>> Products;

public:
  FactorMoves(const llvm::LoopInfo &LI, llvm::ScalarEvolution &SE)
      : LI(LI), SE(SE) {}
  // I adds a product.  False: each loop around it, up to Outermost, moves all
  // elements that are multiplied, or none.  A product of two matrices, or of a
  // matrix and a vector, has a loop that moves only one of its inputs, or has
  // been written out along it.
  bool mayFormMatrix(const llvm::Instruction &I, const llvm::Loop &Outermost);

private:
  bool findElements(const llvm::Value *V, Elements &Found, int &Left);
  void findProducts(const llvm::Instruction &I, std::vector<Elements> &Found);
  const std::vector<Elements> &productsOf(const llvm::Loop &L);
  bool mayMove(const llvm::SCEV *Place, const llvm::Loop &L) const;
  bool mayStay(const llvm::SCEV *Place, const llvm::Loop &L) const;
  bool mayMoveOne(const Elements &X, const llvm::Loop &L) const;
  bool mayBeAlike(const llvm::SCEV *X, const llvm::SCEV *Y) const;
  bool areWrittenOut(const Elements &X, const Elements &Y) const;
};

} // namespace nputeir

#endif
