// row_pointers.cpp -- asks at run time whether the rows that a nest finds
// through an array of addresses lie one after the other:
//
//     before:  every loop has work ? ask : on
//     ask:     base = row[0], step = row[1] - row[0]
//     check:   same = same and row[i] == base + i * step, for all i
//     copy:    if not, and it pays: base and step of copies that do
//     on:      what was assumed holds = phi [same, check], [false, before]
//
// The nest itself would read all these elements, because every loop has work.
// Rows of the result are copied, too, and back where the nest is not run; what
// the nest writes shares no byte with any other row then.
#include "row_pointers.h"
#include "ir_code.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "row_functions.h"
#include "row_reaches.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

// Of rows as the nest is described with them.
struct Layout {
  Value *Base, *Step;
  SmallVector<Value *, RowPointers::AroundMax> StepAround;
  Value *Rest = nullptr; // null: nothing

  // Each of both.
  static void zip(Layout &X, const Layout &Y,
                  function_ref<Value *(Value *, Value *)> Join) {
    X.Base = Join(X.Base, Y.Base);
    X.Step = Join(X.Step, Y.Step);
    for (size_t S = 0; S < X.StepAround.size(); S++)
      X.StepAround[S] = Join(X.StepAround[S], Y.StepAround[S]);
  }
};

class RowPointerCheck {
  Function &F;
  DominatorTree &DT;
  LoopInfo &LI;
  Expander Code;

public:
  RowPointerCheck(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                  DominatorTree &DT)
      : F(*Outer.getHeader()->getParent()), DT(DT), LI(LI),
        Code(SE, *F.getParent()) {}

  Value *expand(const SCEV *S, Instruction *At) {
    Value *V = Code.expand(S, S->getType(), At);
    return IRBuilder<>(At).CreateFreeze(V);
  }

  // Returns whether the rows are evenly spaced, known at the end of the block
  // that At ends then.
  Value *check(const RowPointers &R, Instruction *At, Layout &X) {
    Value *Array = expand(R.Start, At);
    Value *Stride = expand(R.Stride, At), *Count = expand(R.Extent, At);
    IRBuilder<> B(At);
    if (R.MayBeUneven) {
      Value *Both =
          callRows(B, RowFunction::Range,
                   {B.CreatePointerCast(Array, bytePointer(F.getContext())),
                    Stride, Count});
      Value *Low = B.CreateExtractValue(Both, 0);
      Value *Way = B.CreateSub(B.CreateExtractValue(Both, 1), Low);
      Value *One = B.getInt64(1), *Steps = B.CreateSub(Count, One);
      Steps = B.CreateBinaryIntrinsic(Intrinsic::smax, Steps, One);
      X.Step = B.CreateUDiv(Way, Steps);
      X.Rest = B.CreateSub(Way, B.CreateMul(X.Step, Steps));
      X.Base = B.CreateIntToPtr(Low, R.Base->getType());
      return B.getTrue();
    }
    auto Row = [&](Value *Offset) {
      Value *Place = B.CreateGEP(
          B.getInt8Ty(),
          B.CreatePointerCast(Array, bytePointer(F.getContext())), Offset);
      Type *T = R.Base->getType();
      return B.CreatePtrToInt(
          B.CreateAlignedLoad(T, B.CreatePointerCast(Place, pointerTo(T)),
                              R.Load->getAlign()),
          B.getInt64Ty());
    };
    assert(Stride->getType() == Count->getType());
    Value *First = Row(B.getInt64(0));
    // A single row may be followed by anything, as long as it is far away.
    Value *Several = B.CreateICmpSGT(Count, B.getInt64(1));
    Value *Second = Row(B.CreateSelect(Several, Stride, B.getInt64(0)));
    X.Step = B.CreateSelect(Several, B.CreateSub(Second, First),
                            B.getInt64((int64_t)1 << 30));
    X.Base = B.CreateIntToPtr(First, R.Base->getType());
    return areEvenlySpaced(
        At, Count, First, X.Step,
        [&](BasicBlock *Check, Value *I) {
          B.SetInsertPoint(Check);
          return Row(B.CreateMul(I, Stride));
        },
        LI, DT);
  }
};

