// joins.cpp -- loops of the source that are parts of one loop.
//
// Tile loops and the point loops within them:
//
//     for (p = 0; p < m; p += t)
//       for (i = p; i < p + t && i < m; i++) ..
//
// And remainder loops, which go on where the loop before them has ended:
//
//     for (k = 0; k + 3 < n; k += 4) ..
//     for (; k < n; k++) ..
//
// Each address that the second loop moves lies, in its first iteration, where
// an address of the first loop would in one iteration more, and steps over a
// quarter of its way.  Then the iterations of both are numbered in one row:
// 0, 4, 8, .. and on.  How many of its own iterations the second loop finds
// done is a multiple of how often the first one ran, or the distance between
// their counters' starts; that both are the same is asked before the nest.
#include "joins.h"
#include "conditions.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_scev.h"
#include "tiles.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

// ---- tile loops and their point loops ----

bool Joins::addPointLoop(Loop *L, arena *A, verdict &V) {
  if (leftFromElsewhere(*L) || !exitsBeforeBody(*L))
    return false;
  std::vector<AtLeast> Asked;
  Conditions If(SE, Asked);
  const SCEV *Taken = SE.getExitCount(L, exitOf(*L).From);
  size_t Before = Bounded.size();
  PointLoop P;
  if (isa<SCEVCouldNotCompute>(Taken) || usable(Taken) ||
      SE.getTypeSizeInBits(Taken->getType()) > 64 ||
      !readPointLoop(
          *L, Taken, SE, [&](const SCEV *S) { return widen(S); }, If, P))
    return false;
  BoundedExtents.insert(BoundedExtents.end(), Bounded.begin() + Before,
                        Bounded.end());
  auto It = Index.find(P.TileLoop);
  if (It == Index.end() || !usable(P.Length) || !usable(P.Whole))
    return false;
  if (P.Length != P.Step)
    return verdict_decline(&V, RULE_VARIANT_EXTENT, locOf(L->getStartLoc(), A),
                           "the tiles of a loop overlap, or leave gaps");
  const SCEV *PointLoops = Extents[It->second],
             *One = SE.getOne(PointLoops->getType());
  If.within(P.Length, 1, INT32_MAX);
  If.atLeast(SE.getMulExpr(PointLoops, P.Length), P.Whole);
  if (P.RemainderMayWrap)
    If.atLeast(P.Whole,
               SE.getMulExpr(SE.getMinusSCEV(PointLoops, One), P.Length));
  if (!all_of(Asked, [&](const AtLeast &X) {
        return usable(X.Large) && usable(X.Small) &&
               !SE.isKnownPredicate(ICmpInst::ICMP_SLT, X.Large, X.Small);
      }))
    return false;
  Counted.insert(Counted.end(), Asked.begin(), Asked.end());
  addLoop(L, P.Whole);
  cut((int)Loops.size() - 1, It->second, P.Length, P.Whole);
  return true;
}

bool Joins::goesOn(int TileLoop, int L, const Address &X) const {
  return TileLoops[L] < 0 && L != TileLoop && !Code.Clipped.at(*Loops[L]) &&
         Loops[TileLoop]->contains(Loops[L]) && isa<SCEVConstant>(Extents[L]) &&
         X.Stride[L] && X.Stride[TileLoop] &&
         SE.getMulExpr(Extents[L], X.Stride[L]) == X.Stride[TileLoop];
}

// Rows of an array in the frame are what it has, be they one behind the other.
bool Joins::findTiles(int TileLoop, ArrayRef<Address> All,
                      SmallVectorImpl<int> &PointLoops) const {
  if (all_of(All, [&](const Address &X) {
        return !X.Stride[TileLoop] || Code.isLocal(X.Start);
      }))
    return false;
  for (const Address &X : All) {
    if (!X.Stride[TileLoop])
      continue;
    auto Goes = [&](int L) { return goesOn(TileLoop, L, X); };
    if (any_of(PointLoops, Goes))
      continue;
    int L = TileLoop + 1;
    while (L < (int)Loops.size() &&
           !(Goes(L) &&
             (PointLoops.empty() || Extents[L] == Extents[PointLoops.front()])))
      L++;
    if (L == (int)Loops.size())
      return false;
    PointLoops.push_back(L);
  }
  for (int L : PointLoops) {
    for (const Address &X : All)
      if (X.Stride[L] && !goesOn(TileLoop, L, X))
        return false;
    for (int Other : PointLoops)
      if (Other != L && Loops[L]->contains(Loops[Other]))
        return false;
  }
  return !PointLoops.empty();
}

