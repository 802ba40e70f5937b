// loop_table.cpp -- the loops of a nest, and how the iterations of those that
// are parts of one are numbered.
#include "loop_table.h"
#include "conditions.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

namespace {

// Extensions of sums and products -> the same of extensions: what they are if
// nothing wraps.
class Unwrapper : public SCEVRewriteVisitor<Unwrapper> {
public:
  explicit Unwrapper(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *Z) {
    return distribute(Z, [&](const SCEV *S) {
      return SE.getZeroExtendExpr(S, Z->getType());
    });
  }
  const SCEV *visitSignExtendExpr(const SCEVSignExtendExpr *X) {
    return distribute(X, [&](const SCEV *S) {
      return SE.getSignExtendExpr(S, X->getType());
    });
  }

private:
  const SCEV *distribute(const SCEVCastExpr *Cast,
                         function_ref<const SCEV *(const SCEV *)> Extend) {
    const SCEV *S = Cast->getOperand();
    if (!isa<SCEVAddExpr>(S) && !isa<SCEVMulExpr>(S))
      return Cast;
    SmallVector<const SCEV *, 4> Parts;
    for (const SCEV *Part : cast<SCEVNAryExpr>(S)->operands())
      Parts.push_back(visit(Extend(Part)));
    return isa<SCEVAddExpr>(S) ? SE.getAddExpr(Parts) : SE.getMulExpr(Parts);
  }
};

// max(X, 0) -> X, where the loops have work.
class Positive : public SCEVRewriteVisitor<Positive> {
public:
  SmallVector<const SCEV *, 2> Assumed; // not to be negative

  explicit Positive(ScalarEvolution &SE) : SCEVRewriteVisitor(SE) {}

  const SCEV *visitZeroExtendExpr(const SCEVZeroExtendExpr *Z) {
    const SCEV *X = largerThanZero(Z->getOperand());
    return X && Z->getType()->isIntegerTy(64)
               ? assume(SE.getSignExtendExpr(X, Z->getType()))
               : Z;
  }
  const SCEV *visitSMaxExpr(const SCEVSMaxExpr *M) {
    const SCEV *X = largerThanZero(M);
    return X && M->getType()->isIntegerTy(64) ? assume(X) : M;
  }

private:
  static const SCEV *largerThanZero(const SCEV *S) {
    const auto *M = dyn_cast<SCEVSMaxExpr>(S);
    return M && M->getNumOperands() == 2 && M->getOperand(0)->isZero()
               ? M->getOperand(1)
               : nullptr;
  }
  const SCEV *assume(const SCEV *X) {
    Assumed.push_back(X);
    return X;
  }
};

} // namespace

void LoopTable::addLoop(Loop *L, const SCEV *Extent) {
  assert(!Index.count(L) && Extent->getType()->isIntegerTy(64));
  Index[L] = (int)Loops.size();
  Loops.push_back(L);
  Extents.push_back(Extent);
  InTile.push_back(Extent);
  TileLoops.push_back(-1);
  Remainders.emplace_back();
  Steps.push_back(1);
  Reversed.push_back(false);
}

void LoopTable::cut(int L, int TileLoop, const SCEV *Length,
                    const SCEV *Whole) {
  assert(TileLoop >= 0 && TileLoop < L); // so that following them ends
  assert(Loops[TileLoop]->contains(Loops[L]) && TileLoops[L] < 0);
  TileLoops[L] = TileLoop;
  InTile[L] = Length;
  Extents[L] = Whole;
}

// ---- parts as a whole ----

// X and Y are the same number; one that only wraps in fewer bits may keep them
// from it is asked at run time.
bool LoopTable::areSame(const SCEV *X, const SCEV *Y) {
  if (X == Y || SE.getMinusSCEV(X, Y)->isZero())
    return true;
  if (!isSame(X, Y))
    return false;
  if (!is_contained(Equal, std::make_pair(X, Y)))
    Equal.push_back({X, Y});
  return true;
}

bool LoopTable::isSame(const SCEV *X, const SCEV *Y) {
  const SCEV *Difference = SE.getMinusSCEV(X, Y);
  return Difference->isZero() || Unwrapper(SE).visit(Difference)->isZero();
}

// From the numbers of iterations in each tile to those of the whole.
void LoopTable::numberThrough(Address &X) {
  assert(X.Stride.size() == Loops.size());
  for (size_t L = 0; L < Loops.size(); L++) {
    const SCEV *&TileLoop =
        X.Stride[TileLoops[L] < 0 ? L : (size_t)TileLoops[L]];
    if (TileLoops[L] < 0 || !X.Stride[L])
      continue;
    const SCEV *Way = SE.getMulExpr(InTile[L], X.Stride[L]);
    if (!TileLoop)
      TileLoop = SE.getZero(Way->getType());
    TileLoop =
        areSame(TileLoop, Way) ? nullptr : SE.getMinusSCEV(TileLoop, Way);
  }
}

