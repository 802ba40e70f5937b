// triangles.cpp -- a nest over a triangle as rectangles and what they leave:
//
//     for i < n, j <= i:  for k:  c[i][j] += a[i][k] * a[j][k];
//
// becomes, with blocks of H rows,
//
//     for b < n, step H:
//       for b <= i < b + H:  for j < columns(b):  ..      rectangles
//     for i < n:  for columns(b of i) <= j <= i:  ..      on the diagonal
//
// where columns(b) is what the shortest row of a block has.  A rectangle is a
// nest like any other, with H rows of one length; the diagonal keeps its code.
// Rows may grow or shrink, and start or end in one column: n - i columns from i
// on are the other triangle, whose rectangles stand at the rows' ends.
//
// Elements are formed in another order than before.  So no access but those of
// the very element (i, j) may be to what the nest writes, by what is known of
// pointers or by a question at run time, and no two elements may share memory:
// the stride of one loop is at least the whole way of the other's.  Whatever
// cannot be said so keeps the nest as it is.
//
// Of a symmetric result (covariance) an iteration may also store c[j][i], the
// mirrored element, which no other iteration touches when all elements of the
// matrix are apart.  The mirror, and a number on a diagonal that the nest
// leaves out (correlation), are a nest behind the others that reads c[i][j].
#include "triangles.h"
#include "ir_marks.h"
#include "uneven.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { TriangleBlocksMax = 64, ShiftMax = 2 };

class Triangle : UnevenNest {
  SmallVector<Instruction *, 8> Stores, Accesses;
  struct Element { // of the result: its strides, and bytes
    const SCEV *Row, *Column;
    uint64_t Bytes;
  };
  SmallVector<Element, 8> Elements;

public:
  Triangle(Loop &L, LoopFacts &Facts) : UnevenNest(L, Facts) {}

  bool run(BasicBlock *&Kept) {
    if (!canBeCopied(L) || L.getNumBlocks() > TriangleBlocksMax ||
        !countsOnly(L) || !findColumns([&](Loop &X) {
          return countsOnly(X) && !isUsedAfter(X);
        }) ||
        !findStores() || !areElementsApart() || !isMirrorApart())
      return false;
    split(Kept);
    return true;
  }

private:
  // ---- is it one? ----

  bool isInColumns(const Instruction &I) const {
    return any_of(Columns, [&](const Loop *X) { return X->contains(&I); });
  }

  bool findStores() {
    if (!findAccesses(L, Accesses))
      return false;
    for (Instruction *I : Accesses)
      if (isa<StoreInst>(I))
        Stores.push_back(I);
    findMirror();
    return !Stores.empty() &&
           all_of(Stores, [&](Instruction *W) { return isInColumns(*W); });
  }

  // ---- is there a mirror? ----

  struct {
    Instruction *Of;  // a load or store of (i, j)
    StoreInst *Store; // of the same value to (j, i); null: there is no mirror
    StoreInst *OnDiagonal;
    const SCEV *Place;  // of Of in the first iteration
    const SCEV *Corner; // the address of element (0, 0)
    Element E;
    uint64_t Shift; // of the first row, or column, of the nest from the corner
  } Mirror = {};

  // Once in every iteration of X.
  bool runsAlways(const Instruction &I, const Loop *X) {
    return LI.getLoopFor(I.getParent()) == X &&
           DT.dominates(I.getParent(), X->getLoopLatch());
  }

  // The first row of a triangle on the left ends in front of this column.
  bool endsBefore(uint64_t Column) const {
    const auto *First = dyn_cast<SCEVConstant>(Count->getStart());
    return !FromStart || (First && First->getAPInt().ule(Column));
  }

