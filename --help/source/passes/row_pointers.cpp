// row_pointers.cpp -- asks at run time whether the rows that a nest finds
// through an array of addresses lie one after the other:
//
//     before:  every loop has work ? ask : on
//     ask:     base = row[0], step = row[1] - row[0]
//     check:   same = same and row[i] == base + i * step, for all i
//     on:      what was assumed holds = phi [same, check], [false, before]
//
// The nest itself would read all these elements, because every loop has work.
#include "checks.h"

#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

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
  Value *check(const RowPointers &R, Instruction *At, Value *&Base,
               Value *&Step) {
    Value *Array = expand(R.Start, At);
    Value *Stride = expand(R.Stride, At), *Count = expand(R.Extent, At);
    IRBuilder<> B(At);
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
    Step = B.CreateSelect(Several, B.CreateSub(Second, First),
                          B.getInt64((int64_t)1 << 30));
    Base = B.CreateIntToPtr(First, R.Base->getType());
    return checkLoop(At, Count, First, Step, [&](BasicBlock *Check, Value *I) {
      B.SetInsertPoint(Check);
      return Row(B.CreateMul(I, Stride));
    });
  }

private:
  Value *checkLoop(Instruction *At, Value *Count, Value *First, Value *Step,
                   function_ref<Value *(BasicBlock *, Value *)> Row) {
    BasicBlock *Before = At->getParent();
    BasicBlock *After = SplitBlock(Before, At, &DT, &LI);
    auto *Check = BasicBlock::Create(F.getContext(), "nputeir.rows", &F, After);
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
    Value *Found = Row(Check, I);
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
};

} // namespace

void checkRowPointers(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                      DominatorTree &DT, IRNest &N) {
  if (N.Rows.empty())
    return;
  RowPointerCheck Check(Outer, LI, SE, DT);
  FrontBranch Ask = branchIfLoopsRun(Outer, N, LI, SE, DT);
  for (RowPointers &R : N.Rows) {
    Value *Base, *Step, *Same = Check.check(R, Ask.Then, Base, Step);
    R.Base->replaceAllUsesWith(Ask.join(Base));
    R.Step->replaceAllUsesWith(Ask.join(Step));
    N.Assumed.push_back({Ask.join(Same), true});
  }
  dropRowPointers(N);
}

void dropRowPointers(IRNest &N) {
  for (RowPointers &R : N.Rows) {
    assert(R.Base->use_empty() && R.Step->use_empty());
    R.Base->eraseFromParent();
    R.Step->eraseFromParent();
  }
  N.Rows.clear();
}

} // namespace nputeir
