// read_ir.cpp -- LoopInfo and ScalarEvolution -> struct nest.
//
// Takes a loop in LoopSimplify and LCSSA form.  Whatever the description cannot
// say declines the nest here or in body.cpp: a loop whose iterations cannot be
// counted, a call, an address that is not base plus stride times iteration.
// What remains is a list of statements, each of which runs exactly once in
// every iteration of the loops around it (expressions.cpp reads what it
// computes); the recogniser takes it from there.
#include "read_ir.h"
#include "assertion.h"
#include "expressions.h"
#include "lanes.h"
#include "mem_nest.h"
#include "middle_writes.h"
#include "reads_first.h"
#include "row_reaches.h"
#include "written_out.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace nputeir {

namespace {

class Reader : Expressions {
  AAResults &AA;
  SmallVector<MemNest, 2> MemNests;
  SmallVector<int, 2> MemNestLoop; // innermost, of each
  SumLoop *First;
  bool OfTriangle;

public:
  Reader(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT,
         AAResults &AA, arena *A, IRNest &R, verdict &V, Sides &Ways,
         SumLoop *First, bool OfTriangle)
      : Expressions(Outer, LI, SE, DT, AA, A, R, V, Ways,
                    First ? First->L : nullptr),
        AA(AA), First(First), OfTriangle(OfTriangle) {
    assert(!First || !OfTriangle);
  }

  bool readAll() {
    bool Good = readParts();
    assert(Good == (V.diag.kind == DIAG_NONE)); // why not, if not
    R.Rows = Places.Rows; // to be dropped if the nest is kept
    return Good;
  }

private:
  bool readParts() {
    if (!Code.read() || !readLoops() || !(First || Code.checkLiveOuts()) ||
        !checkGuardedLoops() ||
        !(First ? readSums() && areApart() : readStatements()) ||
        !readConditions(Code, Outer, Places, SE, A, R, V))
      return false;
    affine_guard *Within = OfTriangle ? readWithin() : nullptr;
    if (OfTriangle && !Within)
      return false;
    joinWrittenOut(R.Bounded, SE);
    findMultiples();
    finish(at(Outer));
    R.N->within = Within;
    return mayFindRows();
  }

  // Rows of rows are copied, or they are not known.
  bool mayFindRows() {
    R.Rows = Places.Rows;
    // Sizes that the nest may write say how many rows are looked at: whether it
    // does must be known before.
    auto WritesRows = [&](const Apart &X) {
      return R.areOfRows({X.Written, X.Written});
    };
    if (First && !First->Unchanged.empty() && any_of(R.Disjoint, WritesRows))
      return verdict_decline(&V, RULE_MAY_CHANGE, at(Outer),
                             "the nest may change sizes or addresses in memory "
                             "by which rows are found");
    if (none_of(R.Rows, [](const RowPointers &X) { return X.Around >= 0; }) ||
        RowReaches(R, SE).find(First))
      return true;
    return verdict_decline(&V, RULE_NON_AFFINE, at(Outer),
                           "addresses lie in arrays whose addresses lie in "
                           "others, and the nest uses a part of what they "
                           "lead to");
  }

  // ---- what was unrolled by hand ----

  // Of what a number is a constant multiple.
  const SCEV *partOf(const SCEV *S, int64_t &Times) {
    const auto *M = dyn_cast<SCEVMulExpr>(S);
    const auto *C = M ? dyn_cast<SCEVConstant>(M->getOperand(0)) : nullptr;
    Times = C ? C->getAPInt().getSExtValue() : 1;
    if (!C)
      return S;
    SmallVector<const SCEV *, 4> Others(drop_begin(M->operands()));
    return SE.getMulExpr(Others);
  }

  bool isPitch(int Symbol) const {
    return any_of(seq(0, (int)R.Tensor.size()),
                  [&](int T) { return pitch(T) == Symbol; });
  }

  bool isTile(int64_t Length) const {
    return any_of(seq(0, loopCount()), [&](int L) {
      return extent(L).symbol < 0 && extent(L).constant == Length;
    });
  }

  // Strides that are so many rows, or all of a tile, and what a loop that steps
  // over several numbers, or rows, counts.
  void findMultiples() {
    SmallVector<const SCEV *, 16> Of;
    SmallVector<int64_t, 16> Count;
    SmallSetVector<std::pair<int, int64_t>, 4> Steps; // of loops
    for (const SCEV *S : R.Symbol) {
      Count.push_back(1);
      Of.push_back(partOf(S, Count.back()));
    }
    for (int Small = 0; Small < (int)Of.size(); Small++)
      for (int Large = 0; Large < (int)Of.size(); Large++) {
        if (Of[Large] != Of[Small] || Count[Small] <= 0 ||
            Count[Large] % Count[Small] != 0)
          continue;
        int64_t Times = Count[Large] / Count[Small];
        if (Times > 1 && (isPitch(Small) || isTile(Times)))
          addMultiple(Large, Times, Small);
        for (auto [Stride, L] : RowStrides)
          if (Times > 1 && isPitch(Small) && Stride == Large)
            Steps.insert({L, Times});
      }
    for (int L = 0; L < (int)Loops.size(); L++)
      Steps.insert({L, Places.stepOfCounter(L)});
    for (auto [L, Step] : Steps) {
      int Count = extent(L).symbol;
      if (Step <= 1 || Count < 0)
        continue;
      const SCEV *N = R.Symbol[Count];
      value All = valueOf(SE.getMulExpr(SE.getConstant(N->getType(), Step), N),
                          Twine(symbolName(Count)) + ".all");
      addMultiple(All.symbol, Step, Count);
    }
  }

