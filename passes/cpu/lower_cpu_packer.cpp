// lower_cpu_packer.cpp -- what functions that pack a panel share.
#include "lower_cpu_packer.h"

using namespace llvm;

namespace nputeir {

PackCode::PackCode(CpuUnit &U, const CpuPanel &P, Function &F)
    : P(P), Rows(P.Rows), FromBytes(dtype_bytes(P.From)), Bytes(P.bytes()),
      C(F), Stored(storedType(F.getContext(), P.From)), To(C.argument(0)),
      Source(C.argument(1)), RowOffsets(C.argument(2)), RowRuns(C.argument(3)),
      ColumnOffsets(C.argument(4)), Runs(C.argument(5)), Columns(C.argument(6)),
      RowStride(C.argument(7)), ColumnStride(C.argument(8)),
      Masks((Rows & (Rows - 1)) == 0 && teir_cpu_has_masks(&U.Cpu, P.From) &&
            teir_cpu_has_masks(&U.Cpu, P.To)) {}

void PackCode::runs(function_ref<void(const Run &)> Body) {
  C.walk(C.number(0), C.number(Rows), [&](Value *I) {
    Value *Left = C.CreateSub(C.number(Rows), I);
    Value *Count = C.least(C.getNumber(RowRuns, I), Left);
    Value *Width =
        C.CreateSelect(C.CreateICmpSGT(Count, C.number(0)), Count, Left);
    Body({I, Count, row(I), C.at(To, C.times(I, Bytes)),
          C.firstLanes((unsigned)Rows, FromBytes, Count),
          C.firstLanes((unsigned)Rows, Bytes, Width)});
    return Width;
  });
}

Value *PackCode::row(Value *I) {
  return C.at(Source, C.getNumber(RowOffsets, I));
}

Value *PackCode::runFrom(Value *K) {
  return C.least(C.getNumber(Runs, K), C.CreateSub(Columns, K));
}

Value *PackCode::step(Value *K) {
  return C.at(To, C.times(C.CreateUDiv(K, C.number(P.Group)), Rows * Bytes));
}

Type *PackCode::word() { return C.getIntNTy((unsigned)(8 * Bytes)); }

Value *PackCode::inGroup(Value *V, Value *I) {
  auto *Shape = dyn_cast<FixedVectorType>(V->getType());
  Type *T = word();
  Value *By = C.CreateZExtOrTrunc(C.times(I, 8 * dtype_bytes(P.To)), T);
  if (Shape) {
    T = FixedVectorType::get(T, Shape->getNumElements());
    By = C.CreateVectorSplat(Shape->getNumElements(), By);
  }
  return C.CreateShl(C.CreateZExt(V, T), By);
}

Value *PackCode::converted(Value *V) {
  if (P.Group > 1 && P.From == P.To)
    return V;
  if (P.Flips)
    return C.CreateXor(V, ConstantInt::get(V->getType(), 0x80));
  return convert(C, P.From, P.To, fromStored(C, P.From, V));
}

} // namespace nputeir
