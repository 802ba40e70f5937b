// search.cpp -- which nests of a function are replaced, and by what.
#include "search.h"
#include "calls.h"
#include "copied_inputs.h"
#include "digits.h"
#include "interchange.h"
#include "ir_candidates.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_matrix.h"
#include "ir_moves.h"
#include "ir_results.h"
#include "ir_sums.h"
#include "lower_cpu.h"
#include "made_factors.h"
#include "matrix.h"
#include "row_pointers.h"
#include "split_nests.h"
#include "sum_loops.h"
#include "worth.h"
#include "zero_skips.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {

enum { ReadingsMax = 12 }; // of a nest, with one side or the other

static Finding findingOf(const Loop &L) {
  Finding N;
  N.Depth = depthOf(L);
  N.At = L.getStartLoc();
  N.EndLine = endLine(L);
  N.Loop = numberOf(L);
  N.IsUntold = isUntold(L);
  return N;
}

static Finding findingOf(const CallInst &Call) {
  Finding N;
  N.What = ("call of " + Call.getCalledFunction()->getName()).str();
  N.At = Call.getDebugLoc();
  return N;
}

// Other code in the nest does not matter to these.
static bool isOfProduct(rule R) {
  switch (R) {
  case RULE_FAULT:
  case RULE_WIDE_SUM:
  case RULE_FLOAT_INPUT:
  case RULE_ROUNDED_PRODUCT:
  case RULE_NEEDS_REASSOC:
  case RULE_NEEDS_FINITE:
  case RULE_PROCESSOR:
  case RULE_BELOW_THRESHOLD:
    return true;
  default:
    return false;
  }
}

static bool mayFormMatrix(const Loop &L, const Loop &Outermost,
                          FactorMoves &Moves) {
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      return isSumOfProduct(I) && Moves.mayFormMatrix(I, Outermost);
    });
  });
}

Search::Search(Copy &C, const options &O, TakenBy By,
               FunctionAnalysisManager &FAM, arena *A)
    : F(C.function()), O(O), By(By), LI(FAM.getResult<LoopAnalysis>(F)),
      SE(FAM.getResult<ScalarEvolutionAnalysis>(F)),
      DT(FAM.getResult<DominatorTreeAnalysis>(F)),
      AA(FAM.getResult<AAManager>(F)), A(A), MayTake(C.canReplace()),
      Planner(F, O, By, A, MayTake) {}

void Search::run() {
  SmallVector<CallInst *, 8> Calls;
  for (Instruction &I : instructions(F))
    if (isProductCall(I))
      Calls.push_back(cast<CallInst>(&I));
  for (CallInst *Call : Calls)
    visit(*Call);
  SmallVector<Loop *, 8> Top(LI.begin(), LI.end());
  for (Loop *L : reverse(Top)) {
    size_t Before = Found.size();
    visit(*L);
    visitSums(*L, Before);
  }
  visitStores(nullptr);
}

bool Search::leavesCode() const {
  return any_of(Take, [](const Taken &T) { return T.First.has_value(); });
}

void Search::rewrite(StringRef Where) {
  assert(MayTake || Take.empty());
  SmallVector<std::pair<BasicBlock *, Unmade>, 4> Beside;
  for (Taken &T : Take) {
    assert((!T.P.Npu || !T.TEIR.empty()) &&
           (T.L != nullptr) == (T.Loads != nullptr));
    if (T.First) {
      T.Loads->compute(T.Nest, T.P);
      rewriteSums(*T.L, *T.First, LI, SE, DT, T.Nest, T.P, O, T.TEIR, Where);
      continue;
    }
    RowCopies Copies;
    if (T.L) {
      assert(T.L->getLoopPreheader() && exitOf(*T.L).To);
      T.Loads->compute(T.Nest, T.P);
      Copies = checkRowPointers(*T.L, LI, SE, DT, T.Nest, &T.P);
      checkZeroSkips(*T.L, LI, SE, DT, T.Nest);
      T.Old = {T.L->getLoopPreheader(), T.L->getHeader(), exitOf(*T.L).To,
               T.L->getStartLoc()};
      markKept(*T.L);
      if (T.P.Cpu) // it runs for small work, or where tensors overlap
        markRolled(*T.L);
      Copies.enclose(*T.L, T.Old, T.P.Npu, LI, DT);
    }
    Unmade X = T.L && !T.P.Npu ? findUnmade(T.Old) : Unmade();
    PHINode *Said =
        rewriteNest(T.Old, LI, SE, DT, T.Nest, T.P, O, T.TEIR, Where);
    Copies.putBack(T.Old, LI, DT);
    if (X.Begin)
      Beside.push_back({T.L->getLoopPreheader(), X});
    else if (T.L)
      runWhole(*T.L, Said, LI, DT);
  }
  for (auto &[Kept, X] : Beside)
    runUnmade(*Kept, X, LI, DT);
  if (!Beside.empty())
    EliminateUnreachableBlocks(F);
}

