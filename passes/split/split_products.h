// split_products.h -- a sum of several products as several sums.
#ifndef NPUTEIR_SPLIT_PRODUCTS_H
#define NPUTEIR_SPLIT_PRODUCTS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"

namespace nputeir {

// One of several products that are added to a sum.
struct ProductTerm {
  llvm::Value *Product;
  bool IsSubtracted;
  llvm::BinaryOperator *Scaled; // by a factor that the terms share; null: none
  llvm::Value *Factor;

  // Sum with the term, as Like adds it.
  llvm::Value *addTo(llvm::Value *Sum, const llvm::Instruction &Like,
                     llvm::IRBuilder<> &B) const;
};

// Whether Last, in L, is SoFar and two to four products, in an order that may
// be changed.
bool findTerms(llvm::Instruction &Last, const llvm::Value &SoFar,
               const llvm::Loop &L, llvm::SmallVectorImpl<ProductTerm> &Terms);

// Splits the sums within L that add several products in each step, where their
// order may be changed.  Analyses are stale then.
bool splitProducts(llvm::Loop &L);

} // namespace nputeir

#endif
