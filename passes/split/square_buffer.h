// square_buffer.h -- memory of a nest's own for a square of elements.
#ifndef NPUTEIR_SQUARE_BUFFER_H
#define NPUTEIR_SQUARE_BUFFER_H

#include "ir_code.h"

namespace nputeir {

struct SquareBuffer {
  uint64_t Bytes = 0; // of an element, a power of two
  uint64_t Side = 0;  // elements of a row, and rows
  llvm::Value *At = nullptr;

  // From malloc, which may have none: then At is null when the program runs.
  void acquire(llvm::IRBuilder<> &B);
  void release(llvm::IRBuilder<> &B) const;
  uint64_t rowBytes() const { return Bytes * Side; }
  // Of an element.
  llvm::Value *at(llvm::IRBuilder<> &B, llvm::Value *Row,
                  llvm::Value *Column) const;
  llvm::Align alignment(llvm::IRBuilder<> &B, llvm::Type *T) const;
};

} // namespace nputeir

#endif
