// triangle_sums.cpp -- a nest whose sums are as long as the row says, as
// rectangles and what they leave:
//
//     for i < n, j < d:  for k <= i:  c[i][j] += a[i][k] * b[k][j];
//
// becomes, with blocks of H rows,
//
//     for b < n, step H:
//       for b <= i < b + H, j < d:  for k < terms(b):  ..         a rectangle
//       for b <= i < b + H, j < d:  for terms(b) <= k <= i:  ..   the others
//
// where terms(b) is what the shortest row of a block has.  The rectangle is a
// nest like any other, the others keep their code.  Where sums end alike
// instead (k from i on) the others come first: the terms of an element are
// added in the order of the source, whatever adds them.  A sum in a register
// goes from the first part to the second by way of its element, which must have
// its type.  What stands in front of the sums is done by the first part, what
// stands behind them by the second; of either, the other part drops the stores.
//
// Of one element, all is done in the order of the source then, but not of two.
// So the nest writes nothing but elements (i, j) with two strides, one of which
// is at least the whole way of the other; each iteration of loops around the
// sum has its own ones; and what else it reads is apart from them, by what is
// known of pointers or by a question at run time.  The exception is a product
// in place (trmm) that reads rows of the matrix itself which all lie behind the
// present one: the others read them in the order of the source, and the
// rectangle of a block reads what lies behind the block, which is as it was.
// Where that order does not do, all that is read of the matrix in front of the
// stores of its element is read in a copy that is made in front of the nest:
// rows that have not been changed yet, and the elements themselves.
//
// Or row i adds to elements (k, j) and not to its own (symm, see
// symmetric.cpp): of a block, what is added to an element is in the rectangle
// or not, so that it is added in the order of the source, too.
#include "triangle_sums.h"
#include "ir_memory.h"
#include "old_content.h"
#include "uneven_sums.h"

#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { SumBlocksMax = 64 };

class TriangleSum : UnevenSum {
  Loop *Across = nullptr; // the loop over columns around K; null: none
  SmallVector<Instruction *, 8> Accesses;
  struct Element {                    // strides and bytes of one
    const SCEV *Place, *Row, *Column; // Place: of the first
    uint64_t Bytes;
    const Loop *Over; // columns
  };
  Element Own = {};
  SmallVector<const SCEV *, 4> Widths; // of the loops over columns
  bool InPlace = false;
  // Reads of the matrix that are made in a copy: of the present row; of row k
  // behind it; or of row k from the last one of the matrix on.
  struct OldRead {
    LoadInst *Load;
    enum { Own, Behind, Reversed } Row;
  };
  bool ReadsOld = false; // is there a copy?
  SmallVector<OldRead, 4> OldReads;
  OldContent Old = {};
  // Row i adds to what K counts, in elements (k, j), and not to its own.
  bool IsScattered = false;

public:
  TriangleSum(Loop &L, LoopFacts &Facts) : UnevenSum(L, Facts) {}

  bool isOne() {
    return canBeCopied(L) && L.getNumBlocks() <= SumBlocksMax &&
           countsOnly(L) && !isUsedAfter(L) &&
           findColumns([&](Loop &X) { return !K && findSum(X); }, true) &&
           findAround() && findAccesses(L, Accesses) && findElements() &&
           isSumStored() && (mayAllBeMoved() || mayReadOld());
  }

private:
  // ---- is it one? ----

  bool findAround() {
    Around = K->getParentLoop();
    if (Around != &L)
      Across = OfRows == &L ? Around : &L;
    return DT.dominates(K->getHeader(), Around->getLoopLatch()) &&
           (OfRows == &L || OfRows == Around) &&
           (Around == &L || (Around->getParentLoop() == &L &&
                             countsOnly(*Around) && !isUsedAfter(*Around)));
  }

  // The element that I accesses, if only rows and columns say which; or, when
  // all sums are scattered, only columns and K.
  bool elementOf(const Instruction &I, Element &E) {
    LoopSteps Step;
    if (!stepsOf(I, E.Place, Step))
      return false;
    const Loop *Rows = IsScattered ? K : OfRows;
    // Term k of a row that begins behind its own is another one's.
    if (IsScattered && !FromStart && Step.lookup(OfRows) == Step.lookup(K))
      Step.erase(OfRows);
    if (Step.size() != 2 || !Step.count(Rows))
      return false;
    E.Row = Step[Rows];
    for (auto [X, S] : Step)
      if (X != Rows) {
        E.Over = X;
        E.Column = S;
      }
    E.Bytes = bytesOf(I);
    return E.Over != (IsScattered ? OfRows : K);
  }

