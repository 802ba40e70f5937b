// read_ir.cpp -- LoopInfo and ScalarEvolution -> struct nest.
//
// Takes a loop in LoopSimplify and LCSSA form.  Whatever the description cannot
// say declines the nest here or in body.cpp: a loop whose iterations cannot be
// counted, a call, an address that is not base plus stride times iteration.
// What remains is a list of statements, each of which runs exactly once in
// every iteration of the loops around it; the recogniser takes it from there.
//
// A branch that only decides on a value is a choice between two values: a phi
// where its ways meet becomes a select, and a store on one way becomes one of
// either the new value or the old content, if the place is written anyway.
//
// Phi nodes of loop headers that are not counters become scalar variables with
// two assignments, the start and the step.  Those of one header happen at once.
#include "affine_guards.h"
#include "assertion.h"
#include "body.h"
#include "ir_marks.h"
#include "ir_scev.h"
#include "joins.h"
#include "lanes.h"
#include "mem_nest.h"
#include "operations.h"
#include "reads_first.h"
#include "sum_loops.h"
#include "tensor_bases.h"
#include "zero_skips.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace nputeir {

namespace {

class Reader : Operations {
  Loop &Outer;
  LoopInfo &LI;
  ScalarEvolution &SE;
  DominatorTree &DT;
  AAResults &AA;
  verdict &V;

  SmallVector<Loop *, 8> Loops; // index is the nest's
  Body Code;
  Joins Places;
  AffineGuards Tests;
  TensorBases Known;
  DenseMap<const Loop *, int> LoopIndex;
  DenseMap<std::pair<const PHINode *, int>, int> Scalar; // and its lane
  int Lane = -1;         // of what is read, where that is a vector
  DenseSet<int> Written; // tensors
  SmallVector<MemNest, 2> MemNests;
  SmallVector<int, 2> MemNestLoop; // innermost, of each
  enum { BranchesMax = 20000 };
  int Branches = 0; // followed so far
  SumLoop *First;
  SmallVector<const LoadInst *, 8> Loads; // of what is described

public:
  Reader(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT,
         AAResults &AA, arena *A, IRNest &R, verdict &V, Sides &Ways,
         SumLoop *First)
      : Operations(A, R), Outer(Outer), LI(LI), SE(SE), DT(DT), AA(AA), V(V),
        Code(Outer, LI, SE, DT, A, V, Ways, First ? First->L : nullptr),
        Places(Outer, LI, SE, AA, Code), Tests(Places, SE, *this),
        Known(SE, Places), First(First) {}

  bool isLocal(const SCEV *Address) const override {
    return Code.isLocal(Address);
  }

  bool read() {
    bool Good = readAll();
    assert(Good == (V.diag.kind == DIAG_NONE)); // why not, if not
    R.Rows = Places.Rows; // to be dropped if the nest is kept
    return Good;
  }

private:
  bool readAll() {
    if (!Code.read() || !readLoops() || !(First || Code.checkLiveOuts()) ||
        !checkGuardedLoops() ||
        !(First ? readSums() && areApart() : readStatements()) ||
        !readConditions(Code, Outer, Places, SE, A, R, V))
      return false;
    finish(at(Outer));
    return true;
  }

  using Operations::at;
  loc at(const Loop &L) { return locOf(L.getStartLoc(), A); }

  // ---- loops ----

  bool readLoop(Loop &L) {
    verdict NoTile = {};
    if (Places.addPointLoop(&L, A, Code.Clipped.at(L) ? NoTile : V)) {
      Code.Clipped.All.erase(&L);
      return true;
    }
    const SCEV *Extent = Places.extentOf(L, A, V);
    if (Extent)
      Places.addLoop(&L, Extent);
    return Extent;
  }