  // M stores to (j, i) what W has just read from (i, j) or stored to it, on one
  // side of the diagonal.
  bool isMirrorOf(StoreInst &M, Instruction &W) {
    const Value *Held =
        isa<StoreInst>(W) ? cast<StoreInst>(W).getValueOperand() : &W;
    if (&M == &W || M.getParent() != W.getParent() || !W.comesBefore(&M) ||
        M.getValueOperand() != Held || Grows != FromStart || !isInColumns(M) ||
        !runsAlways(M, LI.getLoopFor(M.getParent())))
      return false;
    Element E, Other;
    const SCEV *Place = elementOf(W, E), *Mirrored = elementOf(M, Other);
    if (!Place || !Mirrored || E.Row != Other.Column || E.Column != Other.Row ||
        E.Bytes != Other.Bytes)
      return false;
    const SCEV *Way = FromStart ? SE.getMinusSCEV(Place, Mirrored)
                                : SE.getMinusSCEV(Mirrored, Place);
    if (isa<SCEVCouldNotCompute>(Way))
      return false;
    const SCEV *Across = SE.getMinusSCEV(E.Row, E.Column);
    for (uint64_t Shift = 0; Shift <= ShiftMax; Shift++) {
      const SCEV *N = SE.getConstant(I64, Shift);
      if (SE.getMulExpr(N, Across) != Way || !endsBefore(Shift + 1))
        continue;
      const SCEV *Step = SE.getMulExpr(N, FromStart ? E.Row : E.Column);
      const SCEV *Corner = SE.getMinusSCEV(Place, Step);
      Mirror = {&W, &M, nullptr, Place, Corner, E, Shift};
      return true;
    }
    return false;
  }

  // A number that is stored to (i, i), which the nest does not reach otherwise.
  bool isOnDiagonal(StoreInst &S) {
    const auto *Rec =
        dyn_cast<SCEVAddRecExpr>(SE.getSCEV(S.getPointerOperand()));
    if (!Rec || !Rec->isAffine() || Rec->getLoop() != &L ||
        !runsAlways(S, &L) || !L.isLoopInvariant(S.getValueOperand()) ||
        bytesOf(S) != Mirror.E.Bytes ||
        !(FromStart ? endsBefore(Mirror.Shift) : Mirror.Shift > 0))
      return false;
    const SCEV *Step = SE.getAddExpr(Mirror.E.Row, Mirror.E.Column);
    const SCEV *Start = Mirror.Corner;
    if (FromStart)
      Start = SE.getAddExpr(
          Start, SE.getMulExpr(SE.getConstant(I64, Mirror.Shift), Step));
    return Rec->getStart() == Start &&
           SE.getNoopOrSignExtend(Rec->getStepRecurrence(SE), I64) == Step;
  }

  void findMirror() {
    for (Instruction *M : Stores)
      for (Instruction *W : Accesses)
        if (!Mirror.Store)
          isMirrorOf(*cast<StoreInst>(M), *W);
    if (!Mirror.Store)
      return;
    for (Instruction *S : Stores)
      if (!Mirror.OnDiagonal && isOnDiagonal(*cast<StoreInst>(S)))
        Mirror.OnDiagonal = cast<StoreInst>(S);
    erase_if(Stores, [&](Instruction *S) { return isMirrored(*S); });
  }

  // Is done by the nest of the mirror.
  bool isMirrored(const Instruction &I) const {
    return &I == Mirror.Store || &I == Mirror.OnDiagonal;
  }

  // Rows, and columns, of the matrix that has both sides.
  const SCEV *side() {
    const SCEV *Shift = SE.getConstant(I64, Mirror.Shift);
    return FromStart
               ? SE.getAddExpr(Rows, Shift)
               : SE.getUMaxExpr(SE.getAddExpr(Count->getStart(), Shift), Rows);
  }

  // What is mirrored is what an iteration leaves in its element, and nothing
  // else is accessed in the matrix.
  bool isMirrorApart() {
    if (!Mirror.Store)
      return true;
    const SCEV *Corner = SE.getPtrToIntExpr(Mirror.Corner, I64);
    if (isa<SCEVCouldNotCompute>(Corner))
      return false;
    Apart::Reach Matrix = {
        {Corner, {{Mirror.E.Row, side()}, {Mirror.E.Column, side()}}},
        Mirror.E.Bytes};
    return all_of(Accesses, [&](Instruction *X) {
      if (isMirrored(*X) || X == Mirror.Of)
        return true;
      Element Other;
      if (elementOf(*X, Other) != Mirror.Place || Other.Row != Mirror.E.Row ||
          Other.Column != Mirror.E.Column || Other.Bytes != Mirror.E.Bytes)
        return Places.areApart(*Mirror.Store, *X, &Matrix);
      return isa<LoadInst>(X) || comesBefore(*X, *Mirror.Of, LI, DT);
    });
  }