  bool addWidth(const Loop &X) {
    const SCEV *Width = iterations(X);
    if (!Width || !SE.isLoopInvariant(Width, &L))
      return false;
    if (!is_contained(Widths, Width))
      Widths.push_back(Width);
    return true;
  }

  // An iteration of the loop around K has its element.
  bool isOwn(const Instruction &I) {
    Element E;
    return elementOf(I, E) && E.Place == Own.Place && E.Row == Own.Row &&
           E.Column == Own.Column && E.Bytes == Own.Bytes &&
           (!Across || !Across->contains(&I) || E.Over == Across) &&
           addWidth(*E.Over);
  }

  bool isMovedByK(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    return K->contains(&I) && stepsOf(I, Place, Step) && Step.count(K);
  }

  // All stores are to elements, and in a row.
  bool findElements() {
    const Instruction *End = K->getHeader()->getTerminator();
    bool InSum = false;
    IsScattered = !Sum && Grows == FromStart &&
                  all_of(Accesses, [&](const Instruction *I) {
                    return isa<LoadInst>(I) || isMovedByK(*I);
                  });
    for (Instruction *I : Accesses) {
      auto *S = dyn_cast<StoreInst>(I);
      if (!S)
        continue;
      if ((!Own.Place && !elementOf(*S, Own)) || !isOwn(*S) ||
          !OfRows->contains(S))
        return false;
      if (K->contains(S))
        InSum = true;
      else if (comesBefore(*S, *End, LI, DT))
        Before.push_back(S);
      else if (comesBefore(*End, *S, LI, DT))
        After.push_back(S);
      else
        return false;
    }
    return Own.Place && InSum == !Sum;
  }

  // A row that is read in place is behind the present one, as far as the sum
  // has come.
  bool isAhead(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    if (OfRows != &L || !K->contains(&I) || FromStart || Grows ||
        bytesOf(I) != Own.Bytes || !stepsOf(I, Place, Step) ||
        Step.size() != 3 || Step.lookup(&L) != Own.Row ||
        Step.lookup(K) != Own.Row ||
        SE.getMinusSCEV(Place, Own.Place) != Own.Row)
      return false;
    for (auto [X, S] : Step)
      if (X != &L && X != K && (S != Own.Column || !addWidth(*X)))
        return false;
    return InPlace = true;
  }

  // ---- may a copy of the matrix be read? ----

  // Neither the present row nor one in front of it.
  bool isOfOtherRow(const Instruction &I, OldRead &Old) {
    LoopSteps Step;
    const SCEV *Place;
    if (!K->contains(&I) || !stepsOf(I, Place, Step) ||
        Step.size() != (Step.count(OfRows) ? 3u : 2u) ||
        Step.lookup(Across) != Own.Column)
      return false;
    if (Step.count(OfRows)) {
      Old.Row = OldRead::Behind;
      return Step[OfRows] == Own.Row && Step.lookup(K) == Own.Row &&
             isEqual(Place, SE.getAddExpr(Own.Place, Own.Row));
    }
    Old.Row = OldRead::Reversed;
    const SCEV *Last = SE.getMulExpr(Count->getStart(), Own.Row);
    return Step.lookup(K) == SE.getNegativeSCEV(Own.Row) &&
           isEqual(Place, SE.getAddExpr(Own.Place, Last));
  }

  // S, where it runs in an iteration, does so behind I.
  bool runsBefore(const Instruction &I, const StoreInst &S) {
    const Loop *Both = loopAround(I, S, LI);
    return comesBefore(I, S, LI, DT) ||
           (LI.getLoopFor(S.getParent()) == Both &&
            DT.dominates(S.getParent(), Both->getLoopLatch()) &&
            !comesBefore(S, I, LI, DT));
  }

