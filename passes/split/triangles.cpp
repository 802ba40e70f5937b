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
#include "square_buffer.h"
#include "uneven.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { TriangleBlocksMax = 64, ShiftMax = 2, SquareMax = 64 };

class Triangle : UnevenNest {
  SmallVector<Instruction *, 8> Stores, Accesses;
  struct Element { // of the result: its strides, and bytes
    const SCEV *Row, *Column;
    uint64_t Bytes;
  };
  SmallVector<Element, 8> Elements;

public:
  Triangle(Loop &L, LoopFacts &Facts) : UnevenNest(L, Facts) {}

  // WantsSquares: of what a rectangle does not reach, too.
  bool run(BasicBlock *&Kept, bool WantsSquares) {
    if (!canBeCopied(L) || L.getNumBlocks() > TriangleBlocksMax ||
        !countsOnly(L) ||
        !findColumns([&](Loop &X) { return countsOnly(X) && !isUsedAfter(X); },
                     true) ||
        !mayBeCut(*OfRows) || !findStores() || !areElementsApart() ||
        !isMirrorApart())
      return false;
    Squares = WantsSquares && haveSquares();
    split(Kept);
    return true;
  }

private:
  bool Squares = false;

  // ---- is it one? ----

  // All of L is done for each part of its rows: they are L's iterations, or
  // those of a loop in it, which adds to the same elements each time.
  bool mayBeCut(const Loop &X) {
    return &X == &L ||
           (X.getParentLoop() == &L && countsOnly(X) && !isUsedAfter(X));
  }

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
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(Places.placeOf(S));
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
    if (OfRows != &L)
      return;
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
    const SCEV *Place = Places.placeOf(I);
    const auto *Inner = dyn_cast<SCEVAddRecExpr>(Place);
    if (!Inner || !Inner->isAffine() ||
        !is_contained(Columns, Inner->getLoop()))
      return nullptr;
    const auto *Outer = dyn_cast<SCEVAddRecExpr>(Inner->getStart());
    if (!Outer || !Outer->isAffine() || Outer->getLoop() != OfRows)
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

  // ---- may what is on the diagonal be made whole? ----

  // In each iteration of L, and of the loops between, X is run.
  bool isRunInAll(const Loop &X) {
    const Loop *In = &X;
    for (; In != &L; In = In->getParentLoop())
      if (!DT.dominates(In->getHeader(), In->getParentLoop()->getLoopLatch()))
        return false;
    return true;
  }

  // Where I reads depends on the row alone, or on the column: that row has some
  // column of a square, and that column some row, so the source reads it, too.
  bool readsByRowOrColumn(const Instruction &I) {
    LoopSteps Step;
    const SCEV *Place, *Row = SE.getZero(I64), *Column = Row;
    if (!stepsOf(I, Place, Step))
      return false;
    for (auto [X, S] : Step)
      if (X == OfRows)
        Row = S;
      else if (is_contained(Columns, X))
        Column = S;
    if (!FromStart)
      Row = Grows ? SE.getAddExpr(Row, Column) : SE.getMinusSCEV(Row, Column);
    return Row->isZero() || Column->isZero();
  }

  bool isElement(const Instruction &I) {
    Element E, Own;
    return elementOf(I, E) == elementOf(*Stores[0], Own) && E.Row == Own.Row &&
           E.Column == Own.Column && E.Bytes == Own.Bytes;
  }

  // May run for elements that are none of the triangle's, and is then for
  // nothing.
  bool mayRunForOthers(const Instruction &I) {
    if (isMirrored(I) ||
        isa<PHINode, DbgInfoIntrinsic, NoAliasScopeDeclInst>(I))
      return true;
    if (getLoadStorePointerOperand(&I))
      return isElement(I) || (isa<LoadInst>(I) && readsByRowOrColumn(I));
    if (I.isTerminator())
      return I.getNumSuccessors() == 1 ||
             LI.getLoopFor(I.getParent())->getHeader() == I.getParent();
    return !isa<AssumeInst>(I) && isSafeToSpeculativelyExecute(&I);
  }

  // Of loops within rows and columns, or around: the source touches no element
  // whose sum is empty.
  SmallVector<const SCEV *, 4> OfSums;

