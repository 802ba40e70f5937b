// column_updates.cpp -- a loop over columns that sums over each and then
// changes it, as a reflection (Householder) or a projection (Gram, Schmidt)
// does:
//
//     for j:  s = 0;  for i: s += v[i] * a[i][j];
//             f = -s / h;
//             for i: a[i][j] += f * v[i];
//
// becomes
//
//     before:  columns share nothing, there is work enough ? get : kept
//     get:     array = malloc(an f per column);  array is there ? sums : kept
//     sums:    for j:  s = ..;  array[j] = -s / h;        vector times matrix
//     update:  for i:  for j:  a[i][j] += array[j] * v[i];
//     kept:    the loop as it was
//
// The sums come before all changes: what a column's change writes is read or
// written by that column's own iteration, in front of the change, or by nobody.
// Elements of a row lie side by side.  So both parts go through memory as it
// lies, and the source from row to row.
#include "column_updates.h"
#include "counted_nest.h"
#include "ir_code.h"
#include "ir_exits.h"
#include "ir_memory.h"
#include "ir_sums.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

class ColumnUpdate : CountedNest {
  enum { ColumnBlocksMax = 32, AccessesMax = 32, MacsLeast = 512 };
  SmallVector<Instruction *, 16> Accesses;
  Loop *Rows = nullptr; // the loop that changes the column
  StoreInst *Update = nullptr;
  struct Access {
    const SCEV *Place, *Row, *Column; // strides; null: it does not move
  };
  MapVector<const Instruction *, Access> InRows;
  SmallPtrSet<const Value *, 16> Repeated;
  SmallSetVector<Value *, 2> Carried;     // what the iteration of L computes
  SmallPtrSet<const Value *, 2> Divisors; // among them, and nothing else

public:
  ColumnUpdate(Loop &L, LoopFacts &Facts) : CountedNest(L, Facts) {}

  bool isOne() {
    return canBeCopied(L) && L.getNumBlocks() <= ColumnBlocksMax &&
           L.getSubLoops().size() >= 2 && countsOnly(L) && !isUsedAfter(L) &&
           timesOf(L) && findAccesses(L, Accesses) &&
           Accesses.size() <= AccessesMax && findUpdate() && comesLast() &&
           hasSums() && mayComeLater();
  }

private:
  // How often the body of X runs, which is known in front of L; null: it is
  // not.
  const SCEV *timesOf(const Loop &X) {
    const SCEV *N = SE.getBackedgeTakenCount(&X);
    if (isa<SCEVCouldNotCompute>(N) || !exitsBeforeBody(X) ||
        SE.getTypeSizeInBits(N->getType()) > 64)
      return nullptr;
    N = SE.getNoopOrZeroExtend(N, I64);
    return SE.isLoopInvariant(N, &L) &&
                   Expander(SE, *L.getHeader()->getModule()).isSafe(N)
               ? N
               : nullptr;
  }

  // A loop without conditions that stores one element in each iteration.
  bool isPlain(Loop &X) {
    return X.isInnermost() && X.getParentLoop() == &L && countsOnly(X) &&
           !isUsedAfter(X) && timesOf(X) && X.getLoopPreheader() &&
           DT.dominates(X.getHeader(), L.getLoopLatch()) &&
           all_of(X.blocks(), [&](const BasicBlock *B) {
             return B == X.getHeader() || B->getSingleSuccessor();
           });
  }

  // The last store of L is the only one of its loop.
  bool findUpdate() {
    for (Instruction *I : Accesses)
      if (auto *S = dyn_cast<StoreInst>(I);
          S && (!Update || comesBefore(*Update, *S, LI, DT)))
        Update = S;
    Rows = Update ? LI.getLoopFor(Update->getParent()) : nullptr;
    if (!Rows || !isPlain(*Rows) || !addAccess(*Update))
      return false;
    const Access &Own = InRows[Update];
    const auto *Column = dyn_cast_or_null<SCEVConstant>(Own.Column);
    return Own.Row && Column && Column->getAPInt() == bytesOf(*Update) &&
           Own.Row != Own.Column && canBeRepeated(*Update->getValueOperand());
  }

