// written_out.h -- accesses that stand beside each other because a loop over
// them was written out, as those of a block of results: what is asked of each
// is asked of all together.
#ifndef NPUTEIR_WRITTEN_OUT_H
#define NPUTEIR_WRITTEN_OUT_H

#include "read_ir.h"

namespace nputeir {

// X is what I, a load or store, touches in all iterations of some loops.  Adds
// what others of its kind in its block touch, at starts that lie so many bytes
// and so many times one step from X's.  ReachOf: what one of them touches;
// false: that is not known.
void addWrittenOut(
    const llvm::Instruction &I, llvm::ScalarEvolution &SE,
    llvm::function_ref<bool(const llvm::Instruction &, Apart::Reach &)> ReachOf,
    Apart::Reach &X);

// Numbers that start so many units and so many times one step from another, and
// move alike, must not wrap together.
void joinWrittenOut(std::vector<NoWrap> &All, llvm::ScalarEvolution &SE);

} // namespace nputeir

#endif
