// mem_nest.cpp -- a memset or memcpy inside a nest, as the loops that it stands
// for.
//
// The call knows bytes only.  Which loops they come from is learnt from a store
// that writes the same places: starting at the size of an element, each of its
// loops must step over exactly what the loops inside fill.
#include "mem_nest.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

// False: X and Y are known to differ.
static bool require(MemNest &F, const SCEV *X, const SCEV *Y,
                    ScalarEvolution &SE) {
  assert(X->getType() == Y->getType());
  const SCEV *Difference = SE.getMinusSCEV(X, Y);
  if (Difference->isZero())
    return true;
  F.Equal.push_back({X, Y});
  return !isa<SCEVConstant>(Difference);
}

// The loops in which the store moves and the call does not run, outermost
// first; false when what they fill has gaps.  Where the strides are not
// numbers, the inner loop is taken for the faster one.
static bool findLoops(Addresses &Places, ScalarEvolution &SE, const Address &To,
                      MemNest &F, const SCEV *ElementBytes) {
  SmallVector<int, 4> Open;
  for (size_t L = 0; L < To.Stride.size(); L++)
    if (To.Stride[L] && !Places.loop((int)L)->contains(F.Call->getParent()))
      Open.push_back((int)L);
  const SCEV *Filled = ElementBytes;
  while (!Open.empty()) {
    auto Next = find_if(Open, [&](int L) { return To.Stride[L] == Filled; });
    if (Next == Open.end())
      Next = std::prev(Open.end());
    if (!require(F, To.Stride[*Next], Filled, SE))
      return false;
    F.Loops.insert(F.Loops.begin(), {Places.extent(*Next), To.Stride[*Next]});
    Filled = SE.getMulExpr(Filled, Places.extent(*Next));
    Open.erase(Next);
  }
  assert(F.Loops.size() <= To.Stride.size());
  const SCEV *Bytes = SE.getSCEV(F.Call->getLength());
  Bytes = SE.getNoopOrZeroExtend(Bytes, Filled->getType());
  return Places.usable(Bytes) && require(F, Bytes, Filled, SE);
}

const char *readMemNest(const MemIntrinsic &Call, ArrayRef<BasicBlock *> Blocks,
                        Addresses &Places, ScalarEvolution &SE, MemNest &F) {
  F.Call = &Call;
  const auto *Set = dyn_cast<MemSetInst>(&Call);
  const auto *Zero = Set ? dyn_cast<ConstantInt>(Set->getValue()) : nullptr;
  const auto *Copy = dyn_cast<MemTransferInst>(&Call);
  if (Call.isVolatile() || (Set ? !Zero || !Zero->isZero() : !Copy))
    return "the nest fills memory with something other than zeros";
  if (!Places.read(Call, Call.getRawDest(), F.To) ||
      (Copy && !Places.read(Call, Copy->getRawSource(), F.From)))
    return "the nest fills memory at an address that is not affine";
  const DataLayout &DL = Call.getModule()->getDataLayout();
  for (BasicBlock *B : Blocks)
    for (Instruction &I : *B) {
      Address To;
      F.Like = dyn_cast<StoreInst>(&I);
      if (!F.Like || F.Like->getValueOperand()->getType()->isVectorTy() ||
          !Places.read(I, F.Like->getPointerOperand(), To) ||
          To.Start != F.To.Start)
        continue;
      uint64_t Size = DL.getTypeStoreSize(F.Like->getValueOperand()->getType());
      Type *I64 = Type::getInt64Ty(Call.getContext());
      if (findLoops(Places, SE, To, F, SE.getConstant(I64, Size)))
        return nullptr;
      return "the nest fills more memory than its result";
    }
  return "the nest fills memory that is not its result";
}

} // namespace nputeir