  bool haveSquares() {
    Type *T = getLoadStoreType(Stores[0]);
    const Instruction *Outermost = *std::min_element(
        Stores.begin(), Stores.end(), [&](auto *I, auto *Other) {
          return LI.getLoopDepth(I->getParent()) <
                 LI.getLoopDepth(Other->getParent());
        });
    SmallVector<const Loop *, 8> Elementwise = {OfRows};
    append_range(Elementwise, Columns);
    if ((!T->isIntOrPtrTy() && !T->isFloatingPointTy()) ||
        !timesAround(*Outermost, Elementwise, OfSums))
      return false;
    return isPowerOf2_64(Elements[0].Bytes) && !isUsedAfter(L) &&
           all_of(Stores, [&](Instruction *W) { return isElement(*W); }) &&
           all_of(Columns, [&](const Loop *X) {
             return isRunInAll(*X) && all_of(X->blocks(), [&](BasicBlock *B) {
                      return all_of(*B, [&](const Instruction &I) {
                        return mayRunForOthers(I);
                      });
                    });
           });
  }

  // ---- the parts ----

  // Rows are counted from the shortest one on that has columns, and columns
  // from the side where all rows start or end.
  struct Piece {
    Value *Begin, *Rows; // of them, the first, and how many
    Value *Left, *Columns;
  };
  struct {
    Value *Rows;  // that have columns
    Value *Ahead; // columns that all have, but for the shortest one's last
  } Filled = {};

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

  Value *least(IRBuilder<> &B, Value *X, Value *Y) const {
    return B.CreateSelect(B.CreateICmpULT(X, Y), X, Y);
  }

  Value *countFilled(Checks &C) {
    Value *Good = countRows(C);
    IRBuilder<> &B = C.B;
    Value *One = B.getInt64(1);
    Value *Shortest =
        Grows ? N.First : B.CreateSub(B.CreateAdd(N.First, One), N.Rows);
    Value *IsNone = B.CreateICmpEQ(Shortest, B.getInt64(0));
    N.Height = least(B, N.Height, B.getInt64(SquareMax));
    Filled.Rows = B.CreateSub(N.Rows, B.CreateZExt(IsNone, I64));
    Filled.Ahead =
        B.CreateSelect(IsNone, B.getInt64(0), B.CreateSub(Shortest, One));
    return Good;
  }

  // That all holds, in front of L.
  Value *mayBeSplit(Checks &C) {
    C.B.SetCurrentDebugLocation(DL);
    Value *Good = countFilled(C);
    for (const Element &E : Elements)
      Good = C.B.CreateAnd(Good, areApart(C, E));
    if (Mirror.Store)
      Good = C.B.CreateAnd(Good, areSidesApart(C));
    for (const SCEV *Times : OfSums)
      Good = C.B.CreateAnd(
          Good, C.B.CreateICmpSGT(C.frozen(Times, I64), C.B.getInt64(0)));
    return C.B.CreateAnd(Good, Places.hold(C));
  }

  BasicBlock *create(const char *Name) {
    return BasicBlock::Create(L.getHeader()->getContext(), Name,
                              L.getHeader()->getParent(), L.getHeader());
  }

