// lower_cpu_packer.h -- what functions that pack a panel begin from: their
// arguments, and where rows and columns lie in memory and in the panel.
#ifndef NPUTEIR_LOWER_CPU_PACKER_H
#define NPUTEIR_LOWER_CPU_PACKER_H

#include "lower_cpu.h"

namespace nputeir {

class PackCode {
protected:
  const CpuPanel &P;
  int Rows, FromBytes, Bytes;
  Code C;
  llvm::Type *Stored;
  llvm::Value *To, *Source, *RowOffsets, *RowRuns, *ColumnOffsets, *Runs,
      *Columns, *RowStride, *ColumnStride;
  bool Masks; // are a panel's rows one vector of which lanes can be left out?

  PackCode(CpuUnit &U, const CpuPanel &P, llvm::Function &F);

  // Rows that are adjacent, from First on: what a vector reads from From, in
  // each column, and writes to To, a row of the panel.
  struct Run {
    llvm::Value *First, *Count, *From, *To, *Read, *Written;
  };
  // Behind the last row, zeros: it has no run.
  void runs(llvm::function_ref<void(const Run &)> Body);
  llvm::Value *row(llvm::Value *I);
  // How many columns there are from K on, along an axis.
  llvm::Value *runFrom(llvm::Value *K);
  // Where column K's group is packed.
  llvm::Value *step(llvm::Value *K);

  llvm::Type *word(); // a group
  // Element I of a group, or of several.
  llvm::Value *inGroup(llvm::Value *V, llvm::Value *I);
  // What was read, as it is stored.
  llvm::Value *converted(llvm::Value *V);
};

// lower_cpu_limits.cpp: where limits leave out elements; Whole packs columns of
// which none is.
void packLimited(CpuUnit &U, const CpuPanel &P, llvm::Function &F,
                 llvm::Function *Whole);

} // namespace nputeir

#endif
