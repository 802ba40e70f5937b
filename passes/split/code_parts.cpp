// code_parts.cpp -- parts of a function's code that are entered at one place
// and left to another, around a loop or a call that they exist for.
#include "code_parts.h"
#include "digits.h"
#include "local_arrays.h"
#include "lower_cpu.h"
#include "rewrite.h"
#include "versions.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { UsersMax = 400, NumbersMax = 400 };

bool isNamed(const CallBase &Call, StringRef Start) {
  const Function *F = Call.getCalledFunction();
  return F && F->getName().substr(0, Start.size()) == Start;
}

// A call that does what a loop does.
bool isOffer(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  return Call && (isNamed(*Call, CallName) || isNamed(*Call, NestName));
}

bool isOurCall(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  return isOffer(I) || (Call && isNamed(*Call, CompareName));
}

// An array in the frame that only calls of ours get.
bool isOurs(const AllocaInst &Array) {
  SmallVector<const Value *, 16> Open = {&Array};
  for (int Left = UsersMax; !Open.empty();)
    for (const Use &U : Open.pop_back_val()->uses()) {
      const auto *I = cast<Instruction>(U.getUser());
      if (Left-- == 0)
        return false;
      if (isa<GetElementPtrInst>(I) || isa<BitCastInst>(I))
        Open.push_back(I);
      else if (const auto *S = dyn_cast<StoreInst>(I)) {
        if (S->getValueOperand() == U.get())
          return false;
      } else if (!marksFrame(*I) && !isa<MemSetInst>(I) && !isOurCall(*I))
        return false;
    }
  return true;
}

bool writesOurs(const Instruction &I) {
  const Value *Place = nullptr;
  if (const auto *S = dyn_cast<StoreInst>(&I))
    Place = S->isSimple() ? S->getPointerOperand() : nullptr;
  else if (const auto *Mem = dyn_cast<MemSetInst>(&I))
    Place = Mem->getRawDest();
  const auto *Array =
      Place ? dyn_cast<AllocaInst>(getUnderlyingObject(Place)) : nullptr;
  return Array && isOurs(*Array);
}

// Of which nothing can be told, but that it was there: what our calls need.
bool isIdle(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  const auto *Asm =
      Call ? dyn_cast<InlineAsm>(Call->getCalledOperand()) : nullptr;
  if (Asm)
    return !Asm->hasSideEffects() && Asm->getAsmString().empty();
  return isNote(I) || marksFrame(I) || isOurCall(I) || writesOurs(I) ||
         (!I.mayHaveSideEffects() && !I.isVolatile());
}

// By more than zero, so that there is a quotient.
bool isSafeDivision(const Instruction &I) {
  using namespace PatternMatch;
  const APInt *Least;
  return I.isIntDivRem() && I.getType()->isIntegerTy() &&
         match(I.getOperand(1), m_SMax(m_Value(), m_APInt(Least))) &&
         Least->isStrictlyPositive() &&
         isGuaranteedNotToBeUndefOrPoison(I.getOperand(1));
}

// May be computed where V's operands are known, whether or not V is needed.
bool isNumber(const Instruction &I) {
  if (const auto *Call = dyn_cast<IntrinsicInst>(&I))
    switch (Call->getIntrinsicID()) {
    case Intrinsic::smax:
    case Intrinsic::smin:
    case Intrinsic::umax:
    case Intrinsic::umin:
      return true;
    default:
      return false;
    }
  return (isa<BinaryOperator>(I) || isa<CastInst>(I) || isa<CmpInst>(I) ||
          isa<SelectInst>(I) || isa<GetElementPtrInst>(I) ||
          isa<FreezeInst>(I)) &&
         (isSafeToSpeculativelyExecute(&I) || isSafeDivision(I));
}

} // namespace

bool isNote(const Instruction &I) {
  return isa<DbgInfoIntrinsic>(I) || isa<AssumeInst>(I) ||
         isa<NoAliasScopeDeclInst>(I);
}

// ---- numbers ----

bool canBeAt(const Value *V, const BasicBlock &B, const DominatorTree &DT) {
  SmallSetVector<const Value *, 32> Open;
  Open.insert(V);
  for (unsigned N = 0; N < Open.size(); N++) {
    const auto *I = dyn_cast<Instruction>(Open[N]);
    if (!I || DT.dominates(I, B.getTerminator()))
      continue;
    if (!isNumber(*I) || Open.size() > NumbersMax)
      return false;
    Open.insert(I->op_begin(), I->op_end());
  }
  return true;
}

bool staysIn(const Value &V, const Loop &L) {
  SmallSetVector<const Value *, 32> Open;
  Open.insert(&V);
  for (unsigned N = 0; N < Open.size(); N++) {
    const auto *I = dyn_cast<Instruction>(Open[N]);
    if (!I || !L.contains(I))
      continue;
    if (!(isNumber(*I) || I->isIntDivRem()) || Open.size() > NumbersMax)
      return false;
    Open.insert(I->op_begin(), I->op_end());
  }
  return true;
}

void computeAt(Value *V, BasicBlock &B, const DominatorTree &DT) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || DT.dominates(I, B.getTerminator()))
    return;
  for (Use &U : I->operands())
    computeAt(U.get(), B, DT);
  moveBefore(*I, B.getTerminator());
}

// ---- parts ----

