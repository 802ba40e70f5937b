// plain_intrinsics.cpp -- what the reader of vectors sees through: a
// processor's own functions that add neighbouring lanes (haddps, phaddd), as
// shuffles and additions, of which compilers make them again.  Hints to fetch
// elements of a product before they are needed are dropped: what does it
// instead fetches them in another order.
#include "plain_intrinsics.h"
#include "ir_sums.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace nputeir {

static bool addsNeighbours(const IntrinsicInst &I) {
  switch (I.getIntrinsicID()) {
  case Intrinsic::x86_sse3_hadd_ps:
  case Intrinsic::x86_sse3_hadd_pd:
  case Intrinsic::x86_avx_hadd_ps_256:
  case Intrinsic::x86_avx_hadd_pd_256:
  case Intrinsic::x86_ssse3_phadd_d_128:
  case Intrinsic::x86_avx2_phadd_d:
    return true;
  default:
    return false;
  }
}

// In every 128 bits, the sums of the first operand's pairs and then of the
// second one's.
static Value *sumsOfNeighbours(IntrinsicInst &I) {
  auto *T = cast<FixedVectorType>(I.getType());
  int Lanes = (int)T->getNumElements();
  int Chunk = 128 / (int)T->getScalarSizeInBits();
  SmallVector<int, 8> Even, Odd;
  for (int C = 0; C < Lanes; C += Chunk)
    for (int Operand = 0; Operand < 2; Operand++)
      for (int L = 0; L < Chunk; L += 2) {
        Even.push_back(Operand * Lanes + C + L);
        Odd.push_back(Operand * Lanes + C + L + 1);
      }
  IRBuilder<> B(&I);
  Value *X = I.getArgOperand(0), *Y = I.getArgOperand(1);
  Value *First = B.CreateShuffleVector(X, Y, Even);
  Value *Second = B.CreateShuffleVector(X, Y, Odd);
  if (!T->isFPOrFPVectorTy())
    return B.CreateAdd(First, Second);
  B.setFastMathFlags(I.getFastMathFlags());
  return B.CreateFAdd(First, Second);
}

PreservedAnalyses PlainIntrinsicsPass::run(Function &F,
                                           FunctionAnalysisManager &FAM) {
  SmallVector<IntrinsicInst *, 8> Found;
  for (Instruction &I : instructions(F))
    if (auto *X = dyn_cast<IntrinsicInst>(&I);
        X && (X->getIntrinsicID() == Intrinsic::prefetch || addsNeighbours(*X)))
      Found.push_back(X);
  if (Found.empty())
    return PreservedAnalyses::all();
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  for (IntrinsicInst *X : Found) {
    const Loop *L = LI.getLoopFor(X->getParent());
    while (L && L->getParentLoop())
      L = L->getParentLoop();
    if (X->getIntrinsicID() != Intrinsic::prefetch)
      X->replaceAllUsesWith(sumsOfNeighbours(*X));
    else if (!L || !sumsProducts(*L))
      continue;
    X->eraseFromParent();
  }
  PreservedAnalyses PA;
  PA.preserveSet<CFGAnalyses>();
  return PA;
}

} // namespace nputeir
