// uneven.cpp -- nests of rows that do not have equally many columns.
#include "uneven.h"
#include "ir_marks.h"

#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace nputeir {

// Do the counters of columns, or else pointers, start or end alike in all
// rows?
void UnevenNest::align(const Loop &X, bool &Starts, bool &Ends) {
  bool Any = any_of(X.getHeader()->phis(), [&](const PHINode &P) {
    return P.getType()->isIntegerTy() && counter(P, X);
  });
  for (const PHINode &P : X.getHeader()->phis()) {
    if (Any && !P.getType()->isIntegerTy())
      continue;
    const SCEVAddRecExpr *Rec = counter(P, X);
    if (!Rec)
      continue; // a sum
    const SCEV *Step = Rec->getStepRecurrence(SE);
    const SCEV *Times = SE.getTruncateOrNoop(Count, Step->getType());
    const SCEV *Start = Places.wide(Rec->getStart());
    const SCEV *Last = SE.getAddExpr(Start, SE.getMulExpr(Step, Times));
    Starts &= SE.isLoopInvariant(Start, &L);
    Ends &= SE.isLoopInvariant(Last, &L);
  }
}

bool UnevenNest::addEnd(const SCEV *End) {
  RowsEnd X = {End, 0};
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(End);
  if (Rec && Rec->getLoop() == OfRows && Rec->isAffine()) {
    const auto *Step = dyn_cast<SCEVConstant>(Rec->getStepRecurrence(SE));
    if (!Step || Step->getAPInt().getSignificantBits() > 32)
      return false;
    X = {Rec->getStart(), Step->getAPInt().getSExtValue()};
  }
  if (!SE.isLoopInvariant(X.First, &L) ||
      !Expander(SE, *L.getHeader()->getModule()).isSafe(X.First))
    return false;
  if (none_of(RowsEnds, [&](const RowsEnd &Y) {
        return Y.First == X.First && Y.Step == X.Step;
      }))
    RowsEnds.push_back(X);
  return true;
}

// In the first row and in the last one, so in all.
Value *UnevenNest::endsHold(Checks &C) const {
  Value *Good = C.B.getTrue();
  Value *Last = C.B.CreateSub(N.Rows, C.B.getInt64(1));
  Value *Least = C.B.getInt64(0);
  for (const RowsEnd &X : RowsEnds) {
    Value *First = C.frozen(X.First, I64);
    Value *End = C.B.CreateAdd(
        First, C.B.CreateMul(Last, C.B.getInt64((uint64_t)X.Step)));
    for (Value *V : {First, End})
      Good = C.B.CreateAnd(Good, C.B.CreateICmpSGE(V, Least));
    Good = C.B.CreateAnd(Good, C.B.CreateICmpUGE(First, N.First));
    Good = C.B.CreateAnd(Good, C.B.CreateICmpUGE(End, columns(C.B, Last)));
  }
  return Good;
}

bool UnevenNest::findColumns(function_ref<bool(Loop &)> MayBeCut, bool Inner) {
  SmallVector<Loop *, 8> Open(L.begin(), L.end());
  bool Starts = true, Ends = true;
  while (!Open.empty()) { // each loop of the nest once
    Loop *X = Open.pop_back_val();
    const SCEV *End, *N = iterations(*X, End);
    if (!N)
      return false;
    if (SE.isLoopInvariant(N, &L)) {
      Open.append(X->begin(), X->end());
      continue;
    }
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(N);
    if (Rec && Inner && !Count && L.contains(Rec->getLoop()))
      OfRows = LI.getLoopFor(Rec->getLoop()->getHeader());
    if (!Rec || !Rec->isAffine() || Rec->getLoop() != OfRows ||
        (Count && Rec != Count) || (End && !addEnd(End)) ||
        Columns.size() == ColumnLoopsMax || !canBeCopied(*X) || !MayBeCut(*X) ||
        any_of(X->getSubLoops(), [&](Loop *In) { return varies(*In); }))
      return false;
    Count = Rec;
    Columns.push_back(X);
    align(*X, Starts, Ends);
  }
  Rows = iterations(*OfRows);
  if (!Rows || !SE.isLoopInvariant(Rows, &L) || Columns.empty() ||
      Starts == Ends)
    return false;
  const auto *Step = dyn_cast<SCEVConstant>(Count->getStepRecurrence(SE));
  Grows = Step && Step->getAPInt().isOne();
  FromStart = Starts;
  if (!Step || !(Grows || Step->getAPInt().isAllOnes()) ||
      !SE.isLoopInvariant(Count->getStart(), &L))
    return false;
  for (const Loop *X : Columns) {
    if (!Grows)
      Places.Falling[X] = OfRows;
    Places.Most[X] = Grows
                         ? SE.getAddExpr(Count->getStart(),
                                         SE.getMinusSCEV(Rows, SE.getOne(I64)))
                         : Count->getStart();
  }
  return true;
}

