// middle_writes.cpp -- asks at run time whether a place that is written only
// where conditions on counters hold is written by some iteration anyway:
//
//     for o, y, x, v, u: if (y + v >= 1 && y + v <= h && ..)
//       out[o][y][x] += in[y + v - 1][x + u - 1] * weights[o][v][u];
//
// Of the loops that do not move the place, the iteration in the middle is
// looked at, which margins leave in.  If the conditions hold there, whatever
// the place, all are written, and which products each one gets is a matter of
// the sum.
#include "middle_writes.h"

using namespace llvm;

namespace nputeir {

namespace {

class MiddleWrites {
  const nest_statement &Store;
  const Joins &Places;
  ScalarEvolution &SE;
  NestBuilder &Nest;
  std::vector<NoWrap> Bounded;
  std::vector<Comparison> Compared;

public:
  MiddleWrites(const nest_statement &Store, const Joins &Places,
               ScalarEvolution &SE, NestBuilder &Nest)
      : Store(Store), Places(Places), SE(SE), Nest(Nest) {}

  bool run() {
    if (!addChoices(Store.value) || Compared.empty())
      return false;
    IRNest &R = Nest.R;
    R.Bounded.insert(R.Bounded.end(), Bounded.begin(), Bounded.end());
    R.Compared.insert(R.Compared.end(), Compared.begin(), Compared.end());
    return true;
  }

private:
  bool isOld(const nest_expr *E) const {
    return E->op == NEST_LOAD && E->order == Store.order - 1 &&
           Nest.samePlace(E->access, Store.to);
  }

  // E adds to what the place held.  Anything else is for the last iteration
  // that writes it, or the only one.
  bool adds(const nest_expr *E) const {
    switch (E->op) {
    case NEST_LOAD:
      return Nest.samePlace(E->access, Store.to);
    case NEST_CAST:
    case NEST_SUB:
      return adds(E->arg[0]);
    case NEST_ADD:
      return adds(E->arg[0]) || adds(E->arg[1]);
    case NEST_FMA:
      return adds(E->arg[2]);
    default:
      return false;
    }
  }

  // The conditions on which E is not what the place held.
  bool addChoices(const nest_expr *E) {
    if (E->op != NEST_SELECT)
      return adds(E);
    bool Old = isOld(E->arg[2]);
    if (Old == isOld(E->arg[1]))
      return !Old; // a choice of its own
    return add(E->arg[0], Old) && addChoices(E->arg[Old ? 1 : 2]);
  }

  static bool isTruth(const nest_expr *E, bool Which) {
    return E->op == NEST_NUMBER && (E->integer != 0) == Which;
  }

  // False: it takes more than affine guards that hold, or do not, one by one.
  bool add(const nest_expr *E, bool Holds) {
    switch (E->op) {
    case NEST_NUMBER:
      return isTruth(E, Holds);
    case NEST_LIMIT:
      return add(E->limit, E->limit.below == Holds);
    case NEST_NOT:
      return add(E->arg[0], !Holds);
    case NEST_XOR:
      return isTruth(E->arg[1], true) && add(E->arg[0], !Holds);
    case NEST_AND:
    case NEST_OR:
      return Holds == (E->op == NEST_AND) && add(E->arg[0], Holds) &&
             add(E->arg[1], Holds);
    case NEST_SELECT: // x ? y : 0, x ? 0 : y; not x ? y : 1, not x ? 1 : y
      for (int Side : {1, 2})
        if (isTruth(E->arg[Side], !Holds))
          return add(E->arg[0], Side == 2) && add(E->arg[3 - Side], Holds);
      return false;
    default:
      return false;
    }
  }

  const SCEV *number(value V) const {
    Type *I64 = Type::getInt64Ty(SE.getContext());
    return V.symbol < 0
               ? SE.getConstant(I64, (uint64_t)V.constant, /*isSigned=*/true)
               : Nest.R.Symbol[V.symbol];
  }

  static bool isZero(value V) { return V.symbol < 0 && V.constant == 0; }

  // Below zero, or not: what moves it and not the place must be something.
  bool add(const affine_guard &Limit, bool Below) {
    Sum All = {number(Limit.start), {}}, Middle = All;
    bool Sums = false;
    for (int L = 0; L < Nest.loopCount(); L++) {
      if (isZero(Limit.step[L]))
        continue;
      if (!Places.isPlain(L))
        return false;
      const SCEV *Step = number(Limit.step[L]), *Extent = Places.extent(L);
      All.Terms.push_back({Step, Extent});
      if (!isZero(Store.to.stride_bytes[L])) {
        Middle.Terms.push_back({Step, Extent});
        continue;
      }
      const SCEV *One = SE.getOne(Extent->getType());
      const SCEV *Half =
          SE.getUDivExpr(SE.getMinusSCEV(Extent, One), SE.getAddExpr(One, One));
      Middle.Start = SE.getAddExpr(Middle.Start, SE.getMulExpr(Step, Half));
      Sums = true;
    }
    Bounded.push_back({61, true, All}); // and so is the middle exact
    Compared.push_back({Below ? CmpInst::ICMP_SLT : CmpInst::ICMP_SGE, Middle});
    return Sums && !Limit.last;
  }
};

} // namespace

bool isWrittenInMiddle(const nest_statement &Store, const Joins &Places,
                       ScalarEvolution &SE, NestBuilder &Nest) {
  return MiddleWrites(Store, Places, SE, Nest).run();
}

} // namespace nputeir