// Describes the rows of a nest, and copies them.
class RowCopier {
  ArrayRef<RowPointers> All;
  ArrayRef<RowReach> Reaches;
  Instruction *At;
  IRBuilder<> B;
  Expander Expand;
  Instruction *Rows; // in the frame

public:
  RowCopier(ScalarEvolution &SE, ArrayRef<RowPointers> All,
            ArrayRef<RowReach> Reaches, Instruction *At)
      : All(All), Reaches(Reaches), At(At), B(At),
        Expand(SE, *At->getModule()) {
    B.SetCurrentDebugLocation(At->getDebugLoc());
    BasicBlock &Entry = At->getFunction()->getEntryBlock();
    Rows = IRBuilder<>(&Entry, Entry.getFirstInsertionPt())
               .CreateAlloca(
                   ArrayType::get(B.getInt64Ty(), Reaches.size() * ROW_WORDS),
                   nullptr, "nputeir.rows");
  }

  // Known in all of the function.
  Value *of(size_t I) {
    IRBuilderBase::InsertPointGuard Back(B);
    B.SetInsertPoint(Rows->getNextNode());
    return field(I, 0);
  }

  // The memory of the copies; null: there are none.
  Value *copy(Value *Most) {
    for (size_t I = 0; I < Reaches.size(); I++)
      describe(I);
    auto Copied =
        count_if(Reaches, [](const RowReach &R) { return R.isCopied(); });
    return callRows(B, RowFunction::Copy,
                    {of(0), B.getInt64((uint64_t)Copied),
                     B.getInt64(Reaches.size()), Most});
  }

  // Of rows that are not copied nothing more is asked.
  Layout layOut(const RowPointers &R, const Layout &Old) {
    Layout X = {Old.Base, B.getInt64(0), {}};
    X.StepAround.assign(R.StepAround.size(), X.Step);
    for (size_t I = 0; I < Reaches.size(); I++) {
      if (Reaches[I].Rows != &R || !Reaches[I].isCopied())
        continue;
      X.Step = get(I, ROW_STEP);
      X.Base =
          B.CreateIntToPtr(B.CreateSub(get(I, ROW_COPIES), get(I, ROW_FIRST)),
                           R.Base->getType());
      for (size_t S = 0; S < R.StepAround.size(); S++)
        X.StepAround[S] = B.CreateMul(X.Step, get(I, around(R, S, ROW_SIZE)));
    }
    return X;
  }

private:
  Value *field(size_t I, unsigned Which) {
    Value *P = B.CreatePointerCast(Rows, bytePointer(B.getContext()));
    return B.CreateConstGEP1_64(B.getInt8Ty(), P, 8 * (I * ROW_WORDS + Which));
  }
  Value *word(size_t I, unsigned Which) {
    return B.CreatePointerCast(field(I, Which), pointerTo(B.getInt64Ty()));
  }
  Value *get(size_t I, unsigned Which) {
    return B.CreateAlignedLoad(B.getInt64Ty(), word(I, Which), Align(8));
  }
  void put(size_t I, unsigned Which, Value *V) {
    if (V->getType()->isPointerTy())
      V = B.CreatePtrToInt(V, B.getInt64Ty());
    B.CreateAlignedStore(V, word(I, Which), Align(8));
  }

  Value *expand(const SCEV *S) {
    Value *V = Expand.expand(S, S->getType(), At);
    B.SetInsertPoint(At);
    return isa<Constant>(V) ? V : B.CreateFreeze(V);
  }

  // Of the arrays around, of which the outermost one comes first there.
  static unsigned around(const RowPointers &R, size_t S, RowAround Which) {
    return ROW_FIELDS + (R.StepAround.size() - 1 - S) * ROW_AROUND_FIELDS +
           Which;
  }

