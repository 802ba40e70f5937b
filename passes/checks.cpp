// checks.cpp -- numbers and conditions that are computed in front of a nest.
#include "checks.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

Checks::Checks(const IRNest &Nest, ScalarEvolution &SE, Instruction *At)
    : Nest(Nest), SE(SE), At(At), Code(SE, *At->getModule()), B(At) {}

Value *Checks::frozen(const SCEV *S, Type *T) {
  Value *&Known = Frozen[S];
  assert(!Known || Known->getType() == T);
  if (Known)
    return Known;
  Value *V = Code.expand(S, T, At);
  B.SetInsertPoint(At);
  return Known = isa<Constant>(V) ? V : B.CreateFreeze(V);
}

Value *Checks::number(value V) {
  assert(V.symbol < (int)Nest.Symbol.size());
  if (V.symbol < 0)
    return B.getInt64((uint64_t)V.constant);
  return frozen(Nest.Symbol[V.symbol], B.getInt64Ty());
}

Value *Checks::isPositive(value V) {
  if (V.symbol >= 0)
    Positive.insert(Nest.Symbol[V.symbol]);
  return B.CreateICmpSGT(number(V), B.getInt64(0));
}

Value *Checks::holds(const AtLeast &C) {
  Value *Large = frozen(C.Large, B.getInt64Ty());
  return B.CreateICmpSGE(Large, frozen(C.Small, B.getInt64Ty()));
}

ConstantRange Checks::known(const SCEV *S) {
  bool IsWide = SE.getTypeSizeInBits(S->getType()) == 64;
  return IsWide ? SE.getSignedRange(S) : ConstantRange::getFull(64);
}

Checks::Bound Checks::plus(const Bound &X, const Bound &Y) {
  bool Fits = X.Known.signedAddMayOverflow(Y.Known) ==
              ConstantRange::OverflowResult::NeverOverflows;
  return {Fits ? B.CreateAdd(X.Is, Y.Is)
               : B.CreateBinaryIntrinsic(Intrinsic::sadd_sat, X.Is, Y.Is),
          X.Known.sadd_sat(Y.Known)};
}

// What is known to hold is not computed: other passes would find that out in
// much of the time that they have for all of the nest.
Checks::Range Checks::range(const Sum &S) {
  Type *I64 = B.getInt64Ty();
  Bound Start = {frozen(S.Start, I64), known(S.Start)};
  Range All = {Start, Start, B.getTrue()};
  ConstantRange Zero(APInt(64, 0)), Natural(APInt(64, 0), APInt(64, 1) << 63);
  for (auto [Step, Extent] : S.Terms) {
    Value *Last = B.CreateSub(frozen(Extent, I64), B.getInt64(1));
    ConstantRange Lasts =
        known(Extent).sub(APInt(64, 1)).intersectWith(Natural);
    ConstantRange Steps = known(Step);
    ConstantRange Ways = Steps.signExtend(128).multiply(Lasts.signExtend(128));
    bool Fits = Ways.getSignedMin().isSignedIntN(64) &&
                Ways.getSignedMax().isSignedIntN(64);
    Bound Way = {nullptr,
                 Fits ? Ways.truncate(64) : ConstantRange::getFull(64)};
    if (Fits) {
      Way.Is = B.CreateMul(frozen(Step, I64), Last);
    } else {
      Value *Product = B.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow,
                                               frozen(Step, I64), Last);
      Way.Is = B.CreateExtractValue(Product, 0);
      All.Exact =
          B.CreateAnd(All.Exact, B.CreateNot(B.CreateExtractValue(Product, 1)));
    }
    if (Steps.isAllNonNegative()) {
      All.Largest = plus(All.Largest, Way);
    } else if (Steps.getSignedMax().isNonPositive()) {
      All.Smallest = plus(All.Smallest, Way);
    } else {
      auto Side = [&](Intrinsic::ID Id, const ConstantRange &Known) {
        return Bound{B.CreateBinaryIntrinsic(Id, Way.Is, B.getInt64(0)), Known};
      };
      All.Smallest =
          plus(All.Smallest, Side(Intrinsic::smin, Way.Known.smin(Zero)));
      All.Largest =
          plus(All.Largest, Side(Intrinsic::smax, Way.Known.smax(Zero)));
    }
  }
  return All;
}

