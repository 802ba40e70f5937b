// ir_marks.h -- what we write on code to know it again, and where it stands in
// the source.
#ifndef NPUTEIR_IR_MARKS_H
#define NPUTEIR_IR_MARKS_H

extern "C" {
#include "base.h"
}

extern "C" {
#include "recognizer.h"
}

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

namespace nputeir {

// The loop is what an earlier run of this pass left as the other side of its
// branch, or switched off.
bool isKept(const llvm::Loop &L);
void markKept(llvm::Loop &Outer);
bool isKept(const llvm::Instruction &I); // the same for code without a loop
void markKept(llvm::Instruction &I);
// Loops of a product of matrices, which run for small work alone, are not
// unrolled for numbers of iterations that only the program knows.
void markRolled(llvm::Loop &Outer);
// A value that is computed in front of its loop if that has work, or zero.
void markHoisted(llvm::PHINode &P);
// What V is where the loops that it was moved in front of have work.
const llvm::Value *hoistedValue(const llvm::Value *V);
// The same if it is a load; null: it is none.
const llvm::LoadInst *hoistedLoad(const llvm::Value *V);
// All that the branch decides on is whether something was moved in front of
// loops that have work: otherwise nobody uses it.
bool guardsHoisted(const llvm::BranchInst &Branch);
loc locOf(const llvm::DebugLoc &DL, arena *A);

// Numbers of the loops of a function, which copies of them keep.
void numberLoops(llvm::LoopInfo &LI);
int numberOf(const llvm::Loop &L); // -1: it has none
// The loop whose first block End ends gets L's number.
void numberAs(const llvm::Loop &L, llvm::Instruction &End);
// Of loops with one number, those that are not told of.
void markUntold(llvm::Instruction &End);
bool isUntold(const llvm::Loop &L);
// A loop of ours that does a nest again and again is no part of it.  The end of
// its first block, or a branch to such loops or what is done instead.
void markRepeating(llvm::Instruction &End);
bool isRepeating(const llvm::Instruction &End);
bool isRepeating(const llvm::Loop &L);

} // namespace nputeir

#endif
