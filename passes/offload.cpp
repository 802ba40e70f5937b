// offload.cpp -- the pass: every nest of a function, outermost first.
//
// A function without a loop in a loop that multiplies what it loads costs a
// walk over its blocks and nothing else.  Any other is copied, and the copy is
// brought into the shape that the reader needs (memory to registers, counters
// widened); only when a nest of the copy is taken does it become the function.
// The copy is analysed with managers of our own, so that nothing of this is
// left behind in the compiler's.
#include "assume.h"
#include "copied_inputs.h"
#include "copy_loops.h"
#include "digits.h"
#include "ir_candidates.h"
#include "ir_copy.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_matrix.h"
#include "ir_moves.h"
#include "ir_results.h"
#include "ir_sums.h"
#include "lower_cpu.h"
#include "matrix.h"
#include "plan_nest.h"
#include "sides.h"
#include "split_nests.h"
#include "sum_loops.h"
#include "versions.h"
#include "worth.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

#include <memory>
#include <optional>

using namespace llvm;

namespace nputeir {
namespace {

// Each is found in the code that the one before leaves.
enum { SumsPerNest = 4, SplitsPerNest = 4, CopiesPerFunction = 8 };
enum { ReadingsMax = 12 }; // of a nest, with one side or the other

// Reads every nest before it rewrites the first, so that what is known about a
// nest does not depend on the branches in front of those before it, and the
// work grows with the number of loops.
class Search {
  struct Taken {
    IRNest Nest;
    std::unique_ptr<AssumedLoads> Loads; // null: no loop
    Plan P;
    std::string TEIR;
    Loop *L; // null: Old is known already
    Region Old;
    std::optional<SumLoop> First; // what is taken of the loop; nothing: all
  };

  Function &F;
  const options &O;
  LoopInfo &LI;
  ScalarEvolution &SE;
  DominatorTree &DT;
  AAResults &AA;
  arena *A;
  bool MayTake;
  NestPlanner Planner;
  std::vector<Taken> Take;
  DenseMap<const Loop *, rule> Kept; // why

public:
  std::vector<Finding> Found;
  SmallVector<int, 2> Copies; // the numbers of loops that a call leaves out

  Search(Copy &C, const options &O, TakenBy By, FunctionAnalysisManager &FAM,
         arena *A)
      : F(C.function()), O(O), LI(FAM.getResult<LoopAnalysis>(F)),
        SE(FAM.getResult<ScalarEvolutionAnalysis>(F)),
        DT(FAM.getResult<DominatorTreeAnalysis>(F)),
        AA(FAM.getResult<AAManager>(F)), A(A), MayTake(C.canReplace()),
        Planner(F, O, By, A, MayTake) {}

