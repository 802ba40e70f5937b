// read_ir.h -- a nest, and the values of the IR that its description names.
#ifndef NPUTEIR_READ_IR_H
#define NPUTEIR_READ_IR_H

extern "C" {
#include "recognizer.h"
}

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"

#include <utility>
#include <vector>

namespace nputeir {

// Start + step * iteration of every loop that moves it, all of them in 64 bits.
struct Sum {
  const llvm::SCEV *Start;
  struct Term {
    const llvm::SCEV *Step, *Extent;
  };
  llvm::SmallVector<Term, 4> Terms;
};
// A sum must stay a number of `Bits` bits, at most 61, in all iterations.
struct NoWrap {
  unsigned Bits;
  bool Signed;
  Sum Of;
};
// A sum that does not overflow must compare with zero in all iterations.
struct Comparison {
  llvm::CmpInst::Predicate Is; // signed, or equal, or not
  Sum Of;
};

// Large >= Small, as signed numbers of 64 bits.
struct AtLeast {
  const llvm::SCEV *Large, *Small;
};

// An array of row addresses that the nest loads one by one along a loop, or
// along two of which one goes through what the other one's steps are, as in
// float **.  The nest is described as if row i lay at Base + i * Step; both are
// placeholders in front of the nest until row_pointers.cpp computes them.
//
// Arrays whose addresses are rows themselves, as in float ***, are described
// together: Around has the rows that they are, and row i of array h lies at
// Base + h * StepAround + i * Step.
struct RowPointers {
  enum { AroundMax = 2 };
  const llvm::LoadInst *Load;
  const llvm::SCEV *Start, *Stride, *Extent; // of the array
  llvm::Instruction *Base, *Step;
  int Around = -1; // number of the rows; Start is from their address
  llvm::SmallVector<llvm::Instruction *, AroundMax> StepAround; // inner first
  llvm::SmallVector<AtLeast, 2> Counted; // for the nest to read all of them
  // Nothing is asked but what all of them reach together, from Base on: as many
  // steps, and the rest of the way to the last one.
  bool MayBeUneven = false;
  llvm::Instruction *Rest = nullptr; // known when Step is; null: nothing

  bool areIn(const llvm::SCEV *S) const; // it depends on them
};

// An access that the source makes where Condition is Side.
struct ZeroSkip {
  struct Element { // that the condition reads
    const llvm::LoadInst *Load;
    const llvm::SCEV *Start;
    std::vector<const llvm::SCEV *> Stride; // by loop; null: none
  };
  using Range = std::pair<int, const llvm::SCEV *>; // a loop and its extent
  const llvm::Instruction *Condition;
  bool Side;
  std::vector<Element> Loads;
  std::vector<Range> Common, Others; // of the loops that move Loads, those that
                                     // move the access, and others
  bool All; // iterations of Common must have the access; else first and last
};

// What two accesses reach, in bytes, must not overlap; what starts and steps
// give does not wrap.
struct Apart {
  struct Reach {
    Sum Of;
    uint64_t Bytes; // of an element
  };
  Reach Written, Read;
};

// A nest, and the LLVM values behind its numbers.
struct IRNest {
  nest *N = nullptr;
  std::vector<const llvm::SCEV *> Symbol; // 64-bit integers
  std::vector<const llvm::SCEV *> Tensor; // addresses at iteration zero
  std::vector<llvm::Value *> Outside;     // numbers from before the nest
  // Conditions under which the nest is what the description says.
  std::vector<std::pair<llvm::Value *, bool>> Assumed;
  std::vector<NoWrap> Bounded;
  std::vector<Comparison> Compared;
  std::vector<AtLeast> Counted; // of which numbers of iterations hold
  std::vector<std::pair<const llvm::SCEV *, const llvm::SCEV *>> Equal;
  std::vector<Apart> Disjoint;
  std::vector<RowPointers> Rows;
  std::vector<ZeroSkip> Skips;
  std::vector<llvm::Value *> NonZero;    // floats that must not be zero
  std::vector<contraction_guard> Guards; // beside those of the contraction

  // What may be asked: nothing of rows before it is known where they lie.
  bool areOfRows(const Apart &X) const;
  template <class Visitor> void eachCondition(Visitor Visit) const {
    llvm::for_each(Assumed, Visit);
    llvm::for_each(Bounded, Visit);
    llvm::for_each(Compared, Visit);
    llvm::for_each(Counted, Visit);
    llvm::for_each(Equal, Visit);
    for (const Apart &X : Disjoint)
      if (!areOfRows(X))
        Visit(X);
  }
};
class Sides;
// A loop within a nest whose sums may be formed first: they go to an array,
// which the nest's other code reads.
struct SumLoop {
  llvm::Loop *L = nullptr;
  llvm::SmallVector<llvm::Instruction *, 4> Sums; // behind it, of one type
  llvm::Instruction *Array = nullptr; // stands for the array's address
  // The loops around L and how far each moves in the array, from the outermost.
  llvm::SmallVector<llvm::Loop *, 4> Around;
  llvm::SmallVector<const llvm::SCEV *, 4> Extent, Stride;
  // Loads of sizes and addresses that are made in front: what else is written
  // leaves them as they are.
  llvm::SmallVector<const llvm::LoadInst *, 8> Unchanged;
  // Of the sums, those that cannot be described, alone either.
  llvm::SmallVector<const llvm::Instruction *, 4> Unreadable;
};
// False and a verdict when the loop cannot be described as a nest.  With a part
// that comes first, it is described what that does.
bool readNest(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
              llvm::DominatorTree &DT, llvm::AAResults &AA, arena *A,
              IRNest &Result, verdict &V, Sides &Ways,
              SumLoop *First = nullptr);
// The same of a nest of which some loops are rows and columns of a triangle.
bool readTriangle(llvm::Loop &Outer, llvm::LoopInfo &LI,
                  llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                  llvm::AAResults &AA, arena *A, IRNest &Result, verdict &V,
                  Sides &Ways);

} // namespace nputeir

#endif