static SmallVector<const Value *, 2> pointersOf(const Instruction &I) {
  SmallVector<const Value *, 2> Found;
  if (const Value *Pointer = getLoadStorePointerOperand(&I))
    Found.push_back(Pointer);
  if (const auto *Mem = dyn_cast<MemIntrinsic>(&I))
    Found.push_back(Mem->getRawDest());
  if (const auto *Copy = dyn_cast<MemTransferInst>(&I))
    Found.push_back(Copy->getRawSource());
  return Found;
}

// What the nest compares should go on from tile to tile, too.
void Joins::addComparisons(ArrayRef<BasicBlock *> Blocks,
                           SmallVectorImpl<Address> &All) {
  for (const Loop *L : Loops)
    if (const ClippedLoop *C = Code.Clipped.at(*L))
      for (auto *Cuts : {&C->Least, &C->Limit})
        for (const ClippedLoop::Cut &Cut : *Cuts) {
          Address X;
          if (splitIndex(Cut.Of, *L, X))
            All.push_back(X);
        }
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B) {
      bool Ends = exitOf(*LI.getLoopFor(B)).From == B &&
                  is_contained(B->getTerminator()->operand_values(), &I);
      Address X;
      if (isa<ICmpInst>(I) && !Ends)
        for (const Value *Side : I.operand_values())
          if (splitIndex(I, Side, X))
            All.push_back(X);
    }
}

bool Joins::addPointers(ArrayRef<BasicBlock *> Blocks,
                        SmallVectorImpl<Address> &All) {
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B)
      for (const Value *Pointer : pointersOf(I)) {
        All.emplace_back();
        if (!split(I, Pointer, All.back()))
          return false;
      }
  return true;
}

void Joins::findTiles(ArrayRef<BasicBlock *> Blocks) {
  SmallVector<Address, 8> All;
  if (!addPointers(Blocks, All))
    return;
  addComparisons(Blocks, All);
  Conditions If(SE, Counted);
  for (int TileLoop = (int)Loops.size() - 1; TileLoop >= 0; TileLoop--) {
    SmallVector<int, 4> PointLoops;
    if (is_contained(TileLoops, TileLoop) ||
        !findTiles(TileLoop, All, PointLoops))
      continue;
    const SCEV *Length = Extents[PointLoops.front()];
    If.within(Length, 1, INT32_MAX);
    If.within(Extents[TileLoop], 1, INT32_MAX);
    for (int L : PointLoops)
      cut(L, TileLoop, Length, SE.getMulExpr(Extents[TileLoop], Length));
    for (Address &X : All)
      X.Stride[TileLoop] = nullptr; // every one goes on
  }
}

// ---- remainder loops ----

// One iteration of the loop before L moves Y as far as R.Ratio of L move X.
bool Joins::movesAlike(const Address &X, int L, const Address &Y,
                       const Remainder &R) {
  assert(R.After >= 0 && R.After < L);
  return ++Compared <= ComparedMax && X.Stride[L] && Y.Stride[R.After] &&
         isSame(SE.getMulExpr(constant(R.Ratio), X.Stride[L]),
                Y.Stride[R.After]);
}

const SCEV *Joins::startBefore(const Address &X, int L, const Remainder &R) {
  return SE.getMinusSCEV(X.Start, SE.getMulExpr(X.Stride[L], R.Distance));
}

// X goes on from Y.
bool Joins::goesOn(const Address &X, int L, const Address &Y,
                   const Remainder &R) {
  if (!movesAlike(X, L, Y, R))
    return false;
  for (int I = 0; I < L; I++)
    if (Loops[I]->contains(Loops[L]) && X.Stride[I] != Y.Stride[I])
      return false;
  return isSame(startBefore(X, L, R), Y.Start);
}

bool Joins::isRemainder(int L, const Remainder &R, ArrayRef<Address> All) {
  SmallVector<std::pair<const Address *, const Address *>, 4> Pairs;
  for (const Address &X : All) {
    if (!X.Stride[L])
      continue;
    auto From =
        find_if(All, [&](const Address &Y) { return goesOn(X, L, Y, R); });
    if (From == All.end() || looksNegative(X.Stride[L]) ||
        Compared > ComparedMax)
      return false;
    Pairs.push_back({&X, From});
  }
  for (const Address &Y : All)
    if (Y.Stride[R.After] &&
        none_of(All, [&](const Address &X) { return movesAlike(X, L, Y, R); }))
      return false;
  for (auto [X, Y] : Pairs)
    if (isFromRows(SE.getMinusSCEV(startBefore(*X, L, R), Y->Start)))
      return false; // it would be asked before they are known
  for (auto [X, Y] : Pairs) {
    const SCEV *Start = startBefore(*X, L, R);
    areSame(SE.getMinusSCEV(Start, Y->Start), constant(0)); // addresses differ
    Joined[Start] = Y->Start;
  }
  return !Pairs.empty();
}

