// ir_memory.cpp -- which code of a loop writes what other code reads.
#include "ir_memory.h"
#include "call_effects.h"
#include "ir_tags.h"

#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

enum { AccessesMax = 400 };

bool isPrivate(const Value &Base) {
  const auto *G = dyn_cast<GlobalVariable>(&Base);
  return G && G->hasLocalLinkage() && !G->hasNUsesOrMore(AccessesMax) &&
         all_of(G->users(), [&](const User *U) {
           const auto *S = dyn_cast<StoreInst>(U);
           return isa<LoadInst>(U) || (S && S->getValueOperand() != G);
         });
}

// The object's address; null: it changes in the loop.
static const Value *baseOf(const Value *Pointer, const Loop &Outer,
                           ScalarEvolution &SE) {
  const auto *Base = dyn_cast<SCEVUnknown>(
      SE.getPointerBase(SE.getSCEV(const_cast<Value *>(Pointer))));
  return Base && Outer.isLoopInvariant(Base->getValue()) ? Base->getValue()
                                                         : nullptr;
}

static const Value *writtenPlace(const Instruction &W) {
  const auto *Mem = dyn_cast<MemIntrinsic>(&W);
  return Mem                       ? Mem->getRawDest()
         : dyn_cast<StoreInst>(&W) ? getLoadStorePointerOperand(&W)
                                   : nullptr;
}

bool mayChange(const Instruction &W, const Instruction &X, const Loop &Outer,
               ScalarEvolution &SE, AAResults &AA) {
  const Value *From = baseOf(getLoadStorePointerOperand(&X), Outer, SE);
  if (X.isVolatile() || X.isAtomic())
    return true;
  MemoryLocation Read(From ? From : getLoadStorePointerOperand(&X),
                      LocationSize::beforeOrAfterPointer(), typeTags(X));
  const auto *Call = writtenPlace(W) ? nullptr : dyn_cast<CallBase>(&W);
  if (!From) // of rows of pointers, say
    return !Call || mayWriteInAny(*Call, Read, Outer, AA);
  if (const auto *G = dyn_cast<GlobalVariable>(From); G && G->isConstant())
    return false;
  if (Call)
    return mayWrite(W, Read, AA);
  const Value *Place = writtenPlace(W);
  const Value *To = Place ? baseOf(Place, Outer, SE) : nullptr;
  if (To && To != From && (isPrivate(*To) || isPrivate(*From)))
    return false;
  return !To ||
         !AA.isNoAlias(MemoryLocation(To, LocationSize::beforeOrAfterPointer(),
                                      typeTags(W)),
                       Read);
}

bool sharesBase(const Instruction &W, const Instruction &X,
                ScalarEvolution &SE) {
  auto Base = [&](const Value *Pointer) {
    return SE.getPointerBase(SE.getSCEV(const_cast<Value *>(Pointer)));
  };
  const Value *To = getLoadStorePointerOperand(&W);
  return To && Base(To) == Base(getLoadStorePointerOperand(&X));
}

} // namespace nputeir
