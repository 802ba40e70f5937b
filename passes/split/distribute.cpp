// distribute.cpp -- a nest that writes several arrays as two that run one
// behind the other, so that a product among them becomes a nest of its own:
//
//     for o, b, t:  dbias[o] += d[b][t][o];
//                   for i:  dw[o][i] += x[b][t][i] * d[b][t][o];
//
//     before:  the arrays are apart ? product : kept
//     product: the nest, with the stores of the product alone
//     rest:    the nest, with all other stores
//     kept:    the nest as it was
//
// This is loop distribution.  No store of a part is to what the other part
// reads or writes, by what is known of pointers, or places that are asked to be
// apart at run time; or what they share belongs to one iteration of all loops
// around both, in which one stands in front of the other: then its part comes
// first.
//
//     for i:  for k, j:  c[i][j] += a[i][k] * b[k][j];
//             for j:     r[i] += c[i][j];              behind the product
//             for j:     c[i][j] = f(c[i][j]);         too
//
// A value that one part stores and the other uses may be read where it is
// stored, so that it is not computed twice.
//
// What a part reads is the slice of the code that its stores depend on,
// conditions included.  What is used behind the nest is the rest's, as the sum
// of all elements, which then comes last.  The rest may hold a further product
// and is split in its turn.
#include "distribute.h"
#include "checks.h"
#include "ir_memory.h"
#include "ir_sums.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace nputeir {
namespace {

enum { CopyBlocksMax = 64, GroupsMax = 8 };

// What some instructions of a loop are computed from, and what decides whether
// they run.
class Slice {
  const Loop &L;
  const PostDominatorTree &PDT;
  SmallPtrSet<const BasicBlock *, 32> Decided;
  SmallVector<const Instruction *, 32> Open;

public:
  SmallPtrSet<const Instruction *, 32> All;

  Slice(const Loop &L, const PostDominatorTree &PDT) : L(L), PDT(PDT) {}

  void add(const Value *V) {
    const auto *I = dyn_cast<Instruction>(V);
    if (I && L.contains(I) && All.insert(I).second)
      Open.push_back(I);
  }

  void close() {
    while (!Open.empty()) { // each instruction of the loop once
      const Instruction *I = Open.pop_back_val();
      for (const Value *X : I->operands())
        add(X);
      decide(I->getParent());
      if (const auto *P = dyn_cast<PHINode>(I))
        for (const BasicBlock *From : P->blocks())
          if (L.contains(From)) {
            add(From->getTerminator());
            decide(From);
          }
    }
  }

private:
  // B runs when some branches take one side.
  void decide(const BasicBlock *B) {
    if (!Decided.insert(B).second)
      return;
    for (const BasicBlock *X : L.blocks())
      if (X->getTerminator()->getNumSuccessors() > 1 &&
          !PDT.properlyDominates(B, X) &&
          any_of(successors(X), [&](const BasicBlock *Next) {
            return PDT.dominates(B, Next);
          }))
        add(X->getTerminator());
  }
};

class NestDistribution {
  using Group = SmallVector<StoreInst *, 4>;
  Loop &L;
  LoopFacts &Facts;
  bool Vectors;
  SmallVector<Instruction *, 8> Writers;
  SmallVector<Group, 4> Groups; // by the array that is written
  SmallPtrSet<const Instruction *, 8> First;
  const Instruction *TheSum = nullptr; // of the product that is looked at
  SmallVector<std::pair<LoadInst *, Instruction *>, 4> Stored; // and what
  Overlaps Places;
  bool IsBlock = false, AreMembers = false;
  int64_t Least = 0; // products of a block, or for a member

public:
  NestDistribution(Loop &L, LoopFacts &Facts, bool Vectors)
      : L(L), Facts(Facts), Vectors(Vectors),
        Places(L, Facts.SE, Facts.AA, Facts.LI, Facts.DT) {}

  bool run(int64_t LeastProducts, SplitBranches &Branches, NestParts &To) {
    if (!findWriters())
      return false;
    Least = LeastProducts;
    SmallVector<Group, 4> Arrays = Groups;
    if (readStored() && splitMembers(Branches, To))
      return true;
    useStored();
    Groups = std::move(Arrays);
    return splitMembers(Branches, To);
  }

