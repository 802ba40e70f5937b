// matrix.cpp -- code on whole matrices -> struct nest.
//
// LLVM's matrix intrinsics, and so clang's matrix types, work on vectors that
// hold a matrix column by column.  Such code is described element by element:
// every matrix that is stored becomes two loops over its rows and columns, and
// every product a third one over what it sums.  From there on it is a nest like
// any other:
//
//     for i, j                            for i, j
//       acc = 0                             for r, c: s = 0
//       for k                                 for k
//         acc += load A * load B                for d: s += A[..] * B[..]
//       store acc                             C[..] = s
//
// The elements of a matrix do not depend on each other, so the loops over rows
// and columns stand outside those loops of the source that only carry the
// matrix from step to step.
//
// Code without a loop is taken from the first thing that only the stored matrix
// needs to its store; what others need from between is moved in front of that.
//
// Not taken: products of products, several products in one sum, matrices that
// are put together from elements or come from elsewhere.
#include "matrix.h"
#include "addresses.h"
#include "assertion.h"
#include "body.h"
#include "ir_marks.h"
#include "ir_matrix.h"
#include "ir_scev.h"
#include "operations.h"
#include "versions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Operator.h"

#include <optional>

using namespace llvm;

namespace nputeir {

namespace {

int64_t constant(const CallBase &Call, unsigned Argument) {
  return cast<ConstantInt>(Call.getArgOperand(Argument))->getSExtValue();
}

struct Shape {
  int64_t Rows = 0, Columns = 0;
  bool operator==(const Shape &X) const {
    return Rows == X.Rows && Columns == X.Columns;
  }
};

// What an intrinsic says about its result, or a store about what it stores.
std::optional<Shape> shapeOf(const Value *V) {
  switch (intrinsicOf(V)) {
  case Intrinsic::matrix_multiply: {
    const auto &Call = *cast<CallBase>(V);
    return Shape{constant(Call, 2), constant(Call, 4)};
  }
  case Intrinsic::matrix_transpose: {
    const auto &Call = *cast<CallBase>(V);
    return Shape{constant(Call, 2), constant(Call, 1)};
  }
  case Intrinsic::matrix_column_major_load: {
    const auto &Call = *cast<CallBase>(V);
    return Shape{constant(Call, 3), constant(Call, 4)};
  }
  case Intrinsic::matrix_column_major_store: {
    const auto &Call = *cast<CallBase>(V);
    return Shape{constant(Call, 4), constant(Call, 5)};
  }
  default:
    return std::nullopt;
  }
}

// Also looks at what V is computed from element by element.
std::optional<Shape> findShape(const Value *V, int Depth = 0) {
  if (auto S = shapeOf(V))
    return S;
  const auto *I = dyn_cast<Instruction>(V);
  if (!I || isa<LoadInst>(I) || Depth > 8)
    return std::nullopt;
  for (const Value *Operand : I->operands())
    if (Operand->getType()->isVectorTy())
      if (auto S = findShape(Operand, Depth + 1))
        return S;
  return std::nullopt;
}

int64_t elements(const Type *T) {
  return cast<FixedVectorType>(T)->getNumElements();
}

// A load or a store of a whole matrix, by either kind of instruction.
struct Access {
  Value *Pointer = nullptr;
  Value *Stride = nullptr; // in elements; null: columns lie back to back
  Value *Matrix = nullptr; // loaded or stored
  bool Simple = true;

