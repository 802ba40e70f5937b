// vector_types.cpp -- x86's intrinsics for integers have one type of vectors,
// of 64-bit numbers (__m256i), whatever lies in them: it becomes other numbers
// where something is computed, and these become it again.  Between them such
// vectors are only loaded, carried by loops and shuffled.  Here these get the
// type of the numbers that all who compute with them see, so that each lane is
// one element.  The bits are the same everywhere.
#include "vector_types.h"
#include "versions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"

using namespace llvm;

namespace nputeir {

// Of a vector of integers; null: it is none.
static Type *numberOf(const Value *V) {
  auto *T = dyn_cast<FixedVectorType>(V->getType());
  return T && T->getElementType()->isIntegerTy() ? T->getElementType()
                                                 : nullptr;
}

// Does it give numbers as they are elsewhere?  Behind what a block ends with,
// which may give some, nothing can be converted.
static bool moves(const Instruction &I) {
  if (const auto *L = dyn_cast<LoadInst>(&I))
    return L->isSimple();
  if (const auto *E = dyn_cast<InsertElementInst>(&I))
    return isa<ConstantInt>(E->getOperand(2));
  if (!isa<PHINode>(I))
    return isa<ShuffleVectorInst>(I);
  const BasicBlock *B = I.getParent();
  return B->getFirstInsertionPt() != B->end() &&
         none_of(I.operands(), [](const Use &U) {
           const auto *Of = dyn_cast<Instruction>(U.get());
           return Of && Of->isTerminator();
         });
}

namespace {

// Instructions that give the same kind of numbers, each of which moves what
// another gives or has it moved by another.
class Moved {
  SetVector<Instruction *> Members;
  Type *Was;            // the type of their numbers
  Type *Is = nullptr;   // .. and of what others see in them
  bool IsMixed = false; // others see several
  enum { MembersMax = 256 };

public:
  explicit Moved(Instruction &First) : Was(numberOf(&First)) {
    Members.insert(&First);
    for (size_t I = 0; I < Members.size() && I < MembersMax; I++) {
      if (!isa<LoadInst>(Members[I]))
        for (Value *Of : Members[I]->operands())
          add(dyn_cast<Instruction>(Of), false);
      for (User *U : Members[I]->users())
        add(dyn_cast<Instruction>(U), true);
    }
  }

  ArrayRef<Instruction *> members() const { return Members.getArrayRef(); }

  // So many new numbers for an old one; 0: the type stays.
  unsigned parts() const {
    if (!Is || IsMixed || Members.size() > MembersMax)
      return 0;
    unsigned Whole = Was->getScalarSizeInBits();
    unsigned Part = Is->getScalarSizeInBits();
    return Part % 8 == 0 && Part < Whole && Whole % Part == 0 ? Whole / Part
                                                              : 0;
  }

  // Each is made of operands that are converted, and converted back.
  void retype(unsigned Parts) const {
    for (Instruction *I : Members) {
      Value *New = made(*I, Parts);
      Instruction *At =
          isa<PHINode>(I) ? &*I->getParent()->getFirstInsertionPt() : I;
      I->replaceAllUsesWith(IRBuilder<>(At).CreateBitCast(New, I->getType()));
    }
    for (Instruction *I : Members)
      I->eraseFromParent();
  }

private:
  void add(Instruction *I, bool Uses) {
    if (!I)
      return;
    if (isa<BitCastInst>(I)) {
      auto *T =
          dyn_cast<FixedVectorType>((Uses ? I : I->getOperand(0))->getType());
      IsMixed |= !T || (Is && T->getElementType() != Is);
      Is = T ? T->getElementType() : Is;
    } else if (numberOf(I) == Was && moves(*I)) {
      Members.insert(I);
    }
  }

  FixedVectorType *typeOf(const Value *V, unsigned Parts) const {
    unsigned Count = cast<FixedVectorType>(V->getType())->getNumElements();
    return FixedVectorType::get(Is, Count * Parts);
  }

