// check_functions.cpp -- long checks as calls, so that a function that has many
// of them stays short, and no other pass looks into them.
//
// A nest that is split may have dozens, each of dozens of instructions.  Loops
// stand behind them, and for each loop ScalarEvolution looks at all that is
// known there.  Like the code for the processor, the functions are declarations
// until the end of the pipeline (lower_cpu_define.cpp).  They are named after
// what they compute and the number of their arguments.
#include "check_functions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

struct Kind {
  const char *Name;
  bool GivesTwo; // numbers; else one bit
};
const Kind Kinds[] = {{"range", true},
                      {"apart", false},
                      {"period", true},
                      {"beside", false},
                      {"own", false}};

class Writer {
  Function &F;
  IRBuilder<> B;
  Value *Zero, *One, *Low, *High; // the ends

  struct Range {
    Value *Smallest, *Largest;
  };

public:
  explicit Writer(Function &F)
      : F(F), B(BasicBlock::Create(F.getContext(), "", &F)),
        Zero(B.getInt64(0)), One(B.getInt64(1)),
        Low(B.getInt64((uint64_t)INT64_MIN)), High(B.getInt64(INT64_MAX)) {}

  void write(CheckFunction Which) {
    switch (Which) {
    case CheckFunction::Range:
      return give(range());
    case CheckFunction::Apart:
      return give(apart());
    case CheckFunction::Period:
      return give(inPeriod());
    case CheckFunction::Beside:
      return give(beside());
    case CheckFunction::Own:
      return give(ownPlaces());
    }
  }

private:
  Value *argument(unsigned I) { return F.getArg(I); }

  void give(Value *V) { B.CreateRet(V); }

  void give(Range R) {
    Value *Both[] = {R.Smallest, R.Largest};
    B.CreateAggregateRet(Both, 2);
  }

  Value *both(Intrinsic::ID Id, Value *X, Value *Y) {
    return B.CreateBinaryIntrinsic(Id, X, Y);
  }

  Value *size(Value *V) { return both(Intrinsic::abs, V, B.getFalse()); }

  // *Fits becomes false where it does not.
  Value *times(Value *X, Value *Y, Value *&Fits) {
    Value *Product = both(Intrinsic::smul_with_overflow, X, Y);
    Fits = B.CreateAnd(Fits, B.CreateNot(B.CreateExtractValue(Product, 1)));
    return B.CreateExtractValue(Product, 0);
  }

  // Of all iterations, if each loop has one.
  Range range() {
    Range All = {argument(0), argument(0)};
    Value *Fits = B.getTrue();
    for (unsigned I = 1; I < F.arg_size(); I += 2) {
      Value *Last = B.CreateSub(argument(I + 1), One);
      Value *Way = times(argument(I), Last, Fits);
      All.Smallest = both(Intrinsic::sadd_sat, All.Smallest,
                          both(Intrinsic::smin, Way, Zero));
      All.Largest = both(Intrinsic::sadd_sat, All.Largest,
                         both(Intrinsic::smax, Way, Zero));
    }
    return {B.CreateSelect(Fits, All.Smallest, Low),
            B.CreateSelect(Fits, All.Largest, High)};
  }

  Range reach(unsigned I) { return {argument(I), argument(I + 1)}; }

  Value *end(unsigned I) {
    return both(Intrinsic::sadd_sat, argument(I + 1), argument(I + 2));
  }

  Value *apart() {
    return B.CreateOr(B.CreateICmpSLE(end(0), argument(3)),
                      B.CreateICmpSLE(end(3), argument(0)));
  }

  Value *period(Value *Period, Value *&IsOne) {
    Period = size(Period);
    IsOne = B.CreateICmpSGT(Period, Zero);
    return B.CreateSelect(IsOne, Period, One);
  }

  // Steps by whole periods lead to the same place of others.
  Range inPeriod() {
    Value *First = argument(0), *Bytes = argument(1), *IsOne;
    Value *Period = period(argument(2), IsOne);
    for (unsigned I = 3; I < F.arg_size(); I += 2) {
      Value *Step = argument(I), *Last = B.CreateSub(argument(I + 1), One);
      Value *IsWhole = B.CreateICmpEQ(B.CreateSRem(Step, Period), Zero);
      Value *Way = B.CreateSelect(IsWhole, Zero, B.CreateMul(Step, Last));
      Value *Falls = B.CreateICmpSLT(Way, Zero);
      First = B.CreateAdd(First, B.CreateSelect(Falls, Way, Zero));
      Bytes = B.CreateAdd(Bytes, B.CreateSelect(Falls, B.CreateNeg(Way), Way));
    }
    return {First, Bytes};
  }

