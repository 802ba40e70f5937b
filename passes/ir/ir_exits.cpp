// ir_exits.cpp -- how loops are left.
#include "ir_exits.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

bool neverReturns(const BasicBlock *B) {
  enum { BlocksMax = 32 };
  SetVector<const BasicBlock *> Ahead;
  Ahead.insert(B);
  for (unsigned I = 0; I < Ahead.size(); I++) {
    if (I == BlocksMax || isa<ReturnInst>(Ahead[I]->getTerminator()))
      return false;
    for (const BasicBlock *Next : successors(Ahead[I]))
      Ahead.insert(Next);
  }
  return true;
}

Exit exitOf(const Loop &L) {
  SmallVector<Loop::Edge, 4> Edges;
  L.getExitEdges(Edges);
  Exit Found;
  for (auto [From, To] : Edges) {
    if (Edges.size() > 1 && neverReturns(To))
      continue;
    if (Found.From)
      return {};
    Found = {const_cast<BasicBlock *>(From), const_cast<BasicBlock *>(To)};
  }
  return Found;
}

const char *leftFromElsewhere(const Loop &L) {
  const BasicBlock *From = exitOf(L).From;
  if (!L.isLoopSimplifyForm() || !From)
    return "a loop of the nest has more than one way out";
  if (From != L.getHeader() && From != L.getLoopLatch())
    return "a loop of the nest is left from its middle";
  return nullptr;
}

bool exitsBeforeBody(const Loop &L) {
  return exitOf(L).From == L.getHeader() && L.getLoopLatch() != L.getHeader();
}

// V is only known when L has read it from memory, or called something.
static bool isReadIn(const Loop &L, const Value *V) {
  enum { ValuesMax = 64 };
  SetVector<const Value *> Open;
  Open.insert(V);
  for (unsigned At = 0; At < Open.size() && At < ValuesMax; At++) {
    const auto *I = dyn_cast<Instruction>(Open[At]);
    if (!I || !L.contains(I) ||
        (isa<PHINode>(I) && I->getParent() == L.getHeader()))
      continue;
    if (I->mayReadOrWriteMemory())
      return true;
    Open.insert(I->op_begin(), I->op_end());
  }
  return false;
}

bool isLeftEarly(const Loop &L) {
  SmallVector<Loop::Edge, 4> Edges;
  L.getExitEdges(Edges);
  bool Reads = false;
  unsigned Ways = 0;
  for (auto [From, To] : Edges) {
    if (neverReturns(To))
      continue;
    Ways++;
    Reads |= isReadIn(L, From->getTerminator());
  }
  return Ways > 1 && Reads;
}

// L stores to Place, or, where that is null, Stored to one place.
static bool keepsInMemory(const Loop &L, const Value *Stored,
                          const Value *Place) {
  return any_of((Place ? Place : Stored)->users(), [&](const User *U) {
    const auto *S = dyn_cast<StoreInst>(U);
    return S && L.contains(S) && L.isLoopInvariant(S->getPointerOperand()) &&
           (Place ? S->getPointerOperand() == Place
                  : S->getValueOperand() == Stored);
  });
}

bool countsInMemory(const Loop &L) {
  const BasicBlock *From = exitOf(L).From;
  const auto *Branch =
      From ? dyn_cast<BranchInst>(From->getTerminator()) : nullptr;
  const auto *Test = Branch && Branch->isConditional()
                         ? dyn_cast<CmpInst>(Branch->getCondition())
                         : nullptr;
  return Test && any_of(Test->operands(), [&](const Value *Counter) {
           while (const auto *Cast = dyn_cast<CastInst>(Counter))
             Counter = Cast->getOperand(0);
           const auto *Read = dyn_cast<LoadInst>(Counter);
           return isa<Instruction>(Counter) &&
                  keepsInMemory(L, Counter,
                                Read ? Read->getPointerOperand() : nullptr);
         });
}

bool followsList(const Loop &L) {
  const BasicBlock *From = L.getExitingBlock();
  const BasicBlock *Latch = L.getLoopLatch();
  return From && Latch && any_of(L.getHeader()->phis(), [&](const PHINode &P) {
           const auto *Next =
               dyn_cast<LoadInst>(P.getIncomingValueForBlock(Latch));
           const auto *Branch = dyn_cast<BranchInst>(From->getTerminator());
           if (!Next || !L.contains(Next) || !Branch ||
               !Branch->isConditional())
             return false;
           const auto *Test = dyn_cast<CmpInst>(Branch->getCondition());
           return Test && (is_contained(Test->operands(), &P) ||
                           is_contained(Test->operands(), Next));
         });
}

} // namespace nputeir
