// masked_products.cpp -- products that conditions on elements skip:
//
//     if (z[i][k] > 0)  s += d[i][k] * w[k][j];
//
// With d'[i][k] = z[i][k] > 0 ? d[i][k] : 0 that is
//
//     if (d'[i][k] != 0)  s += d'[i][k] * w[k][j];
//
// provided that the condition decides on nothing else.  Where d is zero, the
// source adds zero times w, which needs the same leave as to skip it.
#include "masked_products.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

enum { DepthMax = 4 };

static bool isProduct(const Value *V) {
  const auto *I = dyn_cast<Instruction>(V);
  return I && (I->getOpcode() == Instruction::FMul ||
               I->getOpcode() == Instruction::Mul);
}

static const Value *withoutCasts(const Value *V) {
  while (const auto *C = dyn_cast<CastInst>(V))
    V = C->getOperand(0);
  return V;
}

static void addFactors(const Value *V, int Depth,
                       SmallVectorImpl<Instruction *> &Found) {
  const auto *I = dyn_cast<Instruction>(withoutCasts(V));
  if (!I)
    return;
  if (isProduct(I) && Depth < DepthMax)
    for (const Value *Factor : I->operands())
      addFactors(Factor, Depth + 1, Found);
  else
    Found.push_back(const_cast<Instruction *>(I));
}

SmallVector<const Instruction *, 4> findProducts(const Instruction &Sum,
                                                 const DominatorTree &DT) {
  SmallVector<const Instruction *, 4> Found = {&Sum};
  for (const Value *V : Sum.operands()) {
    const auto *P = dyn_cast<PHINode>(withoutCasts(V));
    auto C = P ? choiceOf(*P, DT) : std::nullopt;
    if (C)
      for (const Value *Side : C->Side)
        if (isProduct(Side))
          Found.push_back(cast<Instruction>(Side));
  }
  return Found;
}

SmallVector<Instruction *, 4> findElements(const Instruction &Sum) {
  SmallVector<Instruction *, 4> Found;
  if (isProduct(&Sum)) {
    addFactors(&Sum, 0, Found);
    return Found;
  }
  if (isa<IntrinsicInst>(Sum)) { // x * y + z
    for (unsigned N = 0; N < 2; N++)
      addFactors(Sum.getOperand(N), 0, Found);
    return Found;
  }
  for (const Value *V : Sum.operands())
    if (isProduct(withoutCasts(V)))
      addFactors(V, 0, Found);
  return Found;
}

SmallVector<const Value *, 4> partsOfCondition(const Value &Of,
                                               const DominatorTree &DT) {
  SmallVector<const Value *, 4> Found, Open = {&Of};
  SmallPtrSet<const Value *, 16> Seen;
  while (!Open.empty()) {
    const Value *V = Open.pop_back_val();
    const auto *I = dyn_cast<Instruction>(V);
    if (!I || !Seen.insert(V).second)
      continue;
    const auto *P = dyn_cast<PHINode>(I);
    auto C = P ? choiceOf(*P, DT) : std::nullopt;
    if (C) {
      Open.append({C->Branch->getCondition(), C->Side[0], C->Side[1]});
    } else if (I->getType()->isIntegerTy(1) &&
               (isa<SelectInst, FreezeInst>(I) || I->isBitwiseLogicOp())) {
      Open.append(I->op_begin(), I->op_end());
    } else {
      Found.push_back(I);
    }
  }
  return Found;
}

bool asksForZero(const Guard &G, ArrayRef<Instruction *> Elements) {
  const auto *Is = dyn_cast<CmpInst>(G.Branch->getCondition());
  const auto *Zero = Is ? dyn_cast<Constant>(Is->getOperand(1)) : nullptr;
  return Zero && Zero->isZeroValue() && Is->isEquality() &&
         is_contained(Elements, withoutCasts(Is->getOperand(0)));
}

static bool isMultiple(const Value *V, const Instruction &Factor, int Depth) {
  V = withoutCasts(V);
  if (V == &Factor)
    return true;
  return isProduct(V) && Depth < DepthMax &&
         any_of(
             cast<Instruction>(V)->operands(),
             [&](const Use &U) {
               return isMultiple(U.get(), Factor, Depth + 1);
             });
}