  bool readLoops() {
    for (Loop *L : Outer.getLoopsInPreorder()) {
      if (!Code.runs(L->getHeader()) || !Code.isPart(*L))
        continue;
      LoopIndex[L] = (int)Loops.size();
      Loops.push_back(L);
    }
    if (Loops.size() > Joins::LoopsMax)
      return verdict_decline(&V, RULE_ROLES, at(Outer),
                             "the nest has more than %d loops",
                             (int)Joins::LoopsMax);
    for (Loop *L : Loops)
      if (!readLoop(*L))
        return false;
    Places.findTiles(Code.Blocks);
    Places.findRemainders(Code.Blocks);
    Places.chooseDirections(Code.Blocks);
    for (int I = 0; I < (int)Loops.size(); I++) {
      Loop *L = Loops[I];
      addLoop(L == &Outer ? -1 : LoopIndex[L->getParentLoop()],
              Places.extent(I), at(*L), Places.cutter(I), Places.isReversed(I));
      number(I, Places.after(I), Places.step(I));
    }
    readTensorBases();
    return First || readMemNests();
  }

  bool readMemNests() {
    for (BasicBlock *B : Code.Blocks)
      for (Instruction &I : *B) {
        const auto *Call = dyn_cast<MemIntrinsic>(&I);
        if (!Call)
          continue;
        MemNest F;
        if (const char *Why = readMemNest(*Call, Code.Blocks, Places, SE, F))
          return verdict_decline(&V, RULE_SIDE_EFFECT, at(I), "%s", Why);
        int Parent = loopOf(B);
        for (auto [Extent, Stride] : F.Loops)
          Parent = addLoop(Parent, Extent, at(I));
        MemNests.push_back(F);
        MemNestLoop.push_back(Parent);
        R.Equal.insert(R.Equal.end(), F.Equal.begin(), F.Equal.end());
      }
    return true;
  }

  int loopOf(const BasicBlock *B) {
    auto It = LoopIndex.find(LI.getLoopFor(B));
    return It == LoopIndex.end() ? -1 : It->second;
  }

  // ---- memory ----

  // All starts are known before the first is described; the result's are seen
  // first, because what is read joins them.
  void readTensorBases() {
    for (bool Written : {true, false})
      for (BasicBlock *B : Code.Blocks)
        for (Instruction &I : *B) {
          Address X;
          if (isa<StoreInst>(I) == Written && getLoadStorePointerOperand(&I) &&
              Places.read(I, getLoadStorePointerOperand(&I), X))
            Known.add(X, Written);
        }
    Places.Bounded.clear(); // of addresses that nothing may use
  }

  bool readAccess(const Instruction &I, const Value *Pointer, dtype Type,
                  nest_access &Access) {
    Address X;
    if (!Places.read(I, Pointer, X))
      return verdict_decline(&V, RULE_NON_AFFINE, at(I),
                             "an address is not a fixed start plus a fixed "
                             "stride per loop");
    return describe(I, X, Type, Access);
  }

  bool describe(const Instruction &I, const Address &X, dtype Type,
                nest_access &Access) {
    for (const SCEV *Stride : X.Stride)
      if (Stride && looksNegative(Stride))
        return verdict_decline(&V, RULE_DIRECTIONS, at(I),
                               "a loop has a negative stride in one array and "
                               "a positive one in another");
    TensorBase S = Known.find(X);
    Access = access(Type, S.Tensor);
    Access.offset_bytes = S.Bytes;
    Access.rows = S.Rows;
    if (S.Pitch)
      setPitch(Access.tensor, S.Pitch);
    for (size_t L = 0; L < Loops.size(); L++)
      if (X.Stride[L])
        Access.stride_bytes[L] =
            valueOf(X.Stride[L],
                    Twine(tensorName(Access.tensor)) + "." + loopName((int)L));
    return true;
  }

  // ---- expressions ----

  void assign(int Id, const Instruction *Where, int LoopNumber,
              const Value *W) {
    NestBuilder::assign(Id, LoopNumber, Code.Order[Where], read(W, false, 0),
                        at(*Where));
  }

