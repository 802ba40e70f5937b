// uneven_sums.h -- nests whose sums are as long as the row says: a sum in a
// register, or in its element, of which parts of the nest do some terms each.
#ifndef NPUTEIR_UNEVEN_SUMS_H
#define NPUTEIR_UNEVEN_SUMS_H

#include "uneven.h"

namespace nputeir {

class UnevenSum : protected UnevenNest {
protected:
  llvm::Loop *K = nullptr;           // over the terms of a sum
  llvm::Loop *Around = nullptr;      // K's parent
  llvm::PHINode *Sum = nullptr;      // null: it is kept in its element
  llvm::PHINode *Result = nullptr;   // Sum behind K
  llvm::StoreInst *Stored = nullptr; // what becomes of Result
  llvm::SmallVector<llvm::StoreInst *, 8> Before, After; // of K

  UnevenSum(llvm::Loop &L, LoopFacts &Facts) : UnevenNest(L, Facts) {}

  // X is K, which changes where it is, and one sum, which is all that is read
  // behind it.
  bool findSum(llvm::Loop &X);
  // A sum in a register is stored in every iteration around it, by one of
  // After.
  bool isSumStored();
  // In front of K, what is computed from I goes to elements and into the sum;
  // behind K, to elements.  A part that drops these stores needs I no more:
  // there it may be another number, by which nothing may branch.
  bool isOnlyStored(const llvm::Instruction &I, bool InFront);
  // Where the sum is stored, in front of K.
  llvm::Value *addressInFront();
  // A part that does some terms leaves the sum in its element.
  void leaveSum(llvm::Value *Address, llvm::ValueToValueMapTy &Map);
  // Another one goes on with it.
  void goOnWithSum(llvm::Value *Address, llvm::ValueToValueMapTy &Map);

private:
  enum { AddressCodeMax = 16 };
  bool findAddress(llvm::Value *V,
                   llvm::SmallVectorImpl<llvm::Instruction *> &Code);
};

} // namespace nputeir

#endif
