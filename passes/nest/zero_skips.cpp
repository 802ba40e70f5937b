// zero_skips.cpp -- asks at run time whether the elements that a product needs
// are accessed by the source, too, though it skips products by zero:
//
//     for k, i: if (a[i][k] != 0) for j: c[i][j] += a[i][k] * b[k][j];
//
// All products make the same sum, but row k of b is read only if some a[i][k]
// is not zero.  Where rows 0 and K - 1 are read, those between belong to the
// same array and may be read.  Row i of c is written only if some a[i][k] is
// not zero; that is asked of each row.
//
//     before:  every loop has work ? outer : on
//     outer:   for the iterations of the loops that move the access:
//     inner:     search those of the other loops for one in which it is made
//     on:      what was assumed holds = phi [found always, ..], [false, before]
//
// In an array without zeros, each search ends at its first step.
#include "zero_skips.h"
#include "checks.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

namespace {

enum { OperationsMax = 16, LoopsAtOnce = 2 };

// What the condition reads.
bool findLoads(const Instruction &Condition, Loop &Outer, Joins &Places,
               ZeroSkip &S) {
  SmallVector<const Instruction *, 8> Open = {&Condition};
  for (int Left = OperationsMax; !Open.empty(); Left--) {
    const Instruction *I = Open.pop_back_val();
    Address X;
    if (Left == 0)
      return false;
    if (const auto *L = dyn_cast<LoadInst>(I)) {
      if (!L->isSimple() || !Places.read(*L, L->getPointerOperand(), X) ||
          !Places.usable(X.Start))
        return false;
      S.Loads.push_back({L, X.Start, {X.Stride.begin(), X.Stride.end()}});
      continue;
    }
    if (!isa<BinaryOperator, UnaryOperator, CastInst, CmpInst>(I) ||
        !isSafeToSpeculativelyExecute(I))
      return false;
    for (const Value *W : I->operands())
      if (const auto *Operand = dyn_cast<Instruction>(W))
        if (Outer.contains(Operand))
          Open.push_back(Operand);
  }
  return !S.Loads.empty();
}

const SCEV *notZero(const SCEV *Stride) {
  return Stride && !Stride->isZero() ? Stride : nullptr;
}

bool isMoved(const ZeroSkip &S, int L) {
  return any_of(S.Loads, [&](const ZeroSkip::Element &E) {
    return notZero(E.Stride[(size_t)L]);
  });
}

// The condition reads what is at X itself.
bool isRead(const ZeroSkip &S, const Address &X, const Type *T) {
  return any_of(S.Loads, [&](const ZeroSkip::Element &E) {
    return E.Start == X.Start && E.Load->getType() == T &&
           std::equal(E.Stride.begin(), E.Stride.end(), X.Stride.begin(),
                      X.Stride.end(), [](const SCEV *Own, const SCEV *Other) {
                        return notZero(Own) == notZero(Other);
                      });
  });
}

} // namespace

bool requireSkipped(const Instruction &Condition, bool Side, const Address &X,
                    const Instruction &I, Loop &Outer, Joins &Places,
                    IRNest &R) {
  ZeroSkip S = {&Condition, Side, {}, {}, {}, false};
  if (!findLoads(Condition, Outer, Places, S))
    return false;
  if (isa<LoadInst>(I) && isRead(S, X, I.getType()))
    return true;
  for (int L = 0; L < (int)X.Stride.size(); L++) {
    if (!isMoved(S, L))
      continue;
    bool Moves = X.Stride[L] && !X.Stride[L]->isZero();
    if (!Places.isPlain(L))
      return false;
    (Moves ? S.Common : S.Others).push_back({L, Places.extent(L)});
  }
  if (S.Common.size() > LoopsAtOnce || S.Others.size() > LoopsAtOnce)
    return false;
  // Which element is the last one is known of a single loop.
  S.All = isa<StoreInst>(I) || S.Common.size() > 1;
  if (none_of(R.Skips, [&](const ZeroSkip &Old) {
        return Old.Condition == S.Condition && Old.Side == S.Side &&
               Old.Common == S.Common && (Old.All || !S.All);
      }))
    R.Skips.push_back(std::move(S));
  return true;
}

namespace {

class SkipCheck {
  const ZeroSkip &S;
  Loop &Outer;
  DominatorTree &DT;
  Function &F;
  Expander Code;
  IRBuilder<> B;
  DenseMap<int, Value *> Iteration; // by loop
  DenseMap<const Instruction *, Value *> Copies;

public:
  SkipCheck(const ZeroSkip &S, Loop &Outer, ScalarEvolution &SE,
            DominatorTree &DT, Instruction *At)
      : S(S), Outer(Outer), DT(DT), F(*At->getFunction()),
        Code(SE, *F.getParent()), B(At) {}