  // ---- a triangle ----

  // False: some loops run in ways that are no triangle's.
  bool findTriangle() {
    if (!OfTriangle || Places.findTriangle(Loops))
      return true;
    Counts::declineVariant(Outer, A, V);
    return false;
  }

  // Which iterations there are: column - (columns of row) < 0, or column -
  // (columns that row has not) >= 0.  Null and a verdict: the nest does more.
  affine_guard *readWithin() {
    const TriangleLoops &T = Places.Triangle;
    auto IsPlain = [&](const Loop *L) {
      int I = LoopIndex[L];
      return Places.isPlain(I) && !Places.isReversed(I);
    };
    auto IsInColumns = [&](const BasicBlock *B) {
      return any_of(T.Columns, [&](const Loop *L) { return L->contains(B); });
    };
    auto Stores = [](const Instruction &I) { return isa<StoreInst>(I); };
    if (!IsPlain(T.OfRows) || !all_of(T.Columns, IsPlain) ||
        !MemNests.empty() || !R.Skips.empty() || !Places.Rows.empty() ||
        !all_of(Code.Blocks, [&](const BasicBlock *B) {
          return IsInColumns(B) || none_of(*B, Stores);
        })) {
      Counts::declineVariant(Outer, A, V);
      return nullptr;
    }
    auto *Within = new (arena_alloc(A, sizeof(affine_guard))) affine_guard();
    const SCEV *Zero = SE.getZero(T.Rows->getType());
    const SCEV *Start = T.First;
    if (T.FromStart)
      Start = SE.getNegativeSCEV(SE.getAddExpr(T.First, T.Skipped));
    else
      Start =
          T.Grows ? SE.getMinusSCEV(SE.getOne(Zero->getType()), T.Rows) : Zero;
    Within->below = T.FromStart;
    Within->at = at(Outer);
    Within->start = valueOf(Start, "within");
    Within->step = (value *)arena_array(A, (size_t)loopCount(), sizeof(value));
    for (int L = 0; L < loopCount(); L++)
      Within->step[L] = {0, -1};
    Within->step[LoopIndex[T.OfRows]] = {T.FromStart == T.Grows ? -1 : 1, -1};
    for (const Loop *L : T.Columns)
      Within->step[LoopIndex[L]] = {1, -1};
    return Within;
  }

  // ---- loops ----

  bool readLoop(Loop &L) {
    verdict NoTile = {};
    if (!Places.Triangle.has(L) &&
        Places.addPointLoop(&L, A, Code.Clipped.at(L) ? NoTile : V)) {
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
    if (!findTriangle())
      return false;
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

  // ---- what runs under a condition ----

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
  bool describeFill(const MemNest &F, const Address &X, dtype Type, int Loop,
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
        !describeFill(F, F.To, T, Loop, N.to))
      return false;
    Written.insert(N.to.tensor);
    nest_expr *E =
        make(isa<MemSetInst>(F.Call) ? NEST_NUMBER : NEST_LOAD, T, N.at);
    if (E->op == NEST_LOAD && !describeFill(F, F.From, T, Loop, E->access))
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
      else if (mayBeConditional(*S, N, Stores)) {
        N.value = readConditional(*S, N);
        auto IsSame = [&, &N = N](const auto &Other) {
          return samePlace(Other.second.to, N.to);
        };
        if (N.conditional && count_if(Stores, IsSame) == 1 &&
            isWrittenInMiddle(N, Places, SE, *this))
          N.conditional = false;
      }
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
      const Instruction &P = *First->Sums[S];
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
    SmallVector<const LoadInst *, 16> First(Loads.begin(), Loads.end());
    append_range(First, this->First->Unchanged);
    return ReadsFirst(Outer, LI, SE, AA, Places, Loops, R.Disjoint)
        .areFirst(First, A, V);
  }
};

} // namespace

bool readNest(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT,
              AAResults &AA, arena *A, IRNest &R, verdict &V, Sides &Ways,
              SumLoop *First) {
  return Reader(Outer, LI, SE, DT, AA, A, R, V, Ways, First, false).readAll();
}

bool readTriangle(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                  DominatorTree &DT, AAResults &AA, arena *A, IRNest &R,
                  verdict &V, Sides &Ways) {
  return Reader(Outer, LI, SE, DT, AA, A, R, V, Ways, nullptr, true).readAll();
}

} // namespace nputeir