  int scalar(const PHINode *P) {
    auto [It, IsNew] = Scalar.try_emplace({P, Lane}, -1);
    if (!IsNew)
      return It->second;
    int Id = It->second = addScalar();
    const Loop *L = LI.getLoopFor(P->getParent());
    const Instruction *Entry = L->getLoopPreheader()->getTerminator();
    const Value *Start = P->getIncomingValueForBlock(L->getLoopPreheader());
    int EntryLoop = loopOf(Entry->getParent());
    assign(Id, Entry, EntryLoop, Start);
    const Instruction *Last = L->getLoopLatch()->getTerminator();
    nest_expr *Next =
        read(P->getIncomingValueForBlock(L->getLoopLatch()), false, 0);
    nest_expr *Now = make(NEST_SCALAR, typeOf(P->getType(), false), at(*P));
    Now->scalar = Id;
    NestBuilder::assign(Id, LoopIndex[L], Code.Order[Last],
                        whereRun(*L, Next, Now), at(*Last));
    return Id;
  }

  // New in iterations that the loop has, Old in those that are cut off.
  nest_expr *whereRun(const Loop &L, nest_expr *New, nest_expr *Old) {
    const ClippedLoop *C = Code.Clipped.at(L);
    if (!C)
      return New;
    if (nest_expr *Has = Tests.has(*C, L, LoopIndex[&L], at(L)))
      return make(NEST_SELECT, New->type, at(L), Has, New, Old);
    Places.declineVariant(L, A, V);
    return New;
  }

  nest_expr *readPhi(const PHINode *P, int Depth) {
    dtype T = typeOf(P->getType(), false);
    const PHINode *Source = Code.variableOf(P);
    if (Source && !LoopIndex.count(LI.getLoopFor(Source->getParent())))
      return other("a value of another loop", at(*P));
    if (!Source) {
      nest_expr *E = readChoice(*P, Depth);
      return E ? E : other("a value that depends on a condition", at(*P));
    }
    nest_expr *E = make(NEST_SCALAR, T, at(*P));
    E->scalar = scalar(Source);
    return E;
  }

  // W is a load, or what stands for one that was moved in front of inner loops:
  // it is not read if they have no work, but then nobody uses it.
  nest_expr *readLoad(const Value *W, bool Unsigned) {
    const LoadInst *L = hoistedLoad(W);
    if (W == L && !LoopIndex.count(LI.getLoopFor(L->getParent())))
      return other("an element that another loop reads", at(*L));
    if (W == L)
      Loads.push_back(L);
    bool Conditional = W == L && Code.isGuarded(L->getParent()) &&
                       !Code.isLocal(SE.getSCEV(
                           const_cast<Value *>(L->getPointerOperand()))) &&
                       !Code.isReadAnyway(*L);
    if (Conditional && Lane < 0 &&
        isSkippedAlike(*L, L->getParent(), L->getPointerOperand()))
      Conditional = false;
    if (Conditional &&
        (Lane >= 0 || !runsUnderGuards(L->getParent()) || readsRows())) {
      verdict_decline(&V, RULE_GUARDED, at(*L),
                      "a condition inside the nest decides what is read");
      return other("an element that is not always read", at(*L));
    }
    dtype T = typeOf(L->getType(), Unsigned);
    nest_expr *E = make(NEST_LOAD, T, at(*L));
    if (!readAccess(*L, L->getPointerOperand(), T, E->access))
      return other("an element whose address is not affine", at(*L));
    // What the nest writes is read in the type in which it is written.
    if (Written.contains(E->access.tensor))
      E->type = typeOf(L->getType(), false);
    E->access.type = E->type;
    E->access.offset_bytes += std::max(Lane, 0) * (int64_t)dtype_bytes(T);
    E->conditional = Conditional;
    E->loop = loopOf(L->getParent());
    E->order = Code.Order[L];
    return E;
  }

  // Rows are read in front of the nest.
  bool readsRows() const { return !Places.Rows.empty(); }

  // A number that is there before the nest.
  nest_expr *readOutside(const Value *W, dtype T) {
    nest_expr *E = make(NEST_OUTSIDE, T, loc_none());
    E->outside = outsideOf(const_cast<Value *>(W));
    return E;
  }