  Value *made(Instruction &I, unsigned Parts) const;
  Value *inserted(InsertElementInst &I, unsigned Parts, IRBuilder<> &B) const;
};

} // namespace

static SmallVector<int, 32> maskOfParts(const ShuffleVectorInst &S, int Parts) {
  SmallVector<int, 32> Mask;
  for (int M : S.getShuffleMask())
    for (int P = 0; P < Parts; P++)
      Mask.push_back(M < 0 ? M : M * Parts + P);
  return Mask;
}

// The parts of a number take the place of a lane's.
Value *Moved::inserted(InsertElementInst &I, unsigned Parts,
                       IRBuilder<> &B) const {
  FixedVectorType *T = typeOf(&I, Parts);
  uint64_t Lane = cast<ConstantInt>(I.getOperand(2))->getZExtValue();
  Value *New =
      B.CreateBitCast(I.getOperand(1), FixedVectorType::get(Is, Parts));
  SmallVector<int, 32> Wide, Mask;
  for (unsigned L = 0; L < T->getNumElements(); L++) {
    bool IsNew = L / Parts == Lane;
    Wide.push_back(L < Parts ? (int)L : -1);
    Mask.push_back((int)(IsNew ? T->getNumElements() + L % Parts : L));
  }
  return B.CreateShuffleVector(B.CreateBitCast(I.getOperand(0), T),
                               B.CreateShuffleVector(New, Wide), Mask);
}

Value *Moved::made(Instruction &I, unsigned Parts) const {
  IRBuilder<> B(&I);
  FixedVectorType *T = typeOf(&I, Parts);
  if (auto *L = dyn_cast<LoadInst>(&I)) {
    Value *Place = B.CreatePointerCast(L->getPointerOperand(), pointerTo(T));
    LoadInst *New = B.CreateAlignedLoad(T, Place, L->getAlign());
    New->setAAMetadata(L->getAAMetadata());
    return New;
  }
  if (auto *P = dyn_cast<PHINode>(&I)) {
    PHINode *New = B.CreatePHI(T, P->getNumIncomingValues());
    for (unsigned N = 0; N < P->getNumIncomingValues(); N++) {
      BasicBlock *From = P->getIncomingBlock(N);
      int Before = New->getBasicBlockIndex(From);
      Value *V = Before >= 0 // a block that is left by several edges
                     ? New->getIncomingValue((unsigned)Before)
                     : IRBuilder<>(From->getTerminator())
                           .CreateBitCast(P->getIncomingValue(N), T);
      New->addIncoming(V, From);
    }
    return New;
  }
  if (auto *E = dyn_cast<InsertElementInst>(&I))
    return inserted(*E, Parts, B);
  auto &S = cast<ShuffleVectorInst>(I);
  FixedVectorType *Of = typeOf(S.getOperand(0), Parts);
  return B.CreateShuffleVector(B.CreateBitCast(S.getOperand(0), Of),
                               B.CreateBitCast(S.getOperand(1), Of),
                               maskOfParts(S, (int)Parts));
}

// Conversions of conversions become one, or none; what nobody needs goes.
static void foldConversions(Function &F) {
  SmallVector<BitCastInst *, 32> All;
  for (Instruction &I : instructions(F))
    if (auto *C = dyn_cast<BitCastInst>(&I); C && C->getType()->isVectorTy())
      All.push_back(C);
  for (BitCastInst *C : All) {
    Value *From = C->getOperand(0);
    while (auto *Before = dyn_cast<BitCastInst>(From))
      From = Before->getOperand(0);
    if (From->getType() == C->getType())
      C->replaceAllUsesWith(From);
    else
      C->setOperand(0, From);
  }
  while (!All.empty()) {
    BitCastInst *C = All.pop_back_val();
    if (C->use_empty())
      C->eraseFromParent();
  }
}

// So is what is loaded as one number, to be some.
static void loadConverted(Function &F) {
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    auto *C = dyn_cast<BitCastInst>(&I);
    auto *L = C && C->getType()->isVectorTy()
                  ? dyn_cast<LoadInst>(C->getOperand(0))
                  : nullptr;
    if (!L || !L->isSimple() || !L->hasOneUse() || L->getType()->isVectorTy())
      continue;
    IRBuilder<> B(L);
    LoadInst *New = B.CreateAlignedLoad(
        C->getType(),
        B.CreatePointerCast(L->getPointerOperand(), pointerTo(C->getType())),
        L->getAlign());
    New->setAAMetadata(L->getAAMetadata());
    C->replaceAllUsesWith(New);
    C->eraseFromParent();
    L->eraseFromParent();
  }
}

// What is stored is what was converted for it.
static void storeUnconverted(Function &F) {
  for (Instruction &I : instructions(F)) {
    auto *S = dyn_cast<StoreInst>(&I);
    auto *C = S && S->isSimple() ? dyn_cast<BitCastInst>(S->getValueOperand())
                                 : nullptr;
    if (!C || !numberOf(C) || !C->getOperand(0)->getType()->isVectorTy())
      continue;
    Value *V = C->getOperand(0);
    S->setOperand(0, V);
    S->setOperand(1, IRBuilder<>(S).CreatePointerCast(S->getPointerOperand(),
                                                      pointerTo(V->getType())));
    if (C->use_empty())
      C->eraseFromParent();
  }
}

PreservedAnalyses VectorTypesPass::run(Function &F, FunctionAnalysisManager &) {
  SmallPtrSet<Instruction *, 32> Seen;
  SmallVector<Moved, 4> Found;
  for (Instruction &I : instructions(F)) {
    Type *T = numberOf(&I);
    if (!T || !T->isIntegerTy(64) || !moves(I) || Seen.contains(&I))
      continue;
    Moved M(I);
    Seen.insert(M.members().begin(), M.members().end());
    if (M.parts())
      Found.push_back(std::move(M));
  }
  if (Found.empty())
    return PreservedAnalyses::all();
  for (const Moved &M : Found)
    M.retype(M.parts());
  foldConversions(F);
  loadConverted(F);
  storeUnconverted(F);
  PreservedAnalyses PA;
  PA.preserveSet<CFGAnalyses>();
  return PA;
}

} // namespace nputeir