  // A block of results that is written out, and what is left of it, which other
  // loops do.
  bool runBlock(int64_t LeastProducts, SplitBranches &Branches, NestParts &To) {
    assert(Branches.empty());
    IsBlock = true;
    Least = LeastProducts;
    return partBlock() && splitGroup(Branches, To);
  }

  bool isBlock() { return partBlock(); }

  bool mayRun() {
    return findWriters() && any_of(Writers, [&](Instruction *W) {
             return storesProduct(*cast<StoreInst>(W));
           });
  }

private:
  // All stores are sums in one array; first the group of the block.
  bool partBlock() {
    if (!findWriters() || Groups.size() > 1 || isUsedAfter(L) ||
        !all_of(Groups[0], [](const StoreInst *S) { return storesSum(*S); }) ||
        !partByLoops())
      return false;
    stable_sort(Groups, [](const Group &X, const Group &Y) {
      return X.size() > Y.size();
    });
    return Groups[0].size() > 1;
  }

  bool splitMembers(SplitBranches &Branches, NestParts &To) {
    AreMembers = false;
    if (splitGroup(Branches, To))
      return true;
    AreMembers = part([&](const StoreInst &S, const StoreInst &X) {
      return Places.areMembers(S, X);
    });
    return (AreMembers && splitGroup(Branches, To)) ||
           (partByLoops() && splitGroup(Branches, To)) ||
           (part([&](const StoreInst &S, const StoreInst &X) {
              return areOtherSums(S, X);
            }) &&
            splitGroup(Branches, To)) ||
           (partEnds() && splitGroup(Branches, To));
  }

  // What becomes of sums, from the sums.
  bool partEnds() {
    SmallPtrSet<const Instruction *, 8> Ends;
    for (const Group &Stores : Groups)
      for (const StoreInst *S : Stores)
        if (any_of(Stores,
                   [&](const StoreInst *X) { return standsBehind(*S, *X); }))
          Ends.insert(S);
    return part([&](const StoreInst &S, const StoreInst &X) {
      return Ends.count(&S) != Ends.count(&X);
    });
  }

  // S stands behind a loop that adds up a sum.
  bool standsBehind(const StoreInst &S, const StoreInst &Sum) {
    return storesSum(Sum) && comesBefore(Sum, S, Facts.LI, Facts.DT) &&
           !Facts.LI.getLoopFor(Sum.getParent())->contains(&S);
  }

  bool partByLoops() {
    return part([&](const StoreInst &S, const StoreInst &X) {
      return areOtherSums(S, X) && Facts.LI.getLoopFor(S.getParent()) !=
                                       Facts.LI.getLoopFor(X.getParent());
    });
  }

  bool areOtherSums(const StoreInst &S, const StoreInst &X) {
    return storesSum(S) && storesSum(X) &&
           Places.placeOf(S) != Places.placeOf(X);
  }

  bool splitGroup(SplitBranches &Branches, NestParts &To) {
    if (Groups.size() < 2 && !isUsedAfter(L))
      return false;
    for (const Group &Stores : Groups)
      if (any_of(Stores, [&](StoreInst *S) { return storesProduct(*S); }) &&
          canBeParted(Stores)) {
        split(Branches, To);
        return true;
      }
    return false;
  }

  // What starts elements, or scales them, is beside no sum of them mostly.
  static bool storesSum(const StoreInst &S) {
    const auto *V = dyn_cast<Instruction>(S.getValueOperand());
    if (const auto *P = dyn_cast_or_null<PHINode>(V))
      return P->getNumIncomingValues() == 1; // behind its loop
    const auto *Call = dyn_cast_or_null<IntrinsicInst>(V);
    if (Call)
      return Call->getIntrinsicID() == Intrinsic::fmuladd;
    return V && (V->getOpcode() == Instruction::Add ||
                 V->getOpcode() == Instruction::FAdd ||
                 V->getOpcode() == Instruction::Sub ||
                 V->getOpcode() == Instruction::FSub);
  }