  // ---- is each element formed for itself? ----

  // Where an access is in element (row, column): its address in the first one,
  // null if another loop moves it, too.
  const SCEV *elementOf(const Instruction &I, Element &E) {
    const SCEV *Place =
        SE.getSCEV(const_cast<Value *>(getLoadStorePointerOperand(&I)));
    const auto *Inner = dyn_cast<SCEVAddRecExpr>(Place);
    if (!Inner || !Inner->isAffine() ||
        !is_contained(Columns, Inner->getLoop()))
      return nullptr;
    const auto *Outer = dyn_cast<SCEVAddRecExpr>(Inner->getStart());
    if (!Outer || !Outer->isAffine() || Outer->getLoop() != &L)
      return nullptr;
    E.Column = SE.getNoopOrSignExtend(Inner->getStepRecurrence(SE), I64);
    E.Row = SE.getNoopOrSignExtend(Outer->getStepRecurrence(SE), I64);
    E.Bytes = bytesOf(I);
    if (!SE.isLoopInvariant(E.Column, &L) || !SE.isLoopInvariant(E.Row, &L) ||
        !SE.isLoopInvariant(Outer->getStart(), &L))
      return nullptr;
    // From one row to the next in the same column.
    if (!FromStart)
      E.Row = Grows ? SE.getAddExpr(E.Row, E.Column)
                    : SE.getMinusSCEV(E.Row, E.Column);
    return Outer->getStart();
  }

  // Neither stride is eight times the other one, as in all triangles that are
  // split.
  static bool neverSpread(const Element &E) {
    const auto *Row = dyn_cast<SCEVConstant>(E.Row);
    const auto *Column = dyn_cast<SCEVConstant>(E.Column);
    if (!Row || !Column)
      return false;
    APInt R = Row->getAPInt().abs(), C = Column->getAPInt().abs();
    return R.udiv(RowStep).ult(C) && C.udiv(RowStep).ult(R);
  }

  bool areElementsApart() {
    for (Instruction *W : Stores) {
      Element Written, Other;
      const SCEV *Place = elementOf(*W, Written);
      if (!Place)
        return false;
      if (neverSpread(Written))
        return false;
      Elements.push_back(Written);
      for (Instruction *X : Accesses)
        if (!(Place == Mirror.Place && isMirrored(*X)) &&
            (elementOf(*X, Other) != Place || Other.Row != Written.Row ||
             Other.Column != Written.Column || Other.Bytes != Written.Bytes) &&
            !Places.areApart(*W, *X))
          return false;
    }
    return true;
  }

  // ---- the parts ----

  Value *areApart(Checks &C, const Element &E) const {
    Value *Last = C.B.CreateSub(N.Rows, C.B.getInt64(1));
    Value *Longest = Grows ? columns(C.B, Last) : N.First;
    return C.areElementsApart({E.Row, E.Column, N.Rows, Longest, E.Bytes});
  }

  // No two elements of the matrix share memory.
  Value *areSidesApart(Checks &C) {
    Value *Side = C.frozen(side(), I64);
    return C.areElementsApart(
        {Mirror.E.Row, Mirror.E.Column, Side, Side, Mirror.E.Bytes});
  }

  // That all holds, in front of L.
  Value *mayBeSplit(Instruction *At) {
    IRNest None;
    Checks C(None, SE, At);
    C.B.SetCurrentDebugLocation(DL);
    Value *Good = countRows(C);
    for (const Element &E : Elements)
      Good = C.B.CreateAnd(Good, areApart(C, E));
    if (Mirror.Store)
      Good = C.B.CreateAnd(Good, areSidesApart(C));
    for (const Apart &X : Places.Asked)
      Good = C.B.CreateAnd(Good, C.holds(X));
    return Good;
  }