  // bf16 kept as uint16_t, widened to float by a shift, or taken for __bf16;
  // null if I is not that.  What the nest writes is read as it is written.
  nest_expr *readBits(const Instruction *I) {
    bool Same;
    const Value *Half = halfOf(*I, Same);
    if (!Half || !hoistedLoad(Half) || !Outer.contains(cast<Instruction>(Half)))
      return nullptr;
    nest_expr *Load = readLoad(Half, true);
    if (Load->op != NEST_LOAD || Written.contains(Load->access.tensor))
      return nullptr;
    Load->type = Load->access.type = DTYPE_BF16;
    return Same ? Load : make(NEST_CAST, DTYPE_F32, at(*I), Load);
  }

  nest_expr *read(const Value *W, bool Unsigned, int Depth) override {
    Element X = elementOf(W, Lane);
    if (!X.Of)
      return other("an element of a vector that is not known", loc_none());
    SaveAndRestore<int> Of(Lane, X.Lane);
    return readElement(X.Of, Unsigned, Depth);
  }

  nest_expr *readElement(const Value *W, bool Unsigned, int Depth) {
    const Type *Whole = W->getType();
    dtype T;
    if ((Lane >= 0 && laneCount(Whole) == 0) ||
        !typeOf(Lane >= 0 ? Whole->getScalarType() : Whole, Unsigned, T))
      return other("a value of a type that the NPU does not have", loc_none());
    if (const auto *C = dyn_cast<Constant>(W))
      return readConstant(C, T);
    const auto *I = dyn_cast<Instruction>(W);
    if (Lane >= 0 && (!I || !Outer.contains(I)))
      return other("a vector from before the nest", loc_none());
    if (!I || !Outer.contains(I))
      return readOutside(W, T);
    if (tooLong(Depth))
      return other("a long expression", at(*I));
    if (hoistedLoad(I))
      return as(readLoad(I, Unsigned), T);
    if (const auto *P = dyn_cast<PHINode>(I))
      return as(readPhi(P, Depth), T);
    if (const auto *S = dyn_cast<SelectInst>(I);
        S && S->getCondition()->getType()->isIntegerTy())
      if (auto Side = Code.sideOf(*S)) {
        R.Assumed.push_back({const_cast<Value *>(S->getCondition()), *Side});
        return read(S->getOperand(*Side ? 1 : 2), Unsigned, Depth + 1);
      }
    if (nest_expr *E = readBits(I))
      return E;
    if (const auto *C = dyn_cast<ICmpInst>(I); C && Lane < 0)
      if (nest_expr *E = Tests.read(*C, loopOf(C->getParent())))
        return E;
    if (isa<ICmpInst>(I) && any_of(I->operands(), [&](const Use &U) {
          return countsLoops(U.get());
        })) {
      verdict_decline(&V, RULE_GUARDED, at(*I),
                      "a condition on the loops' counters decides on the "
                      "result");
      return other("a comparison of loop counters", at(*I));
    }
    return as(readOperation(*I, Depth), T);
  }

  bool countsLoops(Value *W) {
    const auto *Rec = SE.isSCEVable(W->getType())
                          ? dyn_cast<SCEVAddRecExpr>(SE.getSCEV(W))
                          : nullptr;
    return Rec && Outer.contains(Rec->getLoop());
  }

  // ---- values that depend on a condition ----

  using Reached = function_ref<nest_expr *(const BasicBlock *From)>;

  // Follows control from the end of D to block Goal, in one iteration of the
  // loop of both.  A way that does not lead there has the value Else, or does
  // not matter when that is null.  Null: no way leads there.
  nest_expr *follow(const BasicBlock *D, const BasicBlock *Goal,
                    nest_expr *Else, Reached AtGoal, int Depth) {
    // Ways that meet are followed on from there once for each.
    if (tooLong(Depth) || ++Branches > BranchesMax)
      return other("a value with many conditions", loc_none());
    assert(Code.runs(D));
    const auto *Branch = dyn_cast<BranchInst>(D->getTerminator());
    if (!Branch)
      return other("a value that a switch decides on", at(*D->getTerminator()));
    nest_expr *Way[2];
    int Ways = 0;
    for (const BasicBlock *Next : successors(D))
      if (Code.goes(D, Next))
        Way[Ways++] = enter(D, Next, Goal, Else, AtGoal, Depth + 1);
    if (Ways == 1 || !Way[1])
      return Way[0];
    if (!Way[0] || Way[0] == Way[1])
      return Way[1];
    return make(NEST_SELECT, Way[0]->type, at(*Branch),
                read(Branch->getCondition(), false, Depth + 1), Way[0], Way[1]);
  }