// Over all iterations of L, in all tiles.
const SCEV *LoopTable::recurrence(const SCEV *Start, const SCEV *Step, int L) {
  if (TileLoops[L] >= 0)
    Start = recurrence(Start, SE.getMulExpr(InTile[L], Step), TileLoops[L]);
  return SE.getAddRecExpr(Start, Step, Loops[L], SCEV::FlagAnyWrap);
}

bool LoopTable::isPlain(int L) const {
  for (int I = 0; I < (int)Loops.size(); I++)
    if (cutter(I) == L || after(I) == L)
      return false;
  return cutter(L) < 0 && after(L) < 0 && step(L) == 1;
}

const SCEV *LoopTable::extent(int L) const {
  assert(L >= 0 && L < (int)Loops.size() && Steps[L] >= 1);
  return isPart(L)
             ? SE.getAddExpr(firstNumber(L),
                             SE.getMulExpr(constant(Steps[L]), Extents[L]))
             : Extents[L];
}

const SCEV *LoopTable::firstNumber(int L) const {
  const Remainder &R = Remainders[L];
  assert(R.After < L && R.Ratio >= 1); // this ends
  return R.After < 0
             ? constant(0)
             : SE.getAddExpr(firstNumber(R.After),
                             SE.getMulExpr(constant(Steps[L]), R.Distance));
}

const SCEV *LoopTable::constant(int64_t Number) const {
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  return SE.getConstant(I64, (uint64_t)Number, true);
}

bool LoopTable::isPart(int L) const {
  return any_of(Remainders, [&](const Remainder &R) { return R.After == L; }) ||
         Remainders[L].After >= 0;
}

// The stride per number of what part L moves by Stride in every iteration;
// null: not known.
const SCEV *LoopTable::strideOf(int L, const SCEV *Stride) {
  assert(isPart(L));
  for (const SCEV *S : Strides)
    if (areSame(SE.getMulExpr(constant(Steps[L]), S), Stride))
      return S;
  return nullptr;
}

// From a part's own iterations to numbers; false: they do not say where X is.
bool LoopTable::numberOn(Address &X) {
  for (int L = 0; L < (int)Loops.size(); L++) {
    const SCEV *Stride = X.Stride[L];
    if (!Stride || !isPart(L))
      continue;
    if (!(X.Stride[L] = strideOf(L, Stride)))
      return false;
    for (int I = L; Remainders[I].After >= 0; I = Remainders[I].After) {
      X.Start = SE.getMinusSCEV(X.Start,
                                SE.getMulExpr(Stride, Remainders[I].Distance));
      auto Known = Joined.find(X.Start);
      X.Start = Known == Joined.end() ? X.Start : Known->second;
      Stride = SE.getMulExpr(Stride, constant(Remainders[I].Ratio));
    }
  }
  return true;
}

// ---- pointers that are set back ----

// What a pointer moves by that a loop within moved on, and that is set back
// behind it: max(n, 0) * s - n * s, which is nothing where n is no less than 0.
// Where nothing cancels, the maximum stays, and nothing is asked.
const SCEV *LoopTable::withoutWayBack(const SCEV *Step) {
  enum { Maximum = 2 }; // nodes of an expression that go with it
  Positive Rewriter(SE);
  const SCEV *Short = Rewriter.visit(Step);
  if (Short->getExpressionSize() + Maximum * Rewriter.Assumed.size() >=
          Step->getExpressionSize() ||
      !all_of(Rewriter.Assumed, [&](const SCEV *X) { return usable(X); }))
    return Step;
  for (const SCEV *X : Rewriter.Assumed)
    Conditions(SE, Counted).atLeast(X, SE.getZero(X->getType()));
  return Short;
}

// ---- directions ----

// The start of a loop that counts down lies where it ends, which is the start
// of one with a positive step if the distance is as long as the loop.
static const SCEV *simplified(const SCEV *Start, ScalarEvolution &SE,
                              Conditions If) {
  Positive Rewriter(SE);
  const SCEV *Short = Rewriter.visit(Start);
  if (Short->getExpressionSize() >= Start->getExpressionSize())
    return Start;
  for (const SCEV *X : Rewriter.Assumed)
    If.atLeast(X, SE.getZero(X->getType()));
  return Short;
}

void LoopTable::reverseLoops(Address &X) {
  for (size_t L = 0; L < Loops.size(); L++)
    if (Reversed[L] && X.Stride[L]) {
      assert(!isPart((int)L));
      const SCEV *Last =
          SE.getMinusSCEV(Extents[L], SE.getOne(Extents[L]->getType()));
      X.Start =
          simplified(SE.getAddExpr(X.Start, SE.getMulExpr(X.Stride[L], Last)),
                     SE, {SE, Counted});
      X.Stride[L] = SE.getNegativeSCEV(X.Stride[L]);
    }
}

} // namespace nputeir
