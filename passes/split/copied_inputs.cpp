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
#include "calls.h"
#include "digits.h"
#include "ir_marks.h"
#include "ir_sums.h"
#include "lanes.h"
#include "own_buffers.h"
#include "row_pointers.h"
#include "sides.h"
#include "substitute.h"
#include "versions.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { DepthMax = 24 };

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

void addUnknowns(Numbers &All) {
  Unknowns Of = {All.Values};
  for (const SCEV *S : All.Found)
    visitAll(S, Of);
}

SmallSetVector<Value *, 8> neededBy(const IRNest &I) {
  Numbers All;
  All.addConditions(I);
  All.Found.insert(I.Symbol.begin(), I.Symbol.end());
  All.Found.insert(I.Tensor.begin(), I.Tensor.end());
  All.Values.insert(I.Outside.begin(), I.Outside.end());
  All.Values.insert(I.NonZero.begin(), I.NonZero.end());
  addUnknowns(All);
  return std::move(All.Values);
}

// ---- a copy and its reader ----

class Finder {
  Loop *const Product; // null: a call
  CallInst *const Call;
  const Core Of; // the product
  ArrayRef<const Function *> Same;
  const FunctionFacts &Facts;
  arena *A;
  CopiedInput &R;
  const Value *Buffer = nullptr;
  bool Zeroed = false; // what is not stored there is zero, or nothing
  SmallSetVector<Instruction *, 16> Uses;

public:
  Finder(Loop &L, ArrayRef<const Function *> Same, const FunctionFacts &Facts,
         arena *A, CopiedInput &R)
      : Product(&L), Call(nullptr), Of(L), Same(Same), Facts(Facts), A(A),
        R(R) {}
  Finder(CallInst &Call, ArrayRef<const Function *> Same,
         const FunctionFacts &Facts, arena *A, CopiedInput &R)
      : Product(nullptr), Call(&Call), Of(*Call.getParent()), Same(Same),
        Facts(Facts), A(A), R(R) {}

  bool run() {
    R.At = Call ? Call->getDebugLoc() : Product->getStartLoc();
    SmallSetVector<const Value *, 4> Tried;
    if (Call)
      for (const Value *Arg : Call->args())
        if (Arg->getType()->isPointerTy())
          Tried.insert(bufferOf(Arg));
    for (BasicBlock *B : Product ? Product->blocks() : ArrayRef<BasicBlock *>())
      for (Instruction &I : *B)
        if (auto *Load = dyn_cast<LoadInst>(&I))
          Tried.insert(bufferOf(Load->getPointerOperand()));
    return any_of(Tried, [this](const Value *V) {
      Buffer = V;
      return V && findCopy() && findFilled() && findRead() &&
             isKeptUntilRead() && isUsedHereAlone() && readBoth();
    });
  }

private:
  // The loop beside the product that stores to the buffer.
  bool findCopy() {
    Uses.clear();
    R.Copy = nullptr;
    if (!findUses(*Buffer, *Of.First->getParent(), Same, Uses))
      return false;
    for (Instruction *I : Uses) {
      auto *S = dyn_cast<StoreInst>(I);
      if (!S || Of.contains(S->getParent()) ||
          S->getValueOperand()->getType()->isPointerTy())
        continue;
      Loop *L = Facts.LI.getLoopFor(S->getParent());
      if (L && isSplit(*L)) // instead of which the copy runs
        continue;
      while (L && L->getParentLoop() != Of.around(Facts.LI))
        L = L->getParentLoop();
      if (!L || R.Copy)
        return false;
      R.Copy = L;
    }
    return R.Copy && !isKept(*R.Copy);
  }

