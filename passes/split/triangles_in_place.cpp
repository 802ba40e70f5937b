// triangles_in_place.cpp -- a nest that adds to rows of a matrix multiples of
// other rows of it (trsm, trmm), as squares and what they leave:
//
//     for i < n:  for j:  s = b[i][j];
//                 for k < i:  s -= a[i][k] * b[k][j];
//                 b[i][j] = s / a[i][i];
//
// becomes, with blocks of H rows,
//
//     for e < n, step H:
//       s = H * (the largest power of two that divides e / H)
//       for e <= i < e + s:  for j:  for e - s <= k < e:  ..   a rectangle
//       for e <= i < e + H:  for j:  for e <= k < i:  ..       the others
//
// Rectangles double in size, like those of a recursion into halves: whatever
// one row adds to another one is done by one of them, or by the others.  Rows
// are numbered in the order in which the nest comes to them.  There are four
// kinds of nests: a row sums over rows or adds to them, and these come before
// it or behind it.
//
//     sums over rows before it:  of a system, these are done
//     adds to rows before it:    of a product, these have begun with their own
//     sums over rows behind it:  of a product, these are as they were
//     adds to rows behind it:    of a system, the row itself is done
//
// When the nest has come to row e the rectangle of rows in front of it and
// behind it may be done in each of them.  What an element begins with, and
// becomes in the end, is a part of its own where rectangles stand between.
// What is added to an element is so in the order of the source, or terms may be
// added in another one.  Elements do not share memory, and what else is read is
// apart from them, by what is known of pointers or by a question at run time.
//
// A row of zeros may be left out (if (b[k][j] != 0), reference BLAS).  In a
// system its rectangle asks that of what the row became: where this is zero,
// there is nothing to add, and it was left alone where it was zero.
#include "triangles_in_place.h"
#include "ir_memory.h"
#include "uneven_sums.h"

#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace nputeir {
namespace {

enum { BlocksMax = 64, ChainMax = 8 };

class TriangleInPlace : UnevenSum {
  PostDominatorTree &PDT;
  SmallVector<Instruction *, 16> Accesses;
  StoreInst *Update = nullptr; // in K; null: the sum is in a register
  bool Gathers = false;        // a row sums over others
  struct {
    const SCEV *Place, *Row, *Column; // of the first element, and strides
    uint64_t Bytes;
  } Own = {};
  SmallVector<const SCEV *, 4> Widths; // of the loops over columns
  // In front of the loop over rows, which is in one over columns.
  SmallVector<StoreInst *, 8> Ahead;
  SmallVector<const SCEV *, 4> Heights; // of loops there
  const SCEV *AllRows = nullptr;
  SmallVector<Guard, 2> Guards; // whether K is run in a row

public:
  TriangleInPlace(Loop &L, LoopFacts &Facts)
      : UnevenSum(L, Facts), PDT(Facts.PDT) {}

  bool isOne() {
    return canBeCopied(L) && L.getNumBlocks() <= BlocksMax && countsOnly(L) &&
           !isUsedAfter(L) &&
           findColumns([&](Loop &X) { return !K && findSum(X); }, true) &&
           findRows() && findAccesses(L, Accesses) && findUpdate() &&
           findOwn() && findStores() && isSumStored() && mayBeGuarded() &&
           isInOrder() &&
           any_of(Accesses, [&](Instruction *I) { return isOther(*I); }) &&
           all_of(Accesses, [&](Instruction *I) { return mayBeMoved(*I); });
  }

private:
  // ---- is it one? ----

  bool isWithin(const Loop &X) {
    return &X == &L ||
           (X.getParentLoop() == &L && countsOnly(X) && !isUsedAfter(X));
  }

