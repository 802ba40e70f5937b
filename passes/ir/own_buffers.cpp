// own_buffers.cpp -- memory that a function alone knows of.
#include "own_buffers.h"
#include "local_arrays.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

enum { AddressUsersMax = 400 };

const Value *bufferOf(const Value *Pointer) {
  const Value *V = getUnderlyingObject(Pointer);
  const auto *G = dyn_cast<GlobalVariable>(V);
  const auto *Call = dyn_cast<CallBase>(V);
  bool Own = isa<AllocaInst>(V) || (G && G->hasLocalLinkage()) ||
             (Call && isNoAliasCall(Call));
  return Own ? V : nullptr;
}

static bool isCallOf(const Value &V, ArrayRef<StringRef> Names) {
  const auto *Call = dyn_cast<CallBase>(&V);
  const Function *F = Call ? Call->getCalledFunction() : nullptr;
  return F && is_contained(Names, F->getName());
}

bool startsZeroed(const Value &Buffer) {
  const auto *G = dyn_cast<GlobalVariable>(&Buffer);
  return isCallOf(Buffer, {"calloc"}) || (G && G->hasDefinitiveInitializer() &&
                                          G->getInitializer()->isNullValue());
}

bool startsEmpty(const Value &Buffer) {
  return isa<AllocaInst>(Buffer) ||
         isCallOf(Buffer, {"malloc", "aligned_alloc", "_Znwm", "_Znam"});
}

bool clears(const Instruction &I) {
  const auto *Mem = dyn_cast<MemSetInst>(&I);
  const auto *Value = Mem ? dyn_cast<Constant>(Mem->getValue()) : nullptr;
  return Value && Value->isNullValue() && !Mem->isVolatile();
}

bool readsOwnBuffer(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    const auto *L = dyn_cast<LoadInst>(&I);
    return L && bufferOf(L->getPointerOperand());
  });
}

static bool isFree(const Instruction &I) {
  return isCallOf(I, {"free", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"});
}

bool findUses(const Value &Buffer, const Function &Here,
              ArrayRef<const Function *> Same,
              SmallSetVector<Instruction *, 16> &Found) {
  SmallSetVector<const Value *, 32> Open;
  Open.insert(&Buffer);
  for (unsigned N = 0; N < Open.size(); N++)
    for (const Use &U : Open[N]->uses()) {
      if (Open.size() > AddressUsersMax || Found.size() > AddressUsersMax)
        return false;
      auto *I = dyn_cast<Instruction>(U.getUser());
      if (!I) {
        if (!isa<ConstantExpr>(U.getUser()))
          return false;
        Open.insert(U.getUser());
        continue;
      }
      if (is_contained(Same, I->getFunction()) || isa<ICmpInst>(I) ||
          marksFrame(*I) || isFree(*I))
        continue;
      if (isa<IntToPtrInst>(I) || I->getFunction() != &Here)
        return false;
      if (I->mayReadOrWriteMemory() || I->isTerminator())
        Found.insert(I);
      else
        Open.insert(I);
    }
  return true;
}

} // namespace nputeir
