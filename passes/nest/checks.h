// checks.h -- numbers and conditions that are computed in front of a nest.
#ifndef NPUTEIR_CHECKS_H
#define NPUTEIR_CHECKS_H

#include "read_ir.h"
#include "versions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IRBuilder.h"

namespace nputeir {

// What two accesses reach must lie beside each other in every period, as
// columns of a matrix do.
struct Beside {
  Apart Both;
  const llvm::SCEV *Period; // in bytes
};

// What two accesses reach in one iteration of loops around both, which move
// them alike, must share nothing with what they reach in another one.
struct OwnPlaces {
  Apart InOne;
  llvm::SmallVector<Sum::Term, 4> Around;
};

bool isSame(const Sum &X, const Sum &Y);

enum class CheckFunction;

class Checks {
  const IRNest *Nest;
  llvm::ScalarEvolution &SE;
  llvm::Instruction *At;
  Expander Code;
  llvm::DenseMap<const llvm::SCEV *, llvm::Value *> Frozen;
  llvm::SmallPtrSet<const llvm::SCEV *, 8> Positive; // were asked for

  // A number of 64 bits, and what is known of it.  Sums stop at the ends.
  struct Bound {
    llvm::Value *Is;
    llvm::ConstantRange Known;
  };
  Bound plus(const Bound &X, const Bound &Y);
  // Of all iterations, if each loop has one; Exact: no product overflows.
  struct Range {
    Bound Smallest, Largest;
    llvm::Value *Exact;
  };
  std::vector<std::pair<Sum, Range>> Ranges; // that were asked for
  const Range &range(const Sum &S);
  Range computeRange(const Sum &S);
  Range callRange(const Sum &S);
  llvm::ConstantRange wayOf(const Sum::Term &T);
  llvm::Value *call(CheckFunction Which,
                    llvm::ArrayRef<llvm::Value *> Arguments);
  void add(llvm::ArrayRef<Sum::Term> Terms,
           llvm::SmallVectorImpl<llvm::Value *> &Arguments);
  llvm::ConstantRange known(const llvm::SCEV *S);
  bool isMultiple(value Large, value Small, value Count);
  llvm::Value *stepsOver(value Large, value Small, value Count);

public:
  llvm::IRBuilder<> B; // puts its instructions in front of At

  Checks(const IRNest &Nest, llvm::ScalarEvolution &SE, llvm::Instruction *At);
  // In front of a nest that is split: what is long is computed by functions.
  Checks(llvm::ScalarEvolution &SE, llvm::Instruction *At);
  // The source would not compute an inner size before the loops around it have
  // work: freezing keeps that from becoming undefined.
  llvm::Value *frozen(const llvm::SCEV *S, llvm::Type *T);
  llvm::Value *number(value V); // 64 bits
  llvm::Value *iterations();    // of all loops of the nest together
  // What is asked behind it counts only where this holds.
  llvm::Value *isPositive(value V);
  llvm::Value *holds(const AtLeast &C);
  llvm::Value *holds(const NoWrap &N);
  llvm::Value *holds(const Comparison &C);
  llvm::Value *holds(const contraction_guard &G);
  llvm::Value *holds(std::pair<llvm::Value *, bool> Assumed);
  llvm::Value *holds(std::pair<const llvm::SCEV *, const llvm::SCEV *> Equal);
  llvm::Value *holds(const Apart &X);
  llvm::Value *holds(const Beside &X);
  llvm::Value *holds(const OwnPlaces &X);

  // Elements in rows and columns, at strides in bytes.
  struct Grid {
    const llvm::SCEV *Row, *Column;
    llvm::Value *Rows, *Columns;
    uint64_t Bytes; // of an element
  };
  // No two share a byte: one stride is at least the whole way of the other.
  llvm::Value *areElementsApart(const Grid &G);
};

// Every loop has work, as often as is said, conditions take the side that was
// described, and no check ends the program early: all that the nest reads
// unconditionally may be read in front of it.
llvm::Value *loopsRun(const IRNest &N, llvm::ScalarEvolution &SE,
                      llvm::Instruction *At);

// A branch in front of a nest, to code that runs if all of that holds.
struct FrontBranch {
  llvm::Instruction *End, *Then; // of the preheader, of the code
  llvm::BasicBlock *Before;      // from which the branch leads

  // V, which the code computes; zero where it does not run.
  llvm::PHINode *join(llvm::Value *V) const;
};
// Also: a further condition; null: none.
FrontBranch branchIfLoopsRun(llvm::Loop &Outer, const IRNest &N,
                             llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
                             llvm::DominatorTree &DT,
                             llvm::Value *Also = nullptr);

// Number I of Count, which is not 0, is First + I * Step for all I: known at
// the end of the block that At ends then.  Read: a number, in a block.
llvm::Value *areEvenlySpaced(
    llvm::Instruction *At, llvm::Value *Count, llvm::Value *First,
    llvm::Value *Step,
    llvm::function_ref<llvm::Value *(llvm::BasicBlock *, llvm::Value *I)> Read,
    llvm::LoopInfo &LI, llvm::DominatorTree &DT);

} // namespace nputeir

#endif