Value *Checks::holds(const NoWrap &N) {
  Range All = range(N.Of);
  assert(N.Bits >= 1 && N.Bits <= 61);
  APInt Limit = APInt(64, 1) << (N.Signed ? N.Bits - 1 : N.Bits);
  APInt Low = N.Signed ? -Limit : APInt(64, 0);
  Value *Fits = All.Exact;
  if (All.Smallest.Known.getSignedMin().slt(Low))
    Fits = B.CreateAnd(Fits, B.CreateICmpSGE(All.Smallest.Is, B.getInt(Low)));
  if (All.Largest.Known.getSignedMax().sge(Limit))
    Fits = B.CreateAnd(Fits, B.CreateICmpSLT(All.Largest.Is, B.getInt(Limit)));
  return Fits;
}

Value *Checks::holds(const Comparison &C) {
  Range All = range(C.Of);
  assert(!CmpInst::isUnsigned(C.Is));
  Value *Smallest = All.Smallest.Is, *Largest = All.Largest.Is;
  Value *Zero = B.getInt64(0), *Holds;
  switch (C.Is) {
  case CmpInst::ICMP_EQ:
    Holds = B.CreateAnd(B.CreateICmpEQ(Smallest, Zero),
                        B.CreateICmpEQ(Largest, Zero));
    break;
  case CmpInst::ICMP_NE:
    Holds = B.CreateOr(B.CreateICmpSGT(Smallest, Zero),
                       B.CreateICmpSLT(Largest, Zero));
    break;
  case CmpInst::ICMP_SLT:
  case CmpInst::ICMP_SLE:
    Holds = B.CreateICmp(C.Is, Largest, Zero);
    break;
  default:
    Holds = B.CreateICmp(C.Is, Smallest, Zero);
  }
  return B.CreateAnd(All.Exact, Holds);
}

namespace {

// A product of sizes, none of which is below zero.
struct Sizes {
  uint64_t Number = 1;
  SmallVector<const SCEV *, 8> Others;
};

} // namespace

// Is Large what Small times Count makes, or that a positive number of times,
// whatever the sizes?
bool Checks::isMultiple(value Large, value Small, value Count) {
  auto Multiply = [&](value V, Sizes &To) {
    const SCEV *S = V.symbol < 0 ? SE.getConstant(B.getInt64Ty(),
                                                  (uint64_t)V.constant, true)
                                 : Nest.Symbol[V.symbol];
    SmallVector<const SCEV *, 8> Factors = {S};
    if (auto *Product = dyn_cast<SCEVMulExpr>(S))
      Factors.assign(Product->operands().begin(), Product->operands().end());
    return all_of(Factors, [&](const SCEV *Of) {
      if (!known(Of).isAllNonNegative())
        return false;
      auto *C = dyn_cast<SCEVConstant>(Of);
      if (!C)
        To.Others.push_back(Of);
      return !C || !__builtin_mul_overflow(
                       To.Number, C->getAPInt().getZExtValue(), &To.Number);
    });
  };
  Sizes Whole, Part;
  if (!Multiply(Large, Whole) || !Multiply(Small, Part) ||
      !Multiply(Count, Part) || Part.Number == 0 || Whole.Number < Part.Number)
    return false;
  APInt Largest(128, Whole.Number);
  for (const SCEV *Of : Whole.Others) {
    Largest *= known(Of).getUnsignedMax().zext(128);
    if (!Largest.isSignedIntN(64))
      return false;
  }
  for (const SCEV *Of : Part.Others) {
    auto *It = find(Whole.Others, Of);
    if (It == Whole.Others.end())
      return false;
    Whole.Others.erase(It);
  }
  return all_of(Whole.Others,
                [&](const SCEV *Of) { return Positive.count(Of); });
}

// Large >= Small * Count.
Value *Checks::stepsOver(value Large, value Small, value Count) {
  if (isMultiple(Large, Small, Count))
    return B.getTrue();
  Value *Product = B.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow,
                                           number(Small), number(Count));
  Value *Fits = B.CreateNot(B.CreateExtractValue(Product, 1));
  return B.CreateAnd(
      Fits, B.CreateICmpSGE(number(Large), B.CreateExtractValue(Product, 0)));
}

Value *Checks::holds(const contraction_guard &G) {
  Value *Holds = stepsOver(G.large, G.small, G.count);
  return G.either ? B.CreateOr(Holds, stepsOver(G.small, G.large, G.turned))
                  : Holds;
}

Value *Checks::holds(std::pair<Value *, bool> Assumed) {
  Value *Holds = B.CreateFreeze(Assumed.first);
  return Assumed.second ? Holds : B.CreateNot(Holds);
}

