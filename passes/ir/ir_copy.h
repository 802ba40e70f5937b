// ir_copy.h -- a copy of a function, to try on it what may come to nothing.
#ifndef NPUTEIR_IR_COPY_H
#define NPUTEIR_IR_COPY_H

#include "llvm/IR/Function.h"

namespace nputeir {

// Of F; the module's symbol table never hears of it.
class Copy {
  llvm::Function &F, *C;

public:
  explicit Copy(llvm::Function &F);
  Copy(const Copy &) = delete;
  ~Copy();
  llvm::Function &function() { return *C; }
  bool canReplace() const;
  // F gets the copy's code in place of its own.
  void replace();
};

} // namespace nputeir

#endif