// What V is if Factor is zero; null: that is not known.
static const Value *ofZero(const Value *V, const Instruction &Factor) {
  const auto *I = dyn_cast<Instruction>(V);
  if (!I)
    return nullptr;
  auto Is = [&](unsigned N) { return isMultiple(I->getOperand(N), Factor, 0); };
  switch (I->getOpcode()) {
  case Instruction::FAdd:
  case Instruction::Add:
    return Is(1) ? I->getOperand(0) : Is(0) ? I->getOperand(1) : nullptr;
  case Instruction::FSub:
  case Instruction::Sub:
    return Is(1) ? I->getOperand(0) : nullptr;
  case Instruction::Call:
    if (const auto *Call = dyn_cast<IntrinsicInst>(I))
      if (Call->getIntrinsicID() == Intrinsic::fmuladd ||
          Call->getIntrinsicID() == Intrinsic::fma)
        return Is(0) || Is(1) ? I->getOperand(2) : nullptr;
    return nullptr;
  default:
    return nullptr;
  }
}

// What runs between the branch at the end of From and To.
static SmallPtrSet<const BasicBlock *, 16> blocksTo(const BasicBlock *To,
                                                    const BasicBlock *From) {
  SmallPtrSet<const BasicBlock *, 16> Found;
  SmallVector<const BasicBlock *, 16> Open = {From};
  while (!Open.empty())
    for (const BasicBlock *Next : successors(Open.pop_back_val()))
      if (Next != To && Found.insert(Next).second)
        Open.push_back(Next);
  return Found;
}

bool skipsProductsOf(ArrayRef<Guard> Guards, const Instruction &Factor,
                     const Loop &Outer, const DominatorTree &DT,
                     const PostDominatorTree &PDT) {
  const BasicBlock *From = Guards.front().Branch->getParent();
  const auto *Join = PDT.getNode(From)->getIDom();
  const BasicBlock *To = Join ? Join->getBlock() : nullptr;
  if (!To || !Outer.contains(To))
    return false;
  const Guard &Last = Guards.back();
  const BasicBlockEdge Into(Last.Branch->getParent(),
                            Last.Branch->getSuccessor(Last.Holds ? 0 : 1));
  auto IsBehind = [&](const BasicBlock *B) { return DT.dominates(Into, B); };
  auto Stays = [&](const StoreInst &S) {
    const auto *Old =
        dyn_cast_or_null<LoadInst>(ofZero(S.getValueOperand(), Factor));
    return Old && IsBehind(Old->getParent()) &&
           Old->getPointerOperand() == S.getPointerOperand();
  };
  // What comes from behind is, for a zero, what comes from elsewhere.
  auto IsSame = [&](const PHINode &P) {
    const Value *Old = nullptr;
    for (unsigned N = 0; N < P.getNumIncomingValues(); N++)
      if (!IsBehind(P.getIncomingBlock(N))) {
        if (Old && Old != P.getIncomingValue(N))
          return false;
        Old = P.getIncomingValue(N);
      }
    const auto *C = dyn_cast_or_null<Constant>(Old);
    bool IsZero = C && C->isZeroValue();
    return all_of(P.incoming_values(), [&](const Use &V) {
      return V.get() == Old || (Old && ofZero(V.get(), Factor) == Old) ||
             (IsZero && isMultiple(V.get(), Factor, 0));
    });
  };
  return all_of(blocksTo(To, From),
                [&](const BasicBlock *B) {
                  return all_of(*B, [&](const Instruction &I) {
                    const auto *S = dyn_cast<StoreInst>(&I);
                    return !I.mayWriteToMemory() ||
                           (S && IsBehind(B) && Stays(*S));
                  });
                }) &&
         all_of(To->phis(), IsSame);
}

std::optional<Choice> choiceOf(const PHINode &P, const DominatorTree &DT) {
  const BasicBlock *To = P.getParent();
  const auto *Node = DT.getNode(To);
  if (P.getNumIncomingValues() != 2 || !Node || !Node->getIDom())
    return std::nullopt;
  const BasicBlock *From = Node->getIDom()->getBlock();
  auto *Branch =
      dyn_cast<BranchInst>(const_cast<Instruction *>(From->getTerminator()));
  if (!Branch || !Branch->isConditional() ||
      Branch->getSuccessor(0) == Branch->getSuccessor(1))
    return std::nullopt;
  Choice C = {Branch, {}};
  for (unsigned S = 0; S < 2; S++) {
    const BasicBlock *Next = Branch->getSuccessor(S);
    if (Next != To && (Next->getSinglePredecessor() != From ||
                       Next->getSingleSuccessor() != To))
      return std::nullopt;
    C.Side[S] = P.getIncomingValueForBlock(Next == To ? From : Next);
  }
  return C;
}

} // namespace nputeir