  void split(BasicBlock *&Kept) {
    BasicBlock *Front = L.getLoopPreheader(), *Exit = L.getExitBlock();
    Instruction *End = Front->getTerminator();
    DL = L.getStartLoc() ? L.getStartLoc() : End->getDebugLoc();
    findSteps(*OfRows, End);
    for (Loop *X : Columns)
      findSteps(*X, End);
    Checks C(SE, End);
    Value *Good = mayBeSplit(C);
    if (Squares)
      findBuffer(C, End);
    // L becomes what comes last, or stays as it was.
    bool IsLast = !Squares || Mirror.Store;
    ValueToValueMapTy OfKept, OfRectangles, OfDiagonal;
    BasicBlock *Old = IsLast ? copyLoop(L, nullptr, OfKept) : nullptr;
    if (Old) // else L is what runs where it does not hold
      Places.markHeld();
    BasicBlock *Last = detach(L);
    Kept = IsLast ? cast<BasicBlock>(OfKept[L.getHeader()]) : L.getHeader();
    BasicBlock *Blocks = create("nputeir.blocks"),
               *Formed = create("nputeir.formed"),
               *Diagonal = Squares ? create("nputeir.squares") : Last;
    BasicBlock *Rectangle = copyLoop(L, Formed, OfRectangles);
    BasicBlock *Stored = Squares ? create("nputeir.stored") : nullptr;
    BasicBlock *Square = Squares ? copyLoop(L, Stored, OfDiagonal) : nullptr;
    if (Squares) // which are the same nest as the rectangles
      markUntold(*cast<BasicBlock>(OfDiagonal[L.getHeader()])->getTerminator());
    if (IsLast)
      markKept(L);
    if (Mirror.Store && !Squares)
      Diagonal = copyLoop(L, Last, OfDiagonal);
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(DL);
    if (Squares) {
      BasicBlock *Get = create("nputeir.get");
      B.CreateCondBr(Good, Get, IsLast ? Old : Last);
      B.SetInsertPoint(Get);
      Buffer.acquire(B);
      Good = B.CreateIsNotNull(Buffer.At);
    }
    B.CreateCondBr(Good, Blocks, IsLast ? Old : Last);
    formRectangles(B.GetInsertBlock(), Blocks, Rectangle, Formed, Diagonal,
                   OfRectangles);
    if (Squares) {
      BasicBlock *After = IsLast ? Last : Exit;
      BasicBlock *Done =
          formSquares(Blocks, Diagonal, Square, Stored, After, OfDiagonal);
      if (!IsLast)
        for (PHINode &P : Exit->phis())
          P.addIncoming(P.getIncomingValueForBlock(L.getExitingBlock()), Done);
    } else {
      formDiagonal(Diagonal, Mirror.Store ? &OfDiagonal : nullptr);
    }
    if (Mirror.Store) {
      dropMirror(OfRectangles);
      dropMirror(OfDiagonal);
      formMirror();
    }
  }

  // The column in which the square of the block of rows from Begin on begins.
  Value *edge(IRBuilder<> &B, Value *Begin) const {
    return B.CreateAdd(Begin, Filled.Ahead);
  }

  // The first row of P, as L counts them.
  Value *firstRow(IRBuilder<> &B, const Piece &P) const {
    return Grows ? B.CreateAdd(P.Begin, B.CreateSub(N.Rows, Filled.Rows))
                 : B.CreateSub(Filled.Rows, B.CreateAdd(P.Begin, P.Rows));
  }

  // Columns that all rows have but for one are the first rectangle.  Behind
  // that, as many columns as rows, from Height on and twice as many each time:
  //
  //     for (size = Height; size < rows; size *= 2)
  //       for (begin = size; begin < rows; begin += 2 * size)
  //         rows from begin on, size columns in front of edge(begin)
  void formRectangles(BasicBlock *From, BasicBlock *Blocks,
                      BasicBlock *Rectangle, BasicBlock *Formed,
                      BasicBlock *After, ValueToValueMapTy &Map) {
    BasicBlock *Enter = create("nputeir.enter"), *Next = create("nputeir.next");
    IRBuilder<> B(Formed); // to which the rectangle alone leads
    B.SetCurrentDebugLocation(DL);
    B.CreateBr(Next);
    B.SetInsertPoint(Blocks);
    B.SetCurrentDebugLocation(DL);
    Value *None = B.getInt64(0);
    PHINode *Size = B.CreatePHI(I64, 2, "nputeir.size");
    PHINode *Begin = B.CreatePHI(I64, 2, "nputeir.begin");
    Size->addIncoming(Filled.Rows, From);
    Begin->addIncoming(None, From);
    B.CreateCondBr(B.CreateICmpULT(Begin, Filled.Rows), Enter, After);
    B.SetInsertPoint(Enter);
    Value *IsFirst = B.CreateICmpEQ(Begin, None);
    Piece P = {Begin, least(B, Size, B.CreateSub(Filled.Rows, Begin)), None,
               B.CreateSelect(IsFirst, Filled.Ahead, Size)};
    P.Left = B.CreateSelect(IsFirst, None, edge(B, B.CreateSub(Begin, Size)));
    B.CreateCondBr(B.CreateICmpEQ(P.Columns, None), Next, Rectangle);
    B.SetInsertPoint(Next);
    Value *Twice = B.CreateShl(Size, 1, "", true, true);
    Value *Then = B.CreateAdd(Begin, Twice, "", true, true);
    Value *IsOver = B.CreateICmpUGE(Then, Filled.Rows);
    auto GoOn = [&](PHINode *Now, Value *Otherwise) {
      Value *V = B.CreateSelect(IsOver, Twice, Otherwise);
      Now->addIncoming(B.CreateSelect(IsFirst, N.Height, V), Next);
    };
    GoOn(Size, Size);
    GoOn(Begin, Then);
    B.CreateBr(Blocks);
    formPiece(Rectangle, P, Map);
  }