  explicit Access(const Instruction &I) {
    if (const auto *S = dyn_cast<StoreInst>(&I)) {
      Pointer = const_cast<Value *>(S->getPointerOperand());
      Matrix = const_cast<Value *>(S->getValueOperand());
      Simple = S->isSimple();
    } else if (const auto *L = dyn_cast<LoadInst>(&I)) {
      Pointer = const_cast<Value *>(L->getPointerOperand());
      Matrix = const_cast<LoadInst *>(L);
      Simple = L->isSimple();
    } else {
      const auto &Call = cast<CallBase>(I);
      unsigned First = intrinsicOf(&I) == Intrinsic::matrix_column_major_store;
      Pointer = Call.getArgOperand(First);
      Stride = Call.getArgOperand(First + 1);
      Matrix = First ? Call.getArgOperand(0) : const_cast<CallBase *>(&Call);
      Simple = cast<ConstantInt>(Call.getArgOperand(First + 2))->isZero();
    }
  }
};

bool isMatrixLoad(const Value *V) {
  return intrinsicOf(V) == Intrinsic::matrix_column_major_load ||
         (isa<LoadInst>(V) && isa<FixedVectorType>(V->getType()));
}

struct Store {
  Instruction *I;
  const Loop *L; // the innermost loop around it; null: none
  Shape Of;
  int Row = -1, Column = -1; // loops of the nest
};

struct Product {
  int Store;
  int Depth = -1, Parent = -1; // loops of the nest
  bool Read = false;
};

class MatrixReader : Operations {
  // From where an element is looked at.
  struct Frame {
    int Row, Column; // loops of the nest that run over the matrix
    Shape Of;
    int Inner;     // the innermost loop of the nest
    const Loop *L; // the innermost loop of the source
  };

  Loop *Outer; // null: code without a loop
  LoopInfo &LI;
  ScalarEvolution &SE;
  verdict &V;
  Sides Ways; // none is given
  std::optional<Body> Code;
  std::optional<Addresses> Places;
  SmallVector<int, 8> NestLoop; // by the order of loops in Places
  DenseMap<const Instruction *, int> Order;
  SmallVector<Store, 4> Stores;
  MapVector<const Instruction *, Product> Products;
  DenseMap<const Loop *, int> Owner; // the store that a loop only works for
  DenseMap<const Loop *, int> Index; // loops of the nest
  DenseMap<const PHINode *, std::pair<int, int>> Scalar; // and its Row
  Frame F = {};

public:
  MatrixReader(Loop *Outer, LoopInfo &LI, ScalarEvolution &SE, arena *A,
               IRNest &R, verdict &V)
      : Operations(A, R), Outer(Outer), LI(LI), SE(SE), V(V) {}

  bool readLoop(DominatorTree &DT, AAResults &AA) {
    Code.emplace(*Outer, LI, SE, DT, A, V, Ways, nullptr);
    Places.emplace(*Outer, LI, SE, AA, *Code);
    bool Good = Code->read() && Code->checkLiveOuts() && readBlocks() &&
                readConditions(*Code, *Outer, *Places, SE, A, R, V);
    R.Rows = Places->Rows; // to be dropped if the nest is kept
    if (Good)
      finish(locOf(Outer->getStartLoc(), A));
    return Good;
  }

  bool readRegion(ArrayRef<Instruction *> All) {
    enum { OrderStep = 64 };
    assert(!Outer && !All.empty());
    for (size_t I = 0; I < All.size(); I++)
      Order[All[I]] = (int)(I + 1) * OrderStep;
    if (!read(All))
      return false;
    finish(at(*All.back()));
    return true;
  }

private:
  using Operations::at;

  bool inside(const Value *W) const {
    const auto *I = dyn_cast<Instruction>(W);
    return I && (Outer ? Outer->contains(I) : Order.count(I) > 0);
  }

  bool decline(enum rule Rule, const Instruction &I, const char *Why) {
    return verdict_decline(&V, Rule, at(I), "%s", Why);
  }

  bool readBlocks() {
    Order = Code->Order;
    SmallVector<Instruction *, 64> All;
    for (BasicBlock *B : Code->Blocks) {
      if (Code->isConditional(B))
        return decline(RULE_GUARDED, B->front(),
                       "a condition among matrices decides what runs");
      for (Instruction &I : *B)
        All.push_back(&I);
    }
    return read(All);
  }

  bool read(ArrayRef<Instruction *> All) {
    return findStores(All) && findOwners() && addLoops() && readStores();
  }

  // ---- what is stored, and what for ----