  nest_expr *enter(const BasicBlock *From, const BasicBlock *To,
                   const BasicBlock *Goal, nest_expr *Else, Reached AtGoal,
                   int Depth) {
    if (To == Goal)
      return AtGoal(From);
    const Loop *L = LI.getLoopFor(Goal);
    if (!L->contains(To))
      return nullptr;
    const Loop *Inner = LI.getLoopFor(To);
    if (Inner != L) { // comes out where it has ended
      Exit Way = exitOf(*Inner);
      assert(Way.From && Inner->getParentLoop() == L);
      return enter(Way.From, Way.To, Goal, Else, AtGoal, Depth);
    }
    if (To == L->getHeader() || (Else && !Code.isConditional(To)))
      return Else;
    return follow(To, Goal, Else, AtGoal, Depth);
  }

  // Null: the phi is none where ways of one iteration meet.
  nest_expr *readChoice(const PHINode &P, int Depth) {
    const BasicBlock *Goal = P.getParent();
    const BasicBlock *D = DT.getNode(Goal)->getIDom()->getBlock();
    if (LI.getLoopFor(D) != LI.getLoopFor(Goal))
      return nullptr;
    return follow(
        D, Goal, nullptr,
        [&](const BasicBlock *From) {
          return read(P.getIncomingValueForBlock(From), false, Depth + 1);
        },
        Depth);
  }

  // What the place of a conditional store holds behind it.
  nest_expr *readConditional(const StoreInst &S, const nest_statement &N) {
    assert(Code.isGuarded(S.getParent()));
    nest_expr *Old = make(NEST_LOAD, N.to.type, N.at);
    Old->access = N.to;
    Old->loop = N.loop;
    Old->order = N.order - 1;
    nest_expr *New = read(S.getValueOperand(), false, 0);
    for (const BasicBlock *B = S.getParent();;) {
      if (Code.isConditional(B))
        New = follow(
            Code.unconditionalBefore(B), B, Old,
            [New](const BasicBlock *) { return New; }, 0);
      const Loop *L = LI.getLoopFor(B);
      if (L == &Outer)
        return New;
      const value &Step = N.to.stride_bytes[LoopIndex[L]];
      if (Code.Clipped.at(*L) && (Step.symbol >= 0 || Step.constant))
        Places.declineVariant(*L, A, V); // fewer elements, not fewer terms
      New = whereRun(*L, New, Old);
      B = L->getLoopPreheader();
    }
  }

  // ---- what runs under a condition ----

  // Affine guards are all that decides, in the loop around B, whether B runs.
  bool followsGuards(const BasicBlock *B) {
    const Loop *L = LI.getLoopFor(B);
    const BasicBlock *First = Code.unconditionalBefore(B);
    for (const BasicBlock *X : Code.Blocks) {
      if (X == B)
        return true;
      if (LI.getLoopFor(X) != L || !DT.dominates(First, X) || !Code.forks(X))
        continue;
      const auto *Branch = dyn_cast<BranchInst>(X->getTerminator());
      if (!Branch || !asksAffineGuards(read(Branch->getCondition(), false, 0)))
        return false;
    }
    return true;
  }

  bool runsUnderGuards(const BasicBlock *B) {
    const Loop *L = LI.getLoopFor(B);
    return (!Code.isConditional(B) || followsGuards(B)) &&
           (L == &Outer || runsUnderGuards(L->getLoopPreheader()));
  }

  // ---- products that are skipped ----

