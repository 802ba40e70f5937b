// local_arrays.cpp -- finds accumulators of a block and copies of rows: arrays
// in the frame, of fixed or variable length, for which the call that replaces a
// nest has no need.
#include "local_arrays.h"

#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

bool marksFrame(const Instruction &I) {
  const auto *Call = dyn_cast<IntrinsicInst>(&I);
  switch (Call ? Call->getIntrinsicID() : Intrinsic::not_intrinsic) {
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::stacksave:
  case Intrinsic::stackrestore:
    return true;
  default:
    return false;
  }
}

static bool isNamed(const Function &F, StringRef Start) {
  return F.getName().substr(0, Start.size()) == Start;
}

bool isLoopBound(const AllocaInst &Variable) {
  return all_of(Variable.uses(), [&](const Use &U) {
    const auto *I = cast<Instruction>(U.getUser());
    if (const auto *S = dyn_cast<StoreInst>(I))
      return S->getPointerOperand() == &Variable &&
             S->getValueOperand() != &Variable;
    const auto *Call = dyn_cast<CallBase>(I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    return isa<LoadInst>(I) || marksFrame(*I) ||
           (Callee && (isNamed(*Callee, "__kmpc_for_static_init_") ||
                       isNamed(*Callee, "__kmpc_dispatch_next_")));
  });
}

namespace {

enum { UsersMax = 400 };

// What U does with an address of the array.
bool isAccess(const Use &U, bool &Stores) {
  const auto *I = cast<Instruction>(U.getUser());
  if (isa<LoadInst>(I))
    return true;
  if (const auto *S = dyn_cast<StoreInst>(I))
    return Stores |= U.getOperandNo() == S->getPointerOperandIndex();
  const auto *Mem = dyn_cast<MemIntrinsic>(I);
  Stores |= Mem && U.get() == Mem->getRawDest();
  return Mem && !Mem->isVolatile();
}

bool isLocalTo(const AllocaInst &Array, const Loop &Outer) {
  SmallVector<const Value *, 16> Open = {&Array};
  bool Stores = false;
  int Left = UsersMax;
  while (!Open.empty()) { // addresses form a tree: no phi is looked through
    const Value *Address = Open.pop_back_val();
    for (const Use &U : Address->uses()) {
      const auto *I = cast<Instruction>(U.getUser());
      if (Left-- == 0)
        return false;
      if (marksFrame(*I))
        continue;
      if (isa<GetElementPtrInst>(I) || isa<BitCastInst>(I)) {
        Open.push_back(I);
        continue;
      }
      bool StoresHere = false;
      if (!Outer.contains(I) || !isAccess(U, StoresHere) ||
          (isa<StoreInst>(I) && !StoresHere))
        return false;
      Stores |= StoresHere;
    }
  }
  return Stores;
}

} // namespace

LocalArrays findLocalArrays(const Loop &Outer) {
  LocalArrays Found, Known;
  for (const BasicBlock *B : Outer.blocks())
    for (const Instruction &I : *B) {
      const Value *Place = nullptr;
      if (const auto *S = dyn_cast<StoreInst>(&I))
        Place = S->getPointerOperand();
      else if (const auto *Mem = dyn_cast<MemIntrinsic>(&I))
        Place = Mem->getRawDest();
      while (const auto *Step = dyn_cast_or_null<Instruction>(Place)) {
        if (!isa<GetElementPtrInst>(Step) && !isa<BitCastInst>(Step))
          break;
        Place = Step->getOperand(0);
      }
      const auto *Array = dyn_cast_or_null<AllocaInst>(Place);
      if (Array && Known.insert(Array).second && isLocalTo(*Array, Outer))
        Found.insert(Array);
    }
  return Found;
}

} // namespace nputeir
