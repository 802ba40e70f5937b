// complex_parts.cpp -- complex numbers that were passed to functions and
// copied.
//
// A function such as std::complex's product gives two numbers at once, and gets
// two of floats as a vector:
//
//     both = insertvalue (insertvalue poison, re, 0), im, 1
//     x = extractvalue both, 0                   x is re
//     pair = load <2 x float> at p               re = load float at p
//     re = extractelement pair, 0                im = load float at p + 4
//
// and a copy of it is one of integers:
//
//     store i32 (bitcast float re to i32)        store float re
#include "complex_parts.h"
#include "versions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

#include <array>

using namespace llvm;

namespace nputeir {

// Null: it is none of what was put in.
static Value *putInFor(Instruction &I) {
  if (auto *X = dyn_cast<ExtractValueInst>(&I))
    return isa<InsertValueInst>(X->getAggregateOperand())
               ? FindInsertedValue(X->getAggregateOperand(), X->getIndices())
               : nullptr;
  auto *X = dyn_cast<ExtractElementInst>(&I);
  auto *At = X ? dyn_cast<ConstantInt>(X->getIndexOperand()) : nullptr;
  return At && At->getValue().ult(2) && isa<InsertElementInst>(X->getOperand(0))
             ? findScalarElement(X->getOperand(0), (unsigned)At->getZExtValue())
             : nullptr;
}

bool splitResults(Function &F) {
  SmallVector<WeakTrackingVH, 16> Unused;
  for (Instruction &I : instructions(F))
    if (Value *Part = putInFor(I); Part && Part != &I) {
      I.replaceAllUsesWith(Part);
      Unused.push_back(&I);
    }
  bool Any = !Unused.empty();
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(Unused);
  return Any;
}

static Value *placeOf(IRBuilder<> &B, Value *Pointer, Type *Float,
                      unsigned At) {
  Value *Place = B.CreatePointerCast(Pointer, pointerTo(Float));
  return At ? B.CreateConstInBoundsGEP1_32(Float, Place, At) : Place;
}

template <class Access> static bool isPlain(const Access &I) {
  return I.isSimple() && I.getPointerAddressSpace() == 0;
}

// But for what is said of both parts together, or of an integer.
static void keepAliases(const Instruction &From, Instruction &To) {
  AAMDNodes Kept = From.getAAMetadata();
  Kept.TBAA = nullptr;
  To.setAAMetadata(Kept);
}

// A float of what L loads.
static Value *loadPart(LoadInst &L, Type *Float, unsigned At) {
  IRBuilder<> B(&L);
  uint64_t Bytes = Float->getScalarSizeInBits() / 8;
  LoadInst *Part =
      B.CreateAlignedLoad(Float, placeOf(B, L.getPointerOperand(), Float, At),
                          commonAlignment(L.getAlign(), Bytes * At));
  keepAliases(L, *Part);
  return Part;
}

namespace {

// Vectors of two floats that are only put together, taken apart, chosen, loaded
// and stored.
class Pairs {
  SetVector<Instruction *> Found;
  // An element that was taken out of another pair is replaced in time.
  DenseMap<Value *, std::array<WeakTrackingVH, 2>> Parts;

public:
  explicit Pairs(Function &F) {
    for (Instruction &I : instructions(F))
      if (isPair(I))
        Found.insert(&I);
    for (bool Again = true; Again;) {
      SmallVector<Instruction *, 8> Bad;
      copy_if(Found, std::back_inserter(Bad),
              [this](Instruction *I) { return !isWithin(*I); });
      for (Instruction *I : Bad)
        Found.remove(I);
      Again = !Bad.empty();
    }
  }

  bool split() {
    for (Instruction *I : Found)
      for (User *U : make_early_inc_range(I->users())) {
        auto *To = cast<Instruction>(U);
        if (auto *S = dyn_cast<StoreInst>(To))
          store(*S);
        else if (isa<ExtractElementInst>(To))
          To->replaceAllUsesWith(partsOf(I)[lane(*To)]);
        else
          continue;
        To->eraseFromParent();
      }
    for (Instruction *I : Found)
      I->replaceAllUsesWith(PoisonValue::get(I->getType()));
    for (Instruction *I : Found)
      I->eraseFromParent();
    return !Found.empty();
  }

private:
  static bool isVector(const Value *V) {
    const auto *T = dyn_cast<FixedVectorType>(V->getType());
    return T && T->getNumElements() == 2 && T->getElementType()->isFloatTy();
  }

  // Of what is put into, or taken out of, a vector; 2: it may be either.
  static unsigned lane(const Instruction &I) {
    const auto *At =
        dyn_cast<ConstantInt>(I.getOperand(I.getNumOperands() - 1));
    return At && At->getValue().ult(2) ? (unsigned)At->getZExtValue() : 2;
  }

  static bool isPair(const Instruction &I) {
    if (const auto *L = dyn_cast<LoadInst>(&I))
      return isVector(L) && isPlain(*L);
    if (isa<InsertElementInst>(I))
      return isVector(&I) && lane(I) < 2;
    return isVector(&I) &&
           (isa<PHINode>(I) ||
            (isa<SelectInst>(I) && I.getOperand(0)->getType()->isIntegerTy()));
  }