  // What I reads has not been changed yet.
  bool readsOld(Instruction &I) {
    OldRead Old = {dyn_cast<LoadInst>(&I), OldRead::Own};
    if (!Old.Load || !sharesBase(*Stored, I, SE) || bytesOf(I) != Own.Bytes ||
        Old.Load->getType() != Sum->getType() || !Around->contains(&I) ||
        !(isOwn(I)
              ? all_of(After,
                       [&](const StoreInst *S) { return runsBefore(I, *S); })
              : isOfOtherRow(I, Old)))
      return false;
    OldReads.push_back(Old);
    return true;
  }

  bool mayReadOld() {
    if (!Sum || !Before.empty() || Grows)
      return false;
    assert(Across); // an element for each sum
    ReadsOld = true;
    InPlace = false;
    Places.forgetAsked();
    return mayAllBeMoved() && !OldReads.empty();
  }

  // ---- may all be done in another order? ----

  bool mayAllBeMoved() {
    return all_of(Accesses, [&](Instruction *I) { return mayBeMoved(*I); });
  }

  bool mayBeMoved(Instruction &I) {
    if (ReadsOld && readsOld(I))
      return true;
    if (isOwn(I)) {
      if (isa<StoreInst>(I))
        return true;
      const Instruction *End = K->getHeader()->getTerminator();
      if (K->contains(&I))
        return !Sum;
      if (comesBefore(I, *End, LI, DT))
        return isOnlyStored(I, true);
      return comesBefore(*End, I, LI, DT) && isOnlyStored(I, false) &&
             (!Sum || comesBefore(*Stored, I, LI, DT));
    }
    if (!ReadsOld && isAhead(I))
      return true;
    return all_of(Accesses, [&](Instruction *W) {
      return !isa<StoreInst>(W) || Places.areApart(*W, I);
    });
  }

  // ---- the parts ----

  // That all holds, in front of L.
  Value *mayBeSplit(Checks &C, bool AtAll) {
    Value *Good = countRows(C, AtAll);
    Value *Most =
        InPlace || ReadsOld ? C.B.CreateAdd(N.First, C.B.getInt64(1)) : N.Rows;
    if (IsScattered)
      Most = Grows ? C.B.CreateAdd(N.First, N.Rows) : N.First;
    for (const SCEV *Width : Widths)
      Good = C.B.CreateAnd(
          Good, C.areElementsApart({Own.Row, Own.Column, Most,
                                    C.frozen(Width, I64), Own.Bytes}));
    Good = C.B.CreateAnd(Good, Places.hold(C));
    for (auto Both : Equal)
      Good = C.B.CreateAnd(Good, C.holds(Both));
    if (ReadsOld)
      Good = C.B.CreateAnd(Good, findOld(C, Most));
    return Good;
  }

  // The matrix is not too large for a copy, and has a sum for each element.
  Value *findOld(Checks &C, Value *Rows) {
    Instruction *At = L.getLoopPreheader()->getTerminator();
    Expander Code(SE, *At->getModule());
    Old.First = Code.expand(Own.Place, Own.Place->getType(), At);
    Old.RowStride = C.frozen(Own.Row, I64);
    Old.ColumnStride = C.frozen(Own.Column, I64);
    Old.Rows = Rows;
    Old.Columns = C.frozen(iterations(*Across), I64);
    Old.Element = Sum->getType();
    Old.Alignment = Stored->getAlign();
    const auto *InLine = dyn_cast<SCEVConstant>(Own.Row);
    Old.ByColumns = InLine && InLine->getAPInt().abs() == Own.Bytes;
    // A sum reads it in the direction in which it reads the array.
    Old.LastFirst = any_of(
        OldReads, [](const OldRead &X) { return X.Row == OldRead::Reversed; });
    return C.B.CreateAnd(
        C.B.CreateICmpEQ(N.Rows, Rows),
        C.B.CreateICmpULE(Old.Columns, C.B.getInt64(INT32_MAX)));
  }

  // The branch to what L is a part of, if all can be asked there; null: L is
  // kept beside its parts.
  BranchInst *branchToAskAt(const SplitBranches &Branches) {
    BranchInst *Branch = ReadsOld ? nullptr : branchToCountAt(Branches);
    auto Can = [&](const SCEV *S) { return canBeAt(S, *Branch->getParent()); };
    return Branch && Can(Own.Row) && Can(Own.Column) && all_of(Widths, Can)
               ? Branch
               : nullptr;
  }