Value *Checks::holds(std::pair<const SCEV *, const SCEV *> Equal) {
  Value *Left = frozen(Equal.first, B.getInt64Ty());
  return B.CreateICmpEQ(Left, frozen(Equal.second, B.getInt64Ty()));
}

Value *Checks::holds(const Apart &X) {
  Range Written = range(X.Written.Of), Read = range(X.Read.Of);
  auto InFront = [&](const Range &Low, uint64_t Bytes, const Range &High) {
    Bound Size = {B.getInt64(Bytes), ConstantRange(APInt(64, Bytes))};
    return B.CreateICmpSLE(plus(Low.Largest, Size).Is, High.Smallest.Is);
  };
  return B.CreateAnd(B.CreateAnd(Written.Exact, Read.Exact),
                     B.CreateOr(InFront(Written, X.Written.Bytes, Read),
                                InFront(Read, X.Read.Bytes, Written)));
}

// Steps by whole periods lead to the same place of others.
Checks::InPeriod Checks::inPeriod(const Apart::Reach &X, Value *Period) {
  Type *I64 = B.getInt64Ty();
  Value *Zero = B.getInt64(0);
  InPeriod R = {frozen(X.Of.Start, I64), B.getInt64(X.Bytes)};
  for (auto [By, Extent] : X.Of.Terms) {
    Value *Step = frozen(By, I64);
    Value *Last = B.CreateSub(frozen(Extent, I64), B.getInt64(1));
    Value *IsWhole = B.CreateICmpEQ(B.CreateSRem(Step, Period), Zero);
    Value *Way = B.CreateSelect(IsWhole, Zero, B.CreateMul(Step, Last));
    Value *Falls = B.CreateICmpSLT(Way, Zero);
    R.First = B.CreateAdd(R.First, B.CreateSelect(Falls, Way, Zero));
    R.Bytes =
        B.CreateAdd(R.Bytes, B.CreateSelect(Falls, B.CreateNeg(Way), Way));
  }
  return R;
}

// The second begins behind the first one's end, and ends in front of the first
// one's next period.  Neither leaves the addresses from 0 on, so that nothing
// wraps.
Value *Checks::holds(const Beside &X) {
  Value *Zero = B.getInt64(0), *Good = B.getTrue();
  for (const Apart::Reach *Of : {&X.Both.Written, &X.Both.Read}) {
    Range All = range(Of->Of);
    Value *Fits = B.CreateICmpSLT(All.Largest.Is, B.getInt64(INT64_MAX));
    Good = B.CreateAnd(Good, B.CreateAnd(All.Exact, Fits));
    Good = B.CreateAnd(Good, B.CreateICmpSGE(All.Smallest.Is, Zero));
  }
  Value *Period = B.CreateBinaryIntrinsic(
      Intrinsic::abs, frozen(X.Period, B.getInt64Ty()), B.getFalse());
  Value *IsOne = B.CreateICmpSGT(Period, Zero);
  Period = B.CreateSelect(IsOne, Period, B.getInt64(1));
  InPeriod First = inPeriod(X.Both.Written, Period);
  InPeriod Second = inPeriod(X.Both.Read, Period);
  Value *Behind = B.CreateSRem(B.CreateSub(Second.First, First.First), Period);
  Behind = B.CreateSelect(B.CreateICmpSLT(Behind, Zero),
                          B.CreateAdd(Behind, Period), Behind);
  Value *Begins = B.CreateICmpSGE(Behind, First.Bytes);
  Value *Ends = B.CreateICmpSLE(Second.Bytes, B.CreateSub(Period, Behind));
  return B.CreateAnd(B.CreateAnd(Good, IsOne), B.CreateAnd(Begins, Ends));
}

