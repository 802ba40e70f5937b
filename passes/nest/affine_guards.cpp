// affine_guards.cpp -- comparisons of what the loops count, as affine guards
// of the nest description: a start plus a step per loop, which is below zero or
// is not.
//
// Both sides are taken as 64-bit numbers that are known to have few bits, or
// are asked for that at run time, so that their difference is exact.  An
// unsigned comparison is two signed ones if the sign of one side is known:
// x < n says 0 <= x && x < n where n is not negative, and 0 <= x || x < n where
// it is; InstCombine writes y < 0 || y >= 34 as y - 34 < -34.
#include "affine_guards.h"

#include "ir_marks.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace nputeir {

static bool moves(const Address &X) {
  return any_of(X.Stride, [](const SCEV *S) { return S && !S->isZero(); });
}

nest_expr *AffineGuards::read(const ICmpInst &C, int Loop) {
  auto It = Known.find(&C);
  if (It != Known.end())
    return It->second;
  At = locOf(C.getDebugLoc(), Nest.A);
  this->Loop = Loop;
  Joined = 0;
  assert(Loop >= -1 && Loop < Nest.loopCount());
  return Known[&C] = read(C, C.getOperand(0), C.getOperand(1));
}

// (X | Z) == 0, which is how InstCombine writes X == 0 && Z == 0.  Where X and
// Z have no bits in common, it writes a sum that way.
nest_expr *AffineGuards::readBoth(const ICmpInst &C, Value *Both, Value *Zero) {
  using namespace PatternMatch;
  Value *X, *Z;
  if (!C.isEquality() || !match(Zero, m_Zero()) ||
      !match(Both, m_Or(m_Value(X), m_Value(Z))) ||
      !isa<SCEVUnknown>(SE.getSCEV(Both)) || Joined == JoinedMax)
    return nullptr;
  Joined++;
  nest_expr *First = read(C, X, Zero);
  nest_expr *Second = First ? read(C, Z, Zero) : nullptr;
  bool Equal = C.getPredicate() == ICmpInst::ICMP_EQ;
  return Second ? Nest.make(Equal ? NEST_AND : NEST_OR, DTYPE_U8, At, First,
                            Second)
                : nullptr;
}

nest_expr *AffineGuards::read(const ICmpInst &C, Value *Left, Value *Right) {
  Side X = {Left, {}}, Y = {Right, {}};
  if (!Left->getType()->isIntegerTy() || Left->getType()->isIntegerTy(1))
    return nullptr;
  if (nest_expr *E = readBoth(C, Left, Right))
    return E;
  if (!Places.readIndex(C, Left, X.X) || !Places.readIndex(C, Right, Y.X) ||
      (!moves(X.X) && !moves(Y.X)))
    return nullptr;
  return compare(C.getPredicate(), X, Y);
}

nest_expr *AffineGuards::has(const ClippedLoop &C, const llvm::Loop &L,
                             int Number, loc Where) {
  nest_expr *All = nullptr;
  At = Where;
  Loop = Number;
  const SCEV *Counter = ClippedLoops::counter(C, L, SE);
  for (bool Below : {false, true})
    for (const ClippedLoop::Cut &Cut : Below ? C.Limit : C.Least) {
      Address Now, X;
      const SCEV *N = Cut.Times ? SE.getMulExpr(Counter, Cut.Times) : Counter;
      if ((Cut.Times && !Places.usable(Cut.Times)) ||
          !Places.readIndex(N, L, Now) || !Places.readIndex(Cut.Of, L, X))
        return nullptr;
      if (Cut.Times && !SE.isKnownPositive(Cut.Times))
        askAtLeast(Cut.Times, 1);
      nest_expr *E = difference(Now, X, Below);
      All = All ? Nest.make(NEST_AND, DTYPE_U8, At, All, E) : E;
    }
  return All;
}

// At run time.
void AffineGuards::askAtLeast(const SCEV *Number, int64_t Least) {
  Nest.R.Guards.push_back(
      {Nest.valueOf(Number, Twine("limit") + Twine(Nest.GuardCount++)),
       {Least, -1},
       {1, -1},
       {},
       false});
}

