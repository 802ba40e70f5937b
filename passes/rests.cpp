// rests.cpp -- loops that go on where the loop before them has ended.
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
#include "address.h"
#include "exits.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

const SCEV *Addresses::extent(int L) const {
  return isPart(L)
             ? SE.getAddExpr(firstNumber(L),
                             SE.getMulExpr(constant(Steps[L]), Extents[L]))
             : Extents[L];
}

const SCEV *Addresses::firstNumber(int L) const {
  const Rest &R = Rests[L];
  return R.After < 0
             ? constant(0)
             : SE.getAddExpr(firstNumber(R.After),
                             SE.getMulExpr(constant(Steps[L]), R.Distance));
}

const SCEV *Addresses::constant(int64_t Number) const {
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  return SE.getConstant(I64, (uint64_t)Number, true);
}

bool Addresses::isPart(int L) const {
  return any_of(Rests, [&](const Rest &R) { return R.After == L; }) ||
         Rests[L].After >= 0;
}

// The stride per number of what part L moves by Stride in every iteration;
// null: not known.
const SCEV *Addresses::strideOf(int L, const SCEV *Stride) {
  for (const SCEV *S : Strides)
    if (areSame(SE.getMulExpr(constant(Steps[L]), S), Stride))
      return S;
  return nullptr;
}

// From a part's own iterations to numbers; false: they do not say where X is.
bool Addresses::numberOn(Address &X) {
  for (int L = 0; L < (int)Loops.size(); L++) {
    const SCEV *Stride = X.Stride[L];
    if (!Stride || !isPart(L))
      continue;
    if (!(X.Stride[L] = strideOf(L, Stride)))
      return false;
    for (int I = L; Rests[I].After >= 0; I = Rests[I].After) {
      X.Start =
          SE.getMinusSCEV(X.Start, SE.getMulExpr(Stride, Rests[I].Distance));
      auto Known = Joined.find(X.Start);
      X.Start = Known == Joined.end() ? X.Start : Known->second;
      Stride = SE.getMulExpr(Stride, constant(Rests[I].Ratio));
    }
  }
  return true;
}

// One iteration of the loop before L moves Y as far as R.Ratio of L move X.
bool Addresses::movesAlike(const Address &X, int L, const Address &Y,
                           const Rest &R) {
  return X.Stride[L] && Y.Stride[R.After] &&
         isSame(SE.getMulExpr(constant(R.Ratio), X.Stride[L]),
                Y.Stride[R.After]);
}

const SCEV *Addresses::startBefore(const Address &X, int L, const Rest &R) {
  return SE.getMinusSCEV(X.Start, SE.getMulExpr(X.Stride[L], R.Distance));
}

// X goes on from Y.
bool Addresses::goesOn(const Address &X, int L, const Address &Y,
                       const Rest &R) {
  if (!movesAlike(X, L, Y, R))
    return false;
  for (int I = 0; I < L; I++)
    if (Loops[I]->contains(Loops[L]) && X.Stride[I] != Y.Stride[I])
      return false;
  return isSame(startBefore(X, L, R), Y.Start);
}

bool Addresses::isRest(int L, const Rest &R, ArrayRef<Address> All) {
  SmallVector<std::pair<const Address *, const Address *>, 4> Pairs;
  for (const Address &X : All) {
    if (!X.Stride[L])
      continue;
    auto From =
        find_if(All, [&](const Address &Y) { return goesOn(X, L, Y, R); });
    if (From == All.end() || looksNegative(X.Stride[L]))
      return false;
    Pairs.push_back({&X, From});
  }
  for (const Address &Y : All)
    if (Y.Stride[R.After] &&
        none_of(All, [&](const Address &X) { return movesAlike(X, L, Y, R); }))
      return false;
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

bool Addresses::findRest(int L, int Before, ArrayRef<Address> All) {
  const SCEV *End;
  CmpInst::Predicate Is;
  const SCEVAddRecExpr *Old = counter(*Loops[Before], End, Is);
  const SCEVAddRecExpr *New = counter(*Loops[L], End, Is);
  int64_t Long = stepOf(Old, SE), Short = stepOf(New, SE);
  if (!Long || !Short || Long % Short || Long / Short < 1)
    return false;
  Rest R = {Before, Long / Short, nullptr};
  const SCEV *Done = R.Distance =
      SE.getMulExpr(constant(R.Ratio), Extents[Before]);
  bool Found = isRest(L, R, All);
  if (!Found && (Short == 1 || Short == -1) && New->getType()->isIntegerTy()) {
    R.Distance = SE.getMinusSCEV(number(New->getStart(), true),
                                 number(Old->getStart(), true));
    if (Short < 0)
      R.Distance = SE.getNegativeSCEV(R.Distance);
    Found = usable(R.Distance) && isRest(L, R, All);
  }
  if (!Found)
    return false;
  if (R.Distance != Done)
    Equal.push_back({R.Distance, Done});
  Conditions If(SE, Counted);
  for (int Part : {Before, L})
    If.within(Extents[Part], 0, INT32_MAX);
  Rests[L] = R;
  return true;
}

// Whoever looks at the number of an iteration sees its own loop's.
static bool moves(ArrayRef<Address> All, int L) {
  return any_of(All, [&](const Address &X) { return X.Stride[L]; });
}

void Addresses::findRests(ArrayRef<BasicBlock *> Blocks) {
  SmallVector<Address, 8> All, Compared;
  if (!addPointers(Blocks, All) || !Rows.empty())
    return; // whether a row exists is not asked of parts
  addComparisons(Blocks, Compared);
  auto MayBePart = [&](int L) {
    return Cutters[L] < 0 && !is_contained(Cutters, L) && !moves(Compared, L);
  };
  for (int L = (int)Loops.size() - 1; L > 0; L--)
    for (int Before = L - 1; Before >= 0 && Rests[L].After < 0; Before--)
      if (Loops[Before]->getParentLoop() == Loops[L]->getParentLoop() &&
          none_of(Rests, [&](const Rest &R) { return R.After == Before; }) &&
          MayBePart(L) && MayBePart(Before))
        findRest(L, Before, All);
  for (int L = (int)Loops.size() - 1; L >= 0; L--) {
    if (Rests[L].After >= 0)
      Steps[Rests[L].After] = Steps[L] * Rests[L].Ratio;
    for (const Address &X : All)
      if (isPart(L) && Steps[L] == 1 && X.Stride[L] &&
          !is_contained(Strides, X.Stride[L]))
        Strides.push_back(X.Stride[L]);
  }
}

} // namespace nputeir