  // Where the outermost array is, and how many rows there are.
  void describeArrays(size_t I, const RowPointers &R) {
    put(I, ROW_STRIDE, expand(R.Stride));
    put(I, ROW_AROUND, B.getInt64(R.StepAround.size()));
    Value *Size = expand(R.Extent);
    const RowPointers *X = &R;
    for (size_t S = 0; S < R.StepAround.size(); S++) {
      put(I, around(R, S, ROW_SIZE), Size);
      put(I, around(R, S, ROW_OFFSET), expand(X->Start));
      X = &All[(size_t)X->Around];
      put(I, around(R, S, ROW_STRIDE_AROUND), expand(X->Stride));
      Size = B.CreateMul(Size, expand(X->Extent));
    }
    put(I, ROW_ARRAY, expand(X->Start));
    put(I, ROW_COUNT, Size);
  }

  void describe(size_t I) {
    const RowReach &R = Reaches[I];
    if (R.Rows) {
      describeArrays(I, *R.Rows);
    } else {
      put(I, ROW_ARRAY, field(I, ROW_COPIES));
      put(I, ROW_COPIES, expand(R.Start));
      put(I, ROW_COUNT, B.getInt64(1));
      for (RowField Zero : {ROW_STRIDE, ROW_AROUND})
        put(I, Zero, B.getInt64(0));
    }
    put(I, ROW_WRITTEN, B.getInt64(R.IsWritten));
    Value *First = nullptr, *End = nullptr, *Most = nullptr;
    auto Widen = [&](Intrinsic::ID Id, Value *&V, Value *By) {
      V = V ? B.CreateBinaryIntrinsic(Id, V, By) : By;
    };
    for (const RowReach::Access &X : R.All) {
      Value *Low = expand(X.Offset), *High = B.CreateAdd(Low, number(X.Bytes));
      Value *Used = number(X.Bytes), *Zero = number(0);
      for (const Sum::Term &T : X.Terms) {
        Value *Extent = expand(T.Extent);
        Value *Way =
            B.CreateMul(expand(T.Step), B.CreateSub(Extent, number(1)));
        Low = B.CreateAdd(Low,
                          B.CreateBinaryIntrinsic(Intrinsic::smin, Way, Zero));
        High = B.CreateAdd(High,
                           B.CreateBinaryIntrinsic(Intrinsic::smax, Way, Zero));
        Used = B.CreateMul(Used, Extent);
      }
      Widen(Intrinsic::smin, First, Low);
      Widen(Intrinsic::smax, End, High);
      Widen(Intrinsic::umax, Most, Used);
    }
    put(I, ROW_FIRST, First);
    put(I, ROW_BYTES, B.CreateSub(End, First));
    // What lies between elements that are read is read, but not written.
    put(I, ROW_MOST, R.IsWritten ? Most : B.CreateMul(Most, number(2)));
  }
  Value *number(uint64_t N) { return B.getInt64(N); }
};

} // namespace

