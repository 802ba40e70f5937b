// collapsed.cpp -- a loop that OpenMP's collapse clause, or a programmer, has
// made of two, as two again:
//
//     for (n = first; n < end; n++) { i = n / columns; j = n % columns; .. }
//
// A thread has some part of all elements, so the loop need neither begin nor
// end with a row.  It becomes three: up to the first whole row, the rows, and
// what is left; all elements in the same order as before.
//
//     for (; n < head; n++) ..                      head = the first whole row
//     for (i = head / columns; i < rows; i++)
//       for (j = 0; j < columns; j++) ..
//     for (n = rows * columns; n < end; n++) ..     the loop as it was
//
// Where columns is not positive, or a number too large, the last of the three
// does everything.
//
// A loop from 0 within a nest, or one that divides without asking for what is
// left (channels of a grouped convolution: g = n / channels), becomes several
// only where the rows are whole (digits.cpp).
#include "collapsed.h"
#include "digits.h"
#include "ir_exits.h"
#include "ir_loops.h"
#include "ir_sums.h"
#include "steps.h"

#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace nputeir {

namespace {

using namespace PatternMatch;

struct Collapsed {
  Loop *L;
  PHINode *Counter;
  Value *First, *Bound, *Columns;
  bool Inclusive; // the counter reaches Bound
  BasicBlock *Body;
  SmallVector<Instruction *, 4> Rows, Places; // n / columns, n % columns

  bool find(Loop &Candidate);

private:
  bool findBound();
  bool findDivisions();
};

// The counter stays in the loop while it is below Bound.
bool Collapsed::findBound() {
  auto *Branch = dyn_cast<BranchInst>(L->getHeader()->getTerminator());
  auto *Test = Branch && Branch->isConditional()
                   ? dyn_cast<ICmpInst>(Branch->getCondition())
                   : nullptr;
  if (!Test)
    return false;
  bool Stays = L->contains(Branch->getSuccessor(0));
  Body = Branch->getSuccessor(Stays ? 0 : 1);
  CmpInst::Predicate P =
      Stays ? Test->getPredicate() : Test->getInversePredicate();
  Value *X = Test->getOperand(0);
  Bound = Test->getOperand(1);
  if (X != Counter) {
    std::swap(X, Bound);
    P = CmpInst::getSwappedPredicate(P);
  }
  Inclusive = P == CmpInst::ICMP_SLE || P == CmpInst::ICMP_ULE;
  return X == Counter && L->isLoopInvariant(Bound) &&
         (Inclusive || P == CmpInst::ICMP_SLT || P == CmpInst::ICMP_ULT);
}

bool Collapsed::findDivisions() {
  for (User *U : Counter->users())
    if (Value *By = divisorOf(U, Counter)) {
      if (!L->isLoopInvariant(By) || (Columns && By != Columns))
        return false;
      Columns = By;
      Rows.push_back(cast<Instruction>(U));
    }
  const APInt *Number;
  if (!Columns ||
      (match(Columns, m_APInt(Number)) && !Number->isStrictlyPositive()))
    return false;
  for (User *U : Counter->users())
    if (isRemainder(U, Counter, Columns, Rows))
      Places.push_back(cast<Instruction>(U));
  return true;
}

bool Collapsed::find(Loop &Candidate) {
  L = &Candidate;
  if (L->isInnermost() || !L->isLoopSimplifyForm() || !exitsBeforeBody(*L) ||
      !L->getExitingBlock() || !sumsProducts(*L) || copiesOnly(*L) ||
      isSplit(*L))
    return false;
  Counter = dyn_cast<PHINode>(&L->getHeader()->front());
  if (!Counter || !Counter->getType()->isIntegerTy() ||
      std::next(L->getHeader()->phis().begin()) != L->getHeader()->phis().end())
    return false;
  First = Counter->getIncomingValueForBlock(L->getLoopPreheader());
  Columns = nullptr;
  if (!match(Counter->getIncomingValueForBlock(L->getLoopLatch()),
             m_c_Add(m_Specific(Counter), m_One())) ||
      !findBound() || !findDivisions())
    return false;
  for (const BasicBlock *B : L->blocks())
    for (const Instruction &I : *B)
      if (isa<CallBase>(I) && cast<CallBase>(I).cannotDuplicate())
        return false;
  return !isUsedAfter(*L);
}

class Splitter {
  const Collapsed &C;
  Loop &L;
  Function &F;
  Type *T;
  BasicBlock *Front, *Exit;
  // Where the whole rows begin and end, in elements, and in rows.
  Value *Head = nullptr, *Tail = nullptr, *FirstRow = nullptr;
  Value *EndRow = nullptr;