  // An access of B that may be made in all iterations, if some make it.
  bool isSkippedAlike(const Instruction &I, const BasicBlock *B,
                      const Value *Pointer) {
    bool Side;
    Address X;
    const BranchInst *Branch = Code.onlySkipOf(B, Side);
    if (!Branch || readsRows() || !Places.read(I, Pointer, X))
      return false;
    const auto *C = cast<Instruction>(Branch->getCondition());
    Skips = true;
    return requireSkipped(*C, Side, X, isa<StoreInst>(I), Outer, Places, R);
  }

  bool isSkippedLoop(const Loop &L) {
    bool Side;
    return Code.skipOf(L.getLoopPreheader(), Side);
  }

  bool checkGuardedLoops() {
    for (Loop *L : Loops)
      if (L != &Outer && Code.isConditional(L->getLoopPreheader()) &&
          !isSkippedLoop(*L) && !followsGuards(L->getLoopPreheader()))
        return verdict_decline(&V, RULE_GUARDED, at(*L),
                               "a condition inside the nest decides whether a "
                               "loop runs");
    return true;
  }

  // ---- statements ----

  bool readPlace(const StoreInst &S, nest_statement &N) {
    const Loop *L = LI.getLoopFor(S.getParent());
    if (S.getParent() == L->getHeader() && exitsBeforeBody(*L))
      return verdict_decline(&V, RULE_EXTRA_STORE, at(S),
                             L->isLoopInvariant(S.getPointerOperand())
                                 ? "a loop's counter lies in memory, where "
                                   "others may read it: declare it in the nest"
                                 : "a loop's condition writes memory");
    N.is_store = true;
    N.at = at(S);
    N.loop = LoopIndex[L];
    N.order = Code.Order[&S];
    const Type *Whole = S.getValueOperand()->getType();
    dtype T;
    if ((Whole->isVectorTy() && laneCount(Whole) == 0) ||
        !typeOf(Whole->getScalarType(), false, T))
      return verdict_decline(
          &V, RULE_TYPES, at(S),
          "the nest stores a type that the NPU does not have");
    return readAccess(S, S.getPointerOperand(), T, N.to);
  }

  // What a fill reads or writes moves along its own loops, too.
  bool describe(const MemNest &F, const Address &X, dtype Type, int Loop,
                nest_access &Access) {
    if (!describe(*F.Call, X, Type, Access))
      return false;
    int First = Loop - (int)F.Loops.size() + 1;
    assert(F.Loops.empty() || First >= (int)Loops.size());
    for (size_t L = 0; L < F.Loops.size(); L++)
      Access.stride_bytes[First + (int)L] =
          valueOf(F.Loops[L].second, Twine(tensorName(Access.tensor)) + "." +
                                         loopName(First + (int)L));
    return true;
  }

  bool addMemNest(const MemNest &F, int Loop) {
    nest_statement N = {};
    N.is_store = true;
    N.at = at(*F.Call);
    N.loop = Loop;
    N.order = Code.Order[F.Call];
    dtype T;
    if (!typeOf(F.Like->getValueOperand()->getType(), false, T) ||
        !describe(F, F.To, T, Loop, N.to))
      return false;
    Written.insert(N.to.tensor);
    nest_expr *E =
        make(isa<MemSetInst>(F.Call) ? NEST_NUMBER : NEST_LOAD, T, N.at);
    if (E->op == NEST_LOAD && !describe(F, F.From, T, Loop, E->access))
      return false;
    E->loop = Loop;
    E->order = N.order - 1;
    N.value = E;
    add(N);
    return true;
  }

  // Places that the source would not write stay unwritten: either the place is
  // written anyway, or the recogniser finds that some iteration always does.
  bool mayBeConditional(
      const StoreInst &Store, nest_statement &N,
      ArrayRef<std::pair<const StoreInst *, nest_statement>> Stores) {
    bool Whole = !storesVector(Store); // a number
    if (Whole && Code.isLocal(R.Tensor[N.to.tensor]))
      return true;
    for (auto &[S, Other] : Stores)
      if (Whole && !Code.isGuarded(S->getParent()) && samePlace(Other.to, N.to))
        return true;
    if (Whole &&
        isSkippedAlike(Store, Store.getParent(), Store.getPointerOperand()))
      return true;
    N.conditional = true;
    return (Whole && runsUnderGuards(Store.getParent())) ||
           verdict_decline(&V, RULE_GUARDED, N.at,
                           "a condition inside the nest decides what is "
                           "written");
  }