bool Search::replaceCopied(ArrayRef<const Function *> Same,
                           FunctionAnalysisManager &FAM, StringRef Where,
                           bool MayChange) {
  FunctionFacts Facts = {LI, SE, DT,
                         FAM.getResult<PostDominatorTreeAnalysis>(F), AA};
  CopiedInput X;
  auto Replace = [&](Finding N) {
    Plan P = Planner.planOf(X.Nest, N);
    if (!P.Npu)
      return false;
    P.Cpu = nullptr; // which would copy, too
    N.By = "a call that reads what is copied for it";
    Found.push_back(std::move(N));
    Copies.push_back(numberOf(*X.Copy));
    if (!MayChange)
      return false;
    Region Old = moveCopy(X, LI, DT);
    markKept(*X.Copy);
    rewriteNest(Old, LI, SE, DT, X.Nest, P, O, Found.back().TEIR, Where);
    return true;
  };
  for (Loop *L : LI.getLoopsInPreorder())
    if (depthOf(*L) >= 2 && readCopiedInput(*L, Same, Facts, A, X) &&
        Replace(findingOf(*L)))
      return true;
  for (Instruction &I : instructions(F))
    if (callsProduct(I) &&
        readCopiedInput(cast<CallInst>(I), Same, Facts, A, X) &&
        Replace(findingOf(cast<CallInst>(I))))
      return true;
  return false;
}

// Code within one block, which gets a block of its own.
Region Search::split(Instruction &First, Instruction &Last) {
  BasicBlock *Entry = First.getParent();
  BasicBlock *Code = SplitBlock(Entry, &First, &DT, &LI);
  BasicBlock *After = SplitBlock(Code, Last.getNextNode(), &DT, &LI);
  return {Entry, Code, After, Last.getDebugLoc()};
}

// What is read from the code between First and Last.
void Search::conclude(Finding N, IRNest Nest, bool Read, Instruction *First,
                      Instruction &Last) {
  assert(Read ? First && First->getParent() == Last.getParent()
              : N.V.diag.kind != DIAG_NONE);
  Plan P = Read ? Planner.planOf(Nest, N) : Plan();
  if (isPlanned(P)) {
    Region Old = split(*First, Last);
    markKept(Last);
    Take.push_back(
        {std::move(Nest), nullptr, P, N.TEIR, nullptr, Old, std::nullopt});
  }
  Found.push_back(std::move(N));
}

void Search::visit(CallInst &Call) {
  Finding N = findingOf(Call);
  IRNest Nest;
  bool Read = readCall(Call, SE, AA, A, Nest, N.V);
  conclude(std::move(N), std::move(Nest), Read, &Call, Call);
}

// Matrices that are stored in L, but not in a loop within L.
void Search::visitStores(Loop *L) {
  SmallVector<Instruction *, 8> Stores;
  auto Collect = [&](BasicBlock &B) {
    if (LI.getLoopFor(&B) == L)
      for (Instruction &I : B)
        if (storesProduct(I))
          Stores.push_back(&I);
  };
  if (L)
    for (BasicBlock *B : L->blocks())
      Collect(*B);
  else
    for (BasicBlock &B : F)
      Collect(B);
  for (Instruction *S : Stores) {
    Finding N;
    N.What = "matrix product";
    N.At = S->getDebugLoc();
    IRNest Nest;
    Instruction *First = nullptr;
    bool Read = readMatrixStore(*S, LI, SE, A, Nest, First, N.V);
    conclude(std::move(N), std::move(Nest), Read, First, *S);
  }
}

// The same of a loop whose sizes in memory do not change.
Search::Reading Search::readLoop(Loop &L, bool Matrices, Sides Ways,
                                 std::unique_ptr<AssumedLoads> &Loads) {
  Reading X = readAs(false, L, Matrices, Ways, Loads);
  if (X.N.V.rule != RULE_VARIANT_EXTENT || Matrices || !takesTriangles())
    return X;
  Reading Y = readAs(true, L, Matrices, std::move(Ways), Loads);
  return Y.isPlanned() ? std::move(Y) : std::move(X);
}

// Code for the processor does.
bool Search::takesTriangles() const {
  return By != TakenBy::Call && (options_on_cpu(&O) || wantsCpuCode(O, F));
}

