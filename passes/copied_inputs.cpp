// copied_inputs.cpp -- products that read what a loop before them has copied
// into a buffer of the function's own:
//
//     for ..  col[..] = in[..];         the copy, alone in its blocks
//     ..                                that does not write in[..]
//     for ..  out[..] += w[..] * col[..];
//
// The product is described as one that reads `in` (substitute.h), and a call
// for that goes in front of both, so that neither the copy nor the product runs
// when it is made.  Else both run as before, the copy later: it is moved to
// where the product begins, which nobody can tell, because nobody else reads
// the buffer and nothing in between writes what is copied.
//
// The product may have been offered for itself already, here or in a function
// that was inlined.  The branches and calls which that has left, in front of
// its loop, do nothing but what the loop does: they are skipped with it.
#include "copied_inputs.h"
#include "ir_exits.h"
#include "ir_marks.h"
#include "ir_sums.h"
#include "local_arrays.h"
#include "substitute.h"
#include "versions.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { UsersMax = 400, BlocksMax = 400, DepthMax = 24 };

bool isNamed(const CallBase &Call, StringRef Start) {
  const Function *F = Call.getCalledFunction();
  return F && F->getName().substr(0, Start.size()) == Start;
}

// A call that does what a loop does.
bool isOffer(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  return Call && (isNamed(*Call, CallName) || isNamed(*Call, "nputeir.cpu"));
}

bool isOurCall(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  return isOffer(I) || (Call && isNamed(*Call, CompareName));
}

bool isNote(const Instruction &I) {
  return isa<DbgInfoIntrinsic>(I) || isa<AssumeInst>(I) ||
         isa<NoAliasScopeDeclInst>(I);
}

// ---- the buffer ----

// What lies in the frame, in memory that the function has got, or in the
// module; null: somebody else may have it.
const Value *bufferOf(const Value *Pointer) {
  const Value *V = getUnderlyingObject(Pointer);
  const auto *G = dyn_cast<GlobalVariable>(V);
  const auto *Call = dyn_cast<CallBase>(V);
  bool Own = isa<AllocaInst>(V) || (G && G->hasLocalLinkage()) ||
             (Call && isNoAliasCall(Call));
  return Own ? V : nullptr;
}

bool isFree(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  const Function *F = Call ? Call->getCalledFunction() : nullptr;
  return F && (F->getName() == "free" || F->getName() == "_ZdlPv" ||
               F->getName() == "_ZdaPv" || F->getName() == "_ZdlPvm" ||
               F->getName() == "_ZdaPvm");
}

// Gathers the instructions that do more with the buffer's address than to
// compute or compare with it, free it, or say how long it lives; false: there
// are very many, or a number becomes an address.
bool findUses(const Value &Buffer, const Function &Here, const Function &Same,
              SmallSetVector<Instruction *, 16> &Found) {
  SmallSetVector<const Value *, 32> Open;
  Open.insert(&Buffer);
  for (unsigned N = 0; N < Open.size(); N++)
    for (const Use &U : Open[N]->uses()) {
      if (Open.size() > UsersMax || Found.size() > UsersMax)
        return false;
      auto *I = dyn_cast<Instruction>(U.getUser());
      if (!I) {
        if (!isa<ConstantExpr>(U.getUser()))
          return false;
        Open.insert(U.getUser());
        continue;
      }
      if (I->getFunction() == &Same || isa<ICmpInst>(I) || marksFrame(*I) ||
          isFree(*I))
        continue;
      if (isa<IntToPtrInst>(I) || I->getFunction() != &Here)
        return false;
      if (I->mayReadOrWriteMemory() || I->isTerminator())
        Found.insert(I);
      else
        Open.insert(I);
    }
  return true;
}

// ---- the code around a loop that belongs to it ----

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
         isSafeToSpeculativelyExecute(&I);
}

// V is known at the end of B, or can be computed there.
bool canBeAt(const Value *V, const BasicBlock &B, const DominatorTree &DT,
             int Depth = 0) {
  const auto *I = dyn_cast<Instruction>(V);
  if (!I || DT.dominates(I, B.getTerminator()))
    return true;
  return isNumber(*I) && Depth < DepthMax &&
         all_of(I->operands(), [&](const Use &U) {
           return canBeAt(U.get(), B, DT, Depth + 1);
         });
}

