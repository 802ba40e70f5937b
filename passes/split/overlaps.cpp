// overlaps.cpp -- whether accesses of a nest that is split meet in memory.
#include "overlaps.h"
#include "ir_exits.h"
#include "ir_memory.h"
#include "ir_scev.h"
#include "versions.h"
#include "wide_indices.h"
#include "written_out.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

// ---- what accesses touch ----

const SCEV *Overlaps::mostIterations(const Loop &L, const Instruction *Of) {
  Type *I64 = Type::getInt64Ty(SE.getContext());
  if (const SCEV *Known = Most.lookup(&L))
    return Known;
  const SCEV *Count = SE.getBackedgeTakenCount(&L);
  if (isa<SCEVCouldNotCompute>(Count) ||
      SE.getTypeSizeInBits(Count->getType()) > 64)
    return nullptr;
  const SCEV *End;
  bool Signed;
  if (const SCEV *Length = lengthTo(Count, SE, End, Signed))
    Count = Length;
  Count = SE.getNoopOrZeroExtend(Count, I64);
  if (!exitsBeforeBody(L) || (Of && Of->getParent() == L.getHeader()))
    Count = SE.getAddExpr(Count, SE.getOne(I64));
  // A count that grows or shrinks with a loop around is largest at one end.
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(Count);
  if (Rec && Outer.contains(Rec->getLoop())) {
    const auto *Step = dyn_cast<SCEVConstant>(Rec->getStepRecurrence(SE));
    const SCEV *Around =
        Rec->isAffine() && Step ? mostIterations(*Rec->getLoop(), Of) : nullptr;
    if (!Around)
      return nullptr;
    const SCEV *Last = SE.getMinusSCEV(Around, SE.getOne(I64));
    Count = Step->getAPInt().isNegative()
                ? Rec->getStart()
                : SE.getAddExpr(Rec->getStart(), SE.getMulExpr(Last, Step));
  }
  return isKnownBefore(Outer, Count, SE) ? Count : nullptr;
}

const SCEV *Overlaps::wide(const SCEV *S, const Instruction *Of) {
  auto Extent = [&](const Loop &L) {
    return Outer.contains(&L) ? mostIterations(L, Of) : nullptr;
  };
  auto IsKnown = [&](const NoWrap &N) {
    return isKnownBefore(Outer, N.Of.Start, SE) &&
           all_of(N.Of.Terms, [&](const Sum::Term &T) {
             return isKnownBefore(Outer, T.Step, SE);
           });
  };
  std::vector<NoWrap> More;
  const SCEV *Wide = widenIndices(S, SE, Extent, More);
  if (!all_of(More, IsKnown) || Bounded.size() + More.size() > BoundedMax)
    return S;
  for (NoWrap &N : More)
    if (none_of(Bounded, [&](const NoWrap &Other) {
          return Other.Bits == N.Bits && Other.Signed == N.Signed &&
                 isSame(Other.Of, N.Of);
        }))
      Bounded.push_back(std::move(N));
  return Wide;
}

const SCEV *Overlaps::placeOf(const Instruction &I) {
  const Value *Pointer = getLoadStorePointerOperand(&I);
  return wide(SE.getSCEV(const_cast<Value *>(Pointer)), &I);
}

Value *Overlaps::hold(Checks &C) const {
  Value *Good = C.B.getTrue();
  for (const Apart &X : Asked)
    Good = C.B.CreateAnd(Good, C.holds(X));
  std::vector<NoWrap> All = Bounded;
  joinWrittenOut(All, SE);
  for (const NoWrap &X : All)
    Good = C.B.CreateAnd(Good, C.holds(X));
  for (const Beside &X : Periodic)
    Good = C.B.CreateAnd(Good, C.holds(X));
  for (const OwnPlaces &X : Own)
    Good = C.B.CreateAnd(Good, C.holds(X));
  return C.B.CreateAnd(Good, Rows.hold(C));
}

