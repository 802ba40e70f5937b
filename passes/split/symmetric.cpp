// symmetric.cpp -- a product of a symmetric matrix of which one half is stored
// reads each element of that half once, for two sums (symm):
//
//     for i, j:  t = 0;
//                for k < i:  c[k][j] += b[i][j] * a[i][k];
//                            t += b[k][j] * a[i][k];
//                c[i][j] = beta * c[i][j] + b[i][j] * a[i][i] + t;
//
// becomes two nests, whose sums are as long as the row says:
//
//     for i, j:  c[i][j] = beta * c[i][j] + b[i][j] * a[i][i];
//                for k < i:  c[i][j] += b[k][j] * a[i][k];
//     for i, j:  for k < i:  c[k][j] += b[i][j] * a[i][k];
//
// Row i is written by its own iteration of the loop over rows, and as row k by
// those behind it: so what is its own comes first.  Where k goes from i + 1 on,
// the others stand in front of it, and come first.  Within each nest the order
// stays.  Elements do not share memory, and what else is read is apart from
// them, by what is known of pointers or by a question at run time.
#include "symmetric.h"
#include "linear_tails.h"
#include "uneven.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { SymmetricBlocksMax = 64, ReadersMax = 64 };

class Symmetric : UnevenNest {
  Loop *K = nullptr;  // over other rows
  Loop *In = nullptr; // K's parent
  Loop *J = nullptr;  // over columns: In, or L if In is over rows
  SmallVector<Instruction *, 16> Accesses;
  StoreInst *Scattered = nullptr;  // to element (k, j)
  LoadInst *SoFar = nullptr;       // which it adds to
  SmallVector<StoreInst *, 4> Own; // to element (i, j)
  const SCEV *Place = nullptr, *Row = nullptr, *Column = nullptr;
  uint64_t Bytes = 0;
  const SCEV *Width = nullptr;

public:
  Symmetric(Loop &L, LoopFacts &Facts) : UnevenNest(L, Facts) {}

  bool isOne() {
    return canBeCopied(L) && L.getNumBlocks() <= SymmetricBlocksMax &&
           countsOnly(L) && !isUsedAfter(L) && findLoops() &&
           findAccesses(L, Accesses) && findScattered() && findOwn() &&
           all_of(Accesses, [&](Instruction *I) { return mayBeParted(*I); });
  }

  bool run(BasicBlock *&Kept) {
    if (!isOne())
      return false;
    split(Kept);
    return true;
  }

private:
  bool findLoops() {
    if (!findColumns(
            [&](Loop &X) {
              bool IsFirst = !K;
              K = &X;
              return IsFirst;
            },
            true) ||
        Grows != FromStart)
      return false;
    In = K->getParentLoop();
    if (In->getParentLoop() != &L || !countsOnly(*In) ||
        (OfRows != &L && OfRows != In))
      return false;
    J = OfRows == &L ? In : &L;
    Width = iterations(*J);
    const auto *First = dyn_cast<SCEVConstant>(Count->getStart());
    // k < i; or k > i, of which the last is the same in all rows.
    return Width && SE.isLoopInvariant(Width, &L) &&
           (!FromStart || (First && First->isZero()));
  }

  struct Steps {
    const SCEV *Place, *OfRow, *OfJ, *OfK; // null: does not move it
  };