// Loads: those of an earlier reading of the loop of which nothing became; a
// reading that is planned takes them along.
Search::Reading Search::readAs(bool Triangle, Loop &L, bool Matrices,
                               Sides Ways,
                               std::unique_ptr<AssumedLoads> &Loads) {
  Reading X = {{}, findingOf(L), std::move(Ways)};
  X.What.L = &L;
  IRNest &Nest = X.What.Nest;
  verdict &V = X.N.V;
  if (Loads) {
    Loads->assumeAgain();
  } else {
    Loads = std::make_unique<AssumedLoads>(L, LI, SE, DT, AA);
    Loads->assume();
  }
  bool Read = Matrices   ? readMatrixLoop(L, LI, SE, DT, AA, A, Nest, V)
              : Triangle ? readTriangle(L, LI, SE, DT, AA, A, Nest, V, X.Ways)
                         : readNest(L, LI, SE, DT, AA, A, Nest, V, X.Ways);
  Loads->restore();
  assert(Read || V.diag.kind != DIAG_NONE);
  if (Read && Loads->canBeChecked(Nest, A, V))
    X.What.P = Planner.planOf(Nest, X.N);
  if (!X.isPlanned()) {
    dropRowPointers(Nest);
    return X;
  }
  X.What.Loads = std::move(Loads);
  X.What.TEIR = X.N.TEIR;
  return X;
}

// What may be taken with one side or the other of conditions that the nest
// does not change, X among it.  False: one that it needs is not among it.
bool Search::readSides(Reading X, function_ref<Reading(Sides)> Read,
                       std::vector<Reading> &All, int &Left) {
  auto Try = [&](const Sides &Ways, const Instruction &At, bool Side) {
    return Left-- > 0 && !Ways.isFull() &&
           readSides(Read(Sides(Ways, At, Side)), Read, All, Left);
  };
  Sides Ways = X.Ways;
  if (!X.isPlanned()) {
    const Instruction *At = isOfProduct(X.N.V.rule) ? nullptr : Ways.Open;
    bool Yes = At && Try(Ways, *At, true);
    return At && Try(Ways, *At, false) && Yes;
  }
  X.N.By += Ways.text();
  All.push_back(std::move(X));
  for (auto [At, Side] : SmallVector<Sides::Choice, 4>(Ways.Taken)) {
    Try(Ways, *At, !Side);
    if (Ways.isFull())
      break;
    Ways = Sides(Ways, *At, Side);
  }
  return true;
}

void Search::take(std::vector<Reading> All) {
  for (Reading &X : All) {
    Take.push_back(std::move(X.What));
    Found.push_back(std::move(X.N));
  }
}

void Search::visit(Loop &L) {
  unsigned Depth = depthOf(L);
  bool Matrices = holdsMatrixProduct(L);
  if (!Matrices && (Depth < 2 || isKept(L) || !addsUpProducts(L, LI, SE)))
    return;
  if (isSplit(L))
    return;
  if (isRepeating(L) || any_of(L.getLoopsInPreorder(), [](const Loop *Inner) {
        return isKept(*Inner);
      })) {
    for (Loop *Inner : reverse(L.getSubLoops()))
      visit(*Inner);
    return;
  }
  std::unique_ptr<AssumedLoads> Loads;
  auto Read = [&](Sides Ways) {
    return readLoop(L, Matrices, std::move(Ways), Loads);
  };
  Reading X = Read(Sides());
  Finding N = X.N;
  std::vector<Reading> All;
  int Left = ReadingsMax;
  if (readSides(std::move(X), Read, All, Left))
    return take(std::move(All));
  Loads.reset();
  if (!Matrices)
    Kept[&L] = N.V.rule;
  size_t Before = Found.size(), TakenBefore = Take.size();
  if (N.V.rule == RULE_BELOW_THRESHOLD) { // what is within is less
    addMissed(std::move(N), Before);
    return;
  }
  for (Loop *Inner : reverse(L.getSubLoops()))
    visit(*Inner);
  if (Matrices)
    visitStores(&L);
  if (!All.empty() && Take.size() == TakenBefore) {
    Found.resize(Before);
    return take(std::move(All));
  }
  addMissed(std::move(N), Before);
}

bool Search::isTakenIn(const Loop &L) const {
  return any_of(Take, [&](const Taken &T) {
    return T.L ? L.contains(T.L) || T.L->contains(&L) : L.contains(T.Old.First);
  });
}

