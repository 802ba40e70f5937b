// reads_first.cpp -- the bytes that two accesses of a nest reach: of loops that
// are described as they were joined, of others as they are counted.
#include "reads_first.h"
#include "ir_marks.h"
#include "local_arrays.h"
#include "ir_memory.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace nputeir {

bool ReadsFirst::areFirst(ArrayRef<const LoadInst *> Loads, arena *A,
                          verdict &V) {
  for (const LoadInst *L : Loads)
    if (!L->isSimple())
      return verdict_decline(&V, RULE_VOLATILE, locOf(L->getDebugLoc(), A),
                             "the nest reads a volatile or atomic object");
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &W : *B) {
      if (!W.mayWriteToMemory() || marksFrame(W))
        continue;
      for (const LoadInst *L : Loads)
        if (!mayBeFirst(W, *L))
          return verdict_decline(&V, RULE_EXTRA_STORE,
                                 locOf(W.getDebugLoc(), A),
                                 "the nest may write what it multiplies");
    }
  return true;
}

// W stays.
bool ReadsFirst::mayBeFirst(Instruction &W, const LoadInst &L) {
  if (!mayChange(W, L, Outer, SE, AA))
    return true;
  Apart X;
  if (!getLoadStorePointerOperand(&W) || sharesBase(W, L, SE) ||
      Asked.size() == AskedMax || !reach(W, X.Written) || !reach(L, X.Read))
    return false;
  Asked.push_back(X);
  return true;
}

// All places of an access, and perhaps one step further.
bool ReadsFirst::reach(const Instruction &I, Apart::Reach &X) {
  const Value *Pointer = getLoadStorePointerOperand(&I);
  Address Place;
  bool Known = is_contained(Described, LI.getLoopFor(I.getParent())) &&
               Places.readPlace(I, Pointer, Place);
  for (int L = 0; Known && L < (int)Described.size(); L++)
    Known = !Place.Stride[L] || Places.isPlain(L);
  X.Bytes = I.getModule()->getDataLayout().getTypeStoreSize(
      getLoadStoreType(const_cast<Instruction *>(&I)));
  if (!Known)
    return reach(SE.getSCEV(const_cast<Value *>(Pointer)), X.Of);
  X.Of = Places.sum(Place);
  return true;
}

// The same of loops that are not described.
bool ReadsFirst::reach(const SCEV *Pointer, Sum &All) {
  Type *I64 = Type::getInt64Ty(Outer.getHeader()->getContext());
  All.Terms.clear();
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(Pointer)) {
    if (!Outer.contains(Rec->getLoop()))
      break;
    const SCEV *Count = SE.getBackedgeTakenCount(Rec->getLoop());
    const SCEV *Step = Rec->getStepRecurrence(SE);
    if (!Rec->isAffine() || isa<SCEVCouldNotCompute>(Count) ||
        !Places.usable(Count) || !Places.usable(Step) ||
        SE.getTypeSizeInBits(Count->getType()) > 64)
      return false;
    Count = SE.getNoopOrZeroExtend(Count, I64);
    All.Terms.push_back({SE.getNoopOrSignExtend(Step, I64),
                         SE.getAddExpr(Count, SE.getOne(I64))});
    Pointer = Rec->getStart();
  }
  if (!Pointer->getType()->isPointerTy() || !Places.usable(Pointer))
    return false;
  All.Start = SE.getPtrToIntExpr(Pointer, I64);
  return !isa<SCEVCouldNotCompute>(All.Start);
}

const Loop *layOut(SumLoop &First, const Loop &Outer,
                   const DenseMap<const Loop *, int> &Index, Joins &Places,
                   ScalarEvolution &SE) {
  const Module &M = *Outer.getHeader()->getModule();
  uint64_t Bytes = M.getDataLayout().getTypeStoreSize(First.Sums[0]->getType());
  const SCEV *Stride = SE.getConstant(Type::getInt64Ty(M.getContext()),
                                      Bytes * First.Sums.size());
  for (Loop *L = First.L->getParentLoop();; L = L->getParentLoop()) {
    int I = Index.lookup(L);
    if (!Places.isPlain(I) || Places.isReversed(I))
      return L;
    First.Around.insert(First.Around.begin(), L);
    First.Extent.insert(First.Extent.begin(), Places.extent(I));
    First.Stride.insert(First.Stride.begin(), Stride);
    Stride = SE.getMulExpr(Stride, Places.extent(I));
    if (L == &Outer)
      return nullptr;
  }
}

} // namespace nputeir
