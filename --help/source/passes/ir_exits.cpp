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

} // namespace nputeir