bool Overlaps::canBeAskedAt(const BasicBlock &B) const {
  auto Is = [&](const SCEV *S) { return SE.dominates(S, &B); };
  auto AreTerms = [&](ArrayRef<Sum::Term> Terms) {
    return all_of(
        Terms, [&](const Sum::Term &T) { return Is(T.Step) && Is(T.Extent); });
  };
  auto IsSum = [&](const Sum &S) { return Is(S.Start) && AreTerms(S.Terms); };
  auto AreBoth = [&](const Apart &X) {
    return IsSum(X.Written.Of) && IsSum(X.Read.Of);
  };
  return Rows.empty() && all_of(Asked, AreBoth) &&
         all_of(Bounded, [&](const NoWrap &X) { return IsSum(X.Of); }) &&
         all_of(Periodic,
                [&](const Beside &X) {
                  return AreBoth(X.Both) && Is(X.Period);
                }) &&
         all_of(Own, [&](const OwnPlaces &X) {
           return AreBoth(X.InOne) && AreTerms(X.Around);
         });
}

BranchInst *Overlaps::branchToAskAt(const SplitBranches &Branches,
                                    const DominatorTree &DT) const {
  for (Value *Known : Branches)
    if (auto *Branch = cast_or_null<BranchInst>(Known))
      if (DT.dominates(Branch->getSuccessor(0), Outer.getHeader()) &&
          canBeAskedAt(*Branch->getParent()))
        return Branch;
  return nullptr;
}

void Overlaps::forgetAsked() {
  Asked.clear();
  Pairs.clear();
}

void Overlaps::forget() {
  forgetAsked();
  Periodic.clear();
  Own.clear();
  OfAll.clear();
  Rows.forget();
}

static uint64_t bytesOf(const Instruction &I) {
  return I.getModule()->getDataLayout().getTypeStoreSize(
      getLoadStoreType(const_cast<Instruction *>(&I)));
}

// Null: the row of I is not found along one loop.
const SCEVAddRecExpr *Overlaps::rowAddress(const Instruction &I,
                                           const LoadInst *&Row) {
  Row = Rows.rowOf(placeOf(I));
  const auto *Array =
      dyn_cast_or_null<SCEVAddRecExpr>(Row ? placeOf(*Row) : nullptr);
  return Array && Array->isAffine() && Outer.contains(Array->getLoop()) &&
                 Array->getLoop()->contains(&I)
             ? Array
             : nullptr;
}

const SCEV *Overlaps::placeInRow(const Instruction &I, const Loop *&Along) {
  const LoadInst *Row;
  const SCEVAddRecExpr *Array = rowAddress(I, Row);
  const SCEV *Place = placeOf(I);
  Along = Array ? Array->getLoop() : nullptr;
  return Array ? SE.getMinusSCEV(Place, SE.getPointerBase(Place)) : Place;
}

bool Overlaps::reachRow(const Instruction &I, const SCEV *Within,
                        Apart::Reach &X) {
  const LoadInst *Row;
  const SCEVAddRecExpr *Array = rowAddress(I, Row);
  SmallVector<const Loop *, 4> Around;
  SmallVector<const SCEV *, 4> Times;
  if (!Rows.runsAlways(I, Around))
    return false;
  for (const Loop *Q : Around)
    Times.push_back(mostIterations(*Q, &I));
  return !is_contained(Times, nullptr) &&
         Rows.reach(*Row, *Array, Within, mostIterations(*Array->getLoop(), &I),
                    Times, X);
}

