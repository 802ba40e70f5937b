// square_buffer.cpp -- memory of a nest's own for a square of elements.
#include "square_buffer.h"

using namespace llvm;

namespace nputeir {

static Module &moduleOf(const IRBuilder<> &B) {
  return *B.GetInsertBlock()->getModule();
}

void SquareBuffer::acquire(IRBuilder<> &B) {
  FunctionCallee Allocate = moduleOf(B).getOrInsertFunction(
      "malloc", bytePointer(B.getContext()), B.getInt64Ty());
  CallInst *Call =
      B.CreateCall(Allocate, {B.getInt64(rowBytes() * Side)}, "nputeir.square");
  Call->addRetAttr(Attribute::NoAlias);
  At = Call;
}

void SquareBuffer::release(IRBuilder<> &B) const {
  FunctionCallee Free = moduleOf(B).getOrInsertFunction(
      "free", B.getVoidTy(), bytePointer(B.getContext()));
  B.CreateCall(Free, {At});
}

Value *SquareBuffer::at(IRBuilder<> &B, Value *Row, Value *Column) const {
  Value *Way = B.CreateMul(Row, B.getInt64(rowBytes()));
  Way = B.CreateAdd(Way, B.CreateMul(Column, B.getInt64(Bytes)));
  return B.CreateGEP(B.getInt8Ty(), At, Way);
}

Align SquareBuffer::alignment(IRBuilder<> &B, Type *T) const {
  return moduleOf(B).getDataLayout().getABITypeAlign(T);
}

} // namespace nputeir