// A constant step of a counter; 0: it is none.
static int64_t stepOf(const SCEVAddRecExpr *Rec, ScalarEvolution &SE) {
  const auto *Step =
      Rec ? dyn_cast<SCEVConstant>(Rec->getStepRecurrence(SE)) : nullptr;
  return Step && Step->getAPInt().isSignedIntN(32)
             ? Step->getAPInt().getSExtValue()
             : 0;
}

// Where the counter of L starts that is compared at its end, before or after it
// is moved on.
static const SCEV *firstOf(const SCEVAddRecExpr *Rec, const Loop &L,
                           ScalarEvolution &SE) {
  const SCEV *Step = Rec->getStepRecurrence(SE);
  const SCEV *Before = SE.getMinusSCEV(Rec, Step);
  bool IsNext = any_of(L.getHeader()->phis(), [&](PHINode &P) {
    return P.getType() == Rec->getType() && SE.getSCEV(&P) == Before;
  });
  return IsNext ? SE.getMinusSCEV(Rec->getStart(), Step) : Rec->getStart();
}

// How far the first address of L that goes on from one before it has come;
// null: it is no number of steps.
const SCEV *Joins::wayTo(int L, const Remainder &R, ArrayRef<Address> All) {
  for (const Address &X : All)
    for (const Address &Y : All) {
      const auto *Stride = dyn_cast_or_null<SCEVConstant>(X.Stride[L]);
      if (!Stride || Stride->isZero() || !movesAlike(X, L, Y, R))
        continue;
      const SCEV *Way = SE.getMinusSCEV(X.Start, Y.Start);
      if (Stride->isOne() && !isa<SCEVCouldNotCompute>(Way))
        return Way;
      const auto *Steps = dyn_cast<SCEVMulExpr>(Way);
      const auto *Many =
          Steps ? dyn_cast<SCEVConstant>(Steps->getOperand(0)) : nullptr;
      if (!Many || !Many->getAPInt().srem(Stride->getAPInt()).isZero())
        continue;
      SmallVector<const SCEV *, 4> Factors(Steps->operands());
      Factors[0] = SE.getConstant(Many->getAPInt().sdiv(Stride->getAPInt()));
      return SE.getMulExpr(Factors);
    }
  return nullptr;
}

int64_t Joins::stepOfCounter(int L) {
  const SCEV *End;
  CmpInst::Predicate Is;
  const SCEVAddRecExpr *Rec =
      isPlain(L) ? counter(*Loops[L], End, Is) : nullptr;
  return Rec && Rec->getType()->isIntegerTy() ? std::abs(stepOf(Rec, SE)) : 0;
}

// How often Short is in Long; 0: that is not known.
static int64_t timesIn(const SCEV *Long, const SCEV *Short,
                       ScalarEvolution &SE) {
  auto FactorOf = [](const SCEV *S) {
    const auto *M = dyn_cast<SCEVMulExpr>(S);
    const auto *C = dyn_cast<SCEVConstant>(M ? M->getOperand(0) : S);
    return C && C->getAPInt().isSignedIntN(32) ? C->getAPInt().getSExtValue()
                                               : 1;
  };
  int64_t Of = FactorOf(Long), By = FactorOf(Short);
  bool Whole = By != 0 && Of % By == 0 && Of / By > 0;
  const SCEV *Times =
      Whole ? SE.getConstant(Long->getType(), (uint64_t)(Of / By)) : nullptr;
  return Whole && SE.getMulExpr(Times, Short) == Long ? Of / By : 0;
}