  // Members of the elements of an array, or its columns, count as arrays of
  // their own.
  bool part(function_ref<bool(const StoreInst &, const StoreInst &)> IsOther) {
    SmallVector<Group, 4> Parts;
    for (const Group &Stores : Groups)
      for (StoreInst *S : Stores) {
        auto Own = find_if(Parts, [&](const Group &Part) {
          return sharesBase(*Part[0], *S, Facts.SE) &&
                 any_of(Part,
                        [&](const StoreInst *X) { return !IsOther(*X, *S); });
        });
        if (Own == Parts.end())
          Parts.push_back({S});
        else
          Own->push_back(S);
      }
    bool More = Parts.size() > Groups.size();
    Groups = std::move(Parts);
    return More && Groups.size() <= GroupsMax;
  }

  // Behind each store, what it stores is read again; false: nothing uses it.
  bool readStored() {
    for (Instruction *W : Writers) {
      auto *S = cast<StoreInst>(W);
      auto *V = dyn_cast<Instruction>(S->getValueOperand());
      if (!V || !L.contains(V) || isa<LoadInst, PHINode>(V))
        continue;
      auto IsBehind = [&](Use &U) {
        return !isa<PHINode>(U.getUser()) &&
               L.contains(cast<Instruction>(U.getUser())) &&
               Facts.DT.dominates(S, U);
      };
      if (none_of(V->uses(), IsBehind))
        continue;
      auto *Read =
          new LoadInst(V->getType(), S->getPointerOperand(), "nputeir.stored",
                       false, S->getAlign(), S->getNextNode());
      Read->setAAMetadata(S->getAAMetadata());
      Read->setDebugLoc(S->getDebugLoc());
      V->replaceUsesWithIf(Read, IsBehind);
      Stored.push_back({Read, V});
    }
    return !Stored.empty();
  }

  // As before.
  void useStored() {
    for (auto [Read, V] : Stored) {
      Read->replaceAllUsesWith(V);
      Read->eraseFromParent();
    }
  }

  // A sum of products, over a loop at least, in a matrix or vector at least.
  // Where two loops move the element alike, it is none of one contraction.
  bool storesProduct(StoreInst &S) {
    SmallPtrSet<const SCEV *, 4> Steps;
    const Loop *Along;
    const SCEV *Place = Places.placeInRow(S, Along);
    while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(Place)) {
      if (L.contains(Rec->getLoop()) &&
          !Steps.insert(Rec->getStepRecurrence(Facts.SE)).second)
        return false;
      Place = Rec->getStart();
    }
    size_t Axes = Steps.size() + (Along != nullptr);
    return Axes >= (Vectors ? 1 : 2) && sumsOver(S.getValueOperand(), Axes, 0);
  }

  // Looks through what is done with a sum.
  bool sumsOver(const Value *V, unsigned Axes, int Depth) {
    const auto *I = dyn_cast<Instruction>(V);
    if (!I || Depth > 6 || isa<LoadInst>(I) || !L.contains(I))
      return false;
    unsigned Loops =
        Facts.LI.getLoopDepth(I->getParent()) + 1 - L.getLoopDepth();
    if (isRunningSum(*I) && Loops > Axes) {
      TheSum = I;
      return true;
    }
    return any_of(I->operands(), [&](const Use &U) {
      return sumsOver(U.get(), Axes, Depth + 1);
    });
  }

  bool findWriters() {
    SmallVector<Instruction *, 16> Accesses;
    if (!canBeCopied(L) || L.getNumBlocks() > CopyBlocksMax ||
        !findAccesses(L, Accesses))
      return false;
    for (Instruction *I : Accesses)
      if (auto *S = dyn_cast<StoreInst>(I)) {
        Writers.push_back(S);
        auto Own = find_if(Groups, [&](const Group &Stores) {
          return sharesBase(*Stores[0], *S, Facts.SE);
        });
        if (Own == Groups.end())
          Groups.push_back({S});
        else
          Own->push_back(S);
      }
    return Writers.size() + isUsedAfter(L) >= 2 && Groups.size() <= GroupsMax;
  }