  // Nothing leads to them.
  void dropLoops(const Blocks &X) {
    SmallVector<BasicBlock *, 32> Unreached(L.blocks());
    Unreached.push_back(X.Kept);
    DeleteDeadBlocks(Unreached);
  }

  // A copy of L that does some terms of a block of rows.
  void formTerms(BasicBlock *Front, ValueToValueMapTy &Map, Value *Begin,
                 bool IsRectangle) {
    Part P = formPart(*K, Front, Map, Begin, IsRectangle);
    if (ReadsOld)
      readOld(Map, Begin, P);
  }

  // A part reads the copy.
  void readOld(ValueToValueMapTy &Map, Value *Begin, const Part &P) {
    auto Header = [&](const Loop &X) {
      return cast<BasicBlock>(Map[X.getHeader()]);
    };
    auto *Term = cast<PHINode>(&Header(*K)->front());
    PHINode *Column = addCounter(Header(*Across), frontOf(*Across, &Map));
    for (const OldRead &X : OldReads) {
      auto *Load = cast<LoadInst>(Map[X.Load]);
      IRBuilder<> B(Load);
      Value *Number = nullptr;
      if (X.Row != OldRead::Reversed)
        Number = B.CreateAdd(Begin, P.Row);
      if (X.Row != OldRead::Own) {
        Value *Next = B.CreateAdd(P.First, Term);
        Number = Number ? B.CreateAdd(B.CreateAdd(Number, Next), B.getInt64(1))
                        : B.CreateSub(N.First, Next);
      }
      Load->setOperand(LoadInst::getPointerOperandIndex(),
                       Old.at(B, Number, Column));
      Load->setAlignment(Old.alignment(B));
      Load->dropUnknownNonDebugMetadata();
    }
  }

  // If there is a copy it is made, or there is no memory for it and the nest is
  // kept.  The block that goes on.
  BasicBlock *copyOld(const Blocks &X) {
    if (!ReadsOld)
      return X.Enter;
    IRBuilder<> B(X.Enter);
    B.SetCurrentDebugLocation(DL);
    BasicBlock *Fill = BasicBlock::Create(B.getContext(), "nputeir.fill",
                                          X.Head->getParent(), X.Kept);
    Old.acquire(B);
    B.CreateCondBr(B.CreateIsNotNull(Old.At), Fill, X.Kept);
    Code Filler(*Fill);
    Filler.SetCurrentDebugLocation(DL);
    Old.fill(Filler);
    B.SetInsertPoint(X.Leave->getTerminator());
    Old.release(B);
    return Filler.GetInsertBlock();
  }

public:
  void split(const SplitBranches &Branches) {
    startSplit(*K);
    BranchInst *Branch = branchToAskAt(Branches);
    Checks C(SE, Branch ? Branch : L.getLoopPreheader()->getTerminator());
    Value *Good = mayBeSplit(C, Branch);
    if (Branch)
      Branch->setCondition(C.B.CreateAnd(Branch->getCondition(), Good));
    Value *Address = Sum ? addressInFront() : nullptr;
    Blocks X;
    makeBlocks(Branch ? nullptr : Good, FromStart, X);
    enterBlocks(copyOld(X), X);
    formTerms(X.Rectangle, X.OfRectangle, X.Begin, true);
    formTerms(X.Others, X.OfOthers, X.Begin, false);
    ValueToValueMapTy &First = FromStart ? X.OfRectangle : X.OfOthers;
    ValueToValueMapTy &Second = FromStart ? X.OfOthers : X.OfRectangle;
    if (Sum) {
      leaveSum(Address, First);
      goOnWithSum(Address, Second);
    }
    dropStores(After, First);
    dropStores(Before, Second);
    if (Branch)
      dropLoops(X);
  }
};

} // namespace

bool isTriangleSum(Loop &L, LoopFacts &Facts) {
  return TriangleSum(L, Facts).isOne();
}

bool splitTriangleSum(Loop &L, LoopFacts &Facts,
                      const SplitBranches &Branches) {
  TriangleSum T(L, Facts);
  bool Is = T.isOne();
  if (Is)
    T.split(Branches);
  return Is;
}

} // namespace nputeir