// Operands first; each number is moved once.
void computeAt(Value *V, BasicBlock &B, const DominatorTree &DT) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || DT.dominates(I, B.getTerminator()))
    return;
  for (Use &U : I->operands())
    computeAt(U.get(), B, DT);
  moveBefore(*I, B.getTerminator());
}

class PartFinder {
  const Loop &L;
  const FunctionFacts &Facts;
  bool IsProduct; // beside which calls of ours may stand

public:
  PartFinder(const Loop &L, const FunctionFacts &Facts, bool IsProduct)
      : L(L), Facts(Facts), IsProduct(IsProduct) {}

  // The loop alone.
  bool loopItself(Part &P) const {
    if (!L.isLoopSimplifyForm() || !L.getExitBlock() || !L.getExitingBlock())
      return false;
    P = {L.getLoopPreheader(), L.getExitBlock(), {}, {}};
    P.Blocks.insert(L.block_begin(), L.block_end());
    return isAlone(P);
  }

  // From the end of Entry to where all ways meet again; false: other code is in
  // between, or the loop is not.
  bool partBehind(BasicBlock &Entry, Part &P) const {
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
    return P.Blocks.count(L.getHeader()) && isAlone(P) && findRuns(P);
  }

private:
  bool isAlone(const Part &P) const {
    if (Facts.LI.getLoopFor(P.After) != L.getParentLoop() ||
        Facts.LI.getLoopFor(P.Entry) != L.getParentLoop())
      return false;
    for (const BasicBlock *B : P.Blocks) {
      for (const BasicBlock *From : predecessors(B))
        if (From != P.Entry && !P.Blocks.count(From))
          return false;
      if (L.contains(B))
        continue;
      if (Facts.LI.getLoopFor(B) != L.getParentLoop() ||
          !isa<BranchInst>(B->getTerminator()))
        return false;
      for (const Instruction &I : *B)
        if (IsProduct ? !isIdle(I) : !isNote(I) && I.mayHaveSideEffects())
          return false;
    }
    return true;
  }

  // Where every way leads on that is not given up here.
  bool isEnd(const BasicBlock *B) const {
    return L.contains(B) || (IsProduct && any_of(*B, isOffer));
  }

  // Ways past the loop, and past all calls for it, must not be taken.
  bool findRuns(Part &P) const {
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

  static bool leads(const SmallPtrSetImpl<const BasicBlock *> &Leads,
                    const Part &P, BasicBlock *B) {
    return P.Blocks.count(B) && Leads.count(B);
  }
};

// Values of the part that are used behind it.
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

// What comes from the part is the same by whatever way it is left.
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

// ---- what the nest needs ----

struct Numbers {
  SmallSetVector<const SCEV *, 32> Found;
  SmallSetVector<Value *, 8> Values;
  void add(const Sum &S) {
    Found.insert(S.Start);
    for (const Sum::Term &T : S.Terms) {
      Found.insert(T.Step);
      Found.insert(T.Extent);
    }
  }
  void operator()(std::pair<Value *, bool> X) { Values.insert(X.first); }
  void operator()(const NoWrap &X) { add(X.Of); }
  void operator()(const Comparison &X) { add(X.Of); }
  void operator()(const AtLeast &X) {
    Found.insert(X.Large);
    Found.insert(X.Small);
  }
  void operator()(std::pair<const SCEV *, const SCEV *> X) {
    Found.insert(X.first);
    Found.insert(X.second);
  }
  void operator()(const Apart &X) {
    add(X.Written.Of);
    add(X.Read.Of);
  }
  void addConditions(const IRNest &I) {
    I.eachCondition([this](const auto &X) { (*this)(X); });
  }
};

struct Unknowns {
  SmallSetVector<Value *, 8> &Found;
  bool follow(const SCEV *S) {
    if (const auto *U = dyn_cast<SCEVUnknown>(S))
      Found.insert(U->getValue());
    return true;
  }
  bool isDone() const { return false; }
};

SmallSetVector<Value *, 8> neededBy(const IRNest &I) {
  Numbers All;
  All.addConditions(I);
  All.Found.insert(I.Symbol.begin(), I.Symbol.end());
  All.Found.insert(I.Tensor.begin(), I.Tensor.end());
  All.Values.insert(I.Outside.begin(), I.Outside.end());
  All.Values.insert(I.NonZero.begin(), I.NonZero.end());
  Unknowns Of = {All.Values};
  for (const SCEV *S : All.Found)
    visitAll(S, Of);
  return std::move(All.Values);
}

// ---- a copy and its reader ----

class Finder {
  Loop &Product;
  const Function &Same;
  const FunctionFacts &Facts;
  arena *A;
  CopiedInput &R;
  const Value *Buffer = nullptr;
  SmallSetVector<Instruction *, 16> Uses;

public:
  Finder(Loop &Product, const Function &Same, const FunctionFacts &Facts,
         arena *A, CopiedInput &R)
      : Product(Product), Same(Same), Facts(Facts), A(A), R(R) {}