  bool findStores(ArrayRef<Instruction *> All) {
    for (Instruction *I : All) {
      bool IsStore = isa<StoreInst>(I);
      bool IsMatrix = intrinsicOf(I) == Intrinsic::matrix_column_major_store;
      if (!I->mayWriteToMemory())
        continue;
      Value *Matrix = IsStore || IsMatrix ? Access(*I).Matrix : nullptr;
      if (!Matrix || !isa<FixedVectorType>(Matrix->getType()))
        return decline(RULE_EXTRA_STORE, *I,
                       "code on matrices writes something else, too");
      Stores.push_back({I, loopOf(I), {}});
      if (auto Of = IsStore ? findShape(Matrix) : shapeOf(I))
        Stores.back().Of = *Of;
    }
    for (Store &S : Stores)
      if (S.Of.Rows == 0 && !guessShape(S))
        return decline(RULE_EXTRA_STORE, *S.I,
                       "a vector is stored that is not known to be a matrix");
    return !Stores.empty() ||
           verdict_decline(&V, RULE_NO_PRODUCT, locOf(Outer->getStartLoc(), A),
                           "no product of matrices is stored in the loop");
  }

  // Where a constant is stored, another store of as many elements knows.
  bool guessShape(Store &S) {
    Type *T = Access(*S.I).Matrix->getType();
    for (const Store &Other : Stores)
      if (Other.Of.Rows && Access(*Other.I).Matrix->getType() == T) {
        S.Of = Other.Of;
        return true;
      }
    return false;
  }

  const Loop *loopOf(const Instruction *I) const {
    const Loop *L = LI.getLoopFor(I->getParent());
    return Outer && Outer->contains(L) ? L : nullptr;
  }

  bool findOwners() {
    SmallPtrSet<const Value *, 32> Seen;
    for (size_t S = 0; S < Stores.size(); S++) {
      assert(Stores[S].Of.Rows > 0 && Stores[S].Of.Columns > 0);
      if (!own((int)S, Access(*Stores[S].I).Matrix, Seen))
        return false;
    }
    return true;
  }

  // W is part of what store S stores; so are products and loops below it.
  bool own(int S, const Value *W, SmallPtrSetImpl<const Value *> &Seen) {
    if (!inside(W) || !W->getType()->isVectorTy() || !Seen.insert(W).second)
      return true;
    const auto *I = cast<Instruction>(W);
    if (S > 0 && Order[I] < Order[Stores[S - 1].I])
      return decline(RULE_EXTRA_STORE, *I,
                     "several matrices are computed before they are stored");
    const Loop *L = loopOf(I);
    for (; L && !L->contains(Stores[S].I); L = L->getParentLoop())
      if (Owner.try_emplace(L, S).first->second != S ||
          !Stores[S].L->contains(L))
        return decline(RULE_EXTRA_STORE, *I,
                       "a loop does not work for one stored matrix alone");
    if (isMatrixProduct(*I))
      Products[I].Store = S;
    for (const Value *Operand : I->operands())
      if (!own(S, Operand, Seen))
        return false;
    return true;
  }

  // ---- loops ----

  int addVirtual(int Parent, int64_t Extent, const Instruction &I) {
    assert(Extent >= 1); // LLVM has no matrix without rows or columns
    Type *I64 = Type::getInt64Ty(I.getContext());
    return addLoop(Parent, SE.getConstant(I64, (uint64_t)Extent), at(I));
  }

  bool addLoops() {
    if (!Outer) {
      addStores(nullptr, -1);
      return true;
    }
    if (!addLoops(*Outer, -1))
      return false;
    Places->chooseDirections(Code->Blocks);
    return true;
  }

  bool addLoops(Loop &L, int Parent) {
    const SCEV *Extent = Places->extentOf(L, A, V);
    if (!Extent)
      return false;
    int This = Index[&L] = addLoop(Parent, Extent, locOf(L.getStartLoc(), A));
    Places->addLoop(&L, Extent);
    NestLoop.push_back(This);
    addStores(&L, This);
    if (auto It = Owner.find(&L); It != Owner.end())
      addDepths(It->second, &L, This);
    for (Loop *Inner : L.getSubLoops()) {
      auto It = Owner.find(Inner);
      bool Moves = It != Owner.end() && Stores[It->second].L == &L;
      if (Code->runs(Inner->getHeader()) &&
          !addLoops(*Inner, Moves ? Stores[It->second].Column : This))
        return false;
    }
    return true;
  }

  void addStores(const Loop *L, int Parent) {
    for (size_t I = 0; I < Stores.size(); I++) {
      Store &S = Stores[I];
      if (S.L != L)
        continue;
      S.Row = addVirtual(Parent, S.Of.Rows, *S.I);
      S.Column = addVirtual(S.Row, S.Of.Columns, *S.I);
      addDepths((int)I, L, S.Column);
    }
  }

