// stored_counters.cpp -- counters and sums that lie in memory become variables.
//
//     int i, j, k;                       of the whole file
//     for (i..) for (j..) for (k..) ..
//
// Nothing else in a loop may touch the place, and the source stores there in
// every run of the loop, or right before it, so that no store is added to a run
// that has none.  The number is kept in a register then and stored behind the
// loop, which for inner loops is still within the nest.  Where that is the same
// number each time, it is stored in front of the nest, in a branch that asks
// whether the loops around have work:
//
//     for (i..) for (j..) { for (k..) ..; store k' }
//
//     if (i and j have work) store k';  for (i..) for (j..) for (k..) ..
#include "stored_counters.h"
#include "hoist.h"
#include "ir_exits.h"
#include "ir_memory.h"
#include "ir_sums.h"
#include "versions.h"

#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

using namespace llvm;

namespace nputeir {

enum { PlacesMax = 8 };

namespace {

// In memory, known in front of the outermost loop.
struct Place {
  Value *Pointer, *Base;
  APInt Offset; // in bytes from Base
  Type *T;
  bool IsPrivate = false; // no pointer leads there
};

Place placeOf(Value *Pointer, Type *T, const DataLayout &DL) {
  APInt Offset(DL.getIndexTypeSizeInBits(Pointer->getType()), 0);
  Value *Base = Pointer->stripAndAccumulateConstantOffsets(
      DL, Offset, /*AllowNonInbounds=*/true);
  return {Pointer, Base, Offset, T};
}

bool isSame(const Place &X, const Place &Y) {
  return X.Base == Y.Base && X.Offset == Y.Offset && X.T == Y.T;
}

bool isNumber(const Type &T) {
  return T.isIntegerTy() || T.isFloatTy() || T.isDoubleTy();
}

// Where numbers are stored for all of L.
SmallVector<Place, 4> placesOf(Loop &L, const DataLayout &DL) {
  SmallVector<Place, 4> Found;
  Instruction *Front = L.getLoopPreheader()->getTerminator();
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : make_early_inc_range(*B)) {
      auto *S = dyn_cast<StoreInst>(&I);
      if (!S || !S->isSimple() || !isNumber(*S->getValueOperand()->getType()))
        continue;
      Place P =
          placeOf(S->getPointerOperand(), S->getValueOperand()->getType(), DL);
      bool Moved;
      if (L.isLoopInvariant(P.Base) &&
          L.makeLoopInvariant(P.Pointer, Moved, Front) &&
          none_of(Found, [&](const Place &X) { return isSame(X, P); }))
        Found.push_back(P);
    }
  for (Place &P : Found)
    P.IsPrivate = isPrivate(*P.Base);
  return Found;
}

// What a loop does with a place.
class PlaceUse {
  Loop &L;
  const Place &P;
  AAResults &AA;
  const DataLayout &DL;
  AAMDNodes Tags;
  bool HasTags = false;

public:
  SmallVector<Instruction *, 8> Own;

  PlaceUse(Loop &L, const Place &P, AAResults &AA)
      : L(L), P(P), AA(AA), DL(L.getHeader()->getModule()->getDataLayout()) {}

  // I is all that reads or writes the place where it stands.
  bool isOwn(const Instruction &I) const {
    auto *Pointer = const_cast<Value *>(getLoadStorePointerOperand(&I));
    return Pointer && !I.isVolatile() && !I.isAtomic() &&
           isSame(placeOf(Pointer,
                          getLoadStoreType(const_cast<Instruction *>(&I)), DL),
                  P);
  }

  void add(Instruction &I) {
    Tags = HasTags ? Tags.merge(I.getAAMetadata()) : I.getAAMetadata();
    HasTags = true;
  }

  // All else in L leaves the place alone, and L comes to its end.
  bool isAlone() {
    SmallVector<Instruction *, 32> Others;
    for (BasicBlock *B : L.blocks()) {
      if (!isGuaranteedToTransferExecutionToSuccessor(B))
        return false;
      for (Instruction &I : *B)
        if (isOwn(I)) {
          add(I);
          Own.push_back(&I);
        } else if (I.mayReadOrWriteMemory()) {
          Others.push_back(&I);
        }
    }
    return none_of(Others, [&](const Instruction *I) { return mayTouch(*I); });
  }

