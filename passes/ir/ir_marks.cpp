// ir_marks.cpp -- what we write on code to know it again, and where it stands
// in the source.
#include "ir_marks.h"
#include "ir_matrix.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace nputeir {

static const char *const KeptMark = "nputeir.kept";
static const char *const HoistedMark = "nputeir.hoisted";

bool isKept(const Instruction &I) { return I.hasMetadata(KeptMark); }

void markKept(Instruction &I) {
  I.setMetadata(KeptMark, MDNode::get(I.getContext(), {}));
}

bool isKept(const Loop &L) {
  if (findStringMetadataForLoop(&L, KeptMark))
    return true;
  if (L.getSubLoops().empty())
    for (const BasicBlock *B : L.blocks())
      for (const Instruction &I : *B)
        if (isa<StoreInst>(I) && isKept(I))
          return true;
  return false;
}

// Two marks, because a pass that rebuilds a loop may drop either.
void markKept(Loop &Outer) {
  for (Loop *L : Outer.getLoopsInPreorder())
    addStringMetadataToLoop(L, KeptMark, 1);
  for (BasicBlock *B : Outer.blocks())
    for (Instruction &I : *B)
      if (isa<StoreInst>(I) || isMatrixAccess(I))
        markKept(I);
}

// Does it end at a number that is the same in all of Outer?
static bool endsAlike(const Loop &L, const Loop &Outer) {
  const BasicBlock *Exiting = L.getExitingBlock();
  const auto *Branch =
      Exiting ? dyn_cast<BranchInst>(Exiting->getTerminator()) : nullptr;
  const auto *If = Branch && Branch->isConditional()
                       ? dyn_cast<ICmpInst>(Branch->getCondition())
                       : nullptr;
  return If && any_of(If->operands(),
                      [&](const Use &U) { return Outer.isLoopInvariant(U); });
}

void markRolled(Loop &Outer) {
  enum { OfMatrices = 3 }; // loops
  SmallVector<Loop *, 4> Loops = Outer.getLoopsInPreorder();
  // Of vectors and of triangles, more is left to the loops than what is small.
  if (Loops.size() < OfMatrices ||
      !all_of(Loops, [&](const Loop *L) { return endsAlike(*L, Outer); }))
    return;
  for (Loop *L : Loops)
    addStringMetadataToLoop(L, "llvm.loop.unroll.runtime.disable");
}

void markHoisted(PHINode &P) {
  P.setMetadata(HoistedMark, MDNode::get(P.getContext(), {}));
}

const Value *hoistedValue(const Value *V) {
  const auto *P = dyn_cast<PHINode>(V);
  bool Moved = P && P->getMetadata(HoistedMark) &&
               P->getNumIncomingValues() == 2 &&
               match(P->getIncomingValue(1), PatternMatch::m_Zero());
  return Moved ? P->getIncomingValue(0) : V;
}

const LoadInst *hoistedLoad(const Value *V) {
  return dyn_cast<LoadInst>(hoistedValue(V));
}

bool guardsHoisted(const BranchInst &Branch) {
  if (!Branch.isConditional())
    return false;
  const BasicBlock *Then = Branch.getSuccessor(0), *On = Branch.getSuccessor(1);
  const auto *P = dyn_cast<PHINode>(&On->front());
  return Then->getSingleSuccessor() == On && P && hoistedValue(P) != P &&
         P->getIncomingBlock(0) == Then &&
         P->getIncomingBlock(1) == Branch.getParent() &&
         none_of(*Then,
                 [](const Instruction &I) { return I.mayHaveSideEffects(); });
}

loc locOf(const DebugLoc &DL, arena *A) {
  if (!DL)
    return loc_none();
  const auto *Scope = cast<DIScope>(DL.getScope());
  return {arena_string(A, Scope->getFilename().str().c_str()),
          (int)DL.getLine(), (int)DL.getCol()};
}

// ---- numbers of loops ----

static const char *const NumberMark = "nputeir.loop";
static const char *const UntoldMark = "nputeir.untold";
static const char *const RepeatingMark = "nputeir.repeating";

void numberLoops(LoopInfo &LI) {
  int Next = 0;
  for (Loop *L : LI.getLoopsInPreorder()) {
    LLVMContext &X = L->getHeader()->getContext();
    auto *N = ConstantInt::get(Type::getInt32Ty(X), (uint64_t)Next++);
    L->getHeader()->getTerminator()->setMetadata(
        NumberMark, MDNode::get(X, {ConstantAsMetadata::get(N)}));
  }
}

int numberOf(const Loop &L) {
  const MDNode *N = L.getHeader()->getTerminator()->getMetadata(NumberMark);
  return N ? (int)cast<ConstantInt>(
                 cast<ConstantAsMetadata>(N->getOperand(0))->getValue())
                 ->getSExtValue()
           : -1;
}

void numberAs(const Loop &L, Instruction &End) {
  End.setMetadata(NumberMark,
                  L.getHeader()->getTerminator()->getMetadata(NumberMark));
}

void markUntold(Instruction &End) {
  End.setMetadata(UntoldMark, MDNode::get(End.getContext(), {}));
}

bool isUntold(const Loop &L) {
  return L.getHeader()->getTerminator()->getMetadata(UntoldMark);
}

void markRepeating(Instruction &End) {
  End.setMetadata(RepeatingMark, MDNode::get(End.getContext(), {}));
}

bool isRepeating(const Instruction &End) {
  return End.getMetadata(RepeatingMark);
}

bool isRepeating(const Loop &L) {
  return isRepeating(*L.getHeader()->getTerminator());
}

} // namespace nputeir
