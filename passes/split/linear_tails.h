// linear_tails.h -- sums that are scaled and added to something, before they
// are formed instead of behind them.
#ifndef NPUTEIR_LINEAR_TAILS_H
#define NPUTEIR_LINEAR_TAILS_H

#include "distribute.h"

#include "llvm/Transforms/Utils/ValueMapper.h"

namespace nputeir {

//     for k:  s += p;               c[i] = x;
//     c[i] = x + f * s;             for k:  c[i] += f * p;
class LinearTail {
  const llvm::Loop &K;
  const llvm::DominatorTree &DT;
  llvm::PHINode *Sum = nullptr, *Result = nullptr; // in K, and behind it
  llvm::BinaryOperator *Next = nullptr;            // Sum with one more product
  llvm::SmallVector<llvm::BinaryOperator *, 4> Tail; // from Result to Stored
  llvm::StoreInst *Stored = nullptr;
  // What has to stand in front of K, operands first.
  llvm::SmallVector<llvm::Instruction *, 16> Code;

  bool findSum();
  bool findTail();
  bool mayComeFirst(llvm::Value *V);

public:
  LinearTail(const llvm::Loop &K, const llvm::DominatorTree &DT)
      : K(K), DT(DT) {}
  // K sums in a register, behind it that is stored, and terms may be added in
  // another order.  That nothing that K reads, or the tail, is where the sum is
  // stored, nor stored between, is for the caller to know.
  bool find();
  llvm::StoreInst *stored() const { return Stored; }
  // Of a copy of the nest.
  void move(llvm::ValueToValueMapTy &Map) const;
};

} // namespace nputeir

#endif