  bool addAccess(const Instruction &I) {
    Access A = {};
    LoopSteps Step;
    if (!stepsOf(I, A.Place, Step) ||
        !Expander(SE, *L.getHeader()->getModule()).isSafe(A.Place))
      return false;
    for (auto [X, S] : Step)
      if (X == Rows || X == &L)
        (X == Rows ? A.Row : A.Column) = S;
      else
        return false;
    InRows[&I] = A;
    return true;
  }

  // What V is computed from in Rows are elements, and values that are there
  // before it.
  bool canBeRepeated(Value &V) {
    auto *I = dyn_cast<Instruction>(&V);
    if (!I || !L.contains(I))
      return true;
    Type *T = I->getType();
    if (!T->isFloatingPointTy() && !T->isIntegerTy())
      return false;
    if (!Rows->contains(I)) {
      Carried.insert(I);
      return Carried[0]->getType() == T;
    }
    if (!Repeated.insert(I).second)
      return true;
    if (isa<LoadInst>(I))
      return addAccess(*I);
    return !isa<PHINode>(I) && !I->mayHaveSideEffects() &&
           !I->mayReadFromMemory() && all_of(I->operands(), [&](Use &U) {
             return canBeRepeated(*U.get());
           });
  }

  // Where the source may multiply by what is one for the whole column.
  void findDivisors() {
    for (Value *V : Carried)
      if (all_of(V->users(), [&](const User *U) {
            const auto *I = cast<Instruction>(U);
            return !Rows->contains(I) ||
                   (I->getOpcode() == Instruction::FDiv &&
                    I->hasAllowReciprocal() && I->getOperand(0) != V);
          }))
        Divisors.insert(V);
  }

  bool comesLast() {
    return all_of(Accesses, [&](Instruction *I) {
      return Rows->contains(I) ? InRows.count(I) != 0
                               : comesBefore(*I, *Update, LI, DT);
    });
  }

  bool hasSums() {
    return any_of(L.getSubLoops(),
                  [&](const Loop *X) { return X != Rows && sumsProducts(*X); });
  }

  bool areApart(StoreInst &W, Instruction &X) {
    return Places.areApart(W, X) || Places.areColumns(W, X);
  }

  bool mayComeLater() {
    return all_of(Accesses, [&](Instruction *I) {
      auto *S = dyn_cast<StoreInst>(I);
      if (Rows->contains(I))
        return I == Update || Places.placeOf(*I) == Places.placeOf(*Update) ||
               areApart(*Update, *I);
      return isOfIteration(*Update, *I) &&
             (!S || all_of(InRows, [&](const auto &X) {
               return X.first == Update ||
                      isOfIteration(*S, *const_cast<Instruction *>(X.first));
             }));
    });
  }

  // Elements of the present column, in whatever rows.
  bool isOwn(const Instruction &I) {
    const Access &Own = InRows[Update];
    LoopSteps Step;
    const SCEV *Place;
    if (!sharesBase(*Update, I, SE) || !stepsOf(I, Place, Step) ||
        bytesOf(I) != bytesOf(*Update) || Step.lookup(&L) != Own.Column)
      return false;
    const SCEV *Way = SE.getMinusSCEV(Place, Own.Place);
    return (Way->isZero() || Way == Own.Row ||
            Way == SE.getNegativeSCEV(Own.Row)) &&
           all_of(Step, [&](const auto &X) {
             return X.first == &L || X.second == Own.Row;
           });
  }

  // What both access is so in one iteration of L.
  bool isOfIteration(StoreInst &W, Instruction &X) {
    if (isOwn(W) && isOwn(X))
      return true;
    bool IsOneBase = sharesBase(W, X, SE);
    return (IsOneBase && Places.meetInOneIteration(W, X, L)) || areApart(W, X);
  }

  // ---- the parts ----

  struct {
    Value *Rows, *Columns; // how many
  } N = {};
  DenseMap<const Instruction *, Value *> Start; // the places of InRows
  DenseMap<const SCEV *, Value *> Step;

  // Asked first, as nothing else need be where there is not.
  Value *isWorthwhile(Checks &C) {
    N.Rows = C.frozen(timesOf(*Rows), I64);
    N.Columns = C.frozen(timesOf(L), I64);
    Value *Fits = C.B.getTrue();
    Value *All = times(C.B, N.Rows, N.Columns, Fits);
    return C.B.CreateAnd(Fits, C.B.CreateICmpUGE(All, C.B.getInt64(MacsLeast)));
  }