// Iteration k of a loop that runs once less in each iteration i of another one
// is number i + k of as many as it has in the first: so far the first one goes
// less.  Where the two go in opposite directions no iteration goes further than
// the first.
bool Overlaps::reach(const Instruction &I, Apart::Reach &X,
                     SmallVectorImpl<const Loop *> *Loops) {
  SmallDenseMap<const Loop *, size_t, 4> Term;
  Type *I64 = Type::getInt64Ty(I.getContext());
  const Loop *Along;
  const SCEV *Place = placeInRow(I, Along);
  X.Bytes = bytesOf(I);
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(Place)) {
    if (!Outer.contains(Rec->getLoop()))
      break;
    const SCEV *Step = Rec->getStepRecurrence(SE);
    const SCEV *Count = mostIterations(*Rec->getLoop(), &I);
    if (!Rec->isAffine() || !Count || !isKnownBefore(Outer, Step, SE))
      return false;
    Term[Rec->getLoop()] = X.Of.Terms.size();
    X.Of.Terms.push_back({SE.getNoopOrSignExtend(Step, I64), Count});
    if (Loops)
      Loops->push_back(Rec->getLoop());
    Place = Rec->getStart();
  }
  for (auto [L, At] : Term)
    if (auto Around = Term.find(Falling.lookup(L)); Around != Term.end()) {
      const SCEV *&Step = X.Of.Terms[Around->second].Step;
      const SCEV *Own = X.Of.Terms[At].Step;
      if (looksNegative(Step) == looksNegative(Own))
        Step = SE.getMinusSCEV(Step, Own);
    }
  if (Along) {
    if (Loops)
      Loops->push_back(Along);
    return !Term.count(Along) && reachRow(I, Place, X);
  }
  if (!Place->getType()->isPointerTy() || !isKnownBefore(Outer, Place, SE))
    return false;
  X.Of.Start = SE.getPtrToIntExpr(Place, I64);
  return !isa<SCEVCouldNotCompute>(X.Of.Start);
}

bool Overlaps::reachOfAll(const Instruction &I, Apart::Reach &X,
                          SmallVectorImpl<const Loop *> *Loops) {
  auto Found = OfAll.find(&I);
  if (Found == OfAll.end()) {
    Reached R;
    if (!reach(I, R.X, &R.Loops))
      return false;
    addWrittenOut(
        I, SE,
        [&](const Instruction &Other, Apart::Reach &Y) {
          return sharesBase(I, Other, SE) && reach(Other, Y);
        },
        R.X);
    Found = OfAll.try_emplace(&I, std::move(R)).first;
  }
  X = Found->second.X;
  if (Loops)
    *Loops = Found->second.Loops;
  return true;
}

const SCEV *bare(const SCEV *S) {
  if (isa<SCEVZeroExtendExpr, SCEVSignExtendExpr>(S))
    return bare(cast<SCEVCastExpr>(S)->getOperand());
  const auto *Max = dyn_cast<SCEVSMaxExpr>(S);
  return Max && Max->getNumOperands() == 2 && Max->getOperand(0)->isZero()
             ? bare(Max->getOperand(1))
             : S;
}

bool isSame(const Apart::Reach &X, const Apart::Reach &Y) {
  return isSame(X.Of, Y.Of) && X.Bytes == Y.Bytes;
}

static bool isSame(const Apart &X, const Apart &Y) {
  return isSame(X.Written, Y.Written) && isSame(X.Read, Y.Read);
}

// Which of the two is written says nothing.
static bool isSame(const OwnPlaces &X, const OwnPlaces &Y) {
  return isSame(Sum{nullptr, X.Around}, Sum{nullptr, Y.Around}) &&
         (isSame(X.InOne, Y.InOne) ||
          isSame({X.InOne.Read, X.InOne.Written}, Y.InOne));
}

enum { ElementZerosMax = 12 };

// Where I is in the first iteration of Outer; null: that is not known.  Zeros:
// bits of all strides that are known to be 0, or fewer.
const SCEV *Overlaps::startOf(const Instruction &I, uint32_t &Zeros) {
  const SCEV *Place = placeOf(I);
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(Place)) {
    if (!Outer.contains(Rec->getLoop()))
      break;
    if (!Rec->isAffine())
      return nullptr;
    Zeros = std::min(Zeros, trailingZeros(Rec->getStepRecurrence(SE), SE));
    Place = Rec->getStart();
  }
  return SE.isLoopInvariant(Place, &Outer) ? Place : nullptr;
}

