// assume.h -- what a nest reads from memory again and again, taken for numbers
// that do not change.
#ifndef NPUTEIR_ASSUME_H
#define NPUTEIR_ASSUME_H

#include "hoist.h"
#include "row_sizes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace nputeir {

class AssumedLoads {
  enum { AheadMax = 64, StoresMax = 64 };
  // What stands in front of the nest while it is read.
  struct Ahead {
    llvm::Instruction *New; // a copy, or the placeholder of a load
    bool Stale; // a store may change it before the nest needs it first
    bool Late;  // what a stale value decides on: its place, whether it runs
    const llvm::LoadInst *Load; // null: a copy
    llvm::Value *Pointer;       // known in front; null: its place is
    const llvm::SCEV *Place;
    llvm::SmallVector<const llvm::SCEV *, 4> Counts; // none is 0: it runs
    bool MayChange;                                  // at any time
  };

  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;
  llvm::AAResults &AA;
  Hoister Places;
  llvm::SmallVector<llvm::Instruction *, 8> Stores, Calls;
  // What conditions are computed from, and addresses, too.
  llvm::SmallPtrSet<const llvm::Instruction *, 32> Counting, Shaping;
  std::vector<Ahead> Found;
  std::vector<RowSize> Sizes;                       // of rows
  llvm::SmallVector<llvm::Instruction *, 2> Inside; // new ones in the nest
  struct Replacing {
    llvm::Use *At;
    llvm::Instruction *Old, *New;
  };
  llvm::SmallVector<Replacing, 32> Replaced;
  bool IsReplaced = false;
  bool Outdated = false; // what is known of iterations
  bool MayAsk = true;    // whether a store changes something
  bool HasOther = false; // code that the description leaves out
  llvm::SmallVector<const llvm::LoadInst *, 8> Unchanged;

public:
  AssumedLoads(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
               llvm::DominatorTree &DT, llvm::AAResults &AA)
      : Outer(Outer), LI(LI), SE(SE), DT(DT), AA(AA),
        Places(Outer, LI, SE, DT) {}
  AssumedLoads(const AssumedLoads &) = delete;
  ~AssumedLoads();
  // The nest gets such values from in front of it, to be read ..
  void assume();
  // .. where it also writes what the description leaves out: that this does not
  // change these is asked by who reads it, unless such are left alone ..
  llvm::ArrayRef<const llvm::LoadInst *> assumeUnchanged(bool Ask);
  // .. and reads its memory again, until the same is assumed once more.
  void restore();
  void assumeAgain();
  // False and a verdict when it cannot be asked at run time whether they do
  // not change.
  bool canBeChecked(const IRNest &N, arena *A, verdict &V) const;
  // Loads and asks, in front of a nest that is taken.  The answer becomes one
  // more assumption of N, in front of which P stands.
  void compute(IRNest &N, const Plan &P);

private:
  bool findStores();
  void findShaping();
  bool isChanged(const llvm::LoadInst &L) const;
  bool mayChange(const llvm::LoadInst &L) const;
  bool mayBeChangedByCall(const llvm::LoadInst &L) const;
  bool isStale(const llvm::LoadInst &L) const;
  bool mayPrecede(const llvm::Instruction &W, const llvm::LoadInst &L) const;
  bool dependsOn(const llvm::SCEV *S, bool Ahead::*Flag) const;
  bool isLate(const llvm::SCEV *S) const;
  bool isLate(const Sum &S) const;
  bool isLate(const NoWrap &Index) const { return isLate(Index.Of); }
  bool isLate(const Comparison &C) const { return isLate(C.Of); }
  bool isLate(const AtLeast &C) const;
  bool isLate(std::pair<llvm::Value *, bool> Assumed) const;
  bool isLate(std::pair<const llvm::SCEV *, const llvm::SCEV *> Equal) const;
  bool isLate(const Apart &X) const {
    return isLate(X.Written.Of) || isLate(X.Read.Of);
  }
  bool gather();
  bool runs(Ahead &X);
  bool assume(llvm::LoadInst &L);
  bool assumeSize(llvm::Instruction &I);
  void dropInside();
  void endAt(llvm::ICmpInst &Compare, const RowSize &R);
  llvm::Instruction *read(Ahead X);
  void copy(llvm::Instruction &I);
  llvm::Instruction &computeAhead(llvm::Instruction &New);
  void replace(llvm::Instruction &Old, llvm::Instruction &New);
  void replaceLoad(llvm::LoadInst &L, llvm::Instruction &New);
  void forgetIterations();
  uint64_t bytesOf(const Ahead &X) const;
  llvm::Value *isDescribed(const IRNest &N);
  llvm::Value *put(const Ahead &X, llvm::Value *Apart);
};

} // namespace nputeir

#endif