  struct Copy {
    ValueToValueMapTy Of;
    SmallVector<BasicBlock *, 16> Blocks;
    BasicBlock *header(const Loop &L) {
      return cast<BasicBlock>(Of[L.getHeader()]);
    }
  };

public:
  explicit Splitter(const Collapsed &C)
      : C(C), L(*C.L), F(*L.getHeader()->getParent()), T(C.Counter->getType()),
        Front(L.getLoopPreheader()), Exit(exitOf(L).To) {}

  void run() {
    Copy Before, Row;
    copy(Row);
    markSplit(L);
    copy(Before);
    findRows();
    LLVMContext &X = F.getContext();
    auto *RowHeader = BasicBlock::Create(X, "nputeir.row", &F, L.getHeader());
    auto *RowBody = BasicBlock::Create(X, "nputeir.columns", &F, L.getHeader());
    auto *RowEnd = BasicBlock::Create(X, "nputeir.row.end", &F, L.getHeader());
    auto *Last = BasicBlock::Create(X, "nputeir.tail", &F, L.getHeader());
    L.getHeader()->replacePhiUsesWith(Front, Last);
    C.Counter->setIncomingValueForBlock(Last, Tail);
    cast<BranchInst>(Front->getTerminator())->setSuccessor(0, Before.header(L));
    leave(Before, Head, RowHeader);
    leave(Row, C.Columns, RowEnd);

    DebugLoc At = L.getStartLoc();
    IRBuilder<> B(RowHeader);
    B.SetCurrentDebugLocation(At);
    PHINode *I = B.CreatePHI(T, 2);
    B.CreateCondBr(B.CreateICmpSLT(I, EndRow), RowBody, Last);
    B.SetInsertPoint(RowBody);
    B.CreateBr(Row.header(L));
    B.SetInsertPoint(RowEnd);
    I->addIncoming(FirstRow, Before.header(L));
    I->addIncoming(B.CreateAdd(I, ConstantInt::get(T, 1), "", true, true),
                   RowEnd);
    B.CreateBr(RowHeader);
    B.SetInsertPoint(Last);
    B.CreateBr(L.getHeader());
    countColumns(Row, I, Front, RowBody);
  }

private:
  void copy(Copy &To) {
    for (BasicBlock *B : L.blocks()) {
      BasicBlock *New = CloneBasicBlock(B, To.Of, ".nputeir", &F);
      To.Of[B] = New;
      To.Blocks.push_back(New);
    }
    for (BasicBlock *B : To.Blocks)
      for (Instruction &I : *B)
        RemapInstruction(&I, To.Of,
                         RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
  }

  // In front of the loop.
  void findRows() {
    IRBuilder<> B(Front->getTerminator());
    B.SetCurrentDebugLocation(L.getStartLoc());
    Value *Zero = ConstantInt::get(T, 0), *One = ConstantInt::get(T, 1);
    auto Least = APInt::getSignedMinValue(T->getIntegerBitWidth());
    auto Frozen = [&](Value *V) {
      return isa<Constant>(V) ? V : B.CreateFreeze(V);
    };
    Value *First = Frozen(C.First), *Bound = Frozen(C.Bound);
    Value *By = Frozen(C.Columns);
    Value *Good = B.CreateAnd(
        B.CreateAnd(B.CreateICmpSGE(First, Zero), B.CreateICmpSGE(Bound, Zero)),
        B.CreateAnd(B.CreateICmpSGT(By, Zero),
                    B.CreateICmpNE(Bound, ConstantInt::get(T, Least - 1))));
    By = isa<Constant>(By) ? By : B.CreateSelect(Good, By, One);
    Value *End = C.Inclusive ? B.CreateAdd(Bound, One) : Bound;
    Value *Begun = B.CreateICmpNE(B.CreateSRem(First, By), Zero);
    FirstRow = B.CreateAdd(B.CreateSDiv(First, By), B.CreateZExt(Begun, T));
    EndRow = B.CreateSDiv(End, By);
    Value *Any = B.CreateAnd(Good, B.CreateICmpSLT(FirstRow, EndRow));
    // ScalarEvolution would not compute a quotient again elsewhere.
    FirstRow = Frozen(FirstRow);
    EndRow = Frozen(B.CreateSelect(Any, EndRow, FirstRow));
    Head = B.CreateSelect(Any, B.CreateMul(FirstRow, By), First);
    Tail = B.CreateSelect(Any, B.CreateMul(EndRow, By), First);
  }

  // The copy's counter stays below End.
  void leave(Copy &X, Value *End, BasicBlock *To) {
    Instruction *Old = X.header(L)->getTerminator();
    IRBuilder<> B(Old);
    Value *Below = B.CreateICmpSLT(X.Of[C.Counter], End);
    B.CreateCondBr(Below, cast<BasicBlock>(X.Of[C.Body]), To);
    Old->eraseFromParent();
  }

  // The copy's counter becomes one of the columns of row I.
  void countColumns(Copy &X, PHINode *I, BasicBlock *From, BasicBlock *Before) {
    auto *J = cast<PHINode>(X.Of[C.Counter]);
    auto *Next = cast<Instruction>(
        J->getIncomingValueForBlock(cast<BasicBlock>(X.Of[L.getLoopLatch()])));
    IRBuilder<> B(&*X.header(L)->getFirstInsertionPt());
    Value *N = B.CreateAdd(B.CreateMul(I, C.Columns, "", true, true), J, "",
                           true, true);
    J->replaceUsesWithIf(N, [&](Use &U) {
      auto *User = cast<Instruction>(U.getUser());
      return User != N && User != Next &&
             User != X.header(L)->getTerminator() &&
             !(isa<ICmpInst>(User) && User->getParent() == X.header(L) &&
               is_contained(User->users(), X.header(L)->getTerminator()));
    });
    replace(X, C.Rows, I);
    replace(X, C.Places, J);
    J->replaceIncomingBlockWith(From, Before);
    J->setIncomingValueForBlock(Before, ConstantInt::get(T, 0));
  }

  static void replace(Copy &X, ArrayRef<Instruction *> Old, Value *New) {
    for (Instruction *I : Old)
      cast<Instruction>(X.Of[I])->replaceAllUsesWith(New);
  }
};

bool splitOne(LoopInfo &LI, ScalarEvolution &SE) {
  for (Loop *L : LI.getLoopsInPreorder()) {
    Collapsed C;
    if (sumsProducts(*L))
      countPointers(*L, SE);
    if (!C.find(*L))
      continue;
    if ((C.Places.empty() || L->getParentLoop()) && splitDigits(*L, SE))
      return true;
    if (C.Places.empty())
      continue;
    Splitter(C).run();
    return true;
  }
  return false;
}

} // namespace

bool isCollapsed(const Loop &L) {
  for (const PHINode &P : L.getHeader()->phis())
    if (P.getType()->isIntegerTy())
      for (const User *U : P.users())
        if (divisorOf(U, &P))
          return true;
  return false;
}

PreservedAnalyses CollapsedPass::run(Function &F,
                                     FunctionAnalysisManager &FAM) {
  enum { SplitMax = 8 };
  int Count = 0;
  while (Count < SplitMax &&
         splitOne(FAM.getResult<LoopAnalysis>(F),
                  FAM.getResult<ScalarEvolutionAnalysis>(F))) {
    Count++;
    FAM.invalidate(F, PreservedAnalyses::none());
  }
  return Count ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace nputeir