  // Whether all searches find something; At stands behind them then.
  Value *run(Instruction *At, LoopInfo &LI) {
    Value *CommonCount = count(S.Common, At), *OtherCount = count(S.Others, At);
    prepare(At);
    B.SetInsertPoint(At);
    Value *One = B.getInt64(1), *Zero = B.getInt64(0);
    Value *Last = B.CreateSub(CommonCount, One);
    Value *Step =
        S.All ? One : B.CreateBinaryIntrinsic(Intrinsic::smax, Last, One);
    BasicBlock *Before = At->getParent();
    BasicBlock *After = SplitBlock(Before, At, &DT, &LI);
    auto *OuterLoop = block("nputeir.all", After, Before, LI);
    auto *InnerLoop = block("nputeir.some", After, OuterLoop, LI);
    auto *Missed = block("nputeir.missed", After, InnerLoop, LI);
    auto *Found = block("nputeir.found", After, InnerLoop, LI);
    Before->getTerminator()->setSuccessor(0, OuterLoop);

    B.SetInsertPoint(OuterLoop);
    B.SetCurrentDebugLocation(At->getDebugLoc());
    PHINode *C = B.CreatePHI(B.getInt64Ty(), 2);
    setIterations(S.Common, C);
    B.CreateBr(InnerLoop);

    B.SetInsertPoint(InnerLoop);
    PHINode *O = B.CreatePHI(B.getInt64Ty(), 2);
    setIterations(S.Others, O);
    Value *Holds = copy(S.Condition);
    B.CreateCondBr(Holds, S.Side ? Found : Missed, S.Side ? Missed : Found);

    B.SetInsertPoint(Missed);
    Value *NextO = B.CreateAdd(O, One);
    B.CreateCondBr(B.CreateICmpSLT(NextO, OtherCount), InnerLoop, After);
    B.SetInsertPoint(Found);
    Value *NextC = B.CreateAdd(C, Step);
    B.CreateCondBr(B.CreateICmpSLT(NextC, CommonCount), OuterLoop, After);

    C->addIncoming(Zero, Before);
    C->addIncoming(NextC, Found);
    O->addIncoming(Zero, OuterLoop);
    O->addIncoming(NextO, Missed);
    DT.changeImmediateDominator(After, InnerLoop);
    B.SetInsertPoint(&After->front());
    PHINode *All = B.CreatePHI(B.getInt1Ty(), 2);
    All->addIncoming(B.getFalse(), Missed);
    All->addIncoming(B.getTrue(), Found);
    return All;
  }

private:
  DenseMap<const SCEV *, Value *> Known; // before the loops

  BasicBlock *block(const char *Name, BasicBlock *Next, BasicBlock *Dominator,
                    LoopInfo &LI) {
    auto *New = BasicBlock::Create(F.getContext(), Name, &F, Next);
    if (Loop *Around = LI.getLoopFor(Next))
      Around->addBasicBlockToLoop(New, LI);
    DT.addNewBlock(New, Dominator);
    return New;
  }

  Value *expand(const SCEV *X, Instruction *At) {
    Value *&V = Known[X];
    if (!V) {
      V = Code.expand(X, X->getType(), At);
      V = IRBuilder<>(At).CreateFreeze(V);
    }
    return V;
  }

  // Each extent is above zero and no more than an array has elements.
  Value *count(ArrayRef<ZeroSkip::Range> Loops, Instruction *At) {
    Value *N = B.getInt64(1);
    for (const ZeroSkip::Range &L : Loops) {
      Value *Extent = expand(L.second, At);
      B.SetInsertPoint(At);
      N = B.CreateMul(N, Extent);
    }
    return N;
  }

  void prepare(Instruction *At) {
    for (const ZeroSkip::Element &E : S.Loads) {
      expand(E.Start, At);
      for (const SCEV *Stride : E.Stride)
        if (Stride)
          expand(Stride, At);
    }
  }

  void setIterations(ArrayRef<ZeroSkip::Range> Loops, Value *Number) {
    for (const ZeroSkip::Range &L : reverse(Loops)) {
      bool First = &L == &Loops.front();
      Value *Extent = Known[L.second];
      Iteration[L.first] = First ? Number : B.CreateURem(Number, Extent);
      Number = First ? Number : B.CreateUDiv(Number, Extent);
    }
  }

  Value *load(const ZeroSkip::Element &E) {
    Value *Way = B.getInt64(0);
    for (auto [L, I] : Iteration)
      if (const SCEV *Stride = E.Stride[(size_t)L])
        Way = B.CreateAdd(Way, B.CreateMul(Known[Stride], I));
    Type *T = E.Load->getType();
    Value *Place = B.CreateGEP(
        B.getInt8Ty(),
        B.CreatePointerCast(Known[E.Start], bytePointer(F.getContext())), Way);
    return B.CreateAlignedLoad(T, B.CreatePointerCast(Place, pointerTo(T)),
                               E.Load->getAlign());
  }

  // The condition, in iterations C and O.
  Value *copy(const Instruction *I) {
    Value *&Known = Copies[I];
    if (Known)
      return Known;
    Value *New;
    auto It = find_if(S.Loads,
                      [&](const ZeroSkip::Element &E) { return E.Load == I; });
    if (It != S.Loads.end()) {
      New = load(*It);
    } else {
      Instruction *Clone = I->clone();
      for (Use &U : Clone->operands())
        if (const auto *Operand = dyn_cast<Instruction>(U.get()))
          if (Outer.contains(Operand))
            U.set(copy(Operand));
      New = B.Insert(Clone);
    }
    return Copies[I] = New;
  }
};

} // namespace

void checkZeroSkips(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                    DominatorTree &DT, IRNest &N) {
  if (N.Skips.empty())
    return;
  FrontBranch Ask = branchIfLoopsRun(Outer, N, LI, SE, DT);
  Value *All = ConstantInt::getTrue(Ask.Then->getContext());
  for (const ZeroSkip &S : N.Skips) {
    Value *Found = SkipCheck(S, Outer, SE, DT, Ask.Then).run(Ask.Then, LI);
    All = IRBuilder<>(Ask.Then).CreateAnd(All, Found);
  }
  N.Assumed.push_back({Ask.join(All), true});
  N.Skips.clear();
}

} // namespace nputeir
