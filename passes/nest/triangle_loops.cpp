// triangle_loops.cpp -- which loops of a nest are the rows and the columns of a
// triangle, and its iterations as those of the rectangle around it.
#include "addresses.h"
#include "conditions.h"
#include "ir_exits.h"
#include "ir_scev.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

// How often L runs in each iteration of a loop around: one more with each, or
// one less; null: otherwise.  A sum of 32 bits is the same in 64 as long as it
// is a number of columns.
const SCEVAddRecExpr *Counts::columns(Loop &L, TriangleLoops &T) {
  const SCEV *N =
      resolve(SE.getExitCount(&L, exitOf(L).From), L.getParentLoop());
  if (isa<SCEVCouldNotCompute>(N) || SE.getTypeSizeInBits(N->getType()) > 64)
    return nullptr;
  if (const auto *Wide = dyn_cast<SCEVZeroExtendExpr>(N))
    N = Wide->getOperand();
  TriangleLoops::End End = {};
  const auto *Rec =
      dyn_cast<SCEVAddRecExpr>(withoutMaximum(N, SE, End.Of, End.Signed));
  if (!Rec || !Rec->isAffine() || SE.getTypeSizeInBits(N->getType()) < 32)
    return nullptr;
  const SCEV *Step = number(Rec->getStepRecurrence(SE), true);
  const SCEV *Start = number(Rec->getStart(), true);
  if (!exitsBeforeBody(L))
    Start = SE.getAddExpr(Start, SE.getOne(Start->getType()));
  const Loop *By = Rec->getLoop();
  bool IsOne = Step->isOne() || Step->isAllOnesValue();
  if (End.Of)
    T.Ends.push_back(End);
  return IsOne && Outer.contains(By) && By != &L && usable(Start)
             ? dyn_cast<SCEVAddRecExpr>(
                   SE.getAddRecExpr(Start, Step, By, SCEV::FlagAnyWrap))
             : nullptr;
}

// Do the counters of columns, or else pointers, start or end alike in all rows?
bool Counts::startsAlike(const Loop &L, const SCEVAddRecExpr &Columns,
                         bool &Starts) {
  bool Ends = true;
  Starts = true;
  bool Any = any_of(L.getHeader()->phis(),
                    [&](PHINode &P) { return P.getType()->isIntegerTy(); });
  for (PHINode &P : L.getHeader()->phis()) {
    if ((Any && !P.getType()->isIntegerTy()) || !SE.isSCEVable(P.getType()))
      continue;
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(SE.getSCEV(&P));
    if (!Rec || !Rec->isAffine() || Rec->getLoop() != &L)
      continue; // a sum
    const SCEV *Step = Rec->getStepRecurrence(SE);
    const SCEV *Times = SE.getTruncateOrNoop(&Columns, Step->getType());
    const SCEV *Last =
        SE.getAddExpr(Rec->getStart(), SE.getMulExpr(Step, Times));
    Starts &= SE.isLoopInvariant(Rec->getStart(), &Outer);
    Ends &= SE.isLoopInvariant(Last, &Outer);
  }
  return Starts != Ends;
}

bool Counts::addColumns(Loop &L, TriangleLoops &T) {
  const SCEVAddRecExpr *N = columns(L, T);
  bool FromStart;
  if (!N || !startsAlike(L, *N, FromStart))
    return false;
  bool Grows = N->getStepRecurrence(SE)->isOne();
  if (T.Columns.empty()) {
    T.OfRows = N->getLoop();
    T.First = N->getStart();
    T.Grows = Grows;
    T.FromStart = FromStart;
  }
  T.Columns.push_back(&L);
  return T.OfRows == N->getLoop() && T.First == N->getStart() &&
         T.Grows == Grows && T.FromStart == FromStart;
}

