// checks.cpp -- numbers and conditions that are computed in front of a nest.
#include "checks.h"
#include "check_functions.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

Checks::Checks(const IRNest &Nest, ScalarEvolution &SE, Instruction *At)
    : Nest(&Nest), SE(SE), At(At), Code(SE, *At->getModule()), B(At) {}

Checks::Checks(ScalarEvolution &SE, Instruction *At)
    : Nest(nullptr), SE(SE), At(At), Code(SE, *At->getModule()), B(At) {}

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
  if (V.symbol < 0)
    return B.getInt64((uint64_t)V.constant);
  assert(V.symbol < (int)Nest->Symbol.size());
  return frozen(Nest->Symbol[V.symbol], B.getInt64Ty());
}

Value *Checks::iterations() {
  Value *All = B.getInt64(1);
  for (int L = 0; L < Nest->N->loop_count; L++)
    All = B.CreateMul(All, number(Nest->N->loop[L].extent));
  return All;
}

Value *Checks::isPositive(value V) {
  if (V.symbol >= 0)
    Positive.insert(Nest->Symbol[V.symbol]);
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

Value *Checks::call(CheckFunction Which, ArrayRef<Value *> Arguments) {
  return callCheck(B, Which, Arguments);
}

void Checks::add(ArrayRef<Sum::Term> Terms,
                 SmallVectorImpl<Value *> &Arguments) {
  for (auto [Step, Extent] : Terms)
    Arguments.append(
        {frozen(Step, B.getInt64Ty()), frozen(Extent, B.getInt64Ty())});
}

bool isSame(const Sum &X, const Sum &Y) {
  return X.Start == Y.Start && X.Terms.size() == Y.Terms.size() &&
         all_of(zip(X.Terms, Y.Terms), [](const auto &Both) {
           return std::get<0>(Both).Step == std::get<1>(Both).Step &&
                  std::get<0>(Both).Extent == std::get<1>(Both).Extent;
         });
}

// Of one access, many others ask.
const Checks::Range &Checks::range(const Sum &S) {
  auto Known = find_if(
      Ranges, [&](const auto &Other) { return isSame(Other.first, S); });
  if (Known == Ranges.end()) {
    Ranges.push_back({S, computeRange(S)});
    return Ranges.back().second;
  }
  return Known->second;
}

// Of the way that a term goes in all iterations; it may not fit.
ConstantRange Checks::wayOf(const Sum::Term &T) {
  ConstantRange Natural(APInt(64, 0), APInt(64, 1) << 63);
  ConstantRange Lasts =
      known(T.Extent).sub(APInt(64, 1)).intersectWith(Natural);
  return known(T.Step).signExtend(128).multiply(Lasts.signExtend(128));
}

static bool fits(const ConstantRange &R) {
  return R.getSignedMin().isSignedIntN(64) && R.getSignedMax().isSignedIntN(64);
}

// Of nests that are split there may be many, which may be long.
Checks::Range Checks::callRange(const Sum &S) {
  SmallVector<Value *, 10> Arguments = {frozen(S.Start, B.getInt64Ty())};
  add(S.Terms, Arguments);
  Value *R = call(CheckFunction::Range, Arguments);
  ConstantRange Any = ConstantRange::getFull(64);
  return {{B.CreateExtractValue(R, 0), Any},
          {B.CreateExtractValue(R, 1), Any},
          B.getTrue()};
}

// What is known to hold is not computed: other passes would find that out in
// much of the time that they have for all of the nest.
Checks::Range Checks::computeRange(const Sum &S) {
  Type *I64 = B.getInt64Ty();
  if (!Nest &&
      any_of(S.Terms, [&](const Sum::Term &T) { return !fits(wayOf(T)); }))
    return callRange(S);
  Bound Start = {frozen(S.Start, I64), known(S.Start)};
  Range All = {Start, Start, B.getTrue()};
  ConstantRange Zero(APInt(64, 0));
  for (const Sum::Term &T : S.Terms) {
    auto [Step, Extent] = T;
    Value *Last = B.CreateSub(frozen(Extent, I64), B.getInt64(1));
    ConstantRange Steps = known(Step), Ways = wayOf(T);
    bool Fits = fits(Ways);
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
  const Range &All = range(N.Of);
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
  const Range &All = range(C.Of);
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
                                 : Nest->Symbol[V.symbol];
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
  const Range Written = range(X.Written.Of), Read = range(X.Read.Of);
  if (!Nest)
    return call(CheckFunction::Apart,
                {Written.Smallest.Is, Written.Largest.Is,
                 B.getInt64(X.Written.Bytes), Read.Smallest.Is, Read.Largest.Is,
                 B.getInt64(X.Read.Bytes)});
  auto InFront = [&](const Range &Low, uint64_t Bytes, const Range &High) {
    Bound Size = {B.getInt64(Bytes), ConstantRange(APInt(64, Bytes))};
    return B.CreateICmpSLE(plus(Low.Largest, Size).Is, High.Smallest.Is);
  };
  return B.CreateAnd(B.CreateAnd(Written.Exact, Read.Exact),
                     B.CreateOr(InFront(Written, X.Written.Bytes, Read),
                                InFront(Read, X.Read.Bytes, Written)));
}

Value *Checks::holds(const Beside &X) {
  assert(!Nest);
  Value *Period = frozen(X.Period, B.getInt64Ty());
  SmallVector<Value *, 9> Reaches, InPeriod;
  for (const Apart::Reach *Of : {&X.Both.Written, &X.Both.Read}) {
    const Range &All = range(Of->Of);
    Reaches.append({All.Smallest.Is, All.Largest.Is});
    SmallVector<Value *, 12> Arguments = {frozen(Of->Of.Start, B.getInt64Ty()),
                                          B.getInt64(Of->Bytes), Period};
    add(Of->Of.Terms, Arguments);
    Value *In = call(CheckFunction::Period, Arguments);
    InPeriod.append({B.CreateExtractValue(In, 0), B.CreateExtractValue(In, 1)});
  }
  Reaches.append(InPeriod);
  Reaches.push_back(Period);
  return call(CheckFunction::Beside, Reaches);
}

Value *Checks::holds(const OwnPlaces &X) {
  assert(!Nest);
  SmallVector<Value *, 14> Arguments;
  for (const Apart::Reach *Of : {&X.InOne.Written, &X.InOne.Read}) {
    const Range &All = range(Of->Of);
    Arguments.append({All.Smallest.Is, All.Largest.Is, B.getInt64(Of->Bytes)});
  }
  add(X.Around, Arguments);
  return call(CheckFunction::Own, Arguments);
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

Value *areEvenlySpaced(Instruction *At, Value *Count, Value *First, Value *Step,
                       function_ref<Value *(BasicBlock *, Value *)> Read,
                       LoopInfo &LI, DominatorTree &DT) {
  BasicBlock *Before = At->getParent();
  BasicBlock *After = SplitBlock(Before, At, &DT, &LI);
  Function *F = Before->getParent();
  auto *Check = BasicBlock::Create(F->getContext(), "nputeir.rows", F, After);
  Before->getTerminator()->setSuccessor(0, Check);
  if (Loop *Around = LI.getLoopFor(Before))
    Around->addBasicBlockToLoop(Check, LI);
  DT.addNewBlock(Check, Before);
  DT.changeImmediateDominator(After, Check);
  IRBuilder<> B(Check);
  B.SetCurrentDebugLocation(At->getDebugLoc());
  PHINode *I = B.CreatePHI(B.getInt64Ty(), 2);
  PHINode *Same = B.CreatePHI(B.getInt1Ty(), 2);
  Value *Wanted = B.CreateAdd(First, B.CreateMul(I, Step));
  Value *Found = Read(Check, I);
  B.SetInsertPoint(Check);
  Value *Still = B.CreateAnd(Same, B.CreateICmpEQ(Found, Wanted));
  Value *Next = B.CreateAdd(I, B.getInt64(1));
  B.CreateCondBr(B.CreateICmpSLT(Next, Count), Check, After);
  I->addIncoming(B.getInt64(0), Before);
  I->addIncoming(Next, Check);
  Same->addIncoming(B.getTrue(), Before);
  Same->addIncoming(Still, Check);
  return Still;
}

} // namespace nputeir
