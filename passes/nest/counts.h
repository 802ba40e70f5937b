// counts.h -- how often the loops of a nest run, and what the variables are
// that they step along.
//
// The lowest of four layers that turn ScalarEvolution's numbers into addresses:
// Counts, LoopTable (the loops, and which are parts of one), Addresses, and
// Joins, which finds out which are.  Each is built on the one before.
#ifndef NPUTEIR_COUNTS_H
#define NPUTEIR_COUNTS_H

#include "body.h"
#include "read_ir.h"
#include "triangle_loops.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

namespace nputeir {

class Counts {
  llvm::DenseMap<const llvm::Loop *, const llvm::SCEV *> Known;
  llvm::SmallPtrSet<const llvm::Value *, 8> Open; // known() looks at them
  int Looks = 0;

protected:
  const Body &Code;
  llvm::Loop &Outer;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  // What counts rely on: numbers that must not wrap until their loop is left.
  struct End {
    const llvm::SCEV *Of;
    const llvm::Loop *Within;
    bool Signed;
  };
  llvm::SmallVector<End, 4> Ends;
  // And what values do: conditions that do not change.
  llvm::SmallVector<std::pair<llvm::Value *, bool>, 2> Assumed;

public:
  std::vector<AtLeast> Counted;
  TriangleLoops Triangle;
  std::vector<std::pair<const llvm::SCEV *, const llvm::SCEV *>> Equal;

  Counts(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
         const Body &Code)
      : Code(Code), Outer(Outer), LI(LI), SE(SE) {}
  virtual ~Counts() = default;
  // Known and unchanging before the nest, and harmless to compute there.
  bool usable(const llvm::SCEV *S);
  // Those of these loops, all of the nest's, that do not run equally often are
  // the columns of a triangle; else nothing is found.
  bool findTriangle(llvm::ArrayRef<llvm::Loop *> Loops);
  // How often L runs, in 64 bits; null and a verdict: not known.
  const llvm::SCEV *extentOf(llvm::Loop &L, arena *A, verdict &V);
  // The verdict on a loop of which that changes.
  static void declineVariant(const llvm::Loop &L, arena *A, verdict &V);

protected:
  // Values are being looked through, which count as unknown meanwhile.
  bool isLooking() const { return !Open.empty(); }
  // S as it is in Scope, or behind all loops that are not around Scope, with
  // what ScalarEvolution does not know replaced.
  const llvm::SCEV *resolve(const llvm::SCEV *S, const llvm::Loop *Scope);
  const llvm::SCEVAddRecExpr *counter(llvm::Loop &L, const llvm::SCEV *&End,
                                      llvm::CmpInst::Predicate &Is);
  const llvm::SCEV *number(const llvm::SCEV *S, bool Signed);
  // An address that is loaded in the nest, as a recurrence; null: it is none.
  // The one question to a layer above: where the array of addresses lies is an
  // address of its own, which is resolved here.  It ends, because each asks
  // about the pointer of the load, and known() about no value within itself.
  virtual const llvm::SCEV *rowAddress(const llvm::LoadInst &L) = 0;

private:
  const llvm::SCEV *last(const llvm::SCEVAddRecExpr &Rec,
                         const llvm::Loop *Scope);
  const llvm::SCEV *known(llvm::Value &W);
  const llvm::SCEV *chosen(llvm::SelectInst &S);
  const llvm::SCEV *variable(const llvm::PHINode &P);
  const llvm::SCEV *stepped(const llvm::PHINode &P, llvm::Loop &L);
  const llvm::SCEV *computedAhead(const llvm::SCEV *Start,
                                  const llvm::SCEV *Next, const llvm::Loop &L);
  const llvm::SCEV *count(llvm::Loop &L);
  bool startsBelow(const llvm::Loop &L, const llvm::SCEV *End,
                   const llvm::SCEV *Length);
  const llvm::SCEVAddRecExpr *columns(llvm::Loop &L, TriangleLoops &T);
  bool startsAlike(const llvm::Loop &L, const llvm::SCEVAddRecExpr &Columns,
                   bool &Starts);
  bool addColumns(llvm::Loop &L, TriangleLoops &T);
  bool addEnd(const TriangleLoops &T, const TriangleLoops::End &X);
  const llvm::SCEV *countDistance(llvm::Loop &L);
  const llvm::SCEV *countTo(const llvm::SCEVAddRecExpr &Rec,
                            const llvm::SCEV *End, llvm::CmpInst::Predicate Is);
};

} // namespace nputeir

#endif
