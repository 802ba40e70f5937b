// ir_exits.h -- how loops are left.
//
// A loop of a nest has one way out, at its head or at its end.  Beside it there
// may be ways that never return: the failed bounds check of a vector, an
// assertion, a panic.  The description holds when none of them is taken.
#ifndef NPUTEIR_IR_EXITS_H
#define NPUTEIR_IR_EXITS_H

#include "llvm/Analysis/LoopInfo.h"

namespace nputeir {

// An edge out of a loop; null: the loop has none, or several.
struct Exit {
  llvm::BasicBlock *From = nullptr, *To = nullptr;
};
// The way out of L that returns.
Exit exitOf(const llvm::Loop &L);
// Null, or why the end of L does not say how often it runs.
const char *leftFromElsewhere(const llvm::Loop &L);
// No way on from B leads to the function's return: it ends the program, throws
// what the function does not catch, or runs for ever.
bool neverReturns(const llvm::BasicBlock *B);
// The exit test stands before the body: the body runs as often as the loop is
// taken back, and the header once more.
bool exitsBeforeBody(const llvm::Loop &L);
// One of several ways out of L depends on what L reads, so that no preparation
// makes them one.
bool isLeftEarly(const llvm::Loop &L);
// Its condition compares a number that L itself keeps in one place in memory.
bool countsInMemory(const llvm::Loop &L);
// The way out of L depends on what it has found in a place that the iteration
// before has named: the end of a list, say.
bool followsList(const llvm::Loop &L);

} // namespace nputeir

#endif
