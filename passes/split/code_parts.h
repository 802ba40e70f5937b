// code_parts.h -- parts of a function's code that are entered at one place and
// left to another, around a loop or a call that they exist for.
#ifndef NPUTEIR_CODE_PARTS_H
#define NPUTEIR_CODE_PARTS_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"

namespace nputeir {

// Blocks that are entered from the end of Entry alone and left to After alone.
struct Part {
  llvm::BasicBlock *Entry, *After;
  llvm::SmallPtrSet<llvm::BasicBlock *, 32> Blocks;
  // Of them and Entry, conditions under which the core in them runs.
  std::vector<std::pair<llvm::Value *, bool>> Runs;
};

struct FunctionFacts {
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;
  llvm::PostDominatorTree &PDT;
  llvm::AAResults &AA;
};

// A loop, or a block with a call.
struct Core {
  const llvm::Loop *L = nullptr; // null: a block
  llvm::BasicBlock *First;
  explicit Core(const llvm::Loop &L) : L(&L), First(L.getHeader()) {}
  explicit Core(llvm::BasicBlock &B) : First(&B) {}
  bool contains(const llvm::BasicBlock *B) const {
    return L ? L->contains(B) : B == First;
  }
  const llvm::Loop *around(const llvm::LoopInfo &LI) const {
    return L ? L->getParentLoop() : LI.getLoopFor(First);
  }
};

// Finds the parts that do nothing but what their core does.
class PartFinder {
  const Core Of;
  const FunctionFacts &Facts;
  bool IsProduct; // beside which calls of ours may stand

public:
  enum { BlocksMax = 400 }; // of a part

  PartFinder(const Core &Of, const FunctionFacts &Facts, bool IsProduct)
      : Of(Of), Facts(Facts), IsProduct(IsProduct) {}
  // The core alone.
  bool coreItself(Part &P) const;
  // From the end of Entry to where all ways meet again; false: other code is in
  // between, or the core is not.
  bool partBehind(llvm::BasicBlock &Entry, Part &P) const;

private:
  bool isAlone(const Part &P) const;
  // In a loop that does what the core does where that does not run.
  bool isOther(const llvm::BasicBlock *B) const;
  bool isEnd(const llvm::BasicBlock *B) const;
  bool findRuns(Part &P) const;
};

// Values of the part that are used behind it.
void findUsedAfter(const Part &P,
                   llvm::SmallVectorImpl<llvm::Instruction *> &Found);
// What comes from the part is the same by whatever way it is left.
bool leavesAlike(const Part &P);

// Of which nothing can be told at all.
bool isNote(const llvm::Instruction &I);

// V is known at the end of B, or can be computed there.
bool canBeAt(const llvm::Value *V, const llvm::BasicBlock &B,
             const llvm::DominatorTree &DT);
// V is the same in all iterations of L in which it is computed.
bool staysIn(const llvm::Value &V, const llvm::Loop &L);
// Operands first; each number is moved once.
void computeAt(llvm::Value *V, llvm::BasicBlock &B,
               const llvm::DominatorTree &DT);

} // namespace nputeir

#endif