// All loops move both by whole elements, whose size is a power of two: so it
// still divides an address that has wrapped.
bool Overlaps::areMembers(const Instruction &W, const Instruction &X) {
  if (!sharesBase(W, X, SE))
    return false;
  uint32_t Zeros = ElementZerosMax;
  const SCEV *First = startOf(W, Zeros), *Second = startOf(X, Zeros);
  const auto *Way = First && Second
                        ? dyn_cast<SCEVConstant>(SE.getMinusSCEV(Second, First))
                        : nullptr;
  if (!Way || SE.getTypeSizeInBits(Way->getType()) > 64)
    return false;
  uint64_t Element = (uint64_t)1 << Zeros;
  uint64_t At = (uint64_t)Way->getAPInt().getSExtValue() % Element;
  return At >= bytesOf(W) && At + bytesOf(X) <= Element;
}

// From the start, the first byte that X touches and the one behind the last;
// false: they are known at run time only, or far away.
static bool spans(const Apart::Reach &X, int64_t &First, int64_t &End) {
  First = 0;
  End = (int64_t)X.Bytes;
  for (const Sum::Term &T : X.Of.Terms) {
    const auto *Step = dyn_cast<SCEVConstant>(T.Step);
    const auto *Times = dyn_cast<SCEVConstant>(T.Extent);
    int64_t Way;
    if (!Step || !Times || !Times->getAPInt().isStrictlyPositive() ||
        MulOverflow(Step->getAPInt().getSExtValue(),
                    Times->getAPInt().getSExtValue() - 1, Way) ||
        !isInt<48>(Way))
      return false;
    (Way < 0 ? First : End) += Way;
  }
  return true;
}

// They are arrays of one struct, all of whose sizes are numbers.
bool Overlaps::lieApart(const Apart &X) {
  const auto *Way = dyn_cast<SCEVConstant>(
      SE.getMinusSCEV(X.Read.Of.Start, X.Written.Of.Start));
  int64_t First[2], End[2];
  if (!Way || !Way->getAPInt().isSignedIntN(48) ||
      !spans(X.Written, First[0], End[0]) || !spans(X.Read, First[1], End[1]))
    return false;
  int64_t To = Way->getAPInt().getSExtValue();
  return To + First[1] >= End[0] || To + End[1] <= First[0];
}

// ---- what was asked is noted on accesses ----

// In marks of our own: what holds behind the branch of a nest need not hold
// from one time to the next that the nest is run, which other passes may look
// at.
static const char *const WrittenMark = "nputeir.written";
static const char *const ReadMark = "nputeir.read";

static void addMark(Instruction &I, const char *Mark, MDNode *Question) {
  MDNode *List = MDNode::get(I.getContext(), {Question});
  I.setMetadata(Mark, MDNode::concatenate(I.getMetadata(Mark), List));
}

void Overlaps::markHeld() const {
  SmallVector<MDNode *, 16> Questions(Asked.size());
  for (const AskedPair &P : Pairs) {
    MDNode *&Question = Questions[P.At];
    if (!Question)
      Question = MDNode::getDistinct(SE.getContext(), {});
    addMark(*P.Written, WrittenMark, Question);
    addMark(*P.Read, ReadMark, Question);
  }
}

void forgetHeld(Function &F) {
  for (BasicBlock &B : F)
    for (Instruction &I : B)
      for (const char *Mark : {WrittenMark, ReadMark})
        if (I.hasMetadata(Mark))
          I.setMetadata(Mark, nullptr);
}