  bool mayTouch(const Instruction &I) const {
    const Value *Pointer = getLoadStorePointerOperand(&I);
    if (P.IsPrivate && Pointer && Pointer != P.Base)
      return false;
    return isModOrRefSet(AA.getModRefInfo(&I, location()));
  }

  const AAMDNodes &tags() const { return Tags; }

private:
  MemoryLocation location() const {
    return MemoryLocation(
        P.Pointer, LocationSize::precise(DL.getTypeStoreSize(P.T)), Tags);
  }
};

// Keeps in registers what L keeps in one place.
class Promotion : LoadAndStorePromoter {
  const Place &P;
  const SmallVectorImpl<Instruction *> &Own;
  BasicBlock *After;
  AAMDNodes Tags;

public:
  Promotion(const Place &P, const PlaceUse &Known, BasicBlock *After,
            SSAUpdater &SSA)
      : LoadAndStorePromoter(
            ArrayRef<const Instruction *>(Known.Own.data(), Known.Own.size()),
            SSA, "counter"),
        P(P), Own(Known.Own), After(After), Tags(Known.tags()) {}

  void run(BasicBlock *Front, Value *Start) {
    SSA.AddAvailableValue(Front, Start);
    LoadAndStorePromoter::run(Own);
  }

  void doExtraRewritesBeforeFinalDeletion() override {
    const auto *Like = cast<StoreInst>(
        *find_if(Own, [](const Instruction *I) { return isa<StoreInst>(I); }));
    Value *Last = SSA.GetValueInMiddleOfBlock(After);
    StoreInst *S = IRBuilder<>(&*After->getFirstInsertionPt())
                       .CreateAlignedStore(Last, P.Pointer, Like->getAlign());
    S->setAAMetadata(Tags);
    S->setDebugLoc(Like->getDebugLoc());
  }
};

// The last store to the place in front of L, in the same block.
StoreInst *storeBefore(const Loop &L, const PlaceUse &Known) {
  for (Instruction &I : reverse(*L.getLoopPreheader()))
    if (Known.isOwn(I))
      return dyn_cast<StoreInst>(&I);
  return nullptr;
}

// Nothing behind S in its block reads what it stores.
bool isForWhatFollows(const StoreInst &S, const PlaceUse &Known) {
  for (const Instruction *I = S.getNextNode(); I; I = I->getNextNode())
    if (!isGuaranteedToTransferExecutionToSuccessor(I) || Known.mayTouch(*I))
      return false;
  return true;
}

// What the place holds when L begins; null: that is not known to be readable.
Value *startOf(const Loop &L, const Place &P, const PlaceUse &Known,
               const DominatorTree &DT) {
  auto IsStored = [&](const Instruction *Load) {
    return isa<StoreInst>(Load) || any_of(Known.Own, [&](const Instruction *S) {
             return isa<StoreInst>(S) && DT.dominates(S, Load);
           });
  };
  if (all_of(Known.Own, IsStored))
    return PoisonValue::get(P.T);
  for (Instruction *I : Known.Own)
    if (isa<LoadInst>(I) && I->getParent() == L.getHeader()) {
      Instruction *Load = I->clone();
      Load->setOperand(0, P.Pointer);
      Load->insertBefore(L.getLoopPreheader()->getTerminator());
      Load->setAAMetadata(Known.tags());
      return Load;
    }
  return nullptr;
}

bool keepInRegister(Loop &L, const Place &P, const DominatorTree &DT,
                    AAResults &AA) {
  BasicBlock *From = L.getExitingBlock(), *After = L.getUniqueExitBlock();
  if (!From || !After || !L.isLoopSimplifyForm())
    return false;
  PlaceUse Known(L, P, AA);
  StoreInst *Before = storeBefore(L, Known);
  if (Before)
    Known.add(*Before);
  if (!Known.isAlone())
    return false;
  if (Before && !isForWhatFollows(*Before, Known))
    Before = nullptr;
  bool Always = Before, Any = false;
  for (const Instruction *I : Known.Own)
    if (isa<StoreInst>(I)) {
      Any = true;
      Always |= DT.dominates(I->getParent(), From);
    }
  if (!Any || !Always)
    return false;
  Value *Start = Before ? Before->getValueOperand() : startOf(L, P, Known, DT);
  if (!Start)
    return false;
  SSAUpdater SSA;
  Promotion(P, Known, After, SSA).run(L.getLoopPreheader(), Start);
  if (Before)
    Before->eraseFromParent();
  return true;
}

// A store that is all that is done with a place in a nest, and which stores the
// same number whenever it runs.
class StoreAhead {
  Loop &Outer;
  LoopInfo &LI;
  ScalarEvolution &SE;
  DominatorTree &DT;
  Hoister Places;

public:
  StoreAhead(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE, DominatorTree &DT)
      : Outer(Outer), LI(LI), SE(SE), DT(DT), Places(Outer, LI, SE, DT) {}