  // Of the slice of stores that are in First, or are not.
  Slice sliceOf(bool IsFirst) {
    Slice S(L, Facts.PDT);
    for (Instruction *W : Writers)
      if (First.count(W) == IsFirst)
        S.add(W);
    if (!IsFirst)
      for (BasicBlock *B : L.blocks())
        for (Instruction &I : *B)
          if (any_of(I.users(), [&](const User *U) {
                return !L.contains(cast<Instruction>(U));
              }))
            S.add(&I);
    S.close();
    return S;
  }

  struct { // which part may be the first
    bool Product, Rest;
  } MayBeFirst = {};

  // W, of one part, and X, of the other, touch the same in one iteration of all
  // loops around them at most, which decides the order.
  bool inOrder(const Instruction &W, const Instruction &X, bool IsProduct) {
    const Loop *Common = loopAround(W, X, Facts.LI);
    bool IsBehind = comesBefore(X, W, Facts.LI, Facts.DT);
    if ((!IsBehind && !comesBefore(W, X, Facts.LI, Facts.DT)) ||
        !Places.meetInOneIteration(W, X, *Common))
      return false;
    (IsProduct == IsBehind ? MayBeFirst.Product : MayBeFirst.Rest) = false;
    return true;
  }

  // The stores of one part, from what the other one accesses, or in order.
  bool areApart(bool IsProduct, const Slice &Other) {
    for (Instruction *W : Writers)
      if (First.count(W) == IsProduct)
        for (const Instruction *X : Other.All)
          if (getLoadStorePointerOperand(X) && !Places.areApart(*W, *X) &&
              !(IsBlock && Places.areRows(*W, *X)) &&
              !inOrder(*W, *X, IsProduct) && !Places.areColumns(*W, *X))
            return false;
    return true;
  }

  bool canBeParted(const Group &Stores) {
    First.clear();
    First.insert(Stores.begin(), Stores.end());
    Places.forget();
    // What is read behind L is the rest's.
    MayBeFirst = {true, !isUsedAfter(L)};
    Slice Product = sliceOf(true), Rest = sliceOf(false);
    return !Rest.All.count(TheSum) && areApart(false, Product) &&
           areApart(true, Rest) && (MayBeFirst.Product || MayBeFirst.Rest);
  }

  // How many products of the block there are, at most; null: not known.
  Value *countProducts(Checks &Front) {
    Value *All = Front.B.getInt64(First.size());
    const Loop *X = Facts.LI.getLoopFor(TheSum->getParent());
    for (; L.contains(X); X = X->getParentLoop()) {
      const SCEV *Times = Places.mostIterations(*X);
      if (!Times)
        return nullptr;
      All = Front.B.CreateMul(All, Front.frozen(Times, All->getType()));
    }
    return All;
  }

  // A branch in front of L, both ways of which lead on yet.
  BranchInst *branchBefore(Value *Condition) {
    BasicBlock *Before = L.getLoopPreheader();
    BasicBlock *Then =
        SplitBlock(Before, Before->getTerminator(), &Facts.DT, &Facts.LI);
    Before->getTerminator()->eraseFromParent();
    IRBuilder<> B(Before);
    B.SetCurrentDebugLocation(placeInSource());
    return B.CreateCondBr(Condition, Then, Then);
  }

  DebugLoc placeInSource() {
    DebugLoc DL = L.getStartLoc();
    return DL ? DL : L.getLoopPreheader()->getTerminator()->getDebugLoc();
  }

  // Few products go to the nest as it was, before anything else is asked: of
  // members, which are near each other in memory, that does all at once.
  BranchInst *sendFew() {
    Checks Front(Facts.SE, L.getLoopPreheader()->getTerminator());
    Front.B.SetCurrentDebugLocation(placeInSource());
    Value *All = countProducts(Front);
    return All ? branchBefore(Front.B.CreateICmpUGE(
                     All, Front.B.getInt64((uint64_t)Least)))
               : nullptr;
  }