static bool isHeldApart(const Instruction &X, const Instruction &Y) {
  const MDNode *Written = X.getMetadata(WrittenMark);
  const MDNode *Read = Y.getMetadata(ReadMark);
  return Written && Read && any_of(Read->operands(), [&](const MDOperand &Q) {
           return is_contained(Written->operands(), Q);
         });
}

bool Overlaps::areApart(Instruction &W, const Instruction &X,
                        const Apart::Reach *Written) {
  if (isHeldApart(W, X) || isHeldApart(X, W) || !mayChange(W, X, Outer, SE, AA))
    return true;
  Apart A;
  if (!isa<StoreInst>(W))
    return false;
  bool IsOneBase = sharesBase(W, X, SE);
  if (IsOneBase && !Written && areMembers(W, X))
    return true;
  if (IsOneBase && !Written)
    return reach(X, A.Read) && reach(W, A.Written) && lieApart(A);
  if (!reachOfAll(X, A.Read))
    return false;
  if (Written)
    A.Written = *Written;
  else if (!reachOfAll(W, A.Written))
    return false;
  if (IsOneBase || Rows.areIn(A))
    return lieApart(A);
  return ask(A, W, X, !Written);
}

bool Overlaps::ask(const Apart &A, Instruction &W, const Instruction &X,
                   bool MayMark) {
  auto Known = find_if(Asked, [&](const Apart &B) {
    return isSame(A, B) || isSame({A.Read, A.Written}, B);
  });
  auto At = (size_t)(Known - Asked.begin());
  if (Known == Asked.end())
    Asked.push_back(A);
  auto *Other = const_cast<Instruction *>(&X);
  if (MayMark && isSame(A, Asked[At]))
    Pairs.push_back({&W, Other, At});
  else if (MayMark)
    Pairs.push_back({Other, &W, At});
  return Asked.size() <= AskedMax;
}

bool Overlaps::areRows(Instruction &W, const Instruction &X) {
  Apart A;
  SmallVector<const Loop *, 4> Loops[2];
  if (!sharesBase(W, X, SE) || !reachOfAll(W, A.Written, &Loops[0]) ||
      !reachOfAll(X, A.Read, &Loops[1]))
    return false;
  bool HasRows = false;
  for (size_t T = 0; T < A.Written.Of.Terms.size(); T++) {
    bool IsColumn = isa<SCEVConstant>(A.Written.Of.Terms[T].Step);
    if (!IsColumn && T < Loops[0].size() && is_contained(Loops[1], Loops[0][T]))
      return false;
    HasRows |= !IsColumn;
  }
  return HasRows && ask(A, W, X, true);
}

// Of the period that Step is: the two may have room in it for one element each
// and more.
bool Overlaps::mayHaveRoom(const Apart &Both, const SCEV *Step,
                           const SCEV *Way) {
  const auto *Period = dyn_cast<SCEVConstant>(Step);
  if (Period &&
      Period->getAPInt().abs().ult(Both.Written.Bytes + Both.Read.Bytes))
    return false;
  auto Fills = [&](const Sum::Term &T) {
    const SCEV *Times = bare(T.Extent);
    const SCEV *All = SE.getMulExpr(
        T.Step, SE.getNoopOrSignExtend(Times, T.Extent->getType()));
    return All == Step || All == SE.getNegativeSCEV(Step);
  };
  if (any_of(Both.Written.Of.Terms, Fills) || any_of(Both.Read.Of.Terms, Fills))
    return false;
  // One of the next iterations accesses what the other one does.
  auto IsNext = [&](const SCEV *By) {
    const SCEV *Multiple = SE.getZero(Way->getType());
    for (unsigned I = 0; I < NeighboursMax; I++) {
      if (Multiple == Way || SE.getNegativeSCEV(Multiple) == Way)
        return true;
      Multiple = SE.getAddExpr(Multiple, By);
    }
    return false;
  };
  return !IsNext(Step) && none_of(Both.Written.Of.Terms, [&](const auto &T) {
    return any_of(Both.Read.Of.Terms,
                  [&](const auto &X) { return X.Step == T.Step; }) &&
           IsNext(T.Step);
  });
}