  bool findRows() {
    Around = K->getParentLoop();
    AllRows = SE.getAddExpr(Count->getStart(), Grows ? Rows : SE.getOne(I64));
    return isWithin(*OfRows) &&
           (Around == OfRows || (Around->getParentLoop() == OfRows &&
                                 OfRows == &L && isWithin(*Around))) &&
           DT.dominates(OfRows->getHeader(), L.getLoopLatch()) &&
           findGuards(*K->getLoopPreheader()->getTerminator(), *OfRows, LI, DT,
                      PDT, Guards);
  }

  // The one store in K, or there is none.
  bool findUpdate() {
    for (Instruction *I : Accesses)
      if (auto *S = dyn_cast<StoreInst>(I); S && K->contains(S)) {
        if (Update)
          return false;
        Update = S;
      }
    LoopSteps Step;
    const SCEV *Place;
    Gathers =
        Sum || (Update && stepsOf(*Update, Place, Step) && !Step.count(K));
    return !Sum == !!Update;
  }

  // An element of the present row, which says how elements lie.
  bool findOwn() {
    for (Instruction *I : Accesses) {
      LoopSteps Step;
      bool IsStore = isa<StoreInst>(I);
      if (Gathers ? !IsStore : IsStore || !sharesBase(*Update, *I, SE))
        continue;
      if (!OfRows->contains(I) || !stepsOf(*I, Own.Place, Step) ||
          Step.size() != 2 || !Step.count(OfRows) || Step.count(K))
        continue;
      for (auto [X, S] : Step)
        (X == OfRows ? Own.Row : Own.Column) = S;
      Own.Bytes = bytesOf(*I);
      return true;
    }
    return false;
  }

  bool addWidth(const Loop &X, SmallVectorImpl<const SCEV *> &To) {
    const SCEV *Width = iterations(X);
    if (!Width || !SE.isLoopInvariant(Width, &L))
      return false;
    if (!is_contained(To, Width))
      To.push_back(Width);
    return true;
  }

  // Apart from rows, one loop moves I, over columns: L if that is not over
  // rows.
  bool isAlongColumns(const Instruction &I, const LoopSteps &Step,
                      unsigned OverRows) {
    return bytesOf(I) == Own.Bytes && Step.size() == OverRows + 1 &&
           all_of(Step, [&](const auto &X) {
             return X.first == OfRows || X.first == K ||
                    (X.second == Own.Column &&
                     (OfRows == &L || X.first == &L) &&
                     addWidth(*X.first, Widths));
           });
  }

  bool isOwn(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    return OfRows->contains(&I) && stepsOf(I, Place, Step) &&
           Place == Own.Place && Step.lookup(OfRows) == Own.Row &&
           !Step.count(K) && isAlongColumns(I, Step, 1);
  }

  // Of the row that K counts: those in front of the present one from the first
  // one of the matrix on, or back to it; or those behind it, up to the last one
  // or down from it.
  bool isOther(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    if (!K->contains(&I) || !sharesBase(Update ? *Update : *Stored, I, SE) ||
        !stepsOf(I, Place, Step))
      return false;
    bool MovesOn = Grows == FromStart;
    if (Step.lookup(K) != (MovesOn ? Own.Row : SE.getNegativeSCEV(Own.Row)))
      return false;
    const SCEV *Far = SE.getMulExpr(Count->getStart(), Own.Row);
    if (FromStart)
      return !Step.count(OfRows) && isAlongColumns(I, Step, 1) &&
             isEqual(Place, Grows ? SE.getMinusSCEV(Own.Place, Far)
                                  : SE.getAddExpr(Own.Place, Far));
    return Step.lookup(OfRows) == Own.Row && isAlongColumns(I, Step, 2) &&
           isEqual(Place, Grows ? SE.getMinusSCEV(Own.Place, Own.Row)
                                : SE.getAddExpr(Own.Place, Own.Row));
  }

