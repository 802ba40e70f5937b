// row_places.cpp -- where rows lie that a nest which is split finds through an
// array of addresses: row i is taken to lie at base + i * step, which is asked
// in front of the nest (row_pointers.cpp).  So its elements are places like any
// others.
#include "row_places.h"
#include "addresses.h"
#include "ir_marks.h"
#include "row_pointers.h"

using namespace llvm;

namespace nputeir {

bool isKnownBefore(const Loop &L, const SCEV *S, ScalarEvolution &SE) {
  return SE.isLoopInvariant(S, &L) && !SCEVExprContains(S, [](const SCEV *X) {
           const auto *Division = dyn_cast<SCEVUDivExpr>(X);
           return Division && (!isa<SCEVConstant>(Division->getRHS()) ||
                               Division->getRHS()->isZero());
         });
}

const LoadInst *RowPlaces::rowOf(const SCEV *Place) const {
  const auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Place));
  if (!DT || !Base)
    return nullptr;
  const LoadInst *Row = hoistedLoad(Base->getValue());
  if (!Row)
    Row = dyn_cast<LoadInst>(Base->getValue());
  return Row && Outer.contains(Row) && Row->isSimple() &&
                 Row->getType()->isPointerTy() && !mayBeWritten(*Row, Outer, AA)
             ? Row
             : nullptr;
}

bool RowPlaces::runsAlways(const Instruction &I,
                           SmallVectorImpl<const Loop *> &Around) const {
  const BasicBlock *B = I.getParent();
  for (const Loop *Q = LI->getLoopFor(B); Outer.contains(Q);
       Q = Q->getParentLoop()) {
    const SCEV *Count = SE.getBackedgeTakenCount(Q);
    const BasicBlock *Latch = Q->getLoopLatch();
    if (!Latch || !DT->dominates(B, Latch) || isa<SCEVCouldNotCompute>(Count) ||
        !SE.isLoopInvariant(Count, &Outer))
      return false;
    Around.push_back(Q);
    B = Q->getHeader();
  }
  return true;
}

RowPointers &RowPlaces::rowAt(const LoadInst &Row, const SCEVAddRecExpr &Array,
                              const SCEV *Count) {
  IRBuilder<> B(Outer.getLoopPreheader()->getTerminator());
  Type *I64 = B.getInt64Ty();
  const SCEV *Start = Array.getStart();
  const SCEV *Stride = SE.getNoopOrSignExtend(Array.getStepRecurrence(SE), I64);
  for (RowPointers &R : Rows)
    if (R.Start == Start && R.Stride == Stride && R.Extent == Count)
      return R;
  auto Placeholder = [&](Type *T) {
    return cast<Instruction>(B.CreateFreeze(UndefValue::get(T)));
  };
  Rows.push_back({&Row,
                  Start,
                  Stride,
                  Count,
                  Placeholder(Row.getType()),
                  Placeholder(I64),
                  -1,
                  {},
                  {},
                  false,
                  Placeholder(I64)});
  return Rows.back();
}

bool RowPlaces::reach(const LoadInst &Row, const SCEVAddRecExpr &Array,
                      const SCEV *Within, const SCEV *Count,
                      ArrayRef<const SCEV *> Times, Apart::Reach &X) {
  enum { RowsMax = 8 };
  if (Rows.size() >= RowsMax || !isKnownBefore(Outer, Within, SE) ||
      !isKnownBefore(Outer, Array.getStart(), SE) ||
      !isKnownBefore(Outer, Array.getStepRecurrence(SE), SE))
    return false;
  for (const SCEV *Each : Times)
    Work.push_back({Each, SE.getOne(Each->getType())});
  RowPointers &R = rowAt(Row, Array, Count);
  Type *I64 = R.Step->getType();
  X.Of.Terms.push_back({SE.getSCEV(R.Step), Count});
  X.Of.Terms.push_back({SE.getSCEV(R.Rest), SE.getConstant(I64, 2)});
  X.Of.Start = SE.getAddExpr(SE.getPtrToIntExpr(SE.getSCEV(R.Base), I64),
                             SE.getNoopOrSignExtend(Within, I64));
  return true;
}

bool RowPlaces::areIn(const Apart &X) const {
  return any_of(Rows, [&](const RowPointers &R) {
    return R.areIn(X.Written.Of.Start) && R.areIn(X.Read.Of.Start);
  });
}

void RowPlaces::forget() {
  IRNest Dropped;
  Dropped.Rows = std::move(Rows);
  dropRowPointers(Dropped);
  Rows.clear();
  Work.clear();
}

void RowPlaces::ask(LoopInfo &LI, DominatorTree &DT,
                    const std::vector<NoWrap> &Bounded, ArrayRef<Apart> Pairs,
                    bool Else) {
  Else |= any_of(Pairs, [this](const Apart &X) { return areIn(X); });
  for (RowPointers &R : Rows)
    R.MayBeUneven = !Else;
  nest None = {};
  IRNest Asked;
  Asked.N = &None;
  Asked.Rows = std::move(Rows);
  Asked.Counted = std::move(Work);
  Asked.Bounded = Bounded;
  Rows.clear();
  checkRowPointers(Outer, LI, SE, DT, Asked, nullptr);
  Assumed = std::move(Asked.Assumed);
}

Value *RowPlaces::hold(Checks &C) const {
  Value *Good = C.B.getTrue();
  for (const auto &X : Assumed)
    Good = C.B.CreateAnd(Good, C.holds(X));
  return Good;
}

} // namespace nputeir
