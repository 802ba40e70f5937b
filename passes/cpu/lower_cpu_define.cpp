// lower_cpu_define.cpp -- at the end of the pipeline, declarations get their
// code: those in front of nests first, which call others.
#include "arena_scope.h"
#include "check_functions.h"
#include "lower_cpu.h"
#include "row_functions.h"

#include "lower_cpu_code.h"

#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace nputeir {
namespace {

// The weak reference was compared with null, which it no longer is.
void foldComparisons(Function &F) {
  SmallVector<User *, 8> Users(F.users());
  for (User *U : Users)
    if (auto *I = dyn_cast<ICmpInst>(U))
      replaceAndRecursivelySimplify(
          I, ConstantInt::getBool(I->getType(),
                                  I->getPredicate() == CmpInst::ICMP_NE));
}

// The program has it once, for all processors.
void defineShared(Function &F, function_ref<void(Function &)> Write) {
  Module &M = *F.getParent();
  std::string Name = F.getName().str() + "." + CPU_CODE;
  Function *Shared = madeBefore(M, Name);
  if (!Shared) {
    Shared = sharedFunction(M, F.getFunctionType(), Name);
    Shared->setDoesNotThrow();
    Shared->addFnAttr(Attribute::NoInline);
    Write(*Shared);
  }
  F.replaceAllUsesWith(Shared);
  F.eraseFromParent();
}

void defineBesideOf(Module &M) {
  Function *F = M.getFunction(BesideName);
  if (F && F->isDeclaration())
    defineShared(*F, [](Function &Shared) {
      CpuUnit::compileFast(Shared);
      defineBeside(Shared);
    });
}

// Code that one function calls becomes part of it.
void joinCaller(Function &F) {
  auto *Call = F.hasOneUse() ? dyn_cast<CallInst>(F.user_back()) : nullptr;
  InlineFunctionInfo Info;
  if (Call && InlineFunction(*Call, Info).isSuccess())
    F.eraseFromParent();
}

} // namespace

// Those that Is holds for, and that are used.
static SmallVector<Function *, 8>
declared(Module &M, function_ref<bool(const Function &)> Is) {
  SmallVector<Function *, 8> Found;
  for (Function &F : M)
    if (F.isDeclaration() && Is(F) && !F.use_empty())
      Found.push_back(&F);
  return Found;
}

bool defineChecks(Module &M) {
  bool Any = false;
  auto Define = [&](StringRef Prefix,
                    function_ref<void(Function &, StringRef)> Write) {
    for (Function *F : declared(M, [=](const Function &F) {
           return F.getName().substr(0, Prefix.size()) == Prefix;
         })) {
      defineShared(*F,
                   [&](Function &Shared) { Write(Shared, Shared.getName()); });
      Any = true;
    }
  };
  Define(CheckFunctionPrefix, writeCheck);
  Define(RowFunctionPrefix, writeRowFunction);
  return Any;
}

static void makeOwn(Function &F) {
  F.setLinkage(GlobalValue::InternalLinkage);
  foldComparisons(F);
}

PreservedAnalyses DefineCpuPass::run(Module &M, ModuleAnalysisManager &) {
  bool Changed = false;
  for (Function *F : declared(M, cpuIsNest))
    if (cpuDefineNest(*F)) {
      makeOwn(*F);
      Changed = true;
    }
  defineBesideOf(M);
  Changed |= defineChecks(M);
  for (Function *F : declared(M, [](const Function &F) {
         return F.hasFnAttribute(CpuAttribute);
       })) {
    ArenaScope Scope;
    CpuWork W;
    if (!CpuWork::parse(Scope.A,
                        F->getFnAttribute(CpuAttribute).getValueAsString(), W))
      continue; // not ours: it stays null
    F->removeFnAttr(CpuAttribute);
    makeOwn(*F);
    defineCpu(*F, W);
    joinCaller(*F);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace nputeir
