// affine_guards.h -- comparisons of what the loops count, as affine guards
// of the nest description.
#ifndef NPUTEIR_AFFINE_GUARDS_H
#define NPUTEIR_AFFINE_GUARDS_H

#include "addresses.h"
#include "nest_builder.h"

#include "llvm/IR/Instructions.h"

namespace nputeir {

class AffineGuards {
  Addresses &Places;
  llvm::ScalarEvolution &SE;
  NestBuilder &Nest;
  llvm::DenseMap<const llvm::ICmpInst *, nest_expr *> Known;

  struct Side {
    llvm::Value *Number;
    Address X;
  };
  // A comparison may ask for several numbers at once, by which they are joined
  // in a tree of ors; shared parts of it are read again.
  enum { JoinedMax = 64 };
  int Joined = 0; // looked into for the comparison that is being read
  loc At = {};    // of that
  int Loop = -1;

public:
  AffineGuards(Addresses &Places, llvm::ScalarEvolution &SE, NestBuilder &Nest)
      : Places(Places), SE(SE), Nest(Nest) {}
  // Null: something else is compared.  Loop is the innermost one around C.
  nest_expr *read(const llvm::ICmpInst &C, int Loop);
  // Whether the loop has the iteration that it is in, which stands at Where, in
  // the nest's loop of that number; null: that is not known.
  nest_expr *has(const ClippedLoop &C, const llvm::Loop &L, int Number,
                 loc Where);

private:
  nest_expr *read(const llvm::ICmpInst &C, llvm::Value *Left,
                  llvm::Value *Right);
  nest_expr *readBoth(const llvm::ICmpInst &C, llvm::Value *Both,
                      llvm::Value *Zero);
  nest_expr *compare(llvm::ICmpInst::Predicate P, const Side &X, const Side &Y);
  nest_expr *compareUnsigned(const Side &X, const Side &Y, bool OrEqual);
  void askAtLeast(const llvm::SCEV *Number, int64_t Least);
  const llvm::SCEV *step(const Address &X, const Address &Y, int L);
  nest_expr *difference(const Address &X, const Address &Y, bool Below);
  bool endsAtZero(const Address &X, const Address &Y);
  bool isZeroAtEnd(const llvm::SCEV *From, const llvm::SCEV *Step,
                   const llvm::SCEV *Extent);
  Address zero();
  bool staysAbove(const Address &X, const Address &Y);
  bool isAtLeast(const Side &X, const Side &Y);
  bool staysPositive(const Side &X);
  bool isNegative(const Side &X);
};

// Nothing but affine guards is asked for.
bool asksAffineGuards(const nest_expr *Condition);

} // namespace nputeir

#endif