  // Of the present column, in front of the loop over rows.
  bool isAhead(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place;
    if (OfRows == &L || OfRows->contains(&I) ||
        comesBefore(*OfRows->getHeader()->getTerminator(), I, LI, DT) ||
        bytesOf(I) != Own.Bytes || !stepsOf(I, Place, Step) ||
        Step.size() != 2 || Step.lookup(&L) != Own.Column)
      return false;
    const SCEV *First = Own.Place, *Other = Own.Row;
    if (Grows)
      First = SE.getMinusSCEV(First, SE.getMulExpr(Count->getStart(), Own.Row));
    for (auto [X, S] : Step)
      if (X != &L) {
        Other = S;
        if (!addWidth(*X, Heights))
          return false;
      }
    if (Other == SE.getNegativeSCEV(Own.Row))
      First = SE.getAddExpr(
          First,
          SE.getMulExpr(SE.getMinusSCEV(AllRows, SE.getOne(I64)), Own.Row));
    else if (Other != Own.Row)
      return false;
    return isEqual(Place, First);
  }

  // K is run in each row, or stands for all of what is guarded: what does not
  // stand behind it stands in front.
  bool findStores() {
    const Instruction *End = K->getHeader()->getTerminator();
    for (Instruction *I : Accesses) {
      auto *S = dyn_cast<StoreInst>(I);
      if (!S || S == Update)
        continue;
      if (!OfRows->contains(S)) {
        if (!isAhead(*S))
          return false;
        Ahead.push_back(S);
        continue;
      }
      if (!isOwn(*S) || !isWith(*S))
        return false;
      (comesBefore(*End, *S, LI, DT) ? After : Before).push_back(S);
    }
    return !Update || (Gathers ? isOwn(*Update) : isOther(*Update));
  }

  // Where K is guarded, so is I, or it stands in front of that.
  bool isWith(const Instruction &I) {
    return Guards.empty() || comesBefore(I, *Guards[0].Branch, LI, DT) ||
           DT.dominates(guarded(), I.getParent());
  }

  const BasicBlock *guarded() const {
    return Guards[0].Branch->getSuccessor(Guards[0].Holds ? 0 : 1);
  }

  // ---- zeros that are left out ----

  // By whether an element of the present row is zero.
  bool mayBeGuarded() {
    if (Guards.empty())
      return true;
    if (Gathers || Guards.size() > 1 || !guarded()->getSinglePredecessor())
      return false;
    const Value *Condition = Guards[0].Branch->getCondition();
    const auto *Asked = dyn_cast<CmpInst>(Condition);
    const auto *Load =
        Asked ? dyn_cast<LoadInst>(Asked->getOperand(0)) : nullptr;
    if (!Load || !isOwn(*Load) || !Asked->hasOneUse() ||
        !match(Asked->getOperand(1), m_CombineOr(m_AnyZeroFP(), m_Zero())))
      return false;
    CmpInst::Predicate Runs =
        Guards[0].Holds ? Asked->getPredicate() : Asked->getInversePredicate();
    if (Runs != CmpInst::FCMP_UNE && Runs != CmpInst::FCMP_ONE &&
        Runs != CmpInst::ICMP_NE)
      return false;
    // In front of it, nothing is done to the row.
    return Grows || (After.empty() && addsMultiple() &&
                     all_of(Before, [&](const StoreInst *S) {
                       return DT.dominates(guarded(), S->getParent());
                     }));
  }

  // What is added to an element of another row is a multiple of the present
  // row's.
  bool addsMultiple() {
    auto *Next = dyn_cast<Instruction>(Update->getValueOperand());
    if (!Next)
      return false;
    Value *Product = nullptr;
    auto IsSoFar = [&](const Value *V) {
      const auto *I = dyn_cast<LoadInst>(V);
      return I && Places.placeOf(*I) == Places.placeOf(*Update);
    };
    switch (Next->getOpcode()) {
    case Instruction::FAdd:
    case Instruction::Add:
      if (IsSoFar(Next->getOperand(1)))
        Product = Next->getOperand(0);
      [[fallthrough]];
    case Instruction::FSub:
    case Instruction::Sub:
      if (IsSoFar(Next->getOperand(0)))
        Product = Next->getOperand(1);
      return Product && isMultiple(*Product, ChainMax);
    default:
      return false;
    }
  }