// The period is a step by which loops move one of them that do not move the
// other; else the innermost one, which is that of rows mostly.
bool Overlaps::areColumns(const Instruction &W, const Instruction &X) {
  Beside Two = {};
  Apart &Both = Two.Both;
  SmallVector<const Loop *, 4> Loops[2];
  if (!sharesBase(W, X, SE) || !reach(W, Both.Written, &Loops[0]) ||
      !reach(X, Both.Read, &Loops[1]))
    return false;
  const SCEV *Way = SE.getMinusSCEV(Both.Read.Of.Start, Both.Written.Of.Start);
  const Apart::Reach *Of[] = {&Both.Written, &Both.Read};
  auto OwnSteps = [&](const SCEV *Step) {
    unsigned Count = 0;
    for (int I = 0; I < 2; I++)
      for (size_t T = 0; T < Loops[I].size(); T++)
        Count += Of[I]->Of.Terms[T].Step == Step &&
                 !is_contained(Loops[1 - I], Loops[I][T]);
    return Count;
  };
  unsigned Most = 0;
  for (const Apart::Reach *R : Of)
    for (const Sum::Term &T : R->Of.Terms) {
      unsigned Count = 1 + OwnSteps(T.Step);
      if (Count > Most && mayHaveRoom(Both, T.Step, Way)) {
        Most = Count;
        Two.Period = T.Step;
      }
    }
  if (!Two.Period)
    return false;
  Periodic.push_back(std::move(Two));
  return Periodic.size() <= PeriodicMax;
}

// Where all loops around move both alike, how they lie to each other is the
// same in each iteration.
bool Overlaps::meetInOneIteration(const Instruction &W, const Instruction &X,
                                  const Loop &Common) {
  struct {
    Apart::Reach All;
    SmallVector<const Loop *, 4> Loops;
  } Both[2];
  if (!reachOfAll(W, Both[0].All, &Both[0].Loops) ||
      !reachOfAll(X, Both[1].All, &Both[1].Loops))
    return false;
  OwnPlaces Places;
  const SCEV *Way = SE.getMinusSCEV(Both[0].All.Of.Start, Both[1].All.Of.Start);
  auto TermOf = [&](unsigned I, const Loop *L) {
    auto *At = find(Both[I].Loops, L);
    return At == Both[I].Loops.end()
               ? Sum::Term{nullptr, nullptr}
               : Both[I].All.Of.Terms[(size_t)(At - Both[I].Loops.begin())];
  };
  for (const Loop *Q = &Common; Outer.contains(Q); Q = Q->getParentLoop()) {
    Sum::Term Of = TermOf(0, Q), Other = TermOf(1, Q);
    if (!Of.Step || Of.Step != Other.Step || Of.Extent != Other.Extent ||
        Way == Of.Step || Way == SE.getNegativeSCEV(Of.Step))
      return false; // another one, or the next iteration's
    Places.Around.push_back(Of);
  }
  for (unsigned I = 0; I < 2; I++) {
    Apart::Reach &In = I == 0 ? Places.InOne.Written : Places.InOne.Read;
    const Sum &All = Both[I].All.Of;
    In = {{All.Start, {}}, Both[I].All.Bytes};
    for (size_t T = 0; T < All.Terms.size(); T++)
      if (T >= Both[I].Loops.size() ||
          (Both[I].Loops[T] != &Common && Common.contains(Both[I].Loops[T])))
        In.Of.Terms.push_back(All.Terms[T]);
  }
  if (none_of(Own, [&](const OwnPlaces &X) { return isSame(X, Places); }))
    Own.push_back(std::move(Places));
  return Own.size() <= OwnMax;
}

} // namespace nputeir