nest_expr *AffineGuards::compare(ICmpInst::Predicate P, const Side &X,
                                 const Side &Y) {
  switch (P) {
  case ICmpInst::ICMP_SLT:
    return difference(X.X, Y.X, true);
  case ICmpInst::ICMP_SGE:
    return difference(X.X, Y.X, false);
  case ICmpInst::ICMP_EQ:
  case ICmpInst::ICMP_NE: {
    bool Equal = P == ICmpInst::ICMP_EQ;
    if (endsAtZero(X.X, Y.X))
      return difference(X.X, Y.X, !Equal);
    if (endsAtZero(Y.X, X.X))
      return difference(Y.X, X.X, !Equal);
    if (isAtLeast(X, Y))
      return compare(Equal ? ICmpInst::ICMP_SLE : ICmpInst::ICMP_SGT, X, Y);
    if (isAtLeast(Y, X))
      return compare(Equal ? ICmpInst::ICMP_SGE : ICmpInst::ICMP_SLT, X, Y);
    return nullptr;
  }
  case ICmpInst::ICMP_ULT:
  case ICmpInst::ICMP_ULE:
    return compareUnsigned(X, Y, P == ICmpInst::ICMP_ULE);
  default: // one of those above
    assert(ICmpInst::isGT(P) || P == ICmpInst::ICMP_SLE ||
           P == ICmpInst::ICMP_UGE);
    return compare(ICmpInst::getSwappedPredicate(P), Y, X);
  }
}

// The number as it is where it is above zero.
static const SCEV *ifPositive(ScalarEvolution &SE, const SCEV *S) {
  if (const auto *Cast = dyn_cast<SCEVIntegralCastExpr>(S))
    return isa<SCEVTruncateExpr>(S)
               ? S
               : SE.getSignExtendExpr(ifPositive(SE, Cast->getOperand()),
                                      S->getType());
  const auto *Max = dyn_cast<SCEVSMaxExpr>(S);
  return Max && Max->getNumOperands() == 2 && Max->getOperand(0)->isZero()
             ? Max->getOperand(1)
             : S;
}

// It moves up in all iterations but one.  32 bits are enough to see that it is
// zero then, if it lies less than 2^32 from zero (as it does if -2^32 is what
// it would be without an iteration); in 64 bits, n - 1 and its extension
// differ.
bool AffineGuards::isZeroAtEnd(const SCEV *From, const SCEV *Step,
                               const SCEV *Extent) {
  auto AtEnd = [&](const SCEV *N) {
    const SCEV *More = SE.getMinusSCEV(N, SE.getOne(N->getType()));
    return SE.getAddExpr(From, SE.getMulExpr(Step, More));
  };
  ConstantRange Range = SE.getSignedRange(AtEnd(Extent));
  const SCEV *End = AtEnd(ifPositive(SE, Extent));
  bool Small = Range.getSignedMin().sge(-(INT64_C(1) << 32)) &&
               Range.getSignedMax().slt(INT64_C(1) << 32);
  Type *I32 = Type::getInt32Ty(SE.getContext());
  return End->isZero() || (Small && SE.getTruncateExpr(End, I32)->isZero());
}

// X - Y, in the last iteration of the one loop that moves it, upwards.
bool AffineGuards::endsAtZero(const Address &X, const Address &Y) {
  int Loop = -1;
  for (int L = 0; L < Nest.loopCount(); L++)
    if (!step(X, Y, L)->isZero()) {
      if (Loop >= 0)
        return false;
      Loop = L;
    }
  const SCEV *Step = Loop < 0 ? nullptr : step(X, Y, Loop);
  return isa_and_nonnull<SCEVConstant>(Step) && SE.isKnownPositive(Step) &&
         isZeroAtEnd(SE.getMinusSCEV(X.Start, Y.Start), Step,
                     Places.extent(Loop));
}

Address AffineGuards::zero() {
  Address Zero = {SE.getZero(Type::getInt64Ty(SE.getContext())), {}};
  Zero.Stride.assign((size_t)Nest.loopCount(), nullptr);
  return Zero;
}