  bool isMultiple(const Value &V, int Left) {
    const auto *I = dyn_cast<Instruction>(&V);
    if (!I || Left == 0)
      return false;
    if (isa<LoadInst>(I))
      return isOwn(*I);
    if (I->getOpcode() == Instruction::FNeg)
      return isMultiple(*I->getOperand(0), Left - 1);
    return (I->getOpcode() == Instruction::FMul ||
            I->getOpcode() == Instruction::Mul) &&
           (isMultiple(*I->getOperand(0), Left - 1) ||
            isMultiple(*I->getOperand(1), Left - 1));
  }

  // ---- the order of what is added ----

  // A row's sum begins with the rows that rectangles have, of a system, and
  // ends with these, of a product.
  bool isInOrder() {
    if (!Gathers || Grows == FromStart)
      return true;
    if (Sum)
      return isSumOf(Sum->getIncomingValueForBlock(K->getLoopLatch()), *Sum,
                     ChainMax);
    const Instruction *SoFar = nullptr;
    for (const Instruction *I : Accesses)
      if (isa<LoadInst>(I) && K->contains(I) && isOwn(*I)) {
        if (SoFar)
          return false;
        SoFar = I;
      }
    return SoFar && isSumOf(Update->getValueOperand(), *SoFar, ChainMax);
  }

  // V is First and numbers that are added to it, which may be done in another
  // order, and K does nothing else with any of these sums.
  bool isSumOf(const Value *V, const Value &First, int Left) {
    if (count_if(V->users(), [&](const User *U) {
          return K->contains(cast<Instruction>(U));
        }) != 1)
      return false;
    if (V == &First)
      return true;
    const auto *I = dyn_cast<Instruction>(V);
    if (!I || Left == 0)
      return false;
    switch (I->getOpcode()) {
    case Instruction::FAdd:
    case Instruction::FSub:
      if (!I->hasAllowReassoc())
        return false;
      [[fallthrough]];
    case Instruction::Add:
    case Instruction::Sub:
      return isSumOf(I->getOperand(0), First, Left - 1) ||
             (I->isCommutative() && isSumOf(I->getOperand(1), First, Left - 1));
    default:
      return false;
    }
  }

  // ---- may all be done in another order? ----

  // X computes something from its operands, without K.
  bool isInIteration(const Instruction &X) {
    return !isa<LoadInst>(X) && !X.isTerminator() && !K->contains(&X) &&
           !(isa<PHINode>(X) && LI.isLoopHeader(X.getParent()));
  }

  // What is computed from I goes to stores in To, and nowhere else.
  bool isOnlyFor(const Instruction &I,
                 function_ref<bool(const StoreInst &)> To) {
    return all_of(I.users(), [&](const User *U) {
      if (const auto *S = dyn_cast<StoreInst>(U))
        return To(*S) && S->getValueOperand() == &I;
      const auto *X = cast<Instruction>(U);
      return isInIteration(*X) && isOnlyFor(*X, To);
    });
  }

  bool isOnlyForOwn(const Instruction &I) {
    return isOnlyFor(I, [&](const StoreInst &S) { return &S != Update; });
  }

  // In front of K: what is computed from I goes to elements, or guards K.
  bool isOnlyForBefore(const Instruction &I) {
    const Instruction *End = K->getHeader()->getTerminator();
    return all_of(I.users(), [&](const User *U) {
      const auto *X = cast<Instruction>(U);
      if (const auto *S = dyn_cast<StoreInst>(X))
        return is_contained(Before, S) && S->getValueOperand() == &I;
      if (!Guards.empty() && X == Guards[0].Branch->getCondition())
        return true;
      return isInIteration(*X) && !comesBefore(*End, *X, LI, DT) &&
             isOnlyForBefore(*X);
    });
  }