  // Rows, of which there may be more than are changed, share nothing.
  Value *mayBeSplit(Checks &C) {
    IRBuilder<> &B = C.B;
    Value *Fits = B.getTrue();
    Value *Row = B.CreateBinaryIntrinsic(
        Intrinsic::abs, C.frozen(InRows[Update].Row, I64), B.getFalse());
    Value *Width = times(B, N.Columns, B.getInt64(bytesOf(*Update)), Fits);
    return B.CreateAnd(B.CreateAnd(Fits, B.CreateICmpUGE(Row, Width)),
                       Places.hold(C));
  }

  uint64_t bytesOfCarried() const {
    return L.getHeader()->getModule()->getDataLayout().getTypeStoreSize(
        Carried[0]->getType());
  }

  BasicBlock *create(const char *Name) {
    return BasicBlock::Create(I64->getContext(), Name,
                              L.getHeader()->getParent(), L.getHeader());
  }

  // Each iteration of L notes what it computes.
  void note(Value *Array) {
    IRBuilder<> B(&L.getHeader()->front());
    PHINode *Column = B.CreatePHI(I64, 2, "nputeir.column");
    B.SetInsertPoint(L.getLoopLatch()->getTerminator());
    for (BasicBlock *From : predecessors(L.getHeader()))
      Column->addIncoming(
          L.contains(From) ? B.CreateAdd(Column, B.getInt64(1), "", true, true)
                           : B.getInt64(0),
          From);
    B.SetInsertPoint(Rows->getLoopPreheader()->getTerminator());
    B.SetCurrentDebugLocation(DL);
    for (size_t I = 0; I < Carried.size(); I++) {
      Value *V = Carried[I];
      if (Divisors.count(V))
        V = B.CreateFDiv(ConstantFP::get(V->getType(), 1), V);
      B.CreateStore(V, placeOfCarried(B, Array, I, Column));
    }
  }

  Value *placeOfCarried(IRBuilder<> &B, Value *Array, size_t I, Value *Column) {
    Value *Index = B.CreateAdd(B.CreateMul(N.Columns, B.getInt64(I)), Column);
    Type *T = Carried[0]->getType();
    return B.CreateGEP(T, B.CreatePointerCast(Array, pointerTo(T)), Index);
  }

  // Copies of what is computed in Rows, of the present row and column.
  class Repeater {
    ColumnUpdate &Of;
    Code &C;
    Value *Row, *Column;
    SmallDenseMap<const Value *, Value *, 8> Here;

  public:
    Repeater(ColumnUpdate &Of, Code &C) : Of(Of), C(C) {}

    Value *place(const Instruction &I) {
      const Access &A = Of.InRows[&I];
      Value *P = Of.Start.lookup(&I);
      if (A.Row)
        P = C.at(P, C.times(Row, Of.Step.lookup(A.Row)));
      if (A.Column)
        P = C.at(P, C.times(Column, Of.Step.lookup(A.Column)));
      return C.CreatePointerCast(P, getLoadStorePointerOperand(&I)->getType());
    }

    // What all columns of a row read.
    void startRow(Value *I) {
      Row = I;
      for (const auto &[X, A] : Of.InRows)
        if (isa<LoadInst>(X) && !A.Column)
          copy(*X);
    }

    void startColumn(Value *J, Value *Array) {
      Column = J;
      for (size_t I = 0; I < Of.Carried.size(); I++)
        Here[Of.Carried[I]] = C.CreateLoad(Of.Carried[I]->getType(),
                                           Of.placeOfCarried(C, Array, I, J));
    }

    Value *now(Value *V) {
      auto *I = dyn_cast<Instruction>(V);
      Value *Known = Here.lookup(V);
      return Known || !I || !Of.L.contains(I) ? (Known ? Known : V) : copy(*I);
    }

    Value *copy(const Instruction &I) {
      bool Divides = I.getOpcode() == Instruction::FDiv &&
                     Of.Divisors.count(I.getOperand(1));
      Instruction *Copy =
          Divides ? BinaryOperator::CreateFMul(I.getOperand(0), I.getOperand(1))
                  : I.clone();
      if (Divides)
        Copy->copyIRFlags(&I);
      if (isa<LoadInst>(I))
        Copy->setOperand(0, place(I));
      else
        for (Use &U : Copy->operands())
          U.set(now(U.get()));
      C.Insert(Copy);
      return Here[&I] = Copy;
    }
  };

