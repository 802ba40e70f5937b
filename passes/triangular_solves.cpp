// triangular_solves.cpp -- a nest that subtracts multiples of each row from
// those behind it (trsm), as rectangles and what they leave:
//
//     for i < n:  for j:  b[i][j] /= a[i][i];
//                 for k > i, j:  b[k][j] -= a[k][i] * b[i][j];
//
// becomes, with blocks of H rows,
//
//     for b < n, step H:
//       for b <= i < b + H:  b[i] /= ..;  for i < k < b + H:  ..    the others
//       for b <= i < b + H:  for k >= b + H, j:  ..                 a rectangle
//
// A row is changed by its own iteration in front of all that is subtracted, and
// by those before it: when the others of a block are done, its rows stay as
// they are, and the rectangle reads them as the source does.  What is
// subtracted from an element is so in the order of the source.  Elements do not
// share memory, and what else is read is apart from them, by what is known of
// pointers or by a question at run time.  Rows may be counted down.
//
// Of a system from the right, rows' elements lie between each other's: its
// rectangle reads columns beside those that it writes.
#include "triangular_solves.h"
#include "sum_loops.h"
#include "uneven.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { SolveBlocksMax = 64 };

class TriangularSolve : UnevenNest {
  Loop *K = nullptr; // over rows behind the present one
  SmallVector<Instruction *, 16> Accesses;
  StoreInst *Subtracted = nullptr;
  SmallVector<StoreInst *, 4> Before; // to the present row, in front of K
  struct {
    const SCEV *Place, *Row, *Column; // of the first element, and strides
    uint64_t Bytes;
  } Own = {};
  SmallVector<const SCEV *, 4> Widths; // of the loops over columns

public:
  TriangularSolve(Loop &L, LoopFacts &Facts) : UnevenNest(L, Facts) {}

  bool isOne() {
    return canBeCopied(L) && L.getNumBlocks() <= SolveBlocksMax &&
           countsOnly(L) && !isUsedAfter(L) &&
           findColumns(
               [&](Loop &X) {
                 bool IsFirst = !K;
                 K = &X;
                 return IsFirst && countsOnly(X) && !isUsedAfter(X);
               },
               true) &&
           !Grows && isRunInAllRows() && findAccesses(L, Accesses) &&
           findSubtracted() && findOwn() && isBehind(*Subtracted) &&
           findBefore() &&
           all_of(Accesses, [&](Instruction *I) { return mayBeMoved(*I); });
  }

private:
  bool isRunInAllRows() {
    return K->getParentLoop() == OfRows &&
           DT.dominates(K->getHeader(), OfRows->getLoopLatch()) &&
           (OfRows == &L || (OfRows->getParentLoop() == &L &&
                             countsOnly(*OfRows) && !isUsedAfter(*OfRows)));
  }

  // The one store in K.
  bool findSubtracted() {
    for (Instruction *I : Accesses)
      if (auto *S = dyn_cast<StoreInst>(I); S && K->contains(S)) {
        if (Subtracted)
          return false;
        Subtracted = S;
      }
    return Subtracted;
  }

  // An element of the present row is read, which says how elements lie.
  bool findOwn() {
    for (Instruction *I : Accesses) {
      LoopSteps Step;
      if (!isa<LoadInst>(I) || !sharesBase(*Subtracted, *I, SE) ||
          !OfRows->contains(I) || !stepsOf(*I, Own.Place, Step) ||
          Step.size() != 2 || !Step.count(OfRows) || Step.count(K))
        continue;
      for (auto [X, S] : Step)
        (X == OfRows ? Own.Row : Own.Column) = S;
      Own.Bytes = bytesOf(*I);
      return true;
    }
    return false;
  }

  bool addWidth(const Loop &X) {
    const SCEV *Width = iterations(X);
    if (!Width || !SE.isLoopInvariant(Width, &L))
      return false;
    if (!is_contained(Widths, Width))
      Widths.push_back(Width);
    return true;
  }

  // Apart from rows, one loop moves I, over columns.
  bool isAlongColumns(const Instruction &I, const LoopSteps &Step,
                      unsigned OverRows) {
    return bytesOf(I) == Own.Bytes && Step.size() == OverRows + 1 &&
           all_of(Step, [&](const auto &X) {
             return X.first == OfRows || X.first == K ||
                    (X.second == Own.Column && addWidth(*X.first));
           });
  }

