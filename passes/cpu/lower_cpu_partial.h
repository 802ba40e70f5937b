// lower_cpu_partial.h -- results of which only some elements are there, as
// those of a triangle: where start + row's step * row + column's step * column
// is not below zero, and steps are 1 or -1.  Others are neither read nor
// written.
#ifndef NPUTEIR_LOWER_CPU_PARTIAL_H
#define NPUTEIR_LOWER_CPU_PARTIAL_H

#include "lower_cpu.h"

namespace nputeir {

// As code.
class CpuPartial {
  Code &C;
  llvm::Value *Start, *Steps[2]; // from row to row, and from column to column

public:
  struct Piece {
    llvm::Value *Row, *Rows, *Column, *Columns;
  };

  CpuPartial(Code &C, llvm::Value *Start, llvm::Value *PerRow,
             llvm::Value *PerColumn)
      : C(C), Start(Start), Steps{PerRow, PerColumn} {}
  // Some elements are there; all are.
  llvm::Value *hasAny(const Piece &X) const;
  llvm::Value *hasAll(const Piece &X) const;
  // From one of the piece's on to in front of another: columns that the first
  // row has; rows that have some.
  using Range = std::pair<llvm::Value *, llvm::Value *>;
  Range columns(const Piece &X) const;
  Range rows(const Piece &X) const;

private:
  llvm::Value *limitOf(const Piece &X) const;
  Range within(llvm::Value *Limit, llvm::Value *Step, llvm::Value *Count) const;
  llvm::Value *farthest(const Piece &X, llvm::CmpInst::Predicate Way) const;
};

// void (from, from_stride_bytes, to, to_stride_bytes, rows, columns, limit,
// row_step, column_step): copies elements that are there, up to whole vectors
// of columns.  Limit: of the first element.
llvm::Function *partialCopyFunction(CpuUnit &U, dtype T);

} // namespace nputeir

#endif