  // The least that all ways to the product come from.
  bool findFilled() {
    PartFinder Around(Core(*R.Copy), Facts, false);
    const BasicBlock *To = Product ? Product->getLoopPreheader() : Of.First;
    Part &P = R.Filled;
    if (!To || !Around.coreItself(P))
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
    PartFinder Around(Of, Facts, true);
    Part Next;
    if (!Around.coreItself(Next) || !isReadPart(Next))
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
      if (Between.size() > PartFinder::BlocksMax)
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
  bool readsBuffer(Instruction &I) {
    if (Call)
      return &I == Call && isOneArgument();
    auto *L = dyn_cast<LoadInst>(&I);
    const auto *Base = L ? dyn_cast<SCEVUnknown>(Facts.SE.getPointerBase(
                               Facts.SE.getSCEV(L->getPointerOperand())))
                         : nullptr;
    return Base && Base->getValue() == Buffer;
  }

  bool isOneArgument() {
    return count_if(Call->args(), [this](const Value *Arg) {
             SmallVector<const Value *, 4> Objects;
             getUnderlyingObjects(Arg, Objects);
             return Arg->getType()->isPointerTy() &&
                    any_of(Objects, [this](const Value *V) {
                      return V == Buffer ||
                             isa<GEPOperator, PHINode, CastInst, SelectInst>(V);
                    });
           }) == 1;
  }

  // The copy stores it once, the product reads it; what is ours may have its
  // address.
  bool isUsedHereAlone() {
    int Stores = 0;
    Zeroed = startsZeroed(*Buffer);
    for (const BasicBlock *B : R.Filled.Blocks)
      for (const Instruction &I : *B)
        if (!isNote(I) && I.mayHaveSideEffects() &&
            !Uses.count(const_cast<Instruction *>(&I)))
          return false;
    for (Instruction *I : Uses) {
      BasicBlock *B = I->getParent();
      if (R.Filled.Blocks.count(B) && isa<StoreInst>(I) &&
          cast<StoreInst>(I)->getValueOperand()->getType()->isPointerTy())
        return false;
      if (R.Filled.Blocks.count(B) && isa<StoreInst>(I) &&
          (!R.Copy->contains(I) || Stores++ == 0))
        continue;
      if (clears(*I)) { // before the copy, or after the product
        Zeroed |= startsEmpty(*Buffer) && Facts.DT.dominates(B, R.Filled.Entry);
        continue;
      }
      if (!R.Read.Blocks.count(B) ||
          (Of.contains(B) ? !readsBuffer(*I) : isa<LoadInst>(I)))
        return false;
    }
    return Stores == 1;
  }

  bool read(Loop &L, IRNest &Nest, verdict &V) {
    Sides Ways;
    return readNest(L, Facts.LI, Facts.SE, Facts.DT, Facts.AA, A, Nest, V,
                    Ways);
  }

  bool readProduct(IRNest &Nest, verdict &V) {
    return Call ? readCall(*Call, Facts.SE, Facts.AA, A, Nest, V)
                : read(*Product, Nest, V);
  }

  bool readBoth() {
    verdict V = {};
    IRNest Copied, Product0;
    bool Good = read(*R.Copy, Copied, V) && readProduct(Product0, V);
    Equalities Filled;
    R.Nest = IRNest();
    Good = Good && substituteCopy(Product0, Copied, *Buffer, Zeroed, Facts.SE,
                                  A, R.Nest, Filled);
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
  // what decides on that does not change.  The same of what an earlier copy has
  // left where this one stores nothing.
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
    if (Copied.N->statement[0].conditional) // what is stored is all that is
      Deciding.Found.insert(Copied.Symbol.begin(), Copied.Symbol.end());
    const auto *Made = dyn_cast<Instruction>(Buffer);
    if (!Made)
      return Deciding.Found.empty() && Deciding.Values.empty();
    const Loop *Lives = Facts.LI.getLoopFor(Made->getParent());
    addUnknowns(Deciding);
    for (const Loop *Around = R.Copy->getParentLoop();
         Around && Around != Lives; Around = Around->getParentLoop())
      if (!all_of(Deciding.Values,
                  [&](const Value *V) { return staysIn(*V, *Around); }) ||
          any_of(Deciding.Found, [&](const SCEV *S) {
            return SCEVExprContains(S, [&](const SCEV *X) {
              const auto *Rec = dyn_cast<SCEVAddRecExpr>(X);
              return Rec && Around->contains(Rec->getLoop());
            });
          }))
        return false;
    return true;
  }
};

} // namespace
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

// In its block.
static bool isAlone(const CallInst &Call) {
  return all_of(*Call.getParent(), [&](const Instruction &I) {
    return &I == &Call || I.isTerminator() || isa<DbgInfoIntrinsic>(I);
  });
}

bool mayReadCopies(const Function &F) {
  return !movesVectors(F) &&
         (readsOwnBuffer(F) || any_of(instructions(F), callsProduct));
}

bool readCopiedInput(Loop &Product, ArrayRef<const Function *> Same,
                     const FunctionFacts &Facts, arena *A, CopiedInput &R) {
  return sumsProducts(Product) && Finder(Product, Same, Facts, A, R).run();
}

bool readCopiedInput(CallInst &Product, ArrayRef<const Function *> Same,
                     const FunctionFacts &Facts, arena *A, CopiedInput &R) {
  return takesNumbers(Product) && isAlone(Product) &&
         Finder(Product, Same, Facts, A, R).run();
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
  return {Front, First, After, X.At};
}

} // namespace nputeir
