// offload.cpp -- the pass: every nest of a function, outermost first.
//
// A function without a loop in a loop that multiplies what it loads costs a
// walk over its blocks and nothing else.  Any other is copied, and the copy is
// brought into the shape that the reader needs (memory to registers, counters
// widened); only when a nest of the copy is taken does it become the function.
// The copy is analysed with managers of our own, so that nothing of this is
// left behind in the compiler's.
#include "offload.h"
#include "arena_scope.h"
#include "complex_parts.h"
#include "copied_inputs.h"
#include "copy_loops.h"
#include "lower_cpu.h"
#include "search.h"
#include "shared_variables.h"
#include "split_nests.h"
#include "switch_off.h"
#include "versions.h"
#include "worth.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

using namespace llvm;

namespace nputeir {

// Each is found in the code that the one before leaves.
enum { SumsPerNest = 4, SplitsPerNest = 4, CopiesPerFunction = 8 };
// Products, as clang's code is as fast below: of a block of results, and of the
// real or imaginary parts of numbers.
enum { BlockLeast = 256, MemberLeast = 1 << 16 };

static bool isLeft(const Finding &N) { return N.V.rule != RULE_TAKEN; }

static bool mayBeTaken(const Finding &N) { return isLeft(N) && !N.IsBeside; }

// Beside what is taken of a nest: another product, not what ends its sums.
static bool isProductLeft(const Finding &N) {
  return isLeft(N) && N.V.rule != RULE_NO_PRODUCT &&
         (N.Depth >= 3 || N.Around.diag.kind != DIAG_NONE);
}

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
                               arena *A, bool &LeavesCpu) {
  // What has read its first sums may have others.
  std::vector<Finding> Here;
  DenseSet<int> Kept;
  bool Changed = false, Again = true;
  for (unsigned Round = 0; Again && Round < SumsPerNest; Round++) {
    Search S(C, O, By, Own->FAM, A);
    S.run();
    bool Any = S.anyTaken() && !D->Print;
    if (Any)
      S.rewrite(Name);
    Changed |= Any;
    LeavesCpu |= S.leavesCpu();
    Again = Any && S.leavesCode();
    // The last round says why nests are kept, and what is left of others.
    for (const Finding &N : Here)
      if (isLeft(N))
        Kept.insert(N.Loop);
    erase_if(Here, isLeft);
    for (Finding &N : S.Found)
      if (Round == 0 || !isLeft(N) || Kept.count(N.Loop) || isProductLeft(N))
        Here.push_back(std::move(N));
    Own->FAM.clear(C.function(), "");
    if (Again)
      simplifyLoops(C.function(), Own->FAM);
  }
  std::move(Here.begin(), Here.end(), std::back_inserter(Found));
  // The function may be dropped, and another one get its address.
  Own->FAM.clear(C.function(), "");
  return Changed;
}

// Nests that were kept are split, where that brings out what is replaced then.
// What was split in vain is left out the second time.
bool OffloadPass::splitAndReplace(Copy &C, const options &O, TakenBy By,
                                  StringRef Name, std::vector<Finding> &Found,
                                  arena *A, bool &LeavesCpu) {
  bool Changed = false;
  DenseSet<int> InVain;
  for (unsigned Try = 0; Try < SplitsPerNest; Try++) {
    if (!C.canReplace() || none_of(Found, [](const Finding &N) {
          return !N.IsBeside &&
                 (mayBeSplit(N.V.rule) || mayBeSplit(N.OnCpu.rule));
        }))
      return Changed;
    Copy Parts(C.function());
    Own->begin(Parts.function());
    bool HasCpu = options_on_cpu(&O) || wantsCpuCode(O, C.function());
    TakenBy Here = D->Print ? TakenBy::Any : By;
    int64_t Least = O.min_macs < 0 ? MemberLeast : 0;
    std::vector<SplitNest> Split =
        splitNests(Parts.function(), Own->FAM, InVain, Least, HasCpu,
                   Here == TakenBy::Any);
    if (Split.empty())
      return Changed;
    Own->tidy(Parts.function());
    std::vector<Finding> New;
    bool Any = replaceNests(Parts, O, Here, Name, New, A, LeavesCpu);
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
    for (Finding &N : New) {
      N.IsBeside = isProductLeft(N) && any_of(Split, [&](const SplitNest &S) {
                     return S.Loops.count(N.Loop) > 0;
                   });
      if (N.IsBeside || (!isLeft(N) && !N.IsUntold))
        Found.push_back(std::move(N));
    }
    if (D->Print)
      return Changed; // of what would be left, nothing is known
    Parts.replace();
    Own->FAM.clear(C.function(), "");
    Changed |= Any;
  }
  return Changed;
}

