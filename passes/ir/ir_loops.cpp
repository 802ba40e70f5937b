// ir_loops.cpp -- where code stands in a nest of loops, and copies of loops.
#include "ir_loops.h"
#include "ir_exits.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace nputeir {

// ---- what stands where ----

bool findAccesses(const Loop &L, SmallVectorImpl<Instruction *> &Found) {
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B) {
      if (isa<AssumeInst, NoAliasScopeDeclInst>(I))
        continue;
      if (!isGuaranteedToTransferExecutionToSuccessor(&I))
        return false;
      if (isa<DbgInfoIntrinsic>(I) || !I.mayReadOrWriteMemory())
        continue;
      if (!getLoadStorePointerOperand(&I) || I.isAtomic() || I.isVolatile())
        return false;
      Found.push_back(&I);
    }
  return true;
}

// The block of I, if Around is the innermost loop there, or the first block of
// the loop in Around that holds it.
static const BasicBlock *partOf(const Instruction &I, const Loop *Around,
                                const LoopInfo &LI) {
  const Loop *In = LI.getLoopFor(I.getParent());
  if (In == Around)
    return I.getParent();
  while (In->getParentLoop() != Around)
    In = In->getParentLoop();
  return In->getHeader();
}

const Loop *loopAround(const Instruction &X, const Instruction &Y,
                       const LoopInfo &LI) {
  const Loop *Around = LI.getLoopFor(X.getParent());
  while (Around && !Around->contains(&Y))
    Around = Around->getParentLoop();
  return Around;
}

bool comesBefore(const Instruction &X, const Instruction &Y, const LoopInfo &LI,
                 const DominatorTree &DT) {
  const Loop *Around = loopAround(X, Y, LI);
  const BasicBlock *First = partOf(X, Around, LI);
  const BasicBlock *Then = partOf(Y, Around, LI);
  return First == Then ? X.comesBefore(&Y) : DT.dominates(First, Then);
}

// The block of In in front of B on all ways to it, B's own condition added;
// null: it depends on more.
static const BasicBlock *stepBack(const BasicBlock *B, const Loop &In,
                                  const LoopInfo &LI, const DominatorTree &DT,
                                  const PostDominatorTree &PDT,
                                  SmallVectorImpl<Guard> &Found) {
  const BasicBlock *From = B->getSinglePredecessor();
  if (!From) {
    From = DT.getNode(B)->getIDom()->getBlock();
    return PDT.dominates(B, From) && LI.getLoopFor(From) == &In ? From
                                                                : nullptr;
  }
  const Loop *Left = LI.getLoopFor(From);
  if (Left != &In) { // B stands behind a loop
    while (Left->getParentLoop() != &In)
      Left = Left->getParentLoop();
    return Left->getExitingBlock() == From ? Left->getLoopPreheader() : nullptr;
  }
  auto *Branch =
      dyn_cast<BranchInst>(const_cast<Instruction *>(From->getTerminator()));
  if (!Branch)
    return nullptr;
  if (Branch->isConditional())
    Found.push_back({Branch, Branch->getSuccessor(0) == B});
  return From;
}

bool findGuards(const Instruction &I, const Loop &Outer, const LoopInfo &LI,
                const DominatorTree &DT, const PostDominatorTree &PDT,
                SmallVectorImpl<Guard> &Found) {
  const BasicBlock *B = I.getParent();
  for (const Loop *In = LI.getLoopFor(B);; In = In->getParentLoop()) {
    if (!In->getLoopLatch())
      return false;
    while (B && !DT.dominates(B, In->getLoopLatch())) // each comes earlier
      B = stepBack(B, *In, LI, DT, PDT, Found);
    if (!B || (B == In->getHeader() && exitsBeforeBody(*In)))
      return false;
    if (In == &Outer)
      break;
    B = In->getLoopPreheader();
    if (!B)
      return false;
  }
  std::reverse(Found.begin(), Found.end());
  return true;
}

bool isUsedAfter(const Loop &L) {
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (any_of(I.users(), [&](const User *U) {
            return !L.contains(cast<Instruction>(U));
          }))
        return true;
  return false;
}

// ---- copies ----

bool canBeCopied(const Loop &L) {
  const BasicBlock *Front = L.getLoopPreheader();
  if (!Front || !L.isLoopSimplifyForm() || !L.getExitBlock() ||
      !L.getExitingBlock())
    return false;
  return all_of(L.blocks(), [](const BasicBlock *B) {
    return isa<BranchInst>(B->getTerminator()) && !B->hasAddressTaken();
  });
}

BasicBlock *copyLoop(Loop &L, BasicBlock *Out, ValueToValueMapTy &Map) {
  BasicBlock *Front = L.getLoopPreheader(), *Exit = L.getExitBlock();
  Function &F = *Front->getParent();
  auto *Copied =
      BasicBlock::Create(F.getContext(), Front->getName(), &F, L.getHeader());
  Map[Front] = Copied;
  if (Out)
    Map[Exit] = Out;
  SmallVector<BasicBlock *, 32> Blocks;
  for (BasicBlock *B : L.blocks()) {
    BasicBlock *C = CloneBasicBlock(B, Map, ".nputeir", &F);
    Map[B] = C;
    Blocks.push_back(C);
  }
  remapInstructionsInBlocks(Blocks, Map);
  IRBuilder<> B(Copied);
  B.SetCurrentDebugLocation(Front->getTerminator()->getDebugLoc());
  B.CreateBr(cast<BasicBlock>(Map[L.getHeader()]));
  if (Out)
    return Copied;
  BasicBlock *From = L.getExitingBlock();
  for (PHINode &P : Exit->phis()) {
    Value *V = P.getIncomingValueForBlock(From);
    Value *Other = Map.lookup(V);
    P.addIncoming(Other ? Other : V, cast<BasicBlock>(Map[From]));
  }
  return Copied;
}

BasicBlock *detach(Loop &L) {
  BasicBlock *Front = L.getLoopPreheader();
  auto *Own = BasicBlock::Create(Front->getContext(), "nputeir.rest",
                                 Front->getParent(), L.getHeader());
  L.getHeader()->replacePhiUsesWith(Front, Own);
  Instruction *End = Front->getTerminator();
  IRBuilder<> B(Own);
  B.SetCurrentDebugLocation(End->getDebugLoc());
  B.CreateBr(L.getHeader());
  End->eraseFromParent();
  return Own;
}

} // namespace nputeir
