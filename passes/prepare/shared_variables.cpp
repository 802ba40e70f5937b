// shared_variables.cpp -- what the code of a parallel region gets by reference.
//
//     int i, j, k;                              C, N, j and k are shared
//     #pragma omp parallel for
//     for (i = 0; i < M; i++)  for (k = 0; ..)  for (j = 0; j < N; j++)
//       C[i * N + j] += ..
//
// clang makes a function of the region and passes it the addresses of what it
// shares, which to alias analysis may be those of anything: so that a store to
// j changes N.  Where an address is that of a variable in the frame which is
// otherwise only read and written by its name, no other pointer leads there,
// neither another argument nor one that lies in memory.
//
// Loads and stores get scopes for that, so that it says nothing about calls:
// behind a barrier or within a critical section another thread may have
// written.  Between two of these, what two threads write is a race, of which
// the language says nothing.
#include "shared_variables.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

namespace nputeir {
namespace {

enum {
  Task = 2,        // argument of the call: the region's function
  FirstPassed,     // argument of the call: the first address
  FirstShared = 2, // argument of the function that gets it
  UsersMax = 400
};

// A region's start.
const CallBase *startOf(const User *U) {
  const auto *Call = dyn_cast<CallBase>(U);
  const Function *Runs = Call ? Call->getCalledFunction() : nullptr;
  return Runs && Runs->getName() == "__kmpc_fork_call" &&
                 Call->arg_size() >= FirstPassed
             ? Call
             : nullptr;
}

// It is read or written by its address V, which goes nowhere.
bool onlyAccesses(const Use &U) {
  const auto *S = dyn_cast<StoreInst>(U.getUser());
  if (S)
    return S->getValueOperand() != U.get() && !S->isVolatile();
  if (const auto *L = dyn_cast<LoadInst>(U.getUser()))
    return !L->isVolatile();
  const auto *Call = dyn_cast<IntrinsicInst>(U.getUser());
  return Call && Call->isLifetimeStartOrEnd();
}

// The argument that U is of the region that U starts; null: none.
const Argument *passedTo(const Use &U) {
  const CallBase *Call = startOf(U.getUser());
  if (!Call || !Call->isArgOperand(&U))
    return nullptr;
  const auto *Runs = dyn_cast<Function>(Call->getArgOperand(Task));
  unsigned At = Call->getArgOperandNo(&U);
  if (!Runs || !Runs->hasLocalLinkage() || !Runs->hasOneUse() ||
      At < FirstPassed || At - FirstPassed + FirstShared >= Runs->arg_size())
    return nullptr;
  return Runs->getArg(At - FirstPassed + FirstShared);
}

// Only the regions have the address of the variable.
bool isOnlyShared(const AllocaInst &Variable) {
  return !Variable.hasNUsesOrMore(UsersMax) &&
         all_of(Variable.uses(), [](const Use &U) {
           const Argument *X = passedTo(U);
           return onlyAccesses(U) || (X && !X->hasNUsesOrMore(UsersMax) &&
                                      all_of(X->uses(), onlyAccesses));
         });
}

// Numbers of F's arguments, no two of which are one variable.
SmallVector<unsigned, 8> sharedBy(const Function &F, const CallBase &Start) {
  SmallVector<unsigned, 8> Found;
  for (unsigned A = FirstShared; A < F.arg_size(); A++) {
    unsigned At = A - FirstShared + FirstPassed;
    if (At >= Start.arg_size())
      break;
    const Value *V = Start.getArgOperand(At);
    const auto *Variable = dyn_cast<AllocaInst>(V);
    if (Variable && count(Start.args(), V) == 1 && isOnlyShared(*Variable))
      Found.push_back(A);
  }
  return Found;
}

void addScopes(Instruction &I, unsigned Kind, ArrayRef<Metadata *> Scopes) {
  if (!Scopes.empty())
    I.setMetadata(Kind,
                  MDNode::concatenate(I.getMetadata(Kind),
                                      MDNode::get(I.getContext(), Scopes)));
}

} // namespace

void markSharedVariables(const Function &F, Function &C) {
  if (!F.hasLocalLinkage() || !F.hasOneUse())
    return;
  const CallBase *Start = startOf(F.user_back());
  if (!Start || Start->getArgOperand(Task) != &F)
    return;
  MDBuilder Make(C.getContext());
  MDNode *Domain = Make.createAnonymousAliasScopeDomain("nputeir.shared");
  SmallVector<Metadata *, 8> All;
  DenseMap<const Value *, Metadata *> ScopeOf;
  for (unsigned A : sharedBy(F, *Start)) {
    MDNode *Scope = Make.createAnonymousAliasScope(Domain, "nputeir.variable");
    ScopeOf[C.getArg(A)] = Scope;
    All.push_back(Scope);
  }
  for (Instruction &I : instructions(C)) {
    const Value *Pointer = getLoadStorePointerOperand(&I);
    if (!Pointer || I.isAtomic() || I.isVolatile())
      continue;
    Metadata *Own = ScopeOf.lookup(Pointer);
    SmallVector<Metadata *, 8> Others;
    copy_if(All, std::back_inserter(Others),
            [Own](const Metadata *S) { return S != Own; });
    if (Own)
      addScopes(I, LLVMContext::MD_alias_scope, Own);
    addScopes(I, LLVMContext::MD_noalias, Others);
  }
}

} // namespace nputeir
