// row_reaches.h -- which bytes of its rows a nest uses.
#ifndef NPUTEIR_ROW_REACHES_H
#define NPUTEIR_ROW_REACHES_H

#include "read_ir.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace nputeir {

// Of a tensor, or of the rows that one array of addresses leads to.
struct RowReach {
  const RowPointers *Rows; // in the nest; null: none
  const llvm::SCEV *Start; // of the tensor; null: rows
  struct Access {
    llvm::SmallVector<Sum::Term, 4> Terms; // within a row
    const llvm::SCEV *Offset;
    uint64_t Bytes; // of an element
  };
  llvm::SmallVector<Access, 2> All;
  bool IsUsed; // by what is computed otherwise
  bool IsWritten;

  bool isCopied() const { return Rows && IsUsed; }
};

class RowReaches {
  const IRNest &N;
  llvm::ScalarEvolution &SE;
  std::vector<RowReach> Found;
  llvm::SmallPtrSet<const nest_expr *, 16> Seen;

public:
  RowReaches(const IRNest &N, llvm::ScalarEvolution &SE) : N(N), SE(SE) {}
  // False: it is not known.  OnlySums: the nest stores nothing but sums, to an
  // array of their own that does not exist yet.
  bool find(bool OnlySums);
  llvm::ArrayRef<RowReach> all() const {
    return Found;
  } // first those that are copied

private:
  struct Place {
    const llvm::SCEV *Start, *Offset;
    llvm::SmallVector<Sum::Term, 4> Terms;
    uint64_t Bytes;
    bool IsUsed, IsWritten;
  };
  bool add(Place X);
  bool add(const nest_access &X, bool IsWritten);
  bool addLoads(const nest_expr &E);
  const RowPointers *rowsOf(const llvm::SCEV *S) const;
  bool isStepOf(const RowPointers &Rows, const llvm::SCEV *S) const;
  const llvm::SCEV *number(value V);
};

} // namespace nputeir

#endif