static bool leads(const SmallPtrSetImpl<const BasicBlock *> &Leads,
                  const Part &P, BasicBlock *B) {
  return P.Blocks.count(B) && Leads.count(B);
}

bool PartFinder::coreItself(Part &P) const {
  if (const Loop *L = Of.L) {
    if (!L->isLoopSimplifyForm() || !L->getExitBlock() || !L->getExitingBlock())
      return false;
    P = {L->getLoopPreheader(), L->getExitBlock(), {}, {}};
    P.Blocks.insert(L->block_begin(), L->block_end());
    return isAlone(P);
  }
  P = {
      Of.First->getSinglePredecessor(), Of.First->getSingleSuccessor(), {}, {}};
  P.Blocks.insert(Of.First);
  return P.Entry && P.After && isAlone(P);
}

bool PartFinder::partBehind(BasicBlock &Entry, Part &P) const {
  const auto *Node = Facts.PDT.getNode(&Entry);
  const auto *Meet = Node ? Node->getIDom() : nullptr;
  if (!Meet || !Meet->getBlock())
    return false;
  P = {&Entry, Meet->getBlock(), {}, {}};
  SmallVector<BasicBlock *, 32> Open(successors(&Entry));
  while (!Open.empty()) {
    BasicBlock *B = Open.pop_back_val();
    if (B == P.After || !P.Blocks.insert(B).second)
      continue;
    if (B == &Entry || P.Blocks.size() > BlocksMax)
      return false;
    Open.append(succ_begin(B), succ_end(B));
  }
  return P.Blocks.count(Of.First) && isAlone(P) && findRuns(P);
}

bool PartFinder::isAlone(const Part &P) const {
  if (Facts.LI.getLoopFor(P.After) != Of.around(Facts.LI) ||
      Facts.LI.getLoopFor(P.Entry) != Of.around(Facts.LI))
    return false;
  for (const BasicBlock *B : P.Blocks) {
    for (const BasicBlock *From : predecessors(B))
      if (From != P.Entry && !P.Blocks.count(From))
        return false;
    if (Of.contains(B))
      continue;
    if (!isa<BranchInst>(B->getTerminator()))
      return false;
    if (isOther(B))
      continue;
    if (Facts.LI.getLoopFor(B) != Of.around(Facts.LI))
      return false;
    for (const Instruction &I : *B)
      if (IsProduct ? !isIdle(I) : !isNote(I) && I.mayHaveSideEffects())
        return false;
  }
  return true;
}

bool PartFinder::isOther(const BasicBlock *B) const {
  const Loop *In = Facts.LI.getLoopFor(B);
  return !IsProduct && In && !In->contains(Of.First) && isSplit(*In);
}

// Where every way leads on that is not given up here.
bool PartFinder::isEnd(const BasicBlock *B) const {
  return Of.contains(B) || (IsProduct && any_of(*B, isOffer));
}

// Ways past the loop, and past all calls for it, must not be taken.
bool PartFinder::findRuns(Part &P) const {
  SmallVector<const BasicBlock *, 32> Open;
  SmallPtrSet<const BasicBlock *, 32> Leads;
  for (const BasicBlock *B : P.Blocks)
    if (isEnd(B) && Leads.insert(B).second)
      Open.push_back(B);
  while (!Open.empty())
    for (const BasicBlock *From : predecessors(Open.pop_back_val()))
      if ((From == P.Entry || P.Blocks.count(From)) &&
          Leads.insert(From).second)
        Open.push_back(From);
  if (any_of(Leads, [&](const BasicBlock *B) {
        return P.Blocks.count(B) && isOther(B);
      }))
    return false;
  auto Add = [&](const BasicBlock *B) {
    auto *Branch = dyn_cast<BranchInst>(B->getTerminator());
    if (!Branch)
      return false;
    if (!Branch->isConditional() || isEnd(B) || !Leads.count(B))
      return true;
    bool First = leads(Leads, P, Branch->getSuccessor(0));
    bool Second = leads(Leads, P, Branch->getSuccessor(1));
    assert(First || Second);
    if (First != Second)
      P.Runs.push_back({Branch->getCondition(), First});
    return true;
  };
  return Add(P.Entry) &&
         all_of(P.Blocks, [&](const BasicBlock *B) { return Add(B); });
}

void findUsedAfter(const Part &P, SmallVectorImpl<Instruction *> &Found) {
  for (BasicBlock *B : P.Blocks)
    for (Instruction &I : *B)
      if (any_of(I.users(), [&](const User *U) {
            const auto *By = cast<Instruction>(U);
            return !P.Blocks.count(const_cast<BasicBlock *>(By->getParent())) &&
                   !(isa<PHINode>(By) && By->use_empty());
          }))
        Found.push_back(&I);
}

bool leavesAlike(const Part &P) {
  for (const PHINode &Phi : P.After->phis()) {
    const Value *Only = nullptr;
    for (unsigned I = 0; I < Phi.getNumIncomingValues(); I++) {
      BasicBlock *From = Phi.getIncomingBlock(I);
      if (Phi.use_empty() || (From != P.Entry && !P.Blocks.count(From)))
        continue;
      if (Only && Only != Phi.getIncomingValue(I))
        return false;
      Only = Phi.getIncomingValue(I);
    }
  }
  return true;
}

} // namespace nputeir