// Of copies: the fewest that there can be, and the most that are worth the
// nest. It uses each element four times, which was fitted to products of 8 to
// 64 rows of floats with AVX-512; or as many products were asked for.
static std::pair<Value *, Value *>
bytesOfCopies(const IRNest &N, ScalarEvolution &SE, const Plan &P,
              ArrayRef<RowReach> Reaches, Instruction *At) {
  enum { LeastUses = 4 };
  Checks Front(N, SE, At);
  IRBuilder<> &B = Front.B;
  const contraction &C = P.Cpu ? *P.Cpu : *P.Npu;
  Value *Macs = B.getInt64(1), *None = B.getInt64(0);
  for (int I = 0; I < C.axis_count; I++)
    Macs = B.CreateMul(Macs, Front.number(C.axis[I].extent));
  Value *Most;
  if (P.LeastMacs >= 0) {
    Value *Many = B.CreateICmpUGE(Macs, B.getInt64((uint64_t)P.LeastMacs));
    Most = B.CreateSelect(Many, B.getInt64(INT64_MAX), None);
  } else {
    uint64_t Smallest = UINT64_MAX;
    for (const RowReach &R : Reaches)
      for (const RowReach::Access &X : R.All)
        if (R.isCopied())
          Smallest = std::min(Smallest, X.Bytes);
    Most = B.CreateUDiv(B.CreateMul(Macs, B.getInt64(Smallest)),
                        B.getInt64(LeastUses));
  }
  if (!P.Cpu)
    Most = B.CreateSelect(isLinked(At), Most, None);
  auto Extent = [&](const RowPointers &R) {
    return Front.frozen(R.Extent, B.getInt64Ty());
  };
  Value *Count = None;
  for (const RowReach &R : Reaches) {
    if (!R.isCopied())
      continue;
    Value *All = Extent(*R.Rows);
    for (int I = R.Rows->Around; I >= 0; I = N.Rows[(size_t)I].Around)
      All = B.CreateMul(All, Extent(N.Rows[(size_t)I]));
    Count = B.CreateAdd(Count, All);
  }
  return {B.CreateMul(Count, B.getInt64(RowAlignment)), Most};
}

static void chooseCopies(const IRNest &N, ScalarEvolution &SE, LoopInfo &LI,
                         DominatorTree &DT, const Plan &P,
                         ArrayRef<RowReach> Reaches, Instruction *At,
                         MutableArrayRef<Layout> Rows, Value *&Holds,
                         RowCopies &Copies) {
  DomTreeUpdater DTU(DT, DomTreeUpdater::UpdateStrategy::Eager);
  BasicBlock *Even = At->getParent();
  auto [Least, Most] = bytesOfCopies(N, SE, P, Reaches, At);
  IRBuilder<> B(At);
  Value *May = B.CreateAnd(B.CreateNot(Holds), B.CreateICmpULE(Least, Most));
  Instruction *End =
      SplitBlockAndInsertIfThen(May, At, false, nullptr, &DTU, &LI);
  RowCopier Copier(SE, N.Rows, Reaches, End);
  Value *Memory = Copier.copy(Most);
  auto Join = [&](Value *WhereEven, Value *WhereCopied) {
    PHINode *V = IRBuilder<>(&At->getParent()->front())
                     .CreatePHI(WhereEven->getType(), 2);
    V->addIncoming(WhereEven, Even);
    V->addIncoming(WhereCopied, End->getParent());
    return V;
  };
  for (size_t I = 0; I < Rows.size(); I++)
    Layout::zip(Rows[I], Copier.layOut(N.Rows[I], Rows[I]), Join);
  Copies.Memory =
      Join(ConstantPointerNull::get(bytePointer(DT.getRoot()->getContext())),
           Memory);
  for (size_t I = 0; I < Reaches.size(); I++)
    if (Reaches[I].isCopied() && Reaches[I].IsWritten)
      Copies.Written.push_back(Copier.of(I));
  B.SetInsertPoint(At);
  Holds = B.CreateOr(Holds, B.CreateIsNotNull(Copies.Memory));
}

