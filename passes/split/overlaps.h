// overlaps.h -- whether accesses of a nest that is split meet in memory.
#ifndef NPUTEIR_OVERLAPS_H
#define NPUTEIR_OVERLAPS_H

#include "checks.h"
#include "ir_loops.h"
#include "ir_marks.h"
#include "row_places.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"

namespace nputeir {

// Branches to nests that were split, or else to the nests as they were.
using SplitBranches = llvm::SmallVector<llvm::WeakVH, 4>;

// Whether accesses of a nest touch the same memory in any of its iterations,
// which may be left to be asked in front of it.
class Overlaps {
  llvm::Loop &Outer;
  llvm::ScalarEvolution &SE;
  llvm::AAResults &AA;
  enum {
    AskedMax = 16,
    BoundedMax = 32,
    PeriodicMax = 8,
    OwnMax = 16,
    NeighboursMax = 8
  };
  std::vector<NoWrap> Bounded;
  std::vector<Beside> Periodic;
  std::vector<OwnPlaces> Own;
  struct AskedPair {
    llvm::Instruction *Written, *Read; // which reach what was asked says
    size_t At;                         // in Asked
  };
  std::vector<AskedPair> Pairs;
  struct Reached {
    Apart::Reach X;
    llvm::SmallVector<const llvm::Loop *, 4> Loops;
  };
  llvm::DenseMap<const llvm::Instruction *, Reached> OfAll;
  RowPlaces Rows;

public:
  std::vector<Apart> Asked;
  // Iterations of loops that do not run equally often, where they are known.
  llvm::DenseMap<const llvm::Loop *, const llvm::SCEV *> Most;
  // Of these, the loops around in each iteration of which they run once less.
  llvm::DenseMap<const llvm::Loop *, const llvm::Loop *> Falling;

  Overlaps(llvm::Loop &Outer, llvm::ScalarEvolution &SE, llvm::AAResults &AA)
      : Outer(Outer), SE(SE), AA(AA), Rows(Outer, SE, AA, nullptr, nullptr) {}
  // What is found through an array of addresses has places, too.  Who asks for
  // them asks for the rows before.
  Overlaps(llvm::Loop &Outer, llvm::ScalarEvolution &SE, llvm::AAResults &AA,
           const llvm::LoopInfo &LI, const llvm::DominatorTree &DT)
      : Outer(Outer), SE(SE), AA(AA), Rows(Outer, SE, AA, &LI, &DT) {}
  // W, a store, and X, a load or store, never do, or it is asked.  Written:
  // what W touches; null: what its loops say.
  bool areApart(llvm::Instruction &W, const llvm::Instruction &X,
                const Apart::Reach *Written = nullptr);
  // They are different members of the elements of one array, such as the parts
  // of complex numbers: in no two iterations do they meet.
  bool areMembers(const llvm::Instruction &W, const llvm::Instruction &X);
  // They are rows of one array, which loops over columns go around: that they
  // are apart is asked.
  bool areRows(llvm::Instruction &W, const llvm::Instruction &X);
  // They are columns of one array, which is asked.
  bool areColumns(const llvm::Instruction &W, const llvm::Instruction &X);
  // The same in different iterations of a loop from Outer to Common, which is
  // around both: what they share belongs to one iteration of all these.
  bool meetInOneIteration(const llvm::Instruction &W,
                          const llvm::Instruction &X, const llvm::Loop &Common);
  // S, in which indices of fewer bits than 64 are taken for such, if they do
  // not wrap, which is asked.  Of: where S is computed; null: in the body of a
  // loop.
  const llvm::SCEV *wide(const llvm::SCEV *S,
                         const llvm::Instruction *Of = nullptr);
  // How often L runs what is in the block of Of, or in its body, at least as
  // often as it does each time; null: that is not known in front of Outer.
  const llvm::SCEV *mostIterations(const llvm::Loop &L,
                                   const llvm::Instruction *Of = nullptr);
  // The address of I, a load or store.
  const llvm::SCEV *placeOf(const llvm::Instruction &I);
  // Whether something must be asked; and whether all of it holds.
  bool asks() const {
    return !Asked.empty() || !Bounded.empty() || !Periodic.empty() ||
           !Own.empty() || !Rows.empty();
  }
  // In front of Outer.
  void askRows(llvm::LoopInfo &LI, llvm::DominatorTree &DT) {
    Rows.ask(LI, DT, Bounded, Asked, !Periodic.empty() || !Own.empty());
  }
  // The address of I, or what is added to that of its row, which is found along
  // a loop; null: in none.
  const llvm::SCEV *placeInRow(const llvm::Instruction &I,
                               const llvm::Loop *&Along);
  llvm::Value *hold(Checks &C) const;
  // It can be asked at the end of B.
  bool canBeAskedAt(const llvm::BasicBlock &B) const;
  // The branch that leads on one side to a part of a nest that was split, of
  // which Outer is one, if all can be asked there; null: there is none.
  llvm::BranchInst *branchToAskAt(const SplitBranches &Branches,
                                  const llvm::DominatorTree &DT) const;
  // Outer runs only where all holds: of its accesses, nobody asks again.
  void markHeld() const;
  // What was asked about places is forgotten; of it, which pairs are apart.
  void forget();
  void forgetAsked();
  // The bytes that I, a load or store, touches in all iterations.  Loops: of
  // each term.
  bool reach(const llvm::Instruction &I, Apart::Reach &X,
             llvm::SmallVectorImpl<const llvm::Loop *> *Loops = nullptr);
  // The same of all that is written out beside I, each of which has what all
  // have: terms beyond those of Loops are steps from one to the next.
  bool reachOfAll(const llvm::Instruction &I, Apart::Reach &X,
                  llvm::SmallVectorImpl<const llvm::Loop *> *Loops = nullptr);

private:
  bool ask(const Apart &A, llvm::Instruction &W, const llvm::Instruction &X,
           bool MayMark);
  bool lieApart(const Apart &X);
  bool mayHaveRoom(const Apart &Both, const llvm::SCEV *Step,
                   const llvm::SCEV *Way);
  const llvm::SCEV *startOf(const llvm::Instruction &I, uint32_t &Zeros);
  const llvm::SCEVAddRecExpr *rowAddress(const llvm::Instruction &I,
                                         const llvm::LoadInst *&Row);
  bool reachRow(const llvm::Instruction &I, const llvm::SCEV *Within,
                Apart::Reach &X);
};

// What markHeld() has noted is true while no other code is around F's.
void forgetHeld(llvm::Function &F);

// A number that may have been extended, or is never below zero: without that.
const llvm::SCEV *bare(const llvm::SCEV *S);
bool isSame(const Apart::Reach &X, const Apart::Reach &Y);

} // namespace nputeir

#endif