  bool run() {
    R.Product = &Product;
    SmallSetVector<const Value *, 4> Tried;
    for (BasicBlock *B : Product.blocks())
      for (Instruction &I : *B)
        if (auto *Load = dyn_cast<LoadInst>(&I)) {
          Buffer = bufferOf(Load->getPointerOperand());
          if (Buffer && Tried.insert(Buffer) && findCopy() && findFilled() &&
              findRead() && isKeptUntilRead() && isUsedHereAlone() &&
              readBoth())
            return true;
        }
    return false;
  }

private:
  // The loop beside the product that stores to the buffer.
  bool findCopy() {
    Uses.clear();
    R.Copy = nullptr;
    if (!findUses(*Buffer, *Product.getHeader()->getParent(), Same, Uses))
      return false;
    for (Instruction *I : Uses) {
      auto *S = dyn_cast<StoreInst>(I);
      if (!S || Product.contains(S) ||
          S->getValueOperand()->getType()->isPointerTy())
        continue;
      Loop *L = Facts.LI.getLoopFor(S->getParent());
      while (L && L->getParentLoop() != Product.getParentLoop())
        L = L->getParentLoop();
      if (!L || R.Copy)
        return false;
      R.Copy = L;
    }
    return R.Copy && !isKept(*R.Copy);
  }

  // The least that all ways to the product come from.
  bool findFilled() {
    PartFinder Around(*R.Copy, Facts, false);
    const BasicBlock *To = Product.getLoopPreheader();
    Part &P = R.Filled;
    if (!To || !Around.loopItself(P))
      return false;
    BasicBlock *Entry = P.Entry;
    for (int I = 0; I < DepthMax && !Facts.DT.dominates(P.After, To); I++) {
      const auto *Up = Facts.DT.getNode(Entry)->getIDom();
      if (!Up)
        return false;
      Entry = Up->getBlock();
      Part Next;
      if (Around.partBehind(*Entry, Next))
        P = std::move(Next);
    }
    if (!Facts.DT.dominates(P.After, To) || !leavesAlike(P))
      return false;
    SmallVector<Instruction *, 4> Used;
    findUsedAfter(P, Used);
    return Used.empty();
  }

  // The most that does nothing but the product.
  bool findRead() {
    PartFinder Around(Product, Facts, true);
    Part Next;
    if (!Around.loopItself(Next) || !isReadPart(Next))
      return false;
    R.Read = Next;
    BasicBlock *Entry = Next.Entry;
    for (int I = 0; I < DepthMax; I++) {
      const auto *Up = Facts.DT.getNode(Entry)->getIDom();
      if (!Up || !Facts.DT.dominates(R.Filled.After, Up->getBlock()))
        return true;
      Entry = Up->getBlock();
      if (Around.partBehind(*Entry, Next) && isReadPart(Next))
        R.Read = Next;
    }
    return true;
  }

  static bool isReadPart(const Part &P) {
    SmallVector<Instruction *, 4> Used;
    findUsedAfter(P, Used);
    return Used.empty() && leavesAlike(P);
  }