  void addDepths(int S, const Loop *L, int Parent) {
    for (auto &[I, P] : Products)
      if (P.Store == S && loopOf(I) == L) {
        P.Depth = addVirtual(Parent, constant(*cast<CallBase>(I), 3), *I);
        P.Parent = Parent;
      }
  }

  // ---- elements ----

  // The element (row, column) of what W holds.
  nest_expr *readAs(const Frame &Where, const Value *W, int Depth) {
    Frame Before = F;
    F = Where;
    nest_expr *E = read(W, false, Depth);
    F = Before;
    return E;
  }

  nest_expr *read(const Value *W, bool Unsigned, int Depth) override {
    dtype T;
    if (!typeOf(W->getType()->getScalarType(), Unsigned, T) ||
        W->getType()->getScalarType()->isIntegerTy(1))
      return other("a value of a type that the NPU does not have", loc_none());
    if (!isa<FixedVectorType>(W->getType()))
      return readNumber(W, T);
    if (const Value *Same = getSplatValue(W))
      return readNumber(Same, T);
    if (!inside(W))
      return other("a matrix from elsewhere", loc_none());
    const auto *I = cast<Instruction>(W);
    if (tooLong(Depth))
      return other("a long expression", at(*I));
    if (elements(W->getType()) != F.Of.Rows * F.Of.Columns)
      return other("a matrix of another shape", at(*I));
    if (auto Of = shapeOf(W); Of && !(*Of == F.Of))
      return other("a matrix of another shape", at(*I));
    if (isMatrixLoad(I))
      return as(readLoad(*I, Unsigned), T);
    if (const auto *P = dyn_cast<PHINode>(I))
      return as(readPhi(*P), T);
    if (isMatrixProduct(*I))
      return readProduct(*cast<CallBase>(I), Depth);
    if (intrinsicOf(I) == Intrinsic::matrix_transpose) {
      Frame Turned = F;
      std::swap(Turned.Row, Turned.Column);
      std::swap(Turned.Of.Rows, Turned.Of.Columns);
      return readAs(Turned, I->getOperand(0), Depth + 1);
    }
    return readOperation(*I, Depth);
  }

  nest_expr *readNumber(const Value *W, dtype T) {
    if (const auto *C = dyn_cast<Constant>(W))
      return readConstant(C, T);
    if (inside(W))
      return other("a number that is computed between matrices", loc_none());
    nest_expr *E = make(NEST_OUTSIDE, T, loc_none());
    E->outside = outsideOf(const_cast<Value *>(W));
    return E;
  }

  // ---- memory ----

  const SCEV *known(Value *Integer) {
    if (!Outer && !isa<Constant>(Integer))
      return SE.getUnknown(Integer);
    const SCEV *S = SE.getSCEV(Integer);
    return !Outer || Places->usable(S) ? S : nullptr;
  }

  bool readPlace(const Instruction &I, dtype T, nest_access &Result) {
    Access X(I);
    Address Place;
    if (!Outer)
      Place.Start = SE.getUnknown(X.Pointer);
    const SCEV *Stride = X.Stride ? known(X.Stride) : nullptr;
    if ((Outer && !Places->read(I, X.Pointer, Place)) || (X.Stride && !Stride))
      return decline(RULE_NON_AFFINE, I,
                     "the address of a matrix is not a fixed start plus a "
                     "fixed stride per loop");
    Result = access(T, Place.Start);
    const char *Name = tensorName(Result.tensor);
    for (size_t L = 0; L < Place.Stride.size(); L++)
      if (Place.Stride[L]) {
        if (looksNegative(Place.Stride[L]))
          return decline(RULE_DIRECTIONS, I,
                         "a loop has a negative stride in one array and "
                         "a positive one in another");
        int Loop = NestLoop[L];
        Result.stride_bytes[Loop] =
            valueOf(Place.Stride[L], Twine(Name) + "." + loopName(Loop));
      }
    Result.stride_bytes[F.Row] = {dtype_bytes(T), -1};
    if (!Stride) {
      Result.stride_bytes[F.Column] = {dtype_bytes(T) * F.Of.Rows, -1};
      return true;
    }
    Type *I64 = Type::getInt64Ty(I.getContext());
    const SCEV *Bytes =
        SE.getMulExpr(SE.getNoopOrSignExtend(Stride, I64),
                      SE.getConstant(I64, (uint64_t)dtype_bytes(T)));
    Result.stride_bytes[F.Column] = valueOf(Bytes, Twine(Name) + ".ld");
    return true;
  }