bool UnevenNest::varies(const Loop &X) {
  const SCEV *N = iterations(X);
  return !N || !SE.isLoopInvariant(N, &L) ||
         any_of(X.getSubLoops(), [&](Loop *In) { return varies(*In); });
}

// Of Row, which counts from 0.
Value *UnevenNest::columns(IRBuilder<> &B, Value *Row) const {
  return Grows ? B.CreateAdd(N.First, Row) : B.CreateSub(N.First, Row);
}

// Of the rectangle of the block of rows from Begin on.
Value *UnevenNest::width(IRBuilder<> &B, Value *Begin) const {
  Value *Row = Begin;
  if (!Grows) {
    Value *End = B.CreateAdd(Begin, N.Height);
    End = B.CreateSelect(B.CreateICmpULT(End, N.Rows), End, N.Rows);
    Row = B.CreateSub(End, B.getInt64(1));
  }
  Value *Width = columns(B, Row);
  Value *IsOne = B.CreateICmpUGE(Width, B.getInt64(RowStep));
  return B.CreateSelect(IsOne, Width, B.getInt64(0));
}

// A counter of the iterations of the loop with this header, from 0.
PHINode *UnevenNest::addCounter(BasicBlock *Header, BasicBlock *Front) {
  IRBuilder<> B(&Header->front());
  B.SetCurrentDebugLocation(DL);
  PHINode *P = B.CreatePHI(I64, 2, "nputeir.count");
  for (BasicBlock *From : predecessors(Header)) {
    B.SetInsertPoint(From->getTerminator());
    P->addIncoming(From == Front ? B.getInt64(0)
                                 : B.CreateAdd(P, B.getInt64(1), "",
                                               /*HasNUW=*/true,
                                               /*HasNSW=*/true),
                   From);
  }
  return P;
}

// X is a loop, or one of a copy of it: Map gives what is there for a value of
// X.  It does iterations Begin to Begin + Times of what it did.
void UnevenNest::restrict(Loop &X, ValueToValueMapTy *Map, Value *Begin,
                          Value *Times, BasicBlock *Front) {
  startAt(X, Map, Begin, Front);
  Value *Copied = Map ? Map->lookup(X.getHeader()) : nullptr;
  auto *Header = Copied ? cast<BasicBlock>(Copied) : X.getHeader();
  PHINode *Done = addCounter(Header, Front);
  auto *Branch = cast<BranchInst>(Header->getTerminator());
  IRBuilder<> B(Branch);
  B.SetCurrentDebugLocation(DL);
  bool IntoBody = X.contains(
      cast<BranchInst>(X.getHeader()->getTerminator())->getSuccessor(0));
  Branch->setCondition(IntoBody ? B.CreateICmpULT(Done, Times)
                                : B.CreateICmpUGE(Done, Times));
}

bool UnevenNest::isEqual(const SCEV *X, const SCEV *Y) {
  const SCEV *Way = SE.getMinusSCEV(X, Y);
  if (isa<SCEVConstant>(Way) || isa<SCEVCouldNotCompute>(Way))
    return Way->isZero();
  if (!is_contained(Equal, std::make_pair(X, Y)))
    Equal.push_back({X, Y});
  return true;
}

UnevenNest::Part UnevenNest::formPart(Loop &K, BasicBlock *Front,
                                      ValueToValueMapTy &Map, Value *Begin,
                                      bool IsRectangle) {
  IRBuilder<> B(Front->getTerminator());
  B.SetCurrentDebugLocation(DL);
  Value *Width = width(B, Begin);
  restrict(*OfRows, &Map, Begin, height(B, Begin), frontOf(*OfRows, &Map));
  auto *Row =
      cast<PHINode>(&cast<BasicBlock>(Map[OfRows->getHeader()])->front());
  BasicBlock *InFront = frontOf(K, &Map);
  B.SetInsertPoint(InFront->getTerminator());
  Value *Others = B.CreateSub(columns(B, B.CreateAdd(Begin, Row)), Width);
  Value *First = FromStart ? Width : Others;
  if (IsRectangle == FromStart)
    First = B.getInt64(0);
  restrict(K, &Map, First, IsRectangle ? Width : Others, InFront);
  return {Row, First};
}

void UnevenNest::startSplit(Loop &K) {
  Instruction *End = L.getLoopPreheader()->getTerminator();
  DL = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
  findSteps(*OfRows, End);
  findSteps(K, End);
}