  // I stands behind all that changes the present row in front of K.
  bool readsLast(const Instruction &I) {
    return K->contains(&I) || (LI.getLoopFor(I.getParent()) == OfRows &&
                               DT.dominates(I.getParent(), K->getHeader()) &&
                               none_of(Before, [&](const StoreInst *S) {
                                 return comesBefore(I, *S, LI, DT);
                               }));
  }

  bool readsFirst(const Instruction &I) {
    return all_of(
        Before, [&](const StoreInst *S) { return comesBefore(I, *S, LI, DT); });
  }

  bool mayReadOwn(const Instruction &I) {
    const Instruction *End = K->getHeader()->getTerminator();
    bool IsBehind = !K->contains(&I) && comesBefore(*End, I, LI, DT);
    if (Gathers) {
      if (K->contains(&I))
        return !Sum;
      return isOnlyStored(I, !IsBehind) &&
             (!IsBehind || !Sum || comesBefore(*Stored, I, LI, DT));
    }
    if (IsBehind)
      return isOnlyForOwn(I);
    return Grows ? readsFirst(I) || isOnlyForOwn(I)
                 : readsLast(I) || isOnlyForBefore(I);
  }

  bool mayBeMoved(Instruction &I) {
    if (isa<StoreInst>(I))
      return true; // see above
    if (isOwn(I))
      return mayReadOwn(I);
    if (isAhead(I))
      return isOnlyFor(
          I, [&](const StoreInst &S) { return is_contained(Ahead, &S); });
    if (isOther(I))
      return Gathers || Places.placeOf(I) == Places.placeOf(*Update);
    return all_of(Accesses, [&](Instruction *W) {
      return !isa<StoreInst>(W) || Places.areApart(*W, I);
    });
  }

  // ---- the parts ----

  Value *AllOf = nullptr;  // AllRows
  Value *OfNest = nullptr; // Rows

  // There are rows enough, which is asked first: few rows are done before all
  // else has been asked.
  Value *areMany(Checks &C) {
    Value *Many = countRows(C);
    OfNest = N.Rows;
    AllOf = C.B.CreateAdd(N.First, Grows ? N.Rows : C.B.getInt64(1));
    return Many;
  }

  // That all holds, in front of L.
  Value *mayBeSplit(Checks &C) {
    IRBuilder<> &B = C.B;
    Value *Good = B.getTrue();
    if (!Grows) // the last one may be left out
      Good = B.CreateAnd(
          Good, B.CreateICmpUGE(B.CreateAdd(N.Rows, B.getInt64(1)), AllOf));
    for (const SCEV *Width : Widths)
      Good = B.CreateAnd(Good,
                         C.areElementsApart({Own.Row, Own.Column, AllOf,
                                             C.frozen(Width, I64), Own.Bytes}));
    for (const SCEV *Height : Heights)
      Good = B.CreateAnd(Good, B.CreateICmpULE(C.frozen(Height, I64), AllOf));
    for (auto Both : Equal)
      Good = B.CreateAnd(Good, C.holds(Both));
    return B.CreateAnd(Good, Places.hold(C));
  }

  // Rows, in the order of the nest.
  struct Range {
    Value *Begin, *End;
  };
  static Value *least(IRBuilder<> &B, Value *X, Value *Y) {
    return B.CreateSelect(B.CreateICmpULT(X, Y), X, Y);
  }

