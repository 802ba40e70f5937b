// lower_cpu_driver_blocks.cpp -- axes, blocks and memory of the loops around
// packed panels.
#include "lower_cpu_driver.h"

using namespace llvm;

namespace nputeir {

void DriverBlocks::readSlots() {
  Value *Slots = C.argument(0);
  int64_t Record = 8 * (1 + (int64_t)Tensors);
  Accumulate = keep(C.getNumber(Slots, (int64_t)Tensors));
  Parts = keep(C.getPointer(Slots, cpuPartsSlot(Tensors)));
  Value *Axes = C.at(Slots, 8 * cpuAxesSlot(Tensors));
  if (W.Plain) {
    Kept One = keep(C.number(1));
    for (int I = 0; I < AXIS_ROLES; I++) {
      Kept Axis = keep(C.at(Axes, I * Record));
      R[I] = {Axis, One, keep(C.getNumber(Axis, (int64_t)0)), Axis, Axis};
    }
    return;
  }
  for (int I = 0; I < AXIS_ROLES; I++) {
    Value *Count = C.getNumber(Slots, cpuCountsSlot(Tensors) + I);
    R[I].Axes = keep(Axes);
    R[I].Count = keep(Count);
    Value *Extent = C.carry(
        C.number(0), Count, C.number(1), {C.number(1)},
        [&](Value *A, ArrayRef<Value *> Now) {
          Value *Axis = C.at(Axes, C.times(A, Record));
          return Code::Values{C.times(Now[0], C.getNumber(Axis, (int64_t)0))};
        })[0];
    Value *Last = C.at(Axes, C.times(C.plus(Count, -1), Record));
    Value *More = C.CreateSelect(C.CreateICmpEQ(Count, C.number(1)), Last,
                                 C.at(Last, -Record));
    R[I].Extent = keep(Extent);
    R[I].Innermost = keep(Last);
    R[I].Next = keep(More);
    Axes = C.at(Axes, C.times(Count, Record));
  }
}

void DriverBlocks::chooseBlocks() {
  teir_cpu_math Math = cpuMath(C);
  teir_cpu_size Size = {R[AXIS_M].Extent,
                        R[AXIS_N].Extent,
                        R[AXIS_K].Extent,
                        Dot,
                        false,
                        KeepsSums,
                        false,
                        nullptr,
                        W.Partial};
  // Where only some elements are there, so are the rows that columns need.
  Value *Columns = number(CpuBlockN);
  if (W.Partial)
    Columns = C.times(Columns, 2);
  struct teir_cpu_most Most = {
      panelRows(),       panelColumns(),   number(CpuBlockM), Columns,
      number(CpuBlockK), number(CpuKeptN), number(CpuSumsM),  number(CpuSumsN)};
  teir_cpu_cut Cut = teir_cpu_cut_packed(&Most, &Math, &Size);
  KeepsIn0 = keep(C.CreateZExt(
      static_cast<Value *>(teir_cpu_keeps_in0(&Most, &Math, &Size)),
      C.getInt64Ty()));
  BlockM = keep(static_cast<Value *>(Cut.block_m));
  BlockN = keep(static_cast<Value *>(Cut.block_n));
  BlockK = keep(static_cast<Value *>(Cut.block_k));
  PartM = keep(static_cast<Value *>(Cut.part_m));
}

Value *DriverBlocks::place(Value *Memory) {
  Value *Size = C.number(64);
  auto Part = [&](Value *Needs) {
    Value *At = Size;
    Size = C.plus(Size, C.roundUp(Needs, 64));
    return At;
  };
  auto Tables = [&](Value *Capacity) {
    return Part(C.times(Capacity, 8 * ((int64_t)Tensors + 1)));
  };
  Value *AtIn1 = Part(C.plus(panelBytes(IN1, BlockN, BlockK), PackSlack));
  Value *AtIn0 = Part(C.plus(panelBytes(IN0, BlockM, BlockK), PackSlack));
  Value *Held =
      KeepsSums ? C.times(PartM, BlockN) : C.times(panelRows(), panelColumns());
  Value *AtSums = Part(C.plus(C.times(Held, Bytes), PackSlack));
  Kept Tabled = TablesSteps ? BlockK : keep(C.number(1));
  Value *AtRows = Tables(BlockM), *AtColumns = Tables(BlockN),
        *AtSteps = Tables(Tabled);
  Value *Skew = C.CreateAnd(
      C.CreateNeg(C.CreatePtrToInt(Memory, C.getInt64Ty())), C.number(63));
  Value *Base = C.at(Memory, Skew); // the first 64 bytes are not used
  auto Place = [&](Value *At) { return C.at(Base, C.plus(At, -64)); };
  In1 = keep(Place(AtIn1));
  In0 = keep(Place(AtIn0));
  Sums = keep(Place(AtSums));
  auto TableAt = [&](Value *At, const Kept &Capacity) {
    Value *First = Place(At);
    return Table{keep(First), Capacity,
                 keep(C.at(First, C.times(Capacity, 8 * (int64_t)Tensors)))};
  };
  Rows = TableAt(AtRows, BlockM);
  Columns = TableAt(AtColumns, BlockN);
  Steps = TableAt(AtSteps, Tabled);
  return Size;
}

void DriverBlocks::moveBases(Value *Z) {
  if (W.Plain) {
    for (unsigned T = 0; T < Tensors; T++)
      C.put(C.at(C.getPointer(C.argument(0), (int64_t)T),
                 C.times(Z, stride(AXIS_C, (int)T))),
            C.at(Bases, 8 * (int64_t)T));
    return;
  }
  Value *Run = C.frame(C.getInt64Ty(), 1, 8);
  Value *Moved = C.frame(C.getInt64Ty(), Tensors, 8);
  C.CreateCall(Offsets, {R[AXIS_C].Axes, R[AXIS_C].Count, Z, C.number(1),
                         C.number(1), Moved, Run});
  for (unsigned T = 0; T < Tensors; T++)
    C.put(C.at(C.getPointer(C.argument(0), (int64_t)T),
               C.getNumber(Moved, (int64_t)T)),
          C.at(Bases, 8 * (int64_t)T));
}

} // namespace nputeir