// Where columns start, which is their number in front of where they end, has
// not wrapped; nor has where they end.
bool Counts::addEnd(const TriangleLoops &T, const TriangleLoops::End &X) {
  const SCEV *First = number(X.Of, X.Signed), *Step = nullptr;
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(X.Of);
  if (Rec && Rec->getLoop() == T.OfRows && Rec->isAffine()) {
    First = number(Rec->getStart(), X.Signed);
    Step = number(Rec->getStepRecurrence(SE), true);
    if (!isa<SCEVConstant>(Step))
      return false;
  }
  if (!usable(First))
    return false;
  bool Wide = SE.getTypeSizeInBits(X.Of->getType()) > 32;
  int64_t Least = !X.Signed ? 0 : Wide ? INT64_MIN : INT32_MIN;
  int64_t Most = Wide ? INT64_MAX : X.Signed ? INT32_MAX : UINT32_MAX;
  const SCEV *Last =
      SE.getMinusSCEV(T.AllRows, SE.getOne(T.AllRows->getType()));
  const SCEV *More = T.Grows ? Last : SE.getNegativeSCEV(Last);
  const SCEV *End =
      Step ? SE.getAddExpr(First, SE.getMulExpr(Last, Step)) : First;
  Conditions If(SE, Counted);
  If.within(SE.getMinusSCEV(First, T.First), Least, Most);
  If.within(SE.getMinusSCEV(End, SE.getAddExpr(T.First, More)), Least, Most);
  If.within(End, Least, Most);
  return true;
}

bool Counts::findTriangle(ArrayRef<Loop *> Loops) {
  TriangleLoops T;
  for (Loop *L : Loops)
    if (Code.Clipped.at(*L) || (!count(*L) && !addColumns(*L, T)))
      return false;
  if (T.Columns.empty())
    return false;
  auto *OfRows = const_cast<Loop *>(T.OfRows);
  if (!is_contained(Loops, OfRows) || !(T.AllRows = count(*OfRows)) ||
      SE.isKnownNegative(T.First) ||
      !all_of(T.Ends, [&](const auto &X) { return addEnd(T, X); }))
    return false;
  const SCEV *One = SE.getOne(T.First->getType()),
             *Zero = SE.getZero(One->getType());
  const SCEV *Most = SE.getConstant(One->getType(), INT32_MAX);
  Counted.push_back({T.First, Zero});
  Counted.push_back({Most, T.First});
  Counted.push_back({Most, T.AllRows});
  if (!T.Grows)
    Counted.push_back({SE.getAddExpr(T.First, One), T.AllRows});
  T.Skipped =
      T.Grows ? SE.getMinusSCEV(One, SE.getUMinExpr(T.First, One)) : Zero;
  T.Rows = T.Grows ? SE.getMinusSCEV(T.AllRows, T.Skipped)
                   : SE.getUMinExpr(T.AllRows, T.First);
  T.Longest = T.Grows ? SE.getAddExpr(T.First, SE.getMinusSCEV(T.AllRows, One))
                      : T.First;
  Triangle = T;
  return true;
}

// An address that counts what there is: where rows end in one column, the
// iterations of columns that they do not have come first.
void Addresses::describeTriangle(Address &X) {
  auto It = Index.find(Triangle.OfRows);
  if (!Triangle.OfRows || It == Index.end())
    return;
  const SCEV *&OfRow = X.Stride[(size_t)It->second];
  auto Move = [&](const SCEV *By) { X.Start = SE.getAddExpr(X.Start, By); };
  for (const Loop *L : Triangle.Columns) {
    auto At = Index.find(L);
    const SCEV *Step =
        At == Index.end() ? nullptr : X.Stride[(size_t)At->second];
    if (Triangle.FromStart || !Step)
      continue;
    const SCEV *Fewer = SE.getMinusSCEV(Triangle.First, Triangle.Longest);
    Move(SE.getMulExpr(Step, SE.getTruncateOrNoop(Fewer, Step->getType())));
    const SCEV *More = Triangle.Grows ? Step : SE.getNegativeSCEV(Step);
    OfRow = OfRow ? SE.getAddExpr(OfRow, More) : More;
  }
  if (OfRow && OfRow->isZero())
    OfRow = nullptr;
  if (OfRow)
    Move(SE.getMulExpr(
        OfRow, SE.getTruncateOrNoop(Triangle.Skipped, OfRow->getType())));
}

} // namespace nputeir