  // Nothing between the copy and the product writes what is copied, nor the
  // buffer, which a call may do that leads here again.
  bool isKeptUntilRead() {
    SmallVector<const LoadInst *, 8> Loads;
    for (const BasicBlock *B : R.Filled.Blocks)
      for (const Instruction &I : *B)
        if (const auto *L = dyn_cast<LoadInst>(&I))
          Loads.push_back(L);
    SmallSetVector<const BasicBlock *, 16> Between;
    Between.insert(R.Read.Entry);
    for (unsigned N = 0; N < Between.size(); N++) {
      const BasicBlock *B = Between[N];
      if (Between.size() > BlocksMax)
        return false;
      if (B != R.Filled.After)
        Between.insert(pred_begin(B), pred_end(B));
      for (const Instruction &I : *B)
        if (I.mayWriteToMemory() && !isNote(I) &&
            (mayWrite(I, MemoryLocation::getBeforeOrAfter(Buffer)) ||
             any_of(Loads, [&](const LoadInst *L) {
               return !L->isSimple() ||
                      mayWrite(I,
                               MemoryLocation::getBeforeOrAfter(
                                   L->getPointerOperand(), L->getAAMetadata()));
             })))
          return false;
    }
    return true;
  }

  bool mayWrite(const Instruction &I, const MemoryLocation &Place) {
    return isModSet(Facts.AA.getModRefInfo(&I, Place));
  }

  // .. and of nothing else, as one that a condition chooses may be.
  bool isLoadOfBuffer(Instruction &I) {
    auto *L = dyn_cast<LoadInst>(&I);
    const auto *Base = L ? dyn_cast<SCEVUnknown>(Facts.SE.getPointerBase(
                               Facts.SE.getSCEV(L->getPointerOperand())))
                         : nullptr;
    return Base && Base->getValue() == Buffer;
  }

  // The copy stores it once, the product reads it; what is ours may have its
  // address.
  bool isUsedHereAlone() {
    int Stores = 0;
    for (Instruction *I : Uses) {
      BasicBlock *B = I->getParent();
      if (R.Filled.Blocks.count(B) && isa<StoreInst>(I) &&
          cast<StoreInst>(I)->getValueOperand()->getType()->isPointerTy())
        return false;
      if (R.Filled.Blocks.count(B) && isa<StoreInst>(I) && Stores++ == 0)
        continue;
      if (!R.Read.Blocks.count(B) ||
          (Product.contains(I) ? !isLoadOfBuffer(*I) : isa<LoadInst>(I)))
        return false;
    }
    return Stores == 1;
  }

  bool readBoth() {
    verdict V = {};
    IRNest Copied, Product0;
    bool Good = readNest(*R.Copy, Facts.LI, Facts.SE, Facts.DT, Facts.AA, A,
                         Copied, V) &&
                readNest(Product, Facts.LI, Facts.SE, Facts.DT, Facts.AA, A,
                         Product0, V);
    Equalities Filled;
    R.Nest = IRNest();
    Good = Good && substituteCopy(Product0, Copied, *Buffer, Facts.SE, A,
                                  R.Nest, Filled);
    dropRowPointers(Copied);
    dropRowPointers(Product0);
    for (const Part *P : {&R.Filled, &R.Read})
      R.Nest.Assumed.insert(R.Nest.Assumed.end(), P->Runs.begin(),
                            P->Runs.end());
    return Good && isFilledAnew(Copied, Product0, Filled) &&
           all_of(neededBy(R.Nest), [&](Value *V) {
             return canBeAt(V, *R.Read.Entry, Facts.DT);
           });
  }

  // Where a copy is left out, the product must not miss it later, when it reads
  // more than what is copied then: either the buffer does not live so long, or
  // what decides on that does not change.
  bool isFilledAnew(const IRNest &Copied, const IRNest &Read,
                    const Equalities &Filled) {
    Numbers Deciding;
    Deciding.addConditions(Copied);
    Deciding.addConditions(Read);
    for (auto Equal : Filled)
      Deciding(Equal);
    for (auto Runs : R.Filled.Runs)
      Deciding(Runs);
    for (int L = 0; L < Copied.N->loop_count; L++)
      if (Copied.N->loop[L].extent.symbol >= 0)
        Deciding.Found.insert(
            Copied.Symbol[(size_t)Copied.N->loop[L].extent.symbol]);
    const auto *Made = dyn_cast<Instruction>(Buffer);
    if (!Made)
      return Deciding.Found.empty() && Deciding.Values.empty();
    const Loop *Lives = Facts.LI.getLoopFor(Made->getParent());
    for (const Loop *Around = R.Copy->getParentLoop();
         Around && Around != Lives; Around = Around->getParentLoop()) {
      const BasicBlock *Front = Around->getLoopPreheader();
      auto Stays = [&](Value *V) {
        return Front && canBeAt(V, *Front, Facts.DT);
      };
      if (!all_of(Deciding.Values, Stays) ||
          any_of(Deciding.Found, [&](const SCEV *S) {
            return !Facts.SE.isLoopInvariant(S, Around);
          }))
        return false;
    }
    return true;
  }
};

} // namespace