  bool stepsOf(const Instruction &I, Steps &S) {
    S = {Places.placeOf(I), nullptr, nullptr, nullptr};
    while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S.Place)) {
      const Loop *X = Rec->getLoop();
      if (!L.contains(X))
        break;
      const SCEV *Step =
          SE.getNoopOrSignExtend(Rec->getStepRecurrence(SE), I64);
      if (!Rec->isAffine() || !SE.isLoopInvariant(Step, &L))
        return false;
      if (X != OfRows && X != J && X != K)
        return false;
      (X == OfRows ? S.OfRow : X == J ? S.OfJ : S.OfK) = Step;
      S.Place = Rec->getStart();
    }
    return SE.isLoopInvariant(S.Place, &L);
  }

  // Where element (0, 0) is; null: S is not to elements (k, j).
  const SCEV *scatteredFrom(const Steps &S) {
    if (!S.OfK || !S.OfJ || S.OfRow != (FromStart ? nullptr : S.OfK))
      return nullptr;
    return FromStart ? S.Place : SE.getMinusSCEV(S.Place, S.OfK);
  }

  bool findScattered() {
    for (Instruction *I : Accesses)
      if (auto *W = dyn_cast<StoreInst>(I); W && K->contains(W)) {
        if (Scattered)
          return false;
        Scattered = W;
      }
    Steps S;
    if (!Scattered || !stepsOf(*Scattered, S) || !(Place = scatteredFrom(S)))
      return false;
    Row = S.OfK;
    Column = S.OfJ;
    Bytes = bytesOf(*Scattered);
    for (Instruction *I : Accesses)
      if (auto *X = dyn_cast<LoadInst>(I);
          X && X->getPointerOperand() == Scattered->getPointerOperand())
        SoFar = X;
    if (!SoFar || !SoFar->hasOneUse())
      return false;
    const auto *Added = dyn_cast<BinaryOperator>(SoFar->user_back());
    return Added && Added->hasOneUse() && Added == Scattered->getValueOperand();
  }

  bool isOwn(const Instruction &I) {
    Steps S;
    return stepsOf(I, S) && S.Place == Place && S.OfRow == Row &&
           S.OfJ == Column && !S.OfK && bytesOf(I) == Bytes;
  }

  bool findOwn() {
    for (Instruction *I : Accesses)
      if (auto *W = dyn_cast<StoreInst>(I); W && W != Scattered) {
        if (!isOwn(*W) || K->contains(W) || !In->contains(W))
          return false;
        Own.push_back(W);
      }
    return !Own.empty();
  }

  // What I reads goes to own elements, and nothing else.
  bool isOnlyForOwn(const Instruction &I, unsigned &Readers) {
    return all_of(I.users(), [&](const User *U) {
      if (const auto *W = dyn_cast<StoreInst>(U))
        return W != Scattered && W->getValueOperand() == &I;
      const auto *X = cast<Instruction>(U);
      return ++Readers <= ReadersMax && !isa<PHINode, LoadInst>(X) &&
             !X->isTerminator() && !K->contains(X) && isOnlyForOwn(*X, Readers);
    });
  }

  bool mayBeParted(Instruction &I) {
    if (&I == Scattered || &I == SoFar || is_contained(Own, &I))
      return true;
    unsigned Readers = 0;
    if (isOwn(I))
      return In->contains(&I) && !K->contains(&I) && isOnlyForOwn(I, Readers);
    return Places.areApart(*Scattered, I) &&
           all_of(Own, [&](StoreInst *W) { return Places.areApart(*W, I); });
  }

  // ---- the parts ----

  Value *mayBeSplit(Checks &C) {
    Value *Good = countRows(C);
    C.B.SetCurrentDebugLocation(DL);
    // Those of a triangle on the right are as many as the first row has, and
    // the first.
    Value *Most = FromStart ? N.Rows : C.B.CreateAdd(N.First, C.B.getInt64(1));
    Good = C.B.CreateAnd(
        Good,
        C.areElementsApart({Row, Column, Most, C.frozen(Width, I64), Bytes}));
    return C.B.CreateAnd(Good, Places.hold(C));
  }

  // A tail that may be in front of its sum is the last that is stored.
  bool mayMove(LinearTail &T) {
    const Instruction *End = K->getHeader()->getTerminator();
    return T.find() && all_of(Own, [&](const StoreInst *W) {
             return W == T.stored() || comesBefore(*W, *End, LI, DT);
           });
  }

  void split(BasicBlock *&Kept) {
    BasicBlock *Front = L.getLoopPreheader();
    Instruction *End = Front->getTerminator();
    DL = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    Checks C(SE, End);
    Value *Good = mayBeSplit(C);
    LinearTail T(*K, DT);
    bool Moves = mayMove(T);
    ValueToValueMapTy OfKept, OfOwn, OfOthers;
    BasicBlock *Old = copyLoop(L, nullptr, OfKept);
    Kept = cast<BasicBlock>(OfKept[L.getHeader()]);
    BasicBlock *Last = detach(L);
    // L is what comes last.
    ValueToValueMapTy &OfFirst = FromStart ? OfOwn : OfOthers;
    BasicBlock *First = copyLoop(L, Last, OfFirst);
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(DL);
    B.CreateCondBr(Good, First, Old);
    auto Erase = [&](StoreInst *W, ValueToValueMapTy &Map) {
      Value *Copied = Map.lookup(W);
      (Copied ? cast<StoreInst>(Copied) : W)->eraseFromParent();
    };
    // What is erased in L is not to be found in a map any more.
    if (!FromStart)
      for (StoreInst *W : Own)
        Erase(W, OfOthers);
    if (Moves)
      T.move(OfOwn);
    Erase(Scattered, OfOwn);
    if (FromStart)
      for (StoreInst *W : Own)
        Erase(W, OfOthers);
  }
};

} // namespace

bool isSymmetric(Loop &L, LoopFacts &Facts) {
  return Symmetric(L, Facts).isOne();
}

bool splitSymmetric(Loop &L, LoopFacts &Facts, BasicBlock *&Kept) {
  return Symmetric(L, Facts).run(Kept);
}

} // namespace nputeir