  nest_expr *readLoad(const Instruction &I, bool Unsigned) {
    dtype T = typeOf(I.getType(), Unsigned);
    nest_expr *E = make(NEST_LOAD, T, at(I));
    if (!Access(I).Simple || !readPlace(I, T, E->access))
      return other("a matrix whose address is not affine", at(I));
    const Loop *L = loopOf(&I);
    E->loop = L == F.L ? F.Inner : L ? Index[L] : -1;
    E->order = Order[&I];
    return E;
  }

  // ---- products and sums ----

  nest_expr *variable(int Scalar, const Instruction &I) {
    nest_expr *E = make(NEST_SCALAR, typeOf(I.getType(), false), at(I));
    E->scalar = Scalar;
    return E;
  }

  // A variable that starts at zero and sums over the loop of the product.
  nest_expr *readProduct(const CallBase &Call, int Depth) {
    Product &P = Products[&Call];
    if (P.Read || P.Parent != F.Inner)
      return other("a product of a product", at(Call));
    P.Read = true;
    dtype T = typeOf(Call.getType(), false);
    int Id = addScalar();
    // Room below the product's order, and above that of what it multiplies.
    assign(Id, F.Inner, Order[&Call] - 1, make(NEST_NUMBER, T, at(Call)),
           at(Call));
    Frame Left = F, Right = F;
    Left.Column = Right.Row = Left.Inner = Right.Inner = P.Depth;
    Left.Of.Columns = Right.Of.Rows = constant(Call, 3);
    nest_expr *Term = make(NEST_MUL, T, at(Call),
                           readAs(Left, Call.getArgOperand(0), Depth + 1),
                           readAs(Right, Call.getArgOperand(1), Depth + 1));
    nest_expr *Sum = make(NEST_ADD, T, at(Call), variable(Id, Call), Term);
    const auto *FP = dyn_cast<FPMathOperator>(&Call);
    Sum->reassoc = Term->reassoc = !FP || FP->hasAllowReassoc();
    assign(Id, P.Depth, Order[&Call], Sum, at(Call));
    return variable(Id, Call);
  }

  nest_expr *readPhi(const PHINode &W) {
    const PHINode *P = Code ? Code->variableOf(&W) : nullptr;
    const Loop *L = P ? LI.getLoopFor(P->getParent()) : nullptr;
    if (!L || !Owner.count(L))
      return other("a matrix that is carried from store to store", at(W));
    int Id = scalar(*P, *L);
    if (Id < 0)
      return other("a matrix and the same transposed", at(W));
    return variable(Id, W);
  }

  // Loop L carries P; -1: its elements are used in another order already.
  int scalar(const PHINode &P, const Loop &L) {
    auto It = Scalar.find(&P);
    if (It != Scalar.end())
      return It->second.second == F.Row ? It->second.first : -1;
    int Id = addScalar();
    Scalar[&P] = {Id, F.Row};
    Frame Start = F;
    Start.L = L.getParentLoop();
    const Store &S = Stores[Owner[&L]];
    Start.Inner = Start.L == S.L ? S.Column : Index[Start.L];
    const Instruction &Entry = *L.getLoopPreheader()->getTerminator();
    assign(Id, Start.Inner, Order[&Entry],
           readAs(Start, P.getIncomingValueForBlock(Entry.getParent()), 0),
           at(Entry));
    Frame Step = F;
    Step.L = &L;
    Step.Inner = Index[&L];
    const Instruction &End = *L.getLoopLatch()->getTerminator();
    assign(Id, Step.Inner, Order[&End],
           readAs(Step, P.getIncomingValueForBlock(End.getParent()), 0),
           at(End));
    return Id;
  }

  // ---- statements ----

