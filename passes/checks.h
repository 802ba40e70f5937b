// checks.h -- numbers and conditions that are computed in front of a nest.
#ifndef NPUTEIR_CHECKS_H
#define NPUTEIR_CHECKS_H

#include "passes.h"
#include "versions.h"

#include "llvm/IR/IRBuilder.h"

namespace nputeir {

class Checks {
  const IRNest &Nest;
  llvm::Instruction *At;
  Expander Code;
  llvm::SmallVector<llvm::Value *, 8> Symbol; // null: not asked for yet

public:
  llvm::IRBuilder<> B; // puts its instructions in front of At

  Checks(const IRNest &Nest, llvm::ScalarEvolution &SE, llvm::Instruction *At);
  // The source would not compute an inner size before the loops around it have
  // work: freezing keeps that from becoming undefined.
  llvm::Value *frozen(const llvm::SCEV *S, llvm::Type *T);
  llvm::Value *number(value V); // 64 bits
  llvm::Value *isPositive(value V);
  llvm::Value *equal(const llvm::SCEV *X, const llvm::SCEV *Y);
  llvm::Value *staysSmall(const NoWrap &Sum);
  llvm::Value *holds(const contraction_guard &G);
  llvm::Value *holds(std::pair<llvm::Value *, bool> Assumed);
};

} // namespace nputeir

#endif
