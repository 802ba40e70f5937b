// old_content.h -- what elements of an array held before a nest that changes
// them, in memory of the nest's own.
#ifndef NPUTEIR_OLD_CONTENT_H
#define NPUTEIR_OLD_CONTENT_H

#include "ir_code.h"

namespace nputeir {

struct OldContent {
  // Of the array, in bytes, and how many of its elements are kept.
  llvm::Value *First, *RowStride, *ColumnStride, *Rows, *Columns;
  llvm::Type *Element;
  llvm::Align Alignment; // of an element in the array
  bool ByColumns;        // those of a column lie side by side, else of a row
  bool LastFirst;        // row 0 comes last
  llvm::Value *At = nullptr;

  // From malloc, which may have none: then At is null when the program runs.
  void acquire(llvm::IRBuilder<> &B);
  void fill(Code &B) const;
  void release(llvm::IRBuilder<> &B) const;
  // The address of an element.
  llvm::Value *at(llvm::IRBuilder<> &B, llvm::Value *Row,
                  llvm::Value *Column) const;
  llvm::Align alignment(llvm::IRBuilder<> &B) const;

private:
  uint64_t bytes(llvm::IRBuilder<> &B) const;
};

} // namespace nputeir

#endif