  // A copy of L does the rows Of, and of K what has to do with Others; null:
  // with those of the same block.
  void formPart(BasicBlock *Front, ValueToValueMapTy &Map, const Range &Of,
                const Range *Others, Value *BlockEnd) {
    IRBuilder<> B(Front->getTerminator());
    B.SetCurrentDebugLocation(DL);
    Value *One = B.getInt64(1), *Zero = B.getInt64(0);
    restrict(*OfRows, &Map, Of.Begin, B.CreateSub(Of.End, Of.Begin),
             frontOf(*OfRows, &Map));
    auto *Counter =
        cast<PHINode>(&cast<BasicBlock>(Map[OfRows->getHeader()])->front());
    BasicBlock *InFront = frontOf(*K, &Map);
    // Rows in front of the nest's first one count as that.
    Value *From = Others ? Others->Begin : Of.Begin;
    Value *IsFirst = B.CreateICmpEQ(From, Zero);
    Value *More = B.CreateSelect(IsFirst, N.First, Zero);
    Value *First = B.CreateSelect(IsFirst, Zero, B.CreateAdd(N.First, From));
    Value *Times = nullptr;
    if (Others) {
      Times = B.CreateSub(Others->End, Others->Begin);
      if (Grows)
        Times = B.CreateAdd(Times, More);
    }
    B.SetInsertPoint(InFront->getTerminator());
    Value *Row = B.CreateAdd(Of.Begin, Counter);
    Value *To = Others ? Others->End : Grows ? Row : BlockEnd;
    if (!Grows && !Others)
      From = B.CreateAdd(Row, One);
    if (!Times) {
      Times = B.CreateSub(To, From);
      if (Grows)
        Times = B.CreateAdd(Times, More);
    }
    Value *Begin;
    if (Grows)
      Begin = FromStart ? First : B.CreateSub(Row, To);
    else
      Begin = FromStart ? B.CreateSub(B.CreateAdd(N.First, One), To)
                        : B.CreateSub(B.CreateSub(From, Row), One);
    restrict(*K, &Map, Begin, Times, InFront);
  }

  // A copy of L without all of what X does.
  void empty(Loop &X, ValueToValueMapTy &Map) {
    IRBuilder<> B(X.getHeader()->getContext());
    Value *Zero = B.getInt64(0);
    restrict(X, &Map, Zero, Zero, frontOf(X, &Map));
  }

  // What an element begins with is a part of its own.
  bool hasBegin() const {
    if (!Gathers || !Grows)
      return !Ahead.empty();
    const auto *Start = Sum ? dyn_cast<LoadInst>(Sum->getIncomingValueForBlock(
                                  K->getLoopPreheader()))
                            : nullptr;
    return !Ahead.empty() || !Before.empty() || (Sum && !Start) ||
           (Sum && !const_cast<TriangleInPlace *>(this)->isOwn(*Start));
  }

  // What it becomes in the end is so.
  bool hasEnd() const {
    if (Grows)
      return false;
    return Sum ? After.size() > 1 || Stored->getValueOperand() != Result
               : !After.empty();
  }

  // In front of the blocks.  The block that goes on.
  BasicBlock *formBegin(Blocks &X, Value *Address) {
    if (!hasBegin())
      return X.Enter;
    BasicBlock *Begun =
        BasicBlock::Create(L.getHeader()->getContext(), "nputeir.begun",
                           X.Head->getParent(), X.Head);
    ValueToValueMapTy Map;
    BasicBlock *Front = copyLoop(L, Begun, Map);
    IRBuilder<> B(X.Enter);
    B.SetCurrentDebugLocation(DL);
    B.CreateBr(Front);
    if (!Gathers || !Grows) {
      empty(*OfRows, Map);
      return Begun;
    }
    empty(*K, Map);
    if (Sum)
      leaveSum(Address, Map);
    dropStores(After, Map);
    return Begun;
  }