  // The lanes of a vector are stored at once: what each becomes is known then.
  void addLanes(const StoreInst &S, const nest_statement &First) {
    for (int L = 0; L < laneCount(S.getValueOperand()->getType()); L++) {
      SaveAndRestore<int> Of(Lane, L);
      nest_statement N = First;
      N.to.offset_bytes += L * (int64_t)dtype_bytes(N.to.type);
      N.order += L;
      N.value = read(S.getValueOperand(), false, 0);
      add(N);
    }
  }

  // Places first: how they are written decides how they are read.
  bool readStatements() {
    SmallVector<std::pair<const StoreInst *, nest_statement>, 8> Stores;
    for (BasicBlock *B : Code.Blocks)
      for (Instruction &I : *B)
        if (const auto *S = dyn_cast<StoreInst>(&I)) {
          nest_statement N = {};
          if (!readPlace(*S, N))
            return false;
          Written.insert(N.to.tensor);
          Stores.push_back({S, N});
        }
    for (size_t I = 0; I < MemNests.size(); I++)
      if (!addMemNest(MemNests[I], MemNestLoop[I]))
        return false;
    for (auto &[S, N] : Stores) {
      bool Guarded = Code.isGuarded(S->getParent());
      if (storesVector(*S) && !Guarded) {
        addLanes(*S, N);
        continue;
      }
      if (!Guarded)
        N.value = read(S->getValueOperand(), false, 0);
      else if (mayBeConditional(*S, N, Stores))
        N.value = readConditional(*S, N);
      add(N);
    }
    return V.diag.kind == DIAG_NONE;
  }

  // ---- sums that are formed first ----

  bool readSums() {
    assert(LI.getLoopFor(First->Sums[0]->getParent()) ==
           First->L->getParentLoop());
    if (const Loop *L = layOut(*First, Outer, LoopIndex, Places, SE))
      return verdict_decline(&V, RULE_VARIANT_EXTENT, at(*L),
                             "a loop around a sum runs backwards or over a "
                             "part of its numbers");
    dtype T;
    if (!typeOf(First->Sums[0]->getType(), false, T))
      return verdict_decline(&V, RULE_TYPES, at(*First->Sums[0]),
                             "a sum has a type that the NPU does not have");
    int64_t Bytes = dtype_bytes(T);
    const SCEV *Start = SE.getSCEV(First->Array);
    verdict Why = {};
    for (size_t S = 0; S < First->Sums.size(); S++) {
      V = {};
      nest_access To = access(T, Start);
      To.offset_bytes = (int64_t)S * Bytes;
      for (size_t I = 0; I < First->Around.size(); I++) {
        int L = LoopIndex[First->Around[I]];
        To.stride_bytes[L] = valueOf(
            First->Stride[I], Twine(tensorName(To.tensor)) + "." + loopName(L));
      }
      const PHINode &P = *First->Sums[S];
      store(To, LoopIndex[First->L->getParentLoop()], Code.Order[&P],
            read(&P, false, 0), at(P));
      if (V.diag.kind == DIAG_NONE)
        continue;
      First->Unreadable.push_back(&P);
      if (Why.diag.kind == DIAG_NONE)
        Why = V;
    }
    V = Why;
    return V.diag.kind == DIAG_NONE;
  }

  bool areApart() {
    return ReadsFirst(Outer, LI, SE, AA, Places, Loops, R.Disjoint)
        .areFirst(Loads, A, V);
  }
};

} // namespace

bool readNest(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT,
              AAResults &AA, arena *A, IRNest &R, verdict &V, Sides &Ways,
              SumLoop *First) {
  return Reader(Outer, LI, SE, DT, AA, A, R, V, Ways, First).read();
}

} // namespace nputeir