void UnevenNest::makeBlocks(Value *Good, bool RectangleFirst, Blocks &X) {
  BasicBlock *Front = L.getLoopPreheader(), *Exit = L.getExitBlock();
  Function &F = *Front->getParent();
  X.Kept = detach(L);
  auto Create = [&](const char *Name) {
    return BasicBlock::Create(F.getContext(), Name, &F, L.getHeader());
  };
  X.Enter = Create("nputeir.enter");
  X.Head = Create("nputeir.blocks");
  BasicBlock *Then = Create("nputeir.then"), *Next = Create("nputeir.next");
  X.Leave = Create("nputeir.done");
  for (PHINode &P : Exit->phis())
    P.addIncoming(P.getIncomingValueForBlock(L.getExitingBlock()), X.Leave);
  X.Rectangle = copyLoop(L, RectangleFirst ? Then : Next, X.OfRectangle);
  markKept(L);
  X.Others = copyLoop(L, RectangleFirst ? Next : Then, X.OfOthers);
  IRBuilder<> B(Front);
  B.SetCurrentDebugLocation(DL);
  if (Good)
    B.CreateCondBr(Good, X.Enter, X.Kept);
  else
    B.CreateBr(X.Enter);
  B.SetInsertPoint(X.Head);
  X.Begin = B.CreatePHI(I64, 2, "nputeir.begin");
  B.CreateCondBr(B.CreateICmpULT(X.Begin, N.Rows),
                 RectangleFirst ? X.Rectangle : X.Others, X.Leave);
  B.SetInsertPoint(X.Leave);
  B.CreateBr(Exit);
  B.SetInsertPoint(Then);
  B.CreateBr(RectangleFirst ? X.Others : X.Rectangle);
  B.SetInsertPoint(Next);
  X.Begin->addIncoming(B.CreateAdd(X.Begin, N.Height, "", true, true), Next);
  B.CreateBr(X.Head);
}

void UnevenNest::enterBlocks(BasicBlock *From, Blocks &X) {
  IRBuilder<> B(From);
  B.SetCurrentDebugLocation(DL);
  X.Begin->addIncoming(B.getInt64(0), From);
  B.CreateBr(X.Head);
}

void UnevenNest::dropStores(ArrayRef<StoreInst *> Stores,
                            ValueToValueMapTy &Map) {
  for (StoreInst *S : Stores) {
    auto *Copied = cast<StoreInst>(Map[S]);
    Value *Held = Copied->getValueOperand();
    Copied->eraseFromParent();
    RecursivelyDeleteTriviallyDeadInstructions(Held);
  }
}

bool UnevenNest::canBeAt(const SCEV *S, const BasicBlock &B) {
  return SE.dominates(S, const_cast<BasicBlock *>(&B)) &&
         Expander(SE, *B.getModule()).isSafe(S);
}

BranchInst *UnevenNest::branchToCountAt(const SplitBranches &Branches) {
  BranchInst *Branch =
      Equal.empty() ? Places.branchToAskAt(Branches, DT) : nullptr;
  bool Can = Branch && canBeAt(Rows, *Branch->getParent()) &&
             canBeAt(Count->getStart(), *Branch->getParent()) &&
             all_of(RowsEnds, [&](const RowsEnd &X) {
               return canBeAt(X.First, *Branch->getParent());
             });
  return Can ? Branch : nullptr;
}

Value *UnevenNest::countRows(Checks &C, bool AtAll) {
  C.B.SetCurrentDebugLocation(DL);
  N.Rows = C.frozen(Rows, I64);
  N.First = C.frozen(Count->getStart(), I64);
  Value *Eighth = C.B.CreateLShr(N.Rows, C.B.getInt64(3));
  N.Height = C.B.CreateAnd(C.B.CreateAdd(Eighth, C.B.getInt64(RowStep - 1)),
                           C.B.getInt64(~(uint64_t)(RowStep - 1)));
  Value *Most = C.B.getInt64(INT32_MAX);
  Value *AreMany = C.B.CreateICmpUGE(N.Rows, C.B.getInt64(RowsMin));
  if (AtAll)
    N.Height = C.B.CreateSelect(AreMany, N.Height, Most);
  Value *Good = C.B.CreateICmpULE(N.Rows, Most);
  if (!AtAll)
    Good = C.B.CreateAnd(AreMany, Good);
  Good = C.B.CreateAnd(Good, C.B.CreateICmpULE(N.First, Most));
  if (!Grows)
    Good = C.B.CreateAnd(
        Good,
        C.B.CreateICmpUGE(C.B.CreateAdd(N.First, C.B.getInt64(1)), N.Rows));
  return C.B.CreateAnd(Good, endsHold(C));
}

Value *UnevenNest::height(IRBuilder<> &B, Value *Begin) const {
  Value *Left = B.CreateSub(N.Rows, Begin);
  return B.CreateSelect(B.CreateICmpULT(Left, N.Height), Left, N.Height);
}

} // namespace nputeir