// Each step is at least what all smaller ones, and an iteration, reach.  Of
// equal ones neither is, unless the other is made once.
Value *Checks::holds(const OwnPlaces &X) {
  Range W = range(X.InOne.Written.Of), R = range(X.InOne.Read.Of);
  auto End = [&](const Range &Of, uint64_t Bytes) {
    Bound Size = {B.getInt64(Bytes), ConstantRange(APInt(64, Bytes))};
    return plus(Of.Largest, Size).Is;
  };
  auto Both = [&](Intrinsic::ID Id, Value *V, Value *Other) {
    return B.CreateBinaryIntrinsic(Id, V, Other);
  };
  Value *Last = Both(Intrinsic::smax, End(W, X.InOne.Written.Bytes),
                     End(R, X.InOne.Read.Bytes));
  Value *First = Both(Intrinsic::smin, W.Smallest.Is, R.Smallest.Is);
  Value *Own = Both(Intrinsic::ssub_sat, Last, First), *All = Own;
  Value *Zero = B.getInt64(0), *One = B.getInt64(1);
  Value *Good = B.CreateAnd(W.Exact, R.Exact);
  struct Around {
    Value *Step, *Way, *IsOnce;
  };
  SmallVector<Around, 4> Loops;
  for (auto [By, Extent] : X.Around) {
    Value *Step = B.CreateBinaryIntrinsic(
        Intrinsic::abs, frozen(By, B.getInt64Ty()), B.getFalse());
    Value *Times = B.CreateSub(frozen(Extent, B.getInt64Ty()), One);
    Value *Way = Both(Intrinsic::smul_with_overflow, Step, Times);
    Loops.push_back(
        {Step, B.CreateExtractValue(Way, 0), B.CreateICmpSLE(Times, Zero)});
    Good = B.CreateAnd(Good, B.CreateNot(B.CreateExtractValue(Way, 1)));
    Good = B.CreateAnd(Good, B.CreateICmpSGE(Step, Zero));
    All = Both(Intrinsic::sadd_sat, All, Loops.back().Way);
  }
  for (const Around &X : Loops) {
    Value *Reach = Own;
    for (const Around &Other : Loops)
      if (&Other != &X)
        Reach = Both(Intrinsic::sadd_sat, Reach,
                     B.CreateSelect(B.CreateICmpSLE(Other.Step, X.Step),
                                    Other.Way, Zero));
    Good =
        B.CreateAnd(Good, B.CreateOr(X.IsOnce, B.CreateICmpSGE(X.Step, Reach)));
  }
  return B.CreateAnd(Good, B.CreateICmpSLT(All, B.getInt64(INT64_MAX)));
}

Value *Checks::areElementsApart(const Grid &G) {
  auto Size = [&](const SCEV *S) {
    return B.CreateBinaryIntrinsic(Intrinsic::abs, frozen(S, B.getInt64Ty()),
                                   B.getTrue());
  };
  auto Steps = [&](Value *Large, Value *Small, Value *Times) {
    Value *Way =
        B.CreateBinaryIntrinsic(Intrinsic::umul_with_overflow, Small, Times);
    return B.CreateAnd(B.CreateNot(B.CreateExtractValue(Way, 1)),
                       B.CreateICmpUGE(Large, B.CreateExtractValue(Way, 0)));
  };
  Value *Row = Size(G.Row), *Column = Size(G.Column);
  Value *Wide = B.CreateICmpUGE(Row, B.getInt64(G.Bytes));
  Wide = B.CreateAnd(Wide, B.CreateICmpUGE(Column, B.getInt64(G.Bytes)));
  return B.CreateAnd(Wide, B.CreateOr(Steps(Row, Column, G.Columns),
                                      Steps(Column, Row, G.Rows)));
}

Value *loopsRun(const IRNest &N, ScalarEvolution &SE, Instruction *At) {
  Checks Front(N, SE, At);
  Value *Run = Front.B.getTrue();
  for (int L = 0; L < N.N->loop_count; L++)
    Run = Front.B.CreateAnd(Run, Front.isPositive(N.N->loop[L].extent));
  N.eachCondition([&](const auto &Condition) {
    Run = Front.B.CreateAnd(Run, Front.holds(Condition));
  });
  return Run;
}

FrontBranch branchIfLoopsRun(Loop &Outer, const IRNest &N, LoopInfo &LI,
                             ScalarEvolution &SE, DominatorTree &DT,
                             Value *Also) {
  Instruction *End = Outer.getLoopPreheader()->getTerminator();
  Value *Run = loopsRun(N, SE, End);
  if (Also)
    Run = IRBuilder<>(End).CreateAnd(Also, Run);
  BasicBlock *Before = End->getParent();
  DomTreeUpdater DTU(DT, DomTreeUpdater::UpdateStrategy::Eager);
  Instruction *Then =
      SplitBlockAndInsertIfThen(Run, End, false, nullptr, &DTU, &LI);
  return {End, Then, Before};
}

PHINode *FrontBranch::join(Value *V) const {
  IRBuilder<> B(&End->getParent()->front());
  PHINode *P = B.CreatePHI(V->getType(), 2);
  P->addIncoming(V, Then->getParent());
  P->addIncoming(Constant::getNullValue(V->getType()), Before);
  return P;
}

} // namespace nputeir