  bool readStores() {
    for (const Store &S : Stores) {
      Access X(*S.I);
      F = {S.Row, S.Column, S.Of, S.Column, S.L};
      dtype T;
      if (!X.Simple)
        return decline(RULE_VOLATILE, *S.I, "a volatile matrix is written");
      if (!typeOf(X.Matrix->getType()->getScalarType(), false, T))
        return decline(RULE_TYPES, *S.I,
                       "matrices of a type that the NPU has "
                       "not are stored");
      nest_access To;
      if (!readPlace(*S.I, T, To))
        return false;
      store(To, S.Column, Order[S.I], read(X.Matrix, false, 0), at(*S.I));
      if (V.diag.kind != DIAG_NONE)
        return false;
    }
    return true;
  }
};

// ---- code without a loop ----

// The instructions of Store's block that the stored matrix is computed by.
class Tree {
  Instruction &Store;
  SmallPtrSet<const Instruction *, 32> Members, Shared;

public:
  SmallVector<Instruction *, 32> Region; // the members, in program order
  Instruction *First = nullptr;          // of those that nothing else needs

  explicit Tree(Instruction &Store) : Store(Store) {
    Members.insert(&Store);
    add(Access(Store).Matrix);
    for (Instruction &I : *Store.getParent())
      if (Members.count(&I))
        Region.push_back(&I);
    for (Instruction *I : reverse(Region))
      if (isShared(*I))
        Shared.insert(I);
      else
        First = I;
  }

  bool hasProduct() const {
    return any_of(Members,
                  [](const Instruction *I) { return isMatrixProduct(*I); });
  }

  // What others need, too, and what has nothing to do with the matrix, moves
  // in front of the rest.
  bool separate(arena *A, verdict &V) {
    auto Decline = [&](rule Rule, const Instruction &I, const char *Why) {
      return verdict_decline(&V, Rule, locOf(I.getDebugLoc(), A), "%s", Why);
    };
    SmallVector<Instruction *, 32> Moves;
    bool Started = false;
    for (Instruction *I = Region.front(); I != &Store; I = I->getNextNode()) {
      Started |= I == First;
      bool Ours = Members.count(I) && !Shared.count(I);
      if (isMatrixProduct(*I) && Members.count(I) && !Ours)
        return Decline(RULE_LIVE_OUT, *I, "a product is used more than once");
      if (Ours || isa<DbgInfoIntrinsic>(I))
        continue;
      if (I->mayHaveSideEffects() || (Started && needsMember(*I)))
        return Decline(RULE_SIDE_EFFECT, *I,
                       "something else happens between the product and its "
                       "store");
      if (Started)
        Moves.push_back(I);
    }
    for (Instruction *I : Moves)
      moveBefore(*I, First);
    return true;
  }

private:
  // Of what comes later, it is known already.
  bool isShared(const Instruction &I) const {
    return any_of(I.users(), [&](const User *U) {
      const auto *User = cast<Instruction>(U);
      return !Members.count(User) || Shared.count(User);
    });
  }

  bool needsMember(const Instruction &I) const {
    return any_of(I.operands(), [&](const Use &U) {
      const auto *Operand = dyn_cast<Instruction>(U);
      return Operand && Members.count(Operand) && !Shared.count(Operand);
    });
  }

  void add(Value *W) {
    auto *I = dyn_cast<Instruction>(W);
    if (!I || I->getParent() != Store.getParent() || isa<PHINode>(I) ||
        !I->getType()->isVectorTy() || !Members.insert(I).second)
      return;
    for (Value *Operand : I->operands())
      add(Operand);
  }
};

} // namespace

bool storesProduct(const Instruction &I) {
  return storesMatrix(I) && !isKept(I) &&
         Tree(const_cast<Instruction &>(I)).hasProduct();
}

bool readMatrixLoop(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                    DominatorTree &DT, AAResults &AA, arena *A, IRNest &Result,
                    verdict &V) {
  return MatrixReader(&Outer, LI, SE, A, Result, V).readLoop(DT, AA);
}

bool readMatrixStore(Instruction &Store, LoopInfo &LI, ScalarEvolution &SE,
                     arena *A, IRNest &Result, Instruction *&First,
                     verdict &V) {
  Tree T(Store);
  First = T.First;
  return T.separate(A, V) &&
         MatrixReader(nullptr, LI, SE, A, Result, V).readRegion(T.Region);
}

} // namespace nputeir