  // What is left of a block, if something is, stands under one condition that
  // does not change: where nothing is, nothing else is asked.
  BranchInst *sendWhole() {
    std::optional<Guard> Of;
    for (Instruction *W : Writers) {
      SmallVector<Guard, 4> All;
      if (First.count(W))
        continue;
      if (!findGuards(*W, L, Facts.LI, Facts.DT, Facts.PDT, All))
        return nullptr;
      auto Found = find_if(All, [&](const Guard &G) {
        return Of ? G.Branch == Of->Branch && G.Holds == Of->Holds
                  : L.isLoopInvariant(G.Branch->getCondition());
      });
      if (Found == All.end())
        return nullptr;
      Of = *Found;
    }
    IRBuilder<> B(L.getLoopPreheader()->getTerminator());
    B.SetCurrentDebugLocation(placeInSource());
    Value *Runs = B.CreateFreeze(Of->Branch->getCondition());
    return branchBefore(Of->Holds ? Runs : B.CreateNot(Runs));
  }

  void split(SplitBranches &Branches, NestParts &To) {
    bool Early = IsBlock && Places.asks();
    bool MayBeFew = Early || (AreMembers && Branches.empty());
    BranchInst *Few = MayBeFew && Least > 0 ? sendFew() : nullptr;
    BranchInst *Whole = Early ? sendWhole() : nullptr;
    bool Asks = Places.asks();
    BranchInst *Branch =
        Asks ? Places.branchToAskAt(Branches, Facts.DT) : nullptr;
    Places.askRows(Facts.LI, Facts.DT);
    BasicBlock *Front = L.getLoopPreheader();
    Instruction *End = Front->getTerminator();
    DebugLoc DL = placeInSource();
    Checks Asked(Facts.SE, Branch ? Branch : End);
    Asked.B.SetCurrentDebugLocation(DL);
    Value *Apart = Places.hold(Asked);
    if (Branch)
      Branch->setCondition(Asked.B.CreateAnd(Branch->getCondition(), Apart));
    ValueToValueMapTy OfFirst, OfKept;
    BasicBlock *Old = nullptr;
    if ((Asks && !Branch) || Few)
      Old = copyLoop(L, nullptr, OfKept);
    Places.markHeld();
    BasicBlock *Then = detach(L);
    BasicBlock *Begin = copyLoop(L, Then, OfFirst);
    IRBuilder<> B(Front);
    B.SetCurrentDebugLocation(DL);
    if (Old && Asks)
      Branches.push_back(B.CreateCondBr(Apart, Begin, Old));
    else
      B.CreateBr(Begin);
    if (Few)
      Few->setSuccessor(1, Old);
    if (Whole)
      Whole->setSuccessor(1, Begin);
    To.Kept = Old ? cast<BasicBlock>(OfKept[L.getHeader()]) : nullptr;
    To.Product = cast<BasicBlock>(OfFirst[L.getHeader()]);
    To.Rest = L.getHeader();
    if (!MayBeFirst.Product)
      std::swap(To.Product, To.Rest);
    SmallVector<WeakTrackingVH, 16> Left; // what the other part computes
    for (Instruction *W : Writers) {
      bool IsHere = First.count(W) == MayBeFirst.Product;
      auto *S = cast<StoreInst>(IsHere ? W : cast<Instruction>(OfFirst[W]));
      Left.append({S->getValueOperand(), S->getPointerOperand()});
      S->eraseFromParent();
    }
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(Left);
  }
};

} // namespace

bool storesProductBeside(Loop &L, LoopFacts &Facts) {
  return NestDistribution(L, Facts, true).mayRun();
}

bool hasRemainder(Loop &L, LoopFacts &Facts) {
  return NestDistribution(L, Facts, false).isBlock();
}

bool splitRemainder(Loop &L, LoopFacts &Facts, int64_t Least, NestParts &To) {
  SplitBranches Branches;
  if (!NestDistribution(L, Facts, false).runBlock(Least, Branches, To))
    return false;
  markUntold(*To.Rest->getTerminator());
  return true;
}

bool distribute(Loop &L, LoopFacts &Facts, bool Vectors, int64_t Least,
                SplitBranches &Branches, NestParts &To) {
  return NestDistribution(L, Facts, Vectors).run(Least, Branches, To);
}

} // namespace nputeir