  bool move(StoreInst &S) {
    Expander Code(SE, *Outer.getHeader()->getModule());
    SmallVector<const SCEV *, 4> Counts;
    const SCEV *Last =
        SE.getSCEVAtScope(S.getValueOperand(), LI.getLoopFor(S.getParent()));
    if (isa<SCEVCouldNotCompute>(Last) || !SE.isLoopInvariant(Last, &Outer) ||
        !SE.properlyDominates(Last, Outer.getHeader()) || !Code.isSafe(Last) ||
        !runsThrough(S) || !Places.runsIf(S, Counts))
      return false;
    Instruction *At = Places.front();
    if (Value *Works = Places.noneIsZero(Counts)) {
      DomTreeUpdater DTU(DT, DomTreeUpdater::UpdateStrategy::Eager);
      At = SplitBlockAndInsertIfThen(Works, Places.front(), false, nullptr,
                                     &DTU, &LI);
    }
    S.setOperand(0, Code.expand(Last, S.getValueOperand()->getType(), At));
    moveBefore(S, At);
    Code.clear();
    SE.forgetLoop(&Outer);
    return true;
  }

private:
  // The loops around S are left before their bodies begin, or at their end.
  bool runsThrough(const StoreInst &S) const {
    for (const Loop *L = LI.getLoopFor(S.getParent());;
         L = L->getParentLoop()) {
      if (leftFromElsewhere(*L))
        return false;
      if (L == &Outer)
        return Outer.getExitingBlock() && Outer.getUniqueExitBlock();
    }
  }
};

bool storeAhead(Loop &Outer, LoopInfo &LI, ScalarEvolution &SE,
                DominatorTree &DT, AAResults &AA, const DataLayout &DL) {
  bool Changed = false;
  SmallVector<Place, 4> Places = placesOf(Outer, DL);
  if (Places.size() > PlacesMax)
    return false;
  for (const Place &P : Places) {
    PlaceUse Known(Outer, P, AA);
    if (Known.isAlone() && Known.Own.size() == 1)
      Changed |= StoreAhead(Outer, LI, SE, DT)
                     .move(*cast<StoreInst>(Known.Own.front()));
  }
  return Changed;
}

} // namespace

PreservedAnalyses StoredCountersPass::run(Function &F,
                                          FunctionAnalysisManager &FAM) {
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  const DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  AAResults &AA = FAM.getResult<AAManager>(F);
  bool Changed = false;
  for (Loop *Top : LI) {
    if (Top->isInnermost() || !Top->isLoopSimplifyForm() || !sumsProducts(*Top))
      continue;
    SmallVector<Place, 4> Places =
        placesOf(*Top, F.getParent()->getDataLayout());
    if (Places.empty() || Places.size() > PlacesMax)
      continue;
    SmallVector<Loop *, 8> Loops = Top->getLoopsInPreorder();
    for (Loop *L : reverse(Loops)) // what inner ones leave is in outer ones
      for (const Place &P : Places)
        Changed |= keepInRegister(*L, P, DT, AA);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses StoresAheadPass::run(Function &F,
                                       FunctionAnalysisManager &FAM) {
  LoopInfo &LI = FAM.getResult<LoopAnalysis>(F);
  ScalarEvolution &SE = FAM.getResult<ScalarEvolutionAnalysis>(F);
  DominatorTree &DT = FAM.getResult<DominatorTreeAnalysis>(F);
  AAResults &AA = FAM.getResult<AAManager>(F);
  bool Changed = false;
  // Outer loops first: what cannot leave them may still leave inner ones.
  for (Loop *L : LI.getLoopsInPreorder())
    if (!L->isInnermost() && L->isLoopSimplifyForm() && sumsProducts(*L))
      Changed |= storeAhead(*L, LI, SE, DT, AA, F.getParent()->getDataLayout());
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace nputeir