bool readsOwnBuffer(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    const auto *L = dyn_cast<LoadInst>(&I);
    return L && bufferOf(L->getPointerOperand());
  });
}

// What makes numbers that I is computed from undefined may not hold for others
// that are equal to them.
static void dropPromises(Instruction &I, int Depth = 0) {
  I.dropPoisonGeneratingFlags();
  for (Value *V : I.operands())
    if (auto *From = dyn_cast<BinaryOperator>(V); From && Depth < DepthMax)
      dropPromises(*From, Depth + 1);
}

bool joinQuotients(Function &F, ScalarEvolution &SE, const DominatorTree &DT) {
  DenseMap<std::pair<const SCEV *, const SCEV *>, Instruction *> First;
  bool Any = false;
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    if (I.getOpcode() != Instruction::SDiv || I.getType()->isVectorTy())
      continue;
    Instruction *&Known =
        First[{SE.getSCEV(I.getOperand(0)), SE.getSCEV(I.getOperand(1))}];
    if (!Known || !DT.dominates(Known, &I)) {
      Known = Known ? Known : &I;
      continue;
    }
    dropPromises(*Known);
    I.replaceAllUsesWith(Known);
    I.eraseFromParent();
    Any = true;
  }
  return Any;
}

bool readCopiedInput(Loop &Product, const Function &Same,
                     const FunctionFacts &Facts, arena *A, CopiedInput &R) {
  return sumsProducts(Product) && Finder(Product, Same, Facts, A, R).run();
}

Region moveCopy(const CopiedInput &X, LoopInfo &LI, DominatorTree &DT) {
  BasicBlock *Old = X.Filled.Entry, *Behind = X.Filled.After;
  BasicBlock *Front = X.Read.Entry;
  for (Value *V : neededBy(X.Nest))
    computeAt(V, *Front, DT);
  BasicBlock *Begin = SplitBlock(Front, Front->getTerminator(), &DT, &LI);

  for (PHINode &P : make_early_inc_range(Behind->phis())) {
    if (P.use_empty()) {
      P.eraseFromParent();
      continue;
    }
    Value *V = nullptr;
    for (unsigned I = P.getNumIncomingValues(); I-- > 0;) {
      BasicBlock *From = P.getIncomingBlock(I);
      if (From == Old || X.Filled.Blocks.count(From))
        V = P.removeIncomingValue(I, false);
    }
    P.addIncoming(V, Old);
  }
  SmallVector<BasicBlock *, 4> Ends;
  for (BasicBlock *From : predecessors(Behind))
    if (X.Filled.Blocks.count(From))
      Ends.push_back(From);
  for (BasicBlock *From : Ends)
    From->getTerminator()->replaceSuccessorWith(Behind, Begin);
  Instruction *Enter = Old->getTerminator();
  IRBuilder<>(Enter).CreateBr(Behind);
  Enter->replaceSuccessorWith(Behind, Begin);
  moveBefore(*Enter, Front->getTerminator());
  Front->getTerminator()->eraseFromParent();
  for (BasicBlock *Next : successors(Front))
    Next->replacePhiUsesWith(Old, Front);
  DT.recalculate(*Front->getParent());

  for (PHINode &P : make_early_inc_range(X.Read.After->phis()))
    if (P.use_empty())
      P.eraseFromParent();
  SmallVector<BasicBlock *, 4> Last;
  for (BasicBlock *From : predecessors(X.Read.After))
    if (From == Begin || X.Read.Blocks.count(From))
      Last.push_back(From);
  BasicBlock *After =
      SplitBlockPredecessors(X.Read.After, Last, ".nputeir", &DT, &LI);
  BasicBlock *First = SplitBlock(Front, Front->getTerminator(), &DT, &LI);
  return {Front, First, After, X.Product->getStartLoc()};
}

} // namespace nputeir