// The same before a loop of a nest, or the whole, is taken alone; a whole
// rectangle, or round, must be.
bool OffloadPass::cutAndReplace(Copy &C, const options &O, TakenBy By,
                                StringRef Name, std::vector<Finding> &Found,
                                arena *A, bool &LeavesCpu) {
  if (!C.canReplace() || !mayBeCut(C.function(), Own->FAM))
    return false;
  DenseSet<int> InVain;
  for (unsigned Try = 0; Try < SplitsPerNest; Try++) {
    Copy Parts(C.function());
    Own->begin(Parts.function());
    auto Split = splitSymmetricProducts(Parts.function(), Own->FAM, InVain);
    if (!Split.empty())
      Own->tidy(Parts.function());
    for (SplitNest &S : cutNests(Parts.function(), Own->FAM, InVain,
                                 O.min_macs == 0 ? 0 : BlockLeast))
      Split.push_back(std::move(S));
    if (Split.empty())
      return false;
    Own->tidy(Parts.function());
    std::vector<Finding> New;
    replaceNests(Parts, O, D->Print ? TakenBy::Any : By, Name, New, A,
                 LeavesCpu);
    size_t Before = InVain.size();
    for (const SplitNest &S : Split)
      if (none_of(New, [&](const Finding &N) {
            return N.V.rule == RULE_TAKEN && N.Loop == S.Outermost &&
                   !N.IsUntold;
          }))
        InVain.insert(S.Outermost);
    if (InVain.size() != Before)
      continue;
    erase_if(New, [](const Finding &N) { return N.IsUntold; });
    Found = std::move(New);
    if (!D->Print)
      Parts.replace();
    Own->FAM.clear(C.function(), "");
    return true;
  }
  return false;
}

// Sums as long as their row, or scattered, are cut before, others split behind.
bool OffloadPass::takeProducts(Copy &C, const options &O, TakenBy By,
                               StringRef Name, std::vector<Finding> &Found,
                               arena *A, bool &LeavesCpu) {
  bool Cut =
      By != TakenBy::Any && cutAndReplace(C, O, By, Name, Found, A, LeavesCpu);
  LeavesCpu |= Cut; // of what has been cut, that is not known
  bool Changed = Cut ? !D->Print
                     : replaceNests(C, O, D->Print ? TakenBy::Any : By, Name,
                                    Found, A, LeavesCpu);
  if (!splitAndReplace(C, O, By, Name, Found, A, LeavesCpu))
    return Changed;
  // Beside a product may have stood what is cut.
  if (By != TakenBy::Any &&
      any_of(Found, [](const Finding &N) { return N.IsBeside; })) {
    simplifyLoops(C.function(), Own->FAM);
    std::vector<Finding> Left;
    if (cutAndReplace(C, O, By, Name, Left, A, LeavesCpu)) {
      LeavesCpu = true;
      erase_if(Found, isLeft);
      std::move(Left.begin(), Left.end(), std::back_inserter(Found));
    }
  }
  return true;
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
    Own->begin(Ordered.function());
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
  bool Changed = false, HasSplit = splitResults(F);
  unsigned Least = wantsCpuCode(O, F) || options_on_cpu(&O) ? 2 : 3;
  if (hasSums(F, Least, FAM, Found) || any_of(instructions(F), saysProduct)) {
    if (!Own)
      Own = std::make_shared<Canonical>();
    Copy C(F);
    Own->begin(C.function());
    markSharedVariables(F, C.function());
    Own->run(C.function());
    options Asked = O; // what must be replaced is, however small
    Asked.require |= Everywhere;
    Own->number(C.function());
    bool OnCpu = options_on_cpu(&Asked), LeavesCpu = false;
    bool Calls =
        !OnCpu && mayBeCalled(Asked, C.function(),
                              Own->FAM.getResult<LoopAnalysis>(C.function()));
    TakenBy First = Calls ? TakenBy::Call : TakenBy::Matrix;
    Changed =
        takeProducts(C, Asked, First, F.getName(), Found, Scope.A, LeavesCpu);
    auto TakeLeft = [&](TakenBy By) {
      if (Changed)
        simplifyLoops(C.function(), Own->FAM);
      std::vector<Finding> Left;
      if (takeProducts(C, Asked, By, F.getName(), Left, Scope.A, LeavesCpu)) {
        Changed = true;
        erase_if(Found, isLeft);
        Found.insert(Found.end(), Left.begin(), Left.end());
      }
    };
    if (!D->Print && (OnCpu || wantsCpuCode(Asked, F))) {
      if (Calls && any_of(Found, mayBeTaken) && (Changed || LeavesCpu))
        TakeLeft(TakenBy::Matrix);
      auto Has = [&](rule R) {
        return any_of(Found, [R](const Finding &N) { return N.V.rule == R; });
      };
      if ((any_of(Found, mayBeTaken) && (Changed || LeavesCpu)) ||
          Has(RULE_DIRECTIONS) || // a copy of a vector, if not of a matrix
          ((Has(RULE_EXTRA_STORE) || Has(RULE_LIVE_OUT) ||
            Has(RULE_OVERLAPS_SELF) || Has(RULE_NOT_PRODUCT_SUM)) &&
           hasVectorsBeside(C.function(), Own->FAM)))
        TakeLeft(TakenBy::Any);
    }
    Changed |= replaceCopied(C, F, Asked, Found, Scope.A);
    if (Changed) {
      removeBarriers(C.function());
      forgetHeld(C.function());
      C.replace();
      dropMemoryPromises(F);
      if (D->IsAlone)
        defineChecks(*F.getParent());
    }
  }
  erase_if(Found, [](const Finding &N) { return N.IsUntold; });
  tell(F, Found);
  auto IsProduct = [](const Finding &N) { return N.V.rule != RULE_NO_PRODUCT; };
  if ((O.require || (Everywhere && any_of(Found, IsProduct))) && !D->Print)
    demand(F, Found);
  PreservedAnalyses Kept = Changed || HasSplit ? PreservedAnalyses::none()
                                               : PreservedAnalyses::all();
  if (!Changed)
    Kept.preserveSet<CFGAnalyses>();
  return Kept;
}

} // namespace nputeir