  bool isOwn(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    return stepsOf(I, Place, Step) && Place == Own.Place &&
           Step.lookup(OfRows) == Own.Row && !Step.count(K) &&
           isAlongColumns(I, Step, 1);
  }

  // Term k is of row k behind the present one, or terms begin with the last row
  // of the matrix.
  bool isBehind(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    if (!stepsOf(I, Place, Step))
      return false;
    if (!FromStart)
      return Step.lookup(OfRows) == Own.Row && Step.lookup(K) == Own.Row &&
             isAlongColumns(I, Step, 2) &&
             isEqual(Place, SE.getAddExpr(Own.Place, Own.Row));
    const SCEV *Last = SE.getMulExpr(Count->getStart(), Own.Row);
    return !Step.count(OfRows) &&
           Step.lookup(K) == SE.getNegativeSCEV(Own.Row) &&
           isAlongColumns(I, Step, 1) &&
           isEqual(Place, SE.getAddExpr(Own.Place, Last));
  }

  // K is run in each row: what does not stand behind it stands in front.
  bool findBefore() {
    const Instruction *End = K->getHeader()->getTerminator();
    for (Instruction *I : Accesses) {
      auto *S = dyn_cast<StoreInst>(I);
      if (!S || S == Subtracted)
        continue;
      if (!OfRows->contains(S) || !isOwn(*S) || comesBefore(*End, *S, LI, DT))
        return false;
      Before.push_back(S);
    }
    return true;
  }

  // What I reads goes to the present row, and nowhere else.
  bool isOnlyForOwn(const Instruction &I) {
    return all_of(I.users(), [&](const User *U) {
      if (const auto *S = dyn_cast<StoreInst>(U))
        return S != Subtracted && S->getValueOperand() == &I;
      const auto *X = cast<Instruction>(U);
      return !isa<PHINode, LoadInst>(X) && !X->isTerminator() &&
             !K->contains(X) && isOnlyForOwn(*X);
    });
  }

  // The present row is read as it stays.
  bool readsLast(const Instruction &I) {
    if (K->contains(&I))
      return true;
    return LI.getLoopFor(I.getParent()) == OfRows &&
           DT.dominates(I.getParent(), OfRows->getLoopLatch()) &&
           none_of(Before, [&](const StoreInst *S) {
             return comesBefore(I, *S, LI, DT);
           });
  }

  bool mayBeMoved(Instruction &I) {
    if (isa<StoreInst>(I))
      return true;
    if (isOwn(I))
      return OfRows->contains(&I) && (readsLast(I) || isOnlyForOwn(I));
    if (K->contains(&I) && Places.placeOf(I) == Places.placeOf(*Subtracted) &&
        bytesOf(I) == Own.Bytes)
      return true;
    return Places.areApart(*Subtracted, I) &&
           all_of(Before, [&](StoreInst *S) { return Places.areApart(*S, I); });
  }

  // ---- the parts ----

  // That all holds, in front of L.
  Value *mayBeSplit(Checks &C) {
    Value *Good = countRows(C);
    Value *Most = C.B.CreateAdd(N.First, C.B.getInt64(1));
    Good = C.B.CreateAnd(Good, C.B.CreateICmpEQ(N.Rows, Most));
    for (const SCEV *Width : Widths)
      Good = C.B.CreateAnd(
          Good, C.areElementsApart({Own.Row, Own.Column, Most,
                                    C.frozen(Width, I64), Own.Bytes}));
    for (auto Both : Equal)
      Good = C.B.CreateAnd(Good, C.holds(Both));
    return C.B.CreateAnd(Good, Places.hold(C));
  }

public:
  void split() {
    startSplit(*K);
    Checks C(SE, L.getLoopPreheader()->getTerminator());
    Blocks X;
    makeBlocks(mayBeSplit(C), /*RectangleFirst=*/false, X);
    enterBlocks(X.Enter, X);
    formPart(*K, X.Rectangle, X.OfRectangle, X.Begin, true);
    formPart(*K, X.Others, X.OfOthers, X.Begin, false);
    dropStores(Before, X.OfRectangle);
  }
};

} // namespace

bool isTriangularSolve(Loop &L, LoopFacts &Facts) {
  return TriangularSolve(L, Facts).isOne();
}

bool splitTriangularSolve(Loop &L, LoopFacts &Facts) {
  TriangularSolve T(L, Facts);
  bool Is = T.isOne();
  if (Is)
    T.split();
  return Is;
}

} // namespace nputeir
