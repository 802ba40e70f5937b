// inline_helpers.cpp -- functions that do a part of a product for their caller
// are inlined before they are looked at themselves:
//
//     static void dense(x, w, y) { for o, i:  y[o] += w[o][i] * x[i]; }
//     for n:  dense(x + n * in, w, y + n * out);
//
// Alone, that is a product of a matrix and a vector for each n, or a block of a
// product.  A call in a loop is inlined if the function is small, or that is
// the only call of it, which compilers inline anyway, though later: when the
// function has been rewritten.
#include "inline_helpers.h"
#include "arena_scope.h"
#include "ir_sums.h"
#include "options.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { CallsMax = 4, SmallMax = 64, OnlyMax = 400 }; // instructions

// A definition that may stand for the call, and be inlined.
bool mayBeHelper(const Function &F) {
  return !F.isDeclaration() && F.hasExactDefinition() && !F.isVarArg() &&
         !F.hasOptNone() && !F.hasFnAttribute(Attribute::NoInline) &&
         !F.hasFnAttribute(Attribute::AlwaysInline) &&
         F.getInstructionCount() <= OnlyMax;
}

// What a caller that calls itself would have once for each time, and whoever
// inlines anyway leaves alone then.
bool needsLittleStack(const Function &F) {
  enum { BytesMax = 1024 };
  uint64_t Bytes = 0;
  for (const Instruction &I : instructions(F))
    if (const auto *A = dyn_cast<AllocaInst>(&I)) {
      const auto *Count = dyn_cast<ConstantInt>(A->getArraySize());
      if (!Count || Count->getValue().ugt(BytesMax))
        return false;
      Bytes += Count->getZExtValue() *
               F.getParent()->getDataLayout().getTypeAllocSize(
                   A->getAllocatedType());
    }
  return Bytes <= BytesMax;
}

// The loops around a sum of products in F, at most.  Most functions have none,
// which is seen without an analysis.
unsigned depthOfSums(Function &F, FunctionAnalysisManager &FAM) {
  if (none_of(instructions(F), isSumOfProduct))
    return 0;
  auto &LI = FAM.getResult<LoopAnalysis>(F);
  unsigned Depth = 0;
  for (const BasicBlock &B : F)
    if (LI.getLoopDepth(&B) > Depth && any_of(B, isSumOfProduct))
      Depth = LI.getLoopDepth(&B);
  return Depth;
}

// Another function makes something in L for a product that is whole without it,
// as of a convolution's input (im2col): it is read in the callee's own place.
bool prepares(const Loop &L, const CallBase &Call) {
  return any_of(L.blocks(), [&](const BasicBlock *B) {
    return any_of(*B, [&](const Instruction &I) {
      const auto *Other = dyn_cast<CallBase>(&I);
      return Other && Other != &Call && !isa<IntrinsicInst>(Other) &&
             Other->mayWriteToMemory();
    });
  });
}

// F's code is what it would be in Caller: whoever inlines it asks no more.
bool isAlike(const Function &F, const Function &Caller) {
  auto IsSame = [&](StringRef Name) {
    return F.getFnAttribute(Name) == Caller.getFnAttribute(Name);
  };
  return AttributeFuncs::areInlineCompatible(Caller, F) &&
         IsSame("target-cpu") && IsSame("target-features");
}

// The calls of F in each iteration of loops; false: there are too many for its
// size.
bool findCalls(Function &F, bool IsWhole, FunctionAnalysisManager &FAM,
               SmallVectorImpl<CallBase *> &Calls) {
  bool IsOnly = F.hasLocalLinkage() && F.hasOneUse();
  if (!IsOnly && F.getInstructionCount() > SmallMax)
    return false;
  for (const Use &U : F.uses()) {
    auto *Call = dyn_cast<CallInst>(U.getUser());
    Function *Caller = Call ? Call->getFunction() : nullptr;
    if (!Caller || !Call->isCallee(&U) || Caller == &F ||
        Call->isMustTailCall() || Call->isNoInline() || Caller->hasOptNone() ||
        Caller->hasOptSize() || !isAlike(F, *Caller))
      continue;
    const Loop *L =
        FAM.getResult<LoopAnalysis>(*Caller).getLoopFor(Call->getParent());
    const BasicBlock *End = L ? L->getLoopLatch() : nullptr;
    if (End &&
        FAM.getResult<DominatorTreeAnalysis>(*Caller).dominates(
            Call->getParent(), End) &&
        !(IsWhole && prepares(*L, *Call)))
      Calls.push_back(Call);
  }
  return Calls.size() <= CallsMax;
}

} // namespace

PreservedAnalyses InlineHelpersPass::run(Module &M,
                                         ModuleAnalysisManager &MAM) {
  ArenaScope Scope;
  options O;
  diag Problem = {};
  OptionSources Sources;
  if (!parseSources(Sources, Scope.A, O, &Problem) || O.off)
    return PreservedAnalyses::all(); // who is asked next says what is wrong
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  for (Function &F : M) {
    SmallVector<CallBase *, CallsMax> Calls;
    unsigned Depth = mayBeHelper(F) ? depthOfSums(F, FAM) : 0;
    if (Depth > 0 && needsLittleStack(F) && findCalls(F, Depth > 2, FAM, Calls))
      for (CallBase *Call : Calls)
        Call->addFnAttr(Attribute::AlwaysInline);
  }
  return PreservedAnalyses::all();
}

} // namespace nputeir