  void split(BasicBlock *&Kept) {
    BasicBlock *Front = L.getLoopPreheader();
    Instruction *End = Front->getTerminator();
    DL = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    findSteps(L, End);
    for (Loop *X : Columns)
      findSteps(*X, End);
    Value *Good = mayBeSplit(End);
    ValueToValueMapTy OfKept, OfRectangles, OfDiagonal;
    BasicBlock *Old = copyLoop(L, nullptr, OfKept);
    Kept = cast<BasicBlock>(OfKept[L.getHeader()]);
    BasicBlock *Diagonal = detach(L);
    Function &F = *Front->getParent();
    LLVMContext &X = F.getContext();
    auto *Blocks = BasicBlock::Create(X, "nputeir.blocks", &F, L.getHeader());
    auto *Next = BasicBlock::Create(X, "nputeir.next", &F, L.getHeader());
    BasicBlock *Rectangle = copyLoop(L, Next, OfRectangles);
    markKept(L);
    if (Mirror.Store)
      Diagonal = copyLoop(L, Diagonal, OfDiagonal);
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(DL);
    B.CreateCondBr(Good, Blocks, Old);
    B.SetInsertPoint(Blocks);
    PHINode *Begin = B.CreatePHI(I64, 2, "nputeir.begin");
    Begin->addIncoming(B.getInt64(0), Front);
    B.CreateCondBr(B.CreateICmpULT(Begin, N.Rows), Rectangle, Diagonal);
    B.SetInsertPoint(Next);
    Begin->addIncoming(B.CreateAdd(Begin, N.Height, "", true, true), Next);
    B.CreateBr(Blocks);
    formRectangle(Rectangle, Begin, OfRectangles);
    formDiagonal(Diagonal, Mirror.Store ? &OfDiagonal : nullptr);
    if (Mirror.Store) {
      dropMirror(OfRectangles);
      dropMirror(OfDiagonal);
      formMirror();
    }
  }

  void formRectangle(BasicBlock *Front, Value *Begin, ValueToValueMapTy &Map) {
    IRBuilder<> B(Front->getTerminator());
    B.SetCurrentDebugLocation(DL);
    Value *Width = width(B, Begin);
    auto *Header = cast<BasicBlock>(Map[L.getHeader()]);
    restrict(L, &Map, Begin, height(B, Begin), Front);
    auto *Row = cast<PHINode>(&Header->front());
    for (Loop *X : Columns) {
      BasicBlock *Before = frontOf(*X, &Map);
      Value *First = B.getInt64(0);
      if (!FromStart) {
        B.SetInsertPoint(Before->getTerminator());
        First = B.CreateSub(columns(B, B.CreateAdd(Begin, Row)), Width);
      }
      restrict(*X, &Map, First, Width, Before);
    }
  }

  void formDiagonal(BasicBlock *Front, ValueToValueMapTy *Map) {
    Value *Header = Map ? Map->lookup(L.getHeader()) : L.getHeader();
    PHINode *Row = addCounter(cast<BasicBlock>(Header), Front);
    for (Loop *X : Columns) {
      BasicBlock *Before = frontOf(*X, Map);
      IRBuilder<> B(Before->getTerminator());
      B.SetCurrentDebugLocation(DL);
      Value *Width = width(B, B.CreateSub(Row, B.CreateURem(Row, N.Height)));
      Value *Left = B.CreateSub(columns(B, Row), Width);
      restrict(*X, Map, FromStart ? Width : B.getInt64(0), Left, Before);
    }
  }

  void dropMirror(ValueToValueMapTy &Map) const {
    dropStores(Mirror.Store, Map);
    if (Mirror.OnDiagonal)
      dropStores(Mirror.OnDiagonal, Map);
  }

  // L reads what the others have left.
  void formMirror() {
    IRBuilder<> B(Mirror.Store);
    Mirror.Store->setOperand(
        0, B.CreateAlignedLoad(getLoadStoreType(Mirror.Of),
                               getLoadStorePointerOperand(Mirror.Of),
                               getLoadStoreAlignment(Mirror.Of)));
    for (Instruction *S : Stores)
      S->eraseFromParent();
  }
};

} // namespace

bool splitTriangle(Loop &L, LoopFacts &Facts, BasicBlock *&Kept) {
  return Triangle(L, Facts).run(Kept);
}

} // namespace nputeir
