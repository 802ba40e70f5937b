// square_buffer.cpp -- memory of a nest's own for a square of elements.
#include "square_buffer.h"

using namespace llvm;

namespace nputeir {

void SquareBuffer::acquire(IRBuilder<> &B) {
  CallInst *Call = emitMalloc(B, B.getInt64(rowBytes() * Side));
  Call->setName("nputeir.square");
  Call->addRetAttr(Attribute::NoAlias);
  At = Call;
}

void SquareBuffer::release(IRBuilder<> &B) const { emitFree(B, At); }

Value *SquareBuffer::at(IRBuilder<> &B, Value *Row, Value *Column) const {
  Value *Way = B.CreateMul(Row, B.getInt64(rowBytes()));
  Way = B.CreateAdd(Way, B.CreateMul(Column, B.getInt64(Bytes)));
  return B.CreateGEP(B.getInt8Ty(), At, Way);
}

Align SquareBuffer::alignment(IRBuilder<> &B, Type *T) const {
  return B.GetInsertBlock()->getModule()->getDataLayout().getABITypeAlign(T);
}

} // namespace nputeir
