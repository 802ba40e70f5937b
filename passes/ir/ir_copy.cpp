// ir_copy.cpp -- a copy of a function, to try on it what may come to nothing.
#include "ir_copy.h"
#include "versions.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace nputeir {

Copy::Copy(Function &F) : F(F) {
  C = Function::Create(F.getFunctionType(), GlobalValue::InternalLinkage,
                       F.getAddressSpace(), "", F.getParent());
  ValueToValueMapTy Map;
  auto To = C->arg_begin();
  for (Argument &From : F.args())
    Map[&From] = &*To++;
  SmallVector<ReturnInst *, 4> Returns;
  // Cloning would describe the copy as a function of its own.
  DISubprogram *Described = F.getSubprogram();
  F.setSubprogram(nullptr);
  CloneFunctionInto(C, &F, Map, CloneFunctionChangeType::LocalChangesOnly,
                    Returns);
  F.setSubprogram(Described);
  C->setSubprogram(Described);
}

Copy::~Copy() { C->eraseFromParent(); }

// A label's address would be that of the code that is replaced.
bool Copy::canReplace() const {
  return none_of(F, [](const BasicBlock &B) { return B.hasAddressTaken(); });
}

void Copy::replace() {
  for (BasicBlock &B : F)
    B.dropAllReferences();
  while (!F.empty())
    F.begin()->eraseFromParent();
  assert(F.empty() && F.arg_size() == C->arg_size());
  auto To = F.arg_begin();
  for (Argument &From : C->args())
    From.replaceAllUsesWith(&*To++);
  moveBlocks(*C, F);
}

} // namespace nputeir