// How many numbers of L one iteration of Before may stand for: as many as their
// counters say, or as an address of one goes further than one of the other.
SmallVector<int64_t, 4> Joins::ratiosOf(int L, int Before,
                                        ArrayRef<Address> All) {
  enum { RatioMax = 64 };
  const SCEV *End;
  CmpInst::Predicate Is;
  int64_t Long = stepOf(counter(*Loops[Before], End, Is), SE);
  int64_t Short = stepOf(counter(*Loops[L], End, Is), SE);
  SmallVector<int64_t, 4> Ratios;
  if (!Long || !Short)
    return Ratios;
  if (Long % Short == 0 && Long / Short >= 1)
    Ratios.push_back(Long / Short);
  if (std::abs(Long) > 1 || std::abs(Short) > 1)
    return Ratios;
  for (const Address &X : All)
    for (const Address &Y : All) {
      if (!X.Stride[L] || !Y.Stride[Before] || ++Compared > ComparedMax)
        continue;
      int64_t Ratio = timesIn(Y.Stride[Before], X.Stride[L], SE);
      if (Ratio > 1 && Ratio <= RatioMax && Ratios.size() < 4 &&
          !is_contained(Ratios, Ratio))
        Ratios.push_back(Ratio);
    }
  return Ratios;
}

// Their counters say how far the loop before L has come.
const SCEV *Joins::countedTo(int L, int Before) {
  const SCEV *End;
  CmpInst::Predicate Is;
  const SCEVAddRecExpr *Old = counter(*Loops[Before], End, Is);
  const SCEVAddRecExpr *New = counter(*Loops[L], End, Is);
  int64_t Short = stepOf(New, SE);
  if ((Short != 1 && Short != -1) || !New->getType()->isIntegerTy())
    return nullptr;
  const SCEV *Way =
      SE.getMinusSCEV(number(firstOf(New, *Loops[L], SE), true),
                      number(firstOf(Old, *Loops[Before], SE), true));
  Way = Short < 0 ? SE.getNegativeSCEV(Way) : Way;
  // Loops that both begin at zero are no parts of one.
  return Way->isZero() ? nullptr : Way;
}

bool Joins::findRemainder(int L, int Before, ArrayRef<Address> All) {
  assert(Before < L && Remainders[L].After < 0);
  for (int64_t Ratio : ratiosOf(L, Before, All)) {
    const SCEV *Done = SE.getMulExpr(constant(Ratio), Extents[Before]);
    Remainder R = {Before, Ratio, Done};
    auto Try = [&](const SCEV *Distance) {
      R.Distance = Distance;
      return Distance && usable(Distance) && isRemainder(L, R, All);
    };
    if (!isRemainder(L, R, All) && !Try(countedTo(L, Before)) &&
        !Try(wayTo(L, R, All)))
      continue;
    if (R.Distance != Done)
      Equal.push_back({R.Distance, Done});
    Conditions If(SE, Counted);
    for (int Part : {Before, L})
      If.within(Extents[Part], 0, INT32_MAX);
    Remainders[L] = R;
    return true;
  }
  return false;
}

// Whoever looks at the number of an iteration sees its own loop's.
static bool moves(ArrayRef<Address> All, int L) {
  return any_of(All, [&](const Address &X) { return X.Stride[L]; });
}

// What a part reads of rows, the other part reads, too, or it is none; so that
// there is work for both together says that a row exists.
void Joins::findRemainders(ArrayRef<BasicBlock *> Blocks) {
  SmallVector<Address, 8> All, Compared;
  assert(Loops.size() <= LoopsMax);
  if (!addPointers(Blocks, All))
    return;
  addComparisons(Blocks, Compared);
  auto MayBePart = [&](int L) {
    return TileLoops[L] < 0 && !is_contained(TileLoops, L) &&
           !moves(Compared, L) && !Code.Clipped.at(*Loops[L]) &&
           !RowLoops.count(Loops[L]);
  };
  for (int L = (int)Loops.size() - 1; L > 0; L--)
    for (int Before = L - 1; Before >= 0 && Remainders[L].After < 0; Before--)
      if (Loops[Before]->getParentLoop() == Loops[L]->getParentLoop() &&
          none_of(Remainders,
                  [&](const Remainder &R) { return R.After == Before; }) &&
          MayBePart(L) && MayBePart(Before))
        findRemainder(L, Before, All);
  for (int L = (int)Loops.size() - 1; L >= 0; L--) {
    if (Remainders[L].After >= 0)
      Steps[Remainders[L].After] = Steps[L] * Remainders[L].Ratio;
    assert(Steps[L] >= 1);
    for (const Address &X : All)
      if (isPart(L) && Steps[L] == 1 && X.Stride[L] &&
          !is_contained(Strides, X.Stride[L]))
        Strides.push_back(X.Stride[L]);
  }
}

} // namespace nputeir
