// limits.cpp -- comparisons of what the loops count, as limits of the nest
// description: a start plus a step per loop, which is below zero or is not.
//
// Both sides are taken as 64-bit numbers that are known to have few bits, or
// are asked for that at run time, so that their difference is exact.  An
// unsigned comparison is two signed ones if the larger side cannot be negative:
// x < n says 0 <= x && x < n.
#include "limits.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

static bool moves(const Address &X) {
  return any_of(X.Stride, [](const SCEV *S) { return S && !S->isZero(); });
}

nest_expr *Limits::read(const ICmpInst &C, int Loop) {
  auto It = Known.find(&C);
  if (It != Known.end())
    return It->second;
  nest_expr *&E = Known[&C];
  Side X = {C.getOperand(0), {}}, Y = {C.getOperand(1), {}};
  if (!X.Number->getType()->isIntegerTy() ||
      X.Number->getType()->isIntegerTy(1) ||
      !Places.readIndex(C, X.Number, X.X) ||
      !Places.readIndex(C, Y.Number, Y.X) || (!moves(X.X) && !moves(Y.X)))
    return E = nullptr;
  At = locOf(C.getDebugLoc(), Nest.A);
  this->Loop = Loop;
  return E = compare(C.getPredicate(), X, Y);
}

nest_expr *Limits::compare(ICmpInst::Predicate P, const Side &X,
                           const Side &Y) {
  switch (P) {
  case ICmpInst::ICMP_SLT:
    return difference(X.X, Y.X, true);
  case ICmpInst::ICMP_SGE:
    return difference(X.X, Y.X, false);
  case ICmpInst::ICMP_EQ:
  case ICmpInst::ICMP_NE: {
    bool Equal = P == ICmpInst::ICMP_EQ;
    if (isKnown(ICmpInst::ICMP_SGE, X, Y))
      return compare(Equal ? ICmpInst::ICMP_SLE : ICmpInst::ICMP_SGT, X, Y);
    if (isKnown(ICmpInst::ICMP_SLE, X, Y))
      return compare(Equal ? ICmpInst::ICMP_SGE : ICmpInst::ICMP_SLT, X, Y);
    return nullptr;
  }
  case ICmpInst::ICMP_ULT:
  case ICmpInst::ICMP_ULE:
    return compareUnsigned(X, Y, P == ICmpInst::ICMP_ULE);
  default:
    return compare(ICmpInst::getSwappedPredicate(P), Y, X);
  }
}

// X < Y or X <= Y.
nest_expr *Limits::compareUnsigned(const Side &X, const Side &Y, bool OrEqual) {
  if (!staysPositive(Y)) {
    nest_expr *Not =
        staysPositive(X) ? compareUnsigned(Y, X, !OrEqual) : nullptr;
    return Not ? Nest.make(NEST_NOT, DTYPE_U8, At, Not) : nullptr;
  }
  nest_expr *Less =
      OrEqual ? difference(Y.X, X.X, false) : difference(X.X, Y.X, true);
  if (staysPositive(X))
    return Less;
  Address Zero = {SE.getZero(X.X.Start->getType()), {}};
  Zero.Stride.assign(X.X.Stride.size(), nullptr);
  return Nest.make(NEST_AND, DTYPE_U8, At, difference(X.X, Zero, false), Less);
}

bool Limits::isKnown(ICmpInst::Predicate P, const Side &X, const Side &Y) {
  return SE.isKnownPredicate(P, SE.getSCEV(X.Number), SE.getSCEV(Y.Number));
}

// As a signed number, too; what does not move is asked at run time.
bool Limits::staysPositive(const Side &X) {
  if (SE.isKnownNonNegative(SE.getSCEV(X.Number)))
    return true;
  if (moves(X.X))
    return false;
  Nest.R.Guards.push_back(
      {Nest.valueOf(X.X.Start, Twine("limit") + Twine(Nest.LimitCount++)),
       {0, -1},
       {1, -1}});
  return true;
}

// X - Y < 0, or >= 0.
nest_expr *Limits::difference(const Address &X, const Address &Y, bool Below) {
  nest_expr *E = Nest.make(NEST_LIMIT, DTYPE_U8, At);
  std::string Name = "limit" + std::to_string(Nest.LimitCount++);
  const SCEV *Zero = SE.getZero(X.Start->getType());
  E->loop = Loop;
  E->limit.below = Below;
  E->limit.start = Nest.valueOf(SE.getMinusSCEV(X.Start, Y.Start), Name);
  E->limit.step =
      (value *)arena_array(Nest.A, (size_t)Nest.loopCount(), sizeof(value));
  for (int L = 0; L < Nest.loopCount(); L++) {
    auto Step = [&](const Address &Z) {
      return (size_t)L < Z.Stride.size() && Z.Stride[L] ? Z.Stride[L] : Zero;
    };
    E->limit.step[L] = Nest.valueOf(SE.getMinusSCEV(Step(X), Step(Y)),
                                    Twine(Name) + "." + Nest.loopName(L));
  }
  return E;
}

bool asksLimits(const nest_expr *E) {
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
      if (!asksLimits(E->arg[I]))
        return false;
    return true;
  default:
    return false;
  }
}

} // namespace nputeir
