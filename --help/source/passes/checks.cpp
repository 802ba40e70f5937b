// checks.cpp -- numbers and conditions that are computed in front of a nest.
#include "checks.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

Checks::Checks(const IRNest &Nest, ScalarEvolution &SE, Instruction *At)
    : Nest(Nest), At(At), Code(SE, *At->getModule()), B(At) {}

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
  return B.CreateICmpSGT(number(V), B.getInt64(0));
}

Value *Checks::holds(const AtLeast &C) {
  Value *Large = frozen(C.Large, B.getInt64Ty());
  return B.CreateICmpSGE(Large, frozen(C.Small, B.getInt64Ty()));
}

Checks::Range Checks::range(const Sum &S) {
  Type *I64 = B.getInt64Ty();
  Value *Start = frozen(S.Start, I64);
  Range All = {Start, Start, B.getTrue()};
  for (auto [Step, Extent] : S.Terms) {
    Value *Last = B.CreateSub(frozen(Extent, I64), B.getInt64(1));
    Value *Product = B.CreateBinaryIntrinsic(Intrinsic::smul_with_overflow,
                                             frozen(Step, I64), Last);
    Value *Way = B.CreateExtractValue(Product, 0);
    auto Add = [&](Value *To, Intrinsic::ID Side) {
      return B.CreateBinaryIntrinsic(
          Intrinsic::sadd_sat, To,
          B.CreateBinaryIntrinsic(Side, Way, B.getInt64(0)));
    };
    All.Smallest = Add(All.Smallest, Intrinsic::smin);
    All.Largest = Add(All.Largest, Intrinsic::smax);
    All.Exact =
        B.CreateAnd(All.Exact, B.CreateNot(B.CreateExtractValue(Product, 1)));
  }
  return All;
}

Value *Checks::holds(const NoWrap &N) {
  Range All = range(N.Of);
  assert(N.Bits >= 1 && N.Bits <= 61);
  int64_t Limit = (int64_t)1 << (N.Signed ? N.Bits - 1 : N.Bits);
  Value *Low = B.getInt64(N.Signed ? (uint64_t)-Limit : 0);
  Value *High = B.getInt64((uint64_t)Limit);
  Value *Fits = B.CreateAnd(B.CreateICmpSGE(All.Smallest, Low),
                            B.CreateICmpSLT(All.Largest, High));
  return B.CreateAnd(All.Exact, Fits);
}

Value *Checks::holds(const Comparison &C) {
  Range All = range(C.Of);
  assert(!CmpInst::isUnsigned(C.Is));
  Value *Zero = B.getInt64(0), *Holds;
  switch (C.Is) {
  case CmpInst::ICMP_EQ:
    Holds = B.CreateAnd(B.CreateICmpEQ(All.Smallest, Zero),
                        B.CreateICmpEQ(All.Largest, Zero));
    break;
  case CmpInst::ICMP_NE:
    Holds = B.CreateOr(B.CreateICmpSGT(All.Smallest, Zero),
                       B.CreateICmpSLT(All.Largest, Zero));
    break;
  case CmpInst::ICMP_SLT:
  case CmpInst::ICMP_SLE:
    Holds = B.CreateICmp(C.Is, All.Largest, Zero);
    break;
  default:
    Holds = B.CreateICmp(C.Is, All.Smallest, Zero);
  }
  return B.CreateAnd(All.Exact, Holds);
}

// Large >= Small * Count.
Value *Checks::stepsOver(value Large, value Small, value Count) {
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
    Value *End = B.CreateBinaryIntrinsic(Intrinsic::sadd_sat, Low.Largest,
                                         B.getInt64(Bytes));
    return B.CreateICmpSLE(End, High.Smallest);
  };
  return B.CreateAnd(B.CreateAnd(Written.Exact, Read.Exact),
                     B.CreateOr(InFront(Written, X.Written.Bytes, Read),
                                InFront(Read, X.Read.Bytes, Written)));
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