// X < Y or X <= Y.
nest_expr *AffineGuards::compareUnsigned(const Side &X, const Side &Y,
                                         bool OrEqual) {
  auto Both = [&](nest_op Op, const Side &Z, bool Negative) {
    nest_expr *Less =
        OrEqual ? difference(Y.X, X.X, false) : difference(X.X, Y.X, true);
    return Nest.make(Op, DTYPE_U8, At, difference(Z.X, zero(), Negative), Less);
  };
  if (isNegative(Y))
    return Both(NEST_OR, X, false);
  if (isNegative(X))
    return Both(NEST_AND, Y, true);
  if (!staysPositive(Y)) {
    nest_expr *Not =
        staysPositive(X) ? compareUnsigned(Y, X, !OrEqual) : nullptr;
    return Not ? Nest.make(NEST_NOT, DTYPE_U8, At, Not) : nullptr;
  }
  if (staysPositive(X))
    return OrEqual ? difference(Y.X, X.X, false) : difference(X.X, Y.X, true);
  return Both(NEST_AND, X, false);
}

bool AffineGuards::isNegative(const Side &X) {
  return SE.isKnownNegative(SE.getSCEV(X.Number));
}

// X >= Y in the first iteration, and no loop takes X down to Y.
bool AffineGuards::staysAbove(const Address &X, const Address &Y) {
  bool Above = SE.isKnownNonNegative(SE.getMinusSCEV(X.Start, Y.Start));
  for (int L = 0; Above && L < Nest.loopCount(); L++)
    Above = SE.isKnownNonNegative(step(X, Y, L));
  return Above;
}

// X >= Y, whatever the bits that they have in the program.
bool AffineGuards::isAtLeast(const Side &X, const Side &Y) {
  return SE.isKnownPredicate(ICmpInst::ICMP_SGE, SE.getSCEV(X.Number),
                             SE.getSCEV(Y.Number)) ||
         staysAbove(X.X, Y.X);
}

// As a signed number, too; what does not move is asked at run time.
bool AffineGuards::staysPositive(const Side &X) {
  if (SE.isKnownNonNegative(SE.getSCEV(X.Number)) || staysAbove(X.X, zero()))
    return true;
  if (moves(X.X))
    return false;
  askAtLeast(X.X.Start, 0);
  return true;
}

// How far loop L moves X - Y.
const SCEV *AffineGuards::step(const Address &X, const Address &Y, int L) {
  assert(X.Start->getType() == Y.Start->getType());
  auto Of = [&](const Address &Z) {
    return (size_t)L < Z.Stride.size() && Z.Stride[L]
               ? Z.Stride[L]
               : SE.getZero(Z.Start->getType());
  };
  return SE.getMinusSCEV(Of(X), Of(Y));
}

// X - Y < 0, or >= 0.
nest_expr *AffineGuards::difference(const Address &X, const Address &Y,
                                    bool Below) {
  nest_expr *E = Nest.make(NEST_LIMIT, DTYPE_U8, At);
  std::string Name = "limit" + std::to_string(Nest.GuardCount++);
  E->loop = Loop;
  E->limit.below = Below;
  E->limit.last = endsAtZero(X, Y);
  E->limit.start = Nest.valueOf(SE.getMinusSCEV(X.Start, Y.Start), Name);
  E->limit.step =
      (value *)arena_array(Nest.A, (size_t)Nest.loopCount(), sizeof(value));
  for (int L = 0; L < Nest.loopCount(); L++)
    E->limit.step[L] =
        Nest.valueOf(step(X, Y, L), Twine(Name) + "." + Nest.loopName(L));
  return E;
}

bool asksAffineGuards(const nest_expr *E) {
  switch (E->op) {
  case NEST_LIMIT:
  case NEST_NUMBER:
    return true;
  case NEST_NOT:
  case NEST_AND:
  case NEST_OR:
  case NEST_XOR:
  case NEST_SELECT:
    for (int I = 0; I < calc_operands(nest_calc_op(E->op)); I++)
      if (!asksAffineGuards(E->arg[I]))
        return false;
    return true;
  default:
    return false;
  }
}

} // namespace nputeir