  void run() {
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

  bool anyTaken() const { return !Take.empty(); }
  bool leavesCpu() const { return Planner.leavesCpu(); }
  // Of a nest, not only what it was.
  bool leavesCode() const {
    return any_of(Take, [](const Taken &T) { return T.First.has_value(); });
  }

  // Where: the name of the function in messages.
  void rewrite(StringRef Where) {
    assert(MayTake || Take.empty());
    for (Taken &T : Take) {
      assert(!T.TEIR.empty() &&
             (T.L != nullptr) == (T.Loads || T.First.has_value()));
      if (T.First) {
        rewriteSums(*T.L, *T.First, LI, SE, DT, T.Nest, T.P, O, T.TEIR, Where);
        continue;
      }
      if (T.L) {
        assert(T.L->getLoopPreheader() && exitOf(*T.L).To);
        T.Loads->compute(T.Nest);
        checkRowPointers(*T.L, LI, SE, DT, T.Nest);
        checkZeroSkips(*T.L, LI, SE, DT, T.Nest);
        T.Old = {T.L->getLoopPreheader(), T.L->getHeader(), exitOf(*T.L).To,
                 T.L->getStartLoc()};
        markKept(*T.L);
      }
      rewriteNest(T.Old, LI, SE, DT, T.Nest, T.P, O, T.TEIR, Where);
    }
  }

  // One call for a product and the copy that it reads, in front of both; false:
  // there is no such product, or nothing is to be changed.
  bool replaceCopied(ArrayRef<const Function *> Same,
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

private:
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

  static unsigned depthOf(const Loop &L) {
    unsigned Deepest = 0;
    for (const Loop *Inner : L.getSubLoops())
      Deepest = std::max(Deepest, depthOf(*Inner));
    return Deepest + 1;
  }

  // Code within one block, which gets a block of its own.
  Region split(Instruction &First, Instruction &Last) {
    BasicBlock *Entry = First.getParent();
    BasicBlock *Code = SplitBlock(Entry, &First, &DT, &LI);
    BasicBlock *After = SplitBlock(Code, Last.getNextNode(), &DT, &LI);
    return {Entry, Code, After, Last.getDebugLoc()};
  }

  // What is read from the code between First and Last.
  void conclude(Finding N, IRNest Nest, bool Read, Instruction *First,
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

  void visit(CallInst &Call) {
    Finding N = findingOf(Call);
    IRNest Nest;
    bool Read = readCall(Call, SE, AA, A, Nest, N.V);
    conclude(std::move(N), std::move(Nest), Read, &Call, Call);
  }

  // Matrices that are stored in L, but not in a loop within L.
  void visitStores(Loop *L) {
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

  struct Reading {
    Taken What;
    Finding N;
    Sides Ways;
    bool isPlanned() const { return nputeir::isPlanned(What.P); }
  };

  // The same of a loop whose sizes in memory do not change.
  Reading readLoop(Loop &L, bool Matrices, Sides Ways) {
    Reading X = {{}, findingOf(L), std::move(Ways)};
    X.What.L = &L;
    IRNest &Nest = X.What.Nest;
    auto Loads = std::make_unique<AssumedLoads>(L, LI, SE, DT, AA);
    verdict &V = X.N.V;
    Loads->assume();
    bool Read = Matrices ? readMatrixLoop(L, LI, SE, DT, AA, A, Nest, V)
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
  bool readSides(Reading X, function_ref<Reading(Sides)> Read,
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

  void take(std::vector<Reading> All) {
    for (Reading &X : All) {
      Take.push_back(std::move(X.What));
      Found.push_back(std::move(X.N));
    }
  }

  void visit(Loop &L) {
    unsigned Depth = depthOf(L);
    bool Matrices = holdsMatrixProduct(L);
    if (!Matrices && (Depth < 2 || isKept(L) || !addsUpProducts(L, LI, SE)))
      return;
    if (isSplit(L))
      return;
    if (any_of(L.getLoopsInPreorder(),
               [](const Loop *Inner) { return isKept(*Inner); })) {
      for (Loop *Inner : reverse(L.getSubLoops()))
        visit(*Inner);
      return;
    }
    auto Read = [&](Sides Ways) {
      return readLoop(L, Matrices, std::move(Ways));
    };
    Reading X = Read(Sides());
    Finding N = X.N;
    std::vector<Reading> All;
    int Left = ReadingsMax;
    if (readSides(std::move(X), Read, All, Left))
      return take(std::move(All));
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

  bool isTakenIn(const Loop &L) const {
    return any_of(Take, [&](const Taken &T) {
      return T.L ? L.contains(T.L) || T.L->contains(&L)
                 : L.contains(T.Old.First);
    });
  }

  // Of a nest that is kept, sums may be formed first all the same.  Before: the
  // first finding in the outermost loop, of which nothing else is taken then.
  bool visitSums(Loop &L, size_t Before) {
    auto Why = Kept.find(&L);
    if (!isTakenIn(L) && Why != Kept.end() && !isOfProduct(Why->second) &&
        L.getLoopPreheader() && exitOf(L).To) {
      FactorMoves Moves(LI, SE);
      const Loop *Unread = nullptr; // whichever of its sums
      for (SumLoop &S : findSumLoops(L)) {
        if (S.L != Unread && mayFormMatrix(*S.L, L, Moves) &&
            takeSums(L, S, Before))
          return true;
        Unread = S.Around.empty() ? S.L : nullptr;
      }
    }
    bool Any = false;
    for (Loop *Inner : reverse(L.getSubLoops()))
      Any |= visitSums(*Inner, Before);
    return Any;
  }

  static bool mayFormMatrix(const Loop &L, const Loop &Outermost,
                            FactorMoves &Moves) {
    return any_of(L.blocks(), [&](const BasicBlock *B) {
      return any_of(*B, [&](const Instruction &I) {
        return isSumOfProduct(I) && Moves.mayFormMatrix(I, Outermost);
      });
    });
  }

  // On one side of conditions: the rest of the nest is copied for each taking.
  bool takeSums(Loop &L, SumLoop &S, size_t Before) {
    Finding N = findingOf(L);
    IRNest Nest;
    addArray(L, S);
    Sides Ways;
    bool Read = readNest(L, LI, SE, DT, AA, A, Nest, N.V, Ways, &S);
    Plan P = Read ? Planner.planOf(Nest, N) : Plan();
    if (!isPlanned(P)) {
      dropRowPointers(Nest);
      dropArray(S);
      return false;
    }
    N.By += " for its sums, which its other code reads";
    Found.erase(std::remove_if(Found.begin() + (ptrdiff_t)Before, Found.end(),
                               [](const Finding &Old) {
                                 return Old.V.rule != RULE_TAKEN;
                               }),
                Found.end());
    Take.push_back({std::move(Nest), nullptr, P, N.TEIR, &L, {}, std::move(S)});
    Found.push_back(std::move(N));
    return true;
  }

  // One finding per nest that is kept: the inner loops' when one of them is
  // taken or came further than the whole.
  void addMissed(Finding N, size_t Before) {
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
};

} // namespace

void OffloadPass::tell(Function &F, ArrayRef<Finding> Found) {
  for (const Finding &N : Found) {
    if (D->Print) {
      print(F, N, outs());
      continue;
    }
    remark(F, N);
    Log->add(F, N);
  }
}

// Of C, which is to become a function of that name.
bool OffloadPass::replaceNests(Copy &C, const options &O, TakenBy By,
                               StringRef Name, std::vector<Finding> &Found,
                               arena *A, bool *LeavesCpu) {
  // What has read its first sums may have others.
  bool Changed = false, Again = true;
  for (unsigned Round = 0; Again && Round < SumsPerNest; Round++) {
    Search S(C, O, By, Own->FAM, A);
    S.run();
    bool Any = S.anyTaken() && !D->Print;
    if (Any)
      S.rewrite(Name);
    Changed |= Any;
    if (LeavesCpu)
      *LeavesCpu |= S.leavesCpu();
    Again = Any && S.leavesCode();
    for (Finding &N : S.Found)
      if (Round == 0 || N.V.rule == RULE_TAKEN)
        Found.push_back(std::move(N));
    Own->FAM.clear(C.function(), "");
    if (Again)
      simplifyLoops(C.function(), Own->FAM);
  }
  // The function may be dropped, and another one get its address.
  Own->FAM.clear(C.function(), "");
  return Changed;
}

// Nests that were kept are split, where that brings out what is replaced then.
// What was split in vain is left out the second time.
bool OffloadPass::splitAndReplace(Copy &C, const options &O, TakenBy By,
                                  StringRef Name, std::vector<Finding> &Found,
                                  arena *A) {
  bool Changed = false;
  DenseSet<int> InVain;
  for (unsigned Try = 0; Try < SplitsPerNest; Try++) {
    if (!C.canReplace() ||
        none_of(Found, [](const Finding &N) { return mayBeSplit(N.V.rule); }))
      return Changed;
    Copy Parts(C.function());
    bool HasCpu = options_on_cpu(&O) || wantsCpuCode(O, C.function());
    std::vector<SplitNest> Split =
        splitNests(Parts.function(), Own->FAM, InVain, HasCpu);
    if (Split.empty())
      return Changed;
    Own->tidy(Parts.function());
    std::vector<Finding> New;
    bool Any = replaceNests(Parts, O, By, Name, New, A);
    auto IsTaken = [&](const SplitNest &S) {
      return any_of(New, [&](const Finding &N) {
        return N.V.rule == RULE_TAKEN && S.Loops.count(N.Loop);
      });
    };
    bool Good = true;
    for (const SplitNest &S : Split)
      if (!IsTaken(S)) {
        InVain.insert(S.Outermost);
        Good = false;
      }
    if (!Good)
      continue;
    assert(Any || D->Print);
    for (const SplitNest &S : Split)
      erase_if(Found, [&](const Finding &N) {
        return N.V.rule != RULE_TAKEN && S.Loops.count(N.Loop);
      });
    for (Finding &N : New)
      if (N.V.rule == RULE_TAKEN && !N.IsUntold)
        Found.push_back(std::move(N));
    if (D->Print)
      return Changed; // of what would be left, nothing is known
    Parts.replace();
    Own->FAM.clear(C.function(), "");
    Changed |= Any;
  }
  return Changed;
}

// The same before a loop of a nest is taken alone; a whole rectangle must be.
bool OffloadPass::cutAndReplace(Copy &C, const options &O, TakenBy By,
                                StringRef Name, std::vector<Finding> &Found,
                                arena *A) {
  if (!C.canReplace() || !hasTriangleSums(C.function(), Own->FAM))
    return false;
  DenseSet<int> InVain;
  for (unsigned Try = 0; Try < SplitsPerNest; Try++) {
    Copy Parts(C.function());
    auto Split = splitSymmetricProducts(Parts.function(), Own->FAM, InVain);
    if (!Split.empty())
      Own->tidy(Parts.function());
    for (SplitNest &S : splitTriangleSums(Parts.function(), Own->FAM, InVain))
      Split.push_back(std::move(S));
    if (Split.empty())
      return false;
    Own->tidy(Parts.function());
    std::vector<Finding> New;
    replaceNests(Parts, O, D->Print ? TakenBy::Any : By, Name, New, A);
    size_t Before = InVain.size();
    for (const SplitNest &S : Split)
      if (none_of(New, [&](const Finding &N) {
            return N.V.rule == RULE_TAKEN && N.Loop == S.Outermost;
          }))
        InVain.insert(S.Outermost);
    if (InVain.size() != Before)
      continue;
    Found = std::move(New);
    if (!D->Print)
      Parts.replace();
    Own->FAM.clear(C.function(), "");
    return true;
  }
  return false;
}

// Sums as long as their row are cut before, others split behind.
bool OffloadPass::takeProducts(Copy &C, const options &O, TakenBy By,
                               StringRef Name, std::vector<Finding> &Found,
                               arena *A, bool &LeavesCpu) {
  bool Cut = By != TakenBy::Any && cutAndReplace(C, O, By, Name, Found, A);
  LeavesCpu |= Cut; // of what has been cut, that is not known
  bool Changed = Cut ? !D->Print
                     : replaceNests(C, O, D->Print ? TakenBy::Any : By, Name,
                                    Found, A, &LeavesCpu);
  return splitAndReplace(C, O, By, Name, Found, A) || Changed;
}

// Same: what C was copied from, and what that was.
bool OffloadPass::replaceCopied(Copy &C, ArrayRef<const Function *> Same,
                                const options &O, std::vector<Finding> &Found,
                                arena *A) {
  bool Any = false, Again = true;
  for (unsigned Round = 0; Again && Round < CopiesPerFunction; Round++) {
    Own->FAM.clear(C.function(), "");
    simplifyLoops(C.function(), Own->FAM);
    if (joinQuotients(C.function(),
                      Own->FAM.getResult<ScalarEvolutionAnalysis>(C.function()),
                      Own->FAM.getResult<DominatorTreeAnalysis>(C.function())))
      Own->FAM.clear(C.function(), "");
    Search S(C, O, TakenBy::Call, Own->FAM, A);
    StringRef Name = Same.front()->getName();
    Again = S.replaceCopied(Same, Own->FAM, Name, !D->Print);
    Any |= Again || (D->Print && !S.Found.empty());
    erase_if(Found, [&](const Finding &N) {
      return N.V.rule != RULE_TAKEN && N.Loop >= 0 &&
             is_contained(S.Copies, N.Loop);
    });
    Found.insert(Found.end(), S.Found.begin(), S.Found.end());
  }
  Own->FAM.clear(C.function(), "");
  return Any;
}

// First where loops of copies are brought into the order of what they copy,
// which is for nothing where the copy is kept.
bool OffloadPass::replaceCopied(Copy &C, const Function &F, const options &O,
                                std::vector<Finding> &Found, arena *A) {
  if (options_on_cpu(&O) || !C.canReplace() || !mayReadCopies(C.function()))
    return false;
  if (mayOrderCopies(C.function())) {
    Copy Ordered(C.function());
    orderCopies(Ordered.function(), Own->FAM);
    if (replaceCopied(Ordered, {&F, &C.function()}, O, Found, A)) {
      if (!D->Print)
        Ordered.replace();
      Own->FAM.clear(C.function(), "");
      return !D->Print;
    }
  }
  return replaceCopied(C, {&F}, O, Found, A) && !D->Print;
}

PreservedAnalyses OffloadPass::run(Function &F, FunctionAnalysisManager &FAM) {
  if (isExcluded(F))
    return PreservedAnalyses::all();
  ArenaScope Scope;
  options O;
  diag Problem = {};
  if (!parseSources(*D, Scope.A, O, &Problem)) {
    if (!D->Reported)
      F.getContext().emitError(Problem.text);
    D->Reported = true;
    return PreservedAnalyses::all();
  }
  // Of all functions, only those with a nest can be asked for one.
  bool Everywhere = O.require;
  O.require = false;
  if (!addAnnotations(F, Scope.A, O, &Problem)) {
    F.getContext().emitError(Problem.text);
    return PreservedAnalyses::all();
  }
  if (O.off) {
    if (!D->Print)
      switchOff(F);
    return D->Print ? PreservedAnalyses::all() : PreservedAnalyses::none();
  }
  std::vector<Finding> Found;
  bool Changed = false;
  auto IsLeft = [](const Finding &N) { return N.V.rule != RULE_TAKEN; };
  unsigned Least = wantsCpuCode(O, F) || options_on_cpu(&O) ? 2 : 3;
  if (hasSums(F, Least, FAM, Found) || any_of(instructions(F), saysProduct)) {
    if (!Own)
      Own = std::make_shared<Canonical>();
    Copy C(F);
    Own->run(C.function());
    options Asked = O; // what must be replaced is, however small
    Asked.require |= Everywhere;
    Own->number(C.function());
    bool OnCpu = options_on_cpu(&Asked), LeavesCpu = false;
    TakenBy First = OnCpu ? TakenBy::Matrix : TakenBy::Call;
    Changed =
        takeProducts(C, Asked, First, F.getName(), Found, Scope.A, LeavesCpu);
    auto TakeLeft = [&](TakenBy By) {
      if (Changed)
        simplifyLoops(C.function(), Own->FAM);
      std::vector<Finding> Left;
      if (takeProducts(C, Asked, By, F.getName(), Left, Scope.A, LeavesCpu)) {
        Changed = true;
        erase_if(Found, IsLeft);
        Found.insert(Found.end(), Left.begin(), Left.end());
      }
    };
    if (!D->Print && (OnCpu || wantsCpuCode(Asked, F)) &&
        any_of(Found, IsLeft) && (Changed || LeavesCpu)) {
      if (!OnCpu)
        TakeLeft(TakenBy::Matrix);
      TakeLeft(TakenBy::Any);
    }
    Changed |= replaceCopied(C, F, Asked, Found, Scope.A);
    if (Changed) {
      removeBarriers(C.function());
      C.replace();
      dropMemoryPromises(F);
    }
  }
  tell(F, Found);
  auto IsProduct = [](const Finding &N) { return N.V.rule != RULE_NO_PRODUCT; };
  if ((O.require || (Everywhere && any_of(Found, IsProduct))) && !D->Print)
    demand(F, Found);
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace nputeir