// Of a nest that is kept, sums may be formed first all the same.  Before: the
// first finding in the outermost loop, of which nothing else is taken then.
// Each sum means to read all of the nest, so not many are tried.
bool Search::visitSums(Loop &L, size_t Before) {
  enum { TriesMax = 32 };
  auto Why = Kept.find(&L);
  if (!isTakenIn(L) && Why != Kept.end() && !isOfProduct(Why->second) &&
      L.getLoopPreheader() && exitOf(L).To) {
    FactorMoves Moves(LI, SE);
    const Loop *Unread = nullptr; // whichever of its sums
    SmallPtrSet<const Instruction *, 8> Unreadable;
    int Tries = 0;
    for (SumLoop &S : findSumLoops(L)) {
      if (S.L == Unread || (S.Sums.size() == 1 && Unreadable.count(S.Sums[0])))
        continue;
      bool May = mayFormMatrix(*S.L, L, Moves);
      if (May && takeSums(L, S, Before))
        return true;
      Tries += May;
      if (Tries == TriesMax)
        break;
      Unread = S.Around.empty() ? S.L : nullptr;
      Unreadable.insert(S.Unreadable.begin(), S.Unreadable.end());
    }
  }
  bool Any = false;
  for (Loop *Inner : reverse(L.getSubLoops()))
    Any |= visitSums(*Inner, Before);
  return Any;
}

// Code for the processor alone, and nobody asked for it at any size.
bool Search::mayNotPay(const Plan &P) const {
  return !P.Npu && !O.require && O.min_macs < 0;
}

// Sizes that the nest may write need not concern the sums.
Search::Taken Search::readSums(Loop &L, const SumLoop &S, Finding &N) {
  Finding Known = N;
  Taken X = readSumsAs(true, L, S, N);
  if (isPlanned(X.P) || X.First->Unchanged.empty())
    return X;
  N = std::move(Known);
  return readSumsAs(false, L, S, N);
}

// On one side of conditions: the rest of the nest is copied for each taking.
// Ask: whether it leaves sizes as they are.
Search::Taken Search::readSumsAs(bool Ask, Loop &L, SumLoop S, Finding &N) {
  Taken X = {{}, nullptr, {}, {}, &L, {}, {}};
  addArray(L, S);
  Sides Ways;
  X.Loads = std::make_unique<AssumedLoads>(L, LI, SE, DT, AA);
  append_range(S.Unchanged, X.Loads->assumeUnchanged(Ask));
  bool Read = readNest(L, LI, SE, DT, AA, A, X.Nest, N.V, Ways, &S);
  X.Loads->restore();
  X.P = Read ? Planner.planOf(X.Nest, N) : Plan();
  if (!isPlanned(X.P) || (mayNotPay(X.P) && cpuSumsNeverPay(F, *X.P.Cpu))) {
    X.P = Plan();
    dropRowPointers(X.Nest);
    dropArray(S);
  }
  X.TEIR = N.TEIR;
  X.First = std::move(S);
  return X;
}

// A matrix that is multiplied by a vector is read by the loop as well, if one
// of its sums is left there.
bool Search::leavesSums(Loop &L, const SumLoop &S) {
  return any_of(findSumLoops(L), [&](const SumLoop &Other) {
    if (Other.L != S.L || Other.Sums.size() != 1 || S.Sums.size() != 1 ||
        !isa<PHINode>(Other.Sums[0]) || Other.Sums == S.Sums)
      return false;
    Finding N;
    Taken X = readSums(L, Other, N);
    if (!isPlanned(X.P))
      return true;
    dropRowPointers(X.Nest);
    dropArray(*X.First);
    return false;
  });
}

bool Search::takeSums(Loop &L, SumLoop &S, size_t Before) {
  Finding N = findingOf(L);
  Taken X = readSums(L, S, N);
  if (!isPlanned(X.P)) {
    S = std::move(*X.First); // which says what could not be read
    return false;
  }
  if (mayNotPay(X.P) && cpuIsOfVector(*X.P.Cpu) && leavesSums(L, S)) {
    dropRowPointers(X.Nest);
    dropArray(*X.First);
    return false;
  }
  N.By += " for its sums, which its other code reads";
  Found.erase(std::remove_if(
                  Found.begin() + (ptrdiff_t)Before, Found.end(),
                  [](const Finding &Old) { return Old.V.rule != RULE_TAKEN; }),
              Found.end());
  Take.push_back(std::move(X));
  Found.push_back(std::move(N));
  return true;
}

// One finding per nest that is kept: the inner loops' when one of them is
// taken or came further than the whole.
void Search::addMissed(Finding N, size_t Before) {
  bool Further = false;
  assert(Before <= Found.size() && N.V.rule != RULE_TAKEN);
  for (size_t I = Before; I < Found.size(); I++) {
    rule R = Found[I].V.rule;
    Further |= R == RULE_TAKEN || (!isWeak(R) && R > N.V.rule);
  }
  for (size_t I = Before; Further && I < Found.size(); I++)
    if (Found[I].Around.diag.kind == DIAG_NONE)
      Found[I].Around = N.V;
  if (Further)
    return;
  Found.resize(Before);
  Found.push_back(std::move(N));
}

} // namespace nputeir