RowCopies checkRowPointers(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                           DominatorTree &DT, IRNest &N, const Plan *P,
                           bool OnlySums) {
  RowCopies Copies;
  if (N.Rows.empty())
    return Copies;
  RowReaches Reaches(N, SE);
  bool IsRepeated =
      Outer.getParentLoop() && isRepeating(*Outer.getParentLoop());
  bool MayCopy = P && !IsRepeated && Reaches.find(OnlySums);
  RowPointerCheck Check(Outer, LI, SE, DT);
  FrontBranch Ask = branchIfLoopsRun(Outer, N, LI, SE, DT);
  SmallVector<Layout, 4> Rows;
  const Function &F = *Outer.getHeader()->getParent();
  Value *Holds = ConstantInt::getTrue(F.getContext());
  for (RowPointers &R : N.Rows) {
    Layout X = {Constant::getNullValue(R.Base->getType()),
                Constant::getNullValue(R.Step->getType()),
                {}};
    X.StepAround.assign(R.StepAround.size(), X.Step);
    if (R.Around >= 0)
      Holds = ConstantInt::getFalse(F.getContext()); // until they are copied
    else if (none_of(N.Rows, [&](const RowPointers &Other) {
               return Other.Around == &R - N.Rows.data();
             })) {
      Value *Same = Check.check(R, Ask.Then, X);
      Holds = IRBuilder<>(Ask.Then).CreateAnd(Holds, Same);
    }
    Rows.push_back(X);
  }
  if (MayCopy) {
    chooseCopies(N, SE, LI, DT, *P, Reaches.all(), Ask.Then, Rows, Holds,
                 Copies);
    Copies.Memory = Ask.join(Copies.Memory);
  }
  for (size_t I = 0; I < Rows.size(); I++) {
    N.Rows[I].Base->replaceAllUsesWith(Ask.join(Rows[I].Base));
    N.Rows[I].Step->replaceAllUsesWith(Ask.join(Rows[I].Step));
    if (Instruction *Rest = N.Rows[I].Rest) {
      Value *Is = Constant::getNullValue(Rest->getType());
      Rest->replaceAllUsesWith(Rows[I].Rest ? Ask.join(Rows[I].Rest) : Is);
    }
    for (size_t S = 0; S < Rows[I].StepAround.size(); S++)
      N.Rows[I].StepAround[S]->replaceAllUsesWith(
          Ask.join(Rows[I].StepAround[S]));
  }
  N.Assumed.push_back({Ask.join(Holds), true});
  dropRowPointers(N);
  return Copies;
}

// In front of At, where there are copies.
static Instruction *ifCopied(const RowCopies &C, Instruction *At, LoopInfo &LI,
                             DominatorTree &DT) {
  DomTreeUpdater DTU(DT, DomTreeUpdater::UpdateStrategy::Eager);
  Value *Are = IRBuilder<>(At).CreateIsNotNull(C.Memory);
  return SplitBlockAndInsertIfThen(Are, At, false, nullptr, &DTU, &LI);
}

static void callForWritten(const RowCopies &C, RowFunction Which,
                           BasicBlock *End, LoopInfo &LI, DominatorTree &DT) {
  IRBuilder<> B(ifCopied(C, End->getTerminator(), LI, DT));
  for (Value *Rows : C.Written)
    callRows(B, Which, Rows);
}

void RowCopies::enclose(Loop &Outer, Region &Old, bool MayCompare, LoopInfo &LI,
                        DominatorTree &DT) const {
  if (!Memory)
    return;
  BasicBlock *From = exitOf(Outer).From;
  Old.After = SplitBlockPredecessors(Old.After, {From}, ".nputeir", &DT, &LI);
  IRBuilder<> B(ifCopied(*this, Old.After->getTerminator(), LI, DT));
  emitFree(B, Memory);
  if (MayCompare && !Written.empty()) // who compares looks into the copies
    callForWritten(*this, RowFunction::Refill,
                   SplitEdge(From, Old.After, &DT, &LI), LI, DT);
}

void RowCopies::putBack(const Region &Old, LoopInfo &LI,
                        DominatorTree &DT) const {
  if (Written.empty())
    return;
  SmallVector<BasicBlock *, 2> Done;
  for (BasicBlock *From : predecessors(Old.After))
    if (!DT.dominates(Old.First, From))
      Done.push_back(From);
  callForWritten(*this, RowFunction::PutBack,
                 SplitBlockPredecessors(Old.After, Done, ".nputeir", &DT, &LI),
                 LI, DT);
}

void dropRowPointers(IRNest &N) {
  for (RowPointers &R : N.Rows) {
    assert(R.Base->use_empty() && R.Step->use_empty());
    R.Base->eraseFromParent();
    R.Step->eraseFromParent();
    if (R.Rest)
      R.Rest->eraseFromParent();
    for (Instruction *S : R.StepAround)
      S->eraseFromParent();
  }
  N.Rows.clear();
}

} // namespace nputeir