  // The changes, row by row, from the end of Begin on; the last block.
  BasicBlock *changeRows(BasicBlock *Begin, BasicBlock *Exit, Value *Array) {
    Code C(*Begin);
    C.SetCurrentDebugLocation(DL);
    C.repeat(C.number(0), N.Rows, C.number(1), {}, [&](Value *I, auto) {
      Repeater Row(*this, C);
      Row.startRow(I);
      C.repeat(C.number(0), N.Columns, C.number(1), {}, [&](Value *J, auto) {
        Repeater X = Row;
        X.startColumn(J, Array);
        Value *New = X.now(Update->getValueOperand());
        Instruction *Store = Update->clone();
        Store->setOperand(0, New);
        Store->setOperand(1, X.place(*Update));
        C.Insert(Store);
        return Code::Values{};
      });
      return Code::Values{};
    });
    if (Array)
      emitFree(C, Array);
    C.CreateBr(Exit);
    return C.GetInsertBlock();
  }

public:
  void split(NestParts &To) {
    findDivisors();
    BasicBlock *Front = L.getLoopPreheader(), *Exit = L.getExitBlock();
    DL = L.getStartLoc() ? L.getStartLoc()
                         : Front->getTerminator()->getDebugLoc();
    BasicBlock *Ask = SplitBlock(Front, Front->getTerminator(), &DT, &LI);
    Checks Work(SE, Front->getTerminator());
    Work.B.SetCurrentDebugLocation(DL);
    Value *Worthwhile = isWorthwhile(Work);
    Checks C(SE, Ask->getTerminator()), In(SE, Ask->getTerminator());
    C.B.SetCurrentDebugLocation(DL);
    In.B.SetCurrentDebugLocation(DL);
    Value *Good = mayBeSplit(C);
    for (const auto &[X, A] : InRows) {
      Start[X] = In.frozen(A.Place, bytePointer(I64->getContext()));
      for (const SCEV *S : {A.Row, A.Column})
        if (S)
          Step[S] = In.frozen(S, I64);
    }
    ValueToValueMapTy OfKept;
    BasicBlock *Old = copyLoop(L, nullptr, OfKept);
    To.Kept = cast<BasicBlock>(OfKept[L.getHeader()]);
    BasicBlock *Sums = detach(L);
    IRBuilder<> B(Front->getTerminator());
    B.SetCurrentDebugLocation(DL);
    B.CreateCondBr(Worthwhile, Ask, Old);
    Front->getTerminator()->eraseFromParent();
    B.SetInsertPoint(Ask);
    Value *Array = Carried.empty() ? nullptr : getArray(B, Good, Old);
    if (Array) {
      Good = B.CreateIsNotNull(Array);
      note(Array);
    }
    B.CreateCondBr(Good, Sums, Old);
    BasicBlock *Begin = create("nputeir.update");
    BasicBlock *Left = L.getExitingBlock();
    Exit->replacePhiUsesWith(Left, changeRows(Begin, Exit, Array));
    Left->getTerminator()->replaceSuccessorWith(Exit, Begin);
    Update->eraseFromParent();
    To.Product = L.getHeader();
    To.Rest = Begin->getSingleSuccessor();
  }

private:
  // Where Good holds, else on to Old; B goes on behind.
  Value *getArray(IRBuilder<> &B, Value *Good, BasicBlock *Old) {
    BasicBlock *Get = create("nputeir.get");
    B.CreateCondBr(Good, Get, Old);
    B.SetInsertPoint(Get);
    return emitMalloc(B, B.CreateMul(N.Columns, B.getInt64(Carried.size() *
                                                           bytesOfCarried())));
  }
};

} // namespace

bool updatesColumns(Loop &L, LoopFacts &Facts) {
  return ColumnUpdate(L, Facts).isOne();
}

bool splitColumnUpdate(Loop &L, LoopFacts &Facts, NestParts &To) {
  ColumnUpdate X(L, Facts);
  bool Is = X.isOne();
  if (Is)
    X.split(To);
  return Is;
}

} // namespace nputeir
