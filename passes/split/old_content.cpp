// old_content.cpp -- what elements of an array held before a nest that changes
// them.
#include "old_content.h"

using namespace llvm;

namespace nputeir {

uint64_t OldContent::bytes(IRBuilder<> &B) const {
  return B.GetInsertBlock()->getModule()->getDataLayout().getTypeStoreSize(
      Element);
}

Align OldContent::alignment(IRBuilder<> &B) const {
  return commonAlignment(
      B.GetInsertBlock()->getModule()->getDataLayout().getABITypeAlign(Element),
      bytes(B));
}

void OldContent::acquire(IRBuilder<> &B) {
  Value *Count = B.CreateMul(Rows, Columns);
  CallInst *Call = emitMalloc(B, B.CreateMul(Count, B.getInt64(bytes(B))));
  Call->setName("nputeir.old");
  Call->addRetAttr(Attribute::NoAlias);
  At = Call;
}

void OldContent::release(IRBuilder<> &B) const { emitFree(B, At); }

Value *OldContent::at(IRBuilder<> &B, Value *Row, Value *Column) const {
  if (LastFirst)
    Row = B.CreateSub(B.CreateSub(Rows, B.getInt64(1)), Row);
  Value *Lines = ByColumns ? Column : Row, *InLine = ByColumns ? Row : Column;
  Value *Length = ByColumns ? Rows : Columns;
  Value *Number = B.CreateAdd(B.CreateMul(Lines, Length), InLine);
  Value *Way = B.CreateMul(Number, B.getInt64(bytes(B)));
  return B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), At, Way),
                             pointerTo(Element));
}

void OldContent::fill(Code &B) const {
  Value *None = B.number(0), *One = B.number(1);
  Value *From = B.CreatePointerCast(First, bytePointer(B.getContext()));
  Value *Lines = ByColumns ? Columns : Rows;
  Value *Length = ByColumns ? Rows : Columns;
  B.loop(None, Lines, One, [&](Value *Line) {
    B.loop(None, Length, One, [&](Value *I) {
      Value *Row = ByColumns ? I : Line, *Column = ByColumns ? Line : I;
      Value *Way = B.CreateAdd(B.CreateMul(Row, RowStride),
                               B.CreateMul(Column, ColumnStride));
      Value *Place = B.CreatePointerCast(B.CreateGEP(B.getInt8Ty(), From, Way),
                                         pointerTo(Element));
      B.CreateAlignedStore(B.CreateAlignedLoad(Element, Place, Alignment),
                           at(B, Row, Column), alignment(B));
    });
  });
}

} // namespace nputeir