  void formPiece(BasicBlock *Front, const Piece &P, ValueToValueMapTy &Map) {
    IRBuilder<> B(Front->getTerminator());
    B.SetCurrentDebugLocation(DL);
    Value *Begin = firstRow(B, P);
    restrict(*OfRows, &Map, Begin, P.Rows, frontOf(*OfRows, &Map));
    auto *Row =
        cast<PHINode>(&cast<BasicBlock>(Map[OfRows->getHeader()])->front());
    for (Loop *X : Columns) {
      BasicBlock *Before = frontOf(*X, &Map);
      B.SetInsertPoint(Before->getTerminator());
      Value *First = P.Left;
      if (!FromStart)
        First = B.CreateSub(columns(B, B.CreateAdd(Begin, Row)),
                            B.CreateAdd(P.Left, P.Columns));
      restrict(*X, &Map, First, P.Columns, Before);
    }
  }

  void formDiagonal(BasicBlock *Front, ValueToValueMapTy *Map) {
    BasicBlock *First = OfRows->getHeader();
    Value *Header = Map ? Map->lookup(First) : First;
    PHINode *Row = addCounter(cast<BasicBlock>(Header),
                              OfRows == &L ? Front : frontOf(*OfRows, Map));
    for (Loop *X : Columns) {
      BasicBlock *Before = frontOf(*X, Map);
      IRBuilder<> B(Before->getTerminator());
      B.SetCurrentDebugLocation(DL);
      Value *One = B.getInt64(1);
      Value *Own = Grows ? B.CreateSub(Row, B.CreateSub(N.Rows, Filled.Rows))
                         : B.CreateSub(B.CreateSub(Filled.Rows, One), Row);
      Value *InBlock = B.CreateURem(Own, N.Height);
      Value *Left = edge(B, B.CreateSub(Own, InBlock));
      Value *Times = B.CreateSelect(B.CreateICmpULT(Own, Filled.Rows),
                                    B.CreateAdd(InBlock, One), B.getInt64(0));
      restrict(*X, Map, FromStart ? Left : B.getInt64(0), Times, Before);
    }
  }

  // ---- squares on the diagonal ----

  SquareBuffer Buffer;
  struct {
    Value *Corner, *Row, *Column;           // an address, and strides
    SmallVector<Instruction *, 8> Accesses; // of the nest, to elements
  } Own = {};

  void findBuffer(Checks &C, Instruction *At) {
    Element E;
    const SCEV *Place = elementOf(*Stores[0], E);
    Expander Code(SE, *At->getModule());
    Own.Corner = Code.expand(Place, Place->getType(), At);
    Own.Row = C.frozen(E.Row, I64);
    Own.Column = C.frozen(E.Column, I64);
    Buffer = {E.Bytes, SquareMax, nullptr};
    for (Instruction *I : Accesses)
      if (!isMirrored(*I) && isInColumns(*I) && isElement(*I))
        Own.Accesses.push_back(I);
  }