  bool isWithin(const Instruction &I) const {
    auto IsKnown = [this](const Value *V) {
      const auto *C = dyn_cast<Constant>(V);
      return !isVector(V) || (C && C->getAggregateElement(0u)) ||
             (isa<Instruction>(V) &&
              Found.count(const_cast<Instruction *>(cast<Instruction>(V))));
    };
    return (isa<LoadInst>(I) ||
            all_of(I.operands(),
                   [&](const Use &U) { return IsKnown(U.get()); })) &&
           all_of(I.users(), [&](const User *U) {
             if (const auto *S = dyn_cast<StoreInst>(U))
               return isPlain(*S);
             const auto *E = dyn_cast<ExtractElementInst>(U);
             return E ? lane(*E) < 2 : isVector(U) && IsKnown(U);
           });
  }

  std::array<Value *, 2> partsOf(Value *V) {
    if (auto *C = dyn_cast<Constant>(V))
      return {C->getAggregateElement(0u), C->getAggregateElement(1u)};
    auto At = Parts.find(V);
    if (At != Parts.end())
      return {At->second[0], At->second[1]};
    auto *I = cast<Instruction>(V);
    Type *Float = I->getType()->getScalarType();
    IRBuilder<> B(I);
    std::array<Value *, 2> X;
    if (auto *L = dyn_cast<LoadInst>(I)) {
      X = {loadPart(*L, Float, 0), loadPart(*L, Float, 1)};
    } else if (auto *P = dyn_cast<PHINode>(I)) {
      PHINode *Of[2];
      for (PHINode *&Part : Of)
        Part = B.CreatePHI(Float, P->getNumIncomingValues());
      // It may be computed from itself.
      Parts[V] = {WeakTrackingVH(Of[0]), WeakTrackingVH(Of[1])};
      for (auto [Given, From] : zip(P->incoming_values(), P->blocks())) {
        std::array<Value *, 2> In = partsOf(Given.get());
        Of[0]->addIncoming(In[0], From);
        Of[1]->addIncoming(In[1], From);
      }
      return {Of[0], Of[1]};
    } else if (isa<SelectInst>(I)) {
      std::array<Value *, 2> Yes = partsOf(I->getOperand(1)),
                             No = partsOf(I->getOperand(2));
      X = {B.CreateSelect(I->getOperand(0), Yes[0], No[0]),
           B.CreateSelect(I->getOperand(0), Yes[1], No[1])};
    } else {
      X = partsOf(I->getOperand(0));
      X[lane(*I)] = I->getOperand(1);
    }
    Parts[V] = {WeakTrackingVH(X[0]), WeakTrackingVH(X[1])};
    return X;
  }

  void store(StoreInst &S) {
    std::array<Value *, 2> X = partsOf(S.getValueOperand());
    IRBuilder<> B(&S);
    for (unsigned At : {0u, 1u}) {
      StoreInst *Part = B.CreateAlignedStore(
          X[At], placeOf(B, S.getPointerOperand(), X[At]->getType(), At),
          commonAlignment(S.getAlign(), 4 * At));
      keepAliases(S, *Part);
    }
  }
};

} // namespace

// The type of the floats that its bits are all that is used as; null: none.
static Type *floatIn(const LoadInst &L) {
  const auto *As = isPlain(L) && L.getType()->isIntegerTy() && L.hasOneUse()
                       ? dyn_cast<BitCastInst>(L.user_back())
                       : nullptr;
  return As && As->getType()->isFPOrFPVectorTy() ? As->getType() : nullptr;
}

static bool loadFloat(LoadInst &L) {
  Type *Float = floatIn(L);
  if (!Float)
    return false;
  auto *Bits = cast<Instruction>(L.user_back());
  Bits->replaceAllUsesWith(loadPart(L, Float, 0));
  Bits->eraseFromParent();
  L.eraseFromParent();
  return true;
}

static bool storeFloat(StoreInst &S) {
  auto *Bits = dyn_cast<BitCastInst>(S.getValueOperand());
  Type *Float = Bits ? Bits->getSrcTy() : nullptr;
  if (!isPlain(S) || !Float || !Float->isFPOrFPVectorTy() ||
      !Bits->getDestTy()->isIntegerTy())
    return false;
  IRBuilder<> B(&S);
  S.setOperand(1, placeOf(B, S.getPointerOperand(), Float, 0));
  S.setOperand(0, Bits->getOperand(0));
  S.setMetadata(LLVMContext::MD_tbaa, nullptr);
  return true;
}

PreservedAnalyses ComplexPartsPass::run(Function &F,
                                        FunctionAnalysisManager &) {
  bool Changed = splitResults(F); // of variables, which are values by now
  SmallVector<LoadInst *, 16> Loads;
  for (Instruction &I : instructions(F)) {
    if (auto *S = dyn_cast<StoreInst>(&I))
      Changed |= storeFloat(*S);
    if (auto *L = dyn_cast<LoadInst>(&I))
      Loads.push_back(L);
  }
  for (LoadInst *L : Loads)
    Changed |= loadFloat(*L);
  Changed |= Pairs(F).split();
  PreservedAnalyses PA;
  PA.preserveSet<CFGAnalyses>();
  return Changed ? PA : PreservedAnalyses::all();
}

} // namespace nputeir