  void formEnd(Blocks &X, Value *Address) {
    if (!hasEnd())
      return;
    ValueToValueMapTy Map;
    BasicBlock *Exit = L.getExitBlock();
    BasicBlock *Ended = BasicBlock::Create(Exit->getContext(), "nputeir.ended",
                                           Exit->getParent(), Exit);
    IRBuilder<> B(Ended);
    B.SetCurrentDebugLocation(DL);
    B.CreateBr(Exit);
    Exit->replacePhiUsesWith(X.Leave, Ended);
    BasicBlock *Front = copyLoop(L, Ended, Map);
    X.Leave->getTerminator()->setSuccessor(0, Front);
    empty(*K, Map);
    if (Sum)
      goOnWithSum(Address, Map);
    dropStores(Ahead, Map);
    dropStores(Before, Map);
  }

  void formRectangle(Blocks &X, Value *Address) {
    IRBuilder<> B(X.Rectangle->getTerminator());
    B.SetCurrentDebugLocation(DL);
    Value *Size = B.CreateAnd(X.Begin, B.CreateNeg(X.Begin));
    Range InFront = {B.CreateSub(X.Begin, Size), X.Begin};
    Range Behind = {X.Begin, least(B, B.CreateAdd(X.Begin, Size), N.Rows)};
    formPart(X.Rectangle, X.OfRectangle, Grows ? Behind : InFront,
             Grows ? &InFront : &Behind, nullptr);
    if (Sum) {
      leaveSum(Address, X.OfRectangle);
      goOnWithSum(Address, X.OfRectangle);
    }
    for (auto *Stores : {&Ahead, &Before, &After})
      dropStores(*Stores, X.OfRectangle);
  }

  void formOthers(Blocks &X, Value *Address) {
    IRBuilder<> B(X.Others->getTerminator());
    B.SetCurrentDebugLocation(DL);
    Value *End = least(B, B.CreateAdd(X.Begin, N.Height), N.Rows);
    formPart(X.Others, X.OfOthers, {X.Begin, least(B, End, OfNest)}, nullptr,
             End);
    dropStores(Ahead, X.OfOthers);
    if (Gathers && Grows) {
      if (Sum)
        goOnWithSum(Address, X.OfOthers);
      dropStores(Before, X.OfOthers);
    } else if (!Grows) {
      if (Sum && hasEnd())
        leaveSum(Address, X.OfOthers);
      if (hasEnd())
        dropStores(After, X.OfOthers);
    }
  }

public:
  // The copies that do terms.
  void split(SmallVectorImpl<BasicBlock *> &Parts) {
    startSplit(*K);
    BasicBlock *Front = L.getLoopPreheader();
    Checks First(SE, Front->getTerminator());
    Value *Many = areMany(First);
    BasicBlock *Ask = SplitBlock(Front, Front->getTerminator(), &DT, &LI);
    Checks C(SE, Ask->getTerminator());
    C.B.SetCurrentDebugLocation(DL);
    Value *Good = mayBeSplit(C);
    N.Rows = AllOf;
    if (Grows)
      N.Rows = OfNest;
    N.Height = C.B.getInt64(RowStep);
    Value *Address = Sum ? addressInFront() : nullptr;
    Blocks X;
    makeBlocks(Good, /*RectangleFirst=*/true, X);
    ReplaceInstWithInst(Front->getTerminator(),
                        BranchInst::Create(Ask, X.Kept, Many));
    enterBlocks(formBegin(X, Address), X);
    formEnd(X, Address);
    formRectangle(X, Address);
    formOthers(X, Address);
    for (ValueToValueMapTy *Map : {&X.OfRectangle, &X.OfOthers})
      Parts.push_back(cast<BasicBlock>((*Map)[L.getHeader()]));
  }
};

} // namespace

bool isTriangleInPlace(Loop &L, LoopFacts &Facts) {
  return TriangleInPlace(L, Facts).isOne();
}

bool splitTriangleInPlace(Loop &L, LoopFacts &Facts,
                          SmallVectorImpl<BasicBlock *> &Parts) {
  TriangleInPlace T(L, Facts);
  bool Is = T.isOne();
  if (Is)
    T.split(Parts);
  return Is;
}

} // namespace nputeir