  // The second begins behind the first one's end, and ends in front of the
  // first one's next period.  Neither leaves the addresses from 0 on, so that
  // nothing wraps.
  Value *beside() {
    Value *IsOne, *Period = period(argument(8), IsOne), *Good = IsOne;
    for (unsigned I : {0, 2}) {
      Good = B.CreateAnd(Good, B.CreateICmpSGE(reach(I).Smallest, Zero));
      Good = B.CreateAnd(Good, B.CreateICmpSLT(reach(I).Largest, High));
    }
    Value *First = argument(4), *Bytes = argument(5), *Second = argument(6);
    Value *Behind = B.CreateSRem(B.CreateSub(Second, First), Period);
    Behind = B.CreateSelect(B.CreateICmpSLT(Behind, Zero),
                            B.CreateAdd(Behind, Period), Behind);
    Value *Begins = B.CreateICmpSGE(Behind, Bytes);
    Value *Ends = B.CreateICmpSLE(argument(7), B.CreateSub(Period, Behind));
    return B.CreateAnd(Good, B.CreateAnd(Begins, Ends));
  }

  // Each step is at least what all smaller ones, and an iteration, reach.  Of
  // equal ones neither is, unless the other is made once.
  Value *ownPlaces() {
    Value *Last = both(Intrinsic::smax, end(0), end(3));
    Value *First = both(Intrinsic::smin, reach(0).Smallest, reach(3).Smallest);
    Value *Own = both(Intrinsic::ssub_sat, Last, First), *All = Own;
    Value *Good = B.CreateICmpSLT(Own, High);
    struct Around {
      Value *Step, *Way, *IsOnce;
    };
    SmallVector<Around, 4> Loops;
    for (unsigned I = 6; I < F.arg_size(); I += 2) {
      Value *Step = size(argument(I));
      Value *Times = B.CreateSub(argument(I + 1), One);
      Value *Way = times(Step, Times, Good);
      Loops.push_back({Step, Way, B.CreateICmpSLE(Times, Zero)});
      Good = B.CreateAnd(Good, B.CreateICmpSGE(Step, Zero));
      All = both(Intrinsic::sadd_sat, All, Way);
    }
    for (const Around &X : Loops) {
      Value *Reach = Own;
      for (const Around &Other : Loops)
        if (&Other != &X)
          Reach = both(Intrinsic::sadd_sat, Reach,
                       B.CreateSelect(B.CreateICmpSLE(Other.Step, X.Step),
                                      Other.Way, Zero));
      Good = B.CreateAnd(Good,
                         B.CreateOr(X.IsOnce, B.CreateICmpSGE(X.Step, Reach)));
    }
    return B.CreateAnd(Good, B.CreateICmpSLT(All, High));
  }
};

} // namespace

Value *callCheck(IRBuilder<> &B, CheckFunction Which,
                 ArrayRef<Value *> Arguments) {
  const Kind &K = Kinds[(size_t)Which];
  Module &M = *B.GetInsertBlock()->getModule();
  Type *I64 = B.getInt64Ty();
  Type *Result = K.GivesTwo ? StructType::get(I64, I64) : (Type *)B.getInt1Ty();
  SmallVector<Type *, 16> Types(Arguments.size(), I64);
  std::string Name =
      (CheckFunctionPrefix + Twine(K.Name) + "." + Twine(Arguments.size()))
          .str();
  FunctionCallee Callee =
      M.getOrInsertFunction(Name, FunctionType::get(Result, Types, false));
  auto *F = cast<Function>(Callee.getCallee());
  F->setDoesNotThrow();
  F->setDoesNotAccessMemory();
  F->setDoesNotRecurse();
  F->addFnAttr(Attribute::WillReturn);
  return B.CreateCall(Callee, Arguments);
}

void writeCheck(Function &F, StringRef Name) {
  StringRef Which = Name.substr(strlen(CheckFunctionPrefix));
  Which = Which.substr(0, Which.find('.'));
  const auto *K =
      find_if(Kinds, [&](const Kind &Of) { return Which == Of.Name; });
  assert(K != std::end(Kinds));
  Writer(F).write((CheckFunction)(K - Kinds));
}

} // namespace nputeir
