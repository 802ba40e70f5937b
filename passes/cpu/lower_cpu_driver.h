// lower_cpu_driver.h -- what the loops around packed panels work on: the axes
// of the slots by role, the sizes of blocks, and memory for panels and for
// tables of offsets.
#ifndef NPUTEIR_LOWER_CPU_DRIVER_H
#define NPUTEIR_LOWER_CPU_DRIVER_H

#include "lower_cpu.h"

namespace nputeir {

class DriverBlocks {
protected:
  CpuUnit &U;
  const CpuWork &W;
  struct teir_cpu_dot Dot;
  Code C;
  unsigned Tensors;
  int Bytes; // of a sum
  bool Scales, KeepsSums, TablesSteps;
  llvm::Function *Offsets;
  Kept Parts;

  // Of a role: its axes' records, their number, all their elements, and the
  // records of the innermost axis and of the one around it, if any.
  struct Role {
    Kept Axes, Count, Extent, Innermost, Next;
  };
  Role R[AXIS_ROLES];
  // Offsets of a block: [tensor][capacity], and runs.
  struct Table {
    Kept At, Capacity, Runs;
  };
  Table Rows, Columns, Steps;
  Kept KeepsIn0, BlockM, BlockN, BlockK, PartM;
  Kept In0, In1, Sums;
  llvm::Value *Bases;
  Kept Accumulate;

  DriverBlocks(CpuUnit &U, const CpuWork &W, llvm::Function &F)
      : U(U), W(W), Dot(dotOf(U, W)), C(F), Tensors(W.moved()),
        Bytes(dtype_bytes(W.Sum)), Scales(isScaledPacked(U, W)),
        KeepsSums(W.Tail && !Scales), TablesSteps(tablesSteps(U, W)),
        Offsets(offsetsFunction(U, W)) {}

  void readSlots();
  void chooseBlocks();
  // All that is needed beside the frame, in one piece; gives its size.
  llvm::Value *place(llvm::Value *Memory);
  void moveBases(llvm::Value *Z);

  Kept keep(llvm::Value *V) { return Kept(C, V); }

  llvm::Value *number(int Which) {
    return C.getNumber(Parts, CpuParts + Which);
  }
  llvm::Value *height(int H) { return number(CpuHeights + H); }
  llvm::Value *panelRows() { return height(0); }
  llvm::Value *panelColumns() { return number(CpuColumns); }

  llvm::Value *stride(axis_role Role, int T) {
    return C.getNumber(R[Role].Innermost, 1 + T);
  }
  llvm::Value *next(axis_role Role, int T) {
    return C.getNumber(R[Role].Next, 1 + T);
  }

  void fill(axis_role Role, const Table &T, llvm::Value *Start,
            llvm::Value *N) {
    // A table's rows stay as far apart as there is room for.
    C.CreateCall(Offsets, {R[Role].Axes, R[Role].Count, Start, N, T.Capacity,
                           T.At, T.Runs});
  }

  llvm::Value *base(int T) { return C.getPointer(Bases, T); }

  // Offsets of a tensor from element I on.
  llvm::Value *offsets(const Table &X, int T, llvm::Value *I) {
    return C.at(X.At, C.times(C.plus(C.times(X.Capacity, T), I), 8));
  }

  // Of a kernel.
  llvm::Value *steps(llvm::Value *K) {
    return C.divideUp(K, C.number(Dot.step));
  }

  // Of a row of a panel.
  int stepBytes(int T) { return Dot.step * dtype_bytes(Dot.packed[T]); }

  // In a panel of in1, in front of its steps.
  int startRows(int T) { return T == IN1 && Dot.offset; }

  // Of panels of so many rows (or columns) in all.
  llvm::Value *panelBytes(int T, llvm::Value *Rows, llvm::Value *K) {
    return C.times(C.times(Rows, C.plus(steps(K), startRows(T))), stepBytes(T));
  }
};

} // namespace nputeir

#endif