  // Those that are the triangle's, into the buffer or back.
  void copyElements(Code &B, const Piece &P, bool Back) {
    Type *T = getLoadStoreType(Stores[0]);
    Align Loose = getLoadStoreAlignment(Stores[0]);
    Align InSquare = Buffer.alignment(B, T);
    Value *None = B.number(0), *One = B.number(1), *First = firstRow(B, P);
    // In row 0 this is the first column of the square, also in front of it.
    Value *Begin = FromStart
                       ? P.Left
                       : B.CreateSub(N.First, B.CreateAdd(P.Left, P.Columns));
    Value *Corner = B.CreateMul(Begin, Own.Column);
    auto Typed = [&](Value *At) {
      return B.CreatePointerCast(At, pointerTo(T));
    };
    B.loop(None, P.Rows, One, [&](Value *Row) {
      Value *Times = Grows ? B.CreateAdd(Row, One) : B.CreateSub(P.Rows, Row);
      Value *Way = B.CreateMul(B.CreateAdd(First, Row), Own.Row);
      Way = B.CreateAdd(Way, Corner);
      Value *From = FromStart ? None : B.CreateSub(P.Columns, Times);
      Value *To = FromStart ? Times : P.Columns;
      B.loop(From, To, One, [&](Value *Column) {
        Value *At = B.CreateAdd(Way, B.CreateMul(Column, Own.Column));
        Value *Element = Typed(B.CreateGEP(
            B.getInt8Ty(),
            B.CreatePointerCast(Own.Corner, bytePointer(B.getContext())), At));
        Value *Copied = Typed(Buffer.at(B, Row, Column));
        if (Back)
          B.CreateAlignedStore(B.CreateAlignedLoad(T, Copied, InSquare),
                               Element, Loose);
        else
          B.CreateAlignedStore(B.CreateAlignedLoad(T, Element, Loose), Copied,
                               InSquare);
      });
    });
  }

  // The nest has its elements in the buffer.
  void redirect(ValueToValueMapTy &Map) {
    auto CounterOf = [&](const Loop &X) {
      return cast<PHINode>(&cast<BasicBlock>(Map[X.getHeader()])->front());
    };
    for (Instruction *I : Own.Accesses) {
      const Loop *X = LI.getLoopFor(I->getParent());
      while (!is_contained(Columns, X))
        X = X->getParentLoop();
      auto *Copied = cast<Instruction>(Map[I]);
      IRBuilder<> B(Copied);
      Type *T = getLoadStoreType(I);
      Value *At = B.CreatePointerCast(
          Buffer.at(B, CounterOf(*OfRows), CounterOf(*X)), pointerTo(T));
      Align A = Buffer.alignment(B, T);
      if (auto *S = dyn_cast<StoreInst>(Copied)) {
        S->setOperand(StoreInst::getPointerOperandIndex(), At);
        S->setAlignment(A);
      } else {
        Copied->setOperand(LoadInst::getPointerOperandIndex(), At);
        cast<LoadInst>(Copied)->setAlignment(A);
      }
      Copied->dropUnknownNonDebugMetadata();
    }
  }

  // Each is done as a whole, in a buffer, and what is the triangle's of it is
  // copied back.
  BasicBlock *formSquares(BasicBlock *From, BasicBlock *Squares,
                          BasicBlock *Square, BasicBlock *Stored,
                          BasicBlock *After, ValueToValueMapTy &Map) {
    BasicBlock *Fill = create("nputeir.fill"), *Done = create("nputeir.done");
    Code B(*Squares);
    B.SetCurrentDebugLocation(DL);
    PHINode *Begin = B.CreatePHI(I64, 2, "nputeir.begin");
    Begin->addIncoming(B.getInt64(0), From);
    B.CreateCondBr(B.CreateICmpULT(Begin, Filled.Rows), Fill, Done);
    B.SetInsertPoint(Fill);
    Value *Rows = least(B, N.Height, B.CreateSub(Filled.Rows, Begin));
    Piece P = {Begin, Rows, edge(B, Begin), Rows};
    B.CreateMemSet(Buffer.At, B.getInt8(0),
                   B.CreateMul(Rows, B.getInt64(Buffer.rowBytes())),
                   MaybeAlign());
    copyElements(B, P, false);
    B.CreateBr(Square);
    B.SetInsertPoint(Stored);
    copyElements(B, P, true);
    Begin->addIncoming(B.CreateAdd(Begin, N.Height, "", true, true),
                       B.GetInsertBlock());
    B.CreateBr(Squares);
    B.SetInsertPoint(Done);
    Buffer.release(B);
    B.CreateBr(After);
    formPiece(Square, P, Map);
    redirect(Map);
    return Done;
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

bool splitTriangle(Loop &L, LoopFacts &Facts, bool WantsSquares,
                   BasicBlock *&Kept) {
  return Triangle(L, Facts).run(Kept, WantsSquares);
}

} // namespace nputeir
