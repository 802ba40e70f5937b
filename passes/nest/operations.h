// operations.h -- one instruction of the IR as an expression of the nest
// description.
#ifndef NPUTEIR_OPERATIONS_H
#define NPUTEIR_OPERATIONS_H

#include "nest_builder.h"

#include "ir_marks.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/IntrinsicInst.h"

namespace nputeir {

class Operations : protected NestBuilder {
  // Shared subexpressions are written out, so their number is bounded.
  enum { DepthMax = 32, ExprMax = 2000 };

protected:
  Operations(arena *A, IRNest &R) : NestBuilder(A, R) {}
  // The value of W; its type is typeOf(W's type, Unsigned).
  virtual nest_expr *read(const llvm::Value *W, bool Unsigned, int Depth) = 0;

  loc at(const llvm::Instruction &I) { return locOf(I.getDebugLoc(), A); }
  bool tooLong(int Depth) const { return Depth > DepthMax || Exprs > ExprMax; }

  nest_expr *readOperation(const llvm::Instruction &I, int Depth);
  // X + Y, as a part of what I adds.
  nest_expr *sumIn(const llvm::Instruction &I, nest_expr *X, nest_expr *Y);

private:
  nest_expr *readOne(nest_op Op, const llvm::Instruction &I, int Depth);
  nest_expr *readTwo(nest_op Op, const llvm::Instruction &I, bool Unsigned,
                     int Depth);
  nest_expr *readFused(const llvm::IntrinsicInst &I, int Depth);
  nest_expr *readCast(const llvm::CastInst &C, int Depth);
  nest_expr *readWidened(const llvm::CastInst &C, int Depth);
  nest_expr *readSameBits(const llvm::CastInst &C, int Depth);
  nest_expr *readToInt(const llvm::Instruction &I, bool Unsigned, int Depth);
  nest_expr *readCompare(const llvm::CmpInst &C, llvm::CmpInst::Predicate P,
                         int Depth);
  nest_expr *readSelect(const llvm::Instruction &I, int Depth);
  nest_expr *readIntrinsic(const llvm::IntrinsicInst &I, int Depth);
};

} // namespace nputeir

#endif
