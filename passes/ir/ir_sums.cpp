// ir_sums.cpp -- instructions that add products, or combine elements otherwise.
#include "ir_sums.h"
#include "lanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

// Counts the factors of V that are computed from loads.
static int loadsUnder(const Value *V, int Depth) {
  const auto *I = dyn_cast<Instruction>(V);
  if (!I || Depth > 8)
    return 0;
  if (isa<LoadInst>(I) || isa<PHINode>(I))
    return 1;
  if (isa<CastInst>(I) || isa<UnaryOperator>(I) || isa<ExtractElementInst>(I))
    return loadsUnder(I->getOperand(0), Depth + 1);
  // A float may be chosen, or what a function makes of an element.
  const auto *Call = dyn_cast<IntrinsicInst>(I);
  if (I->getType()->isFloatingPointTy() &&
      (isa<SelectInst>(I) || (Call && Call->doesNotAccessMemory()))) {
    int Most = 0;
    for (const Use &U : I->operands())
      Most = std::max(Most, loadsUnder(U.get(), Depth + 1));
    return Most;
  }
  bool Lanes = isa<InsertElementInst>(I) || isa<ShuffleVectorInst>(I);
  if (!isa<BinaryOperator>(I) && !Lanes)
    return 0;
  int X = loadsUnder(I->getOperand(0), Depth + 1);
  int Y = loadsUnder(I->getOperand(1), Depth + 1);
  bool Product =
      I->getOpcode() == Instruction::Mul || I->getOpcode() == Instruction::FMul;
  return Product ? X + Y : std::max(X, Y);
}

// What casts, shifts and divisions are applied to.
static const Instruction *appliedTo(const Value *V) {
  const auto *S = dyn_cast<Instruction>(V);
  while (S && (isa<CastInst>(S) || S->isShift() || S->isIntDivRem()))
    S = dyn_cast<Instruction>(S->getOperand(0));
  return S;
}

static const Instruction *productIn(const Value *Added, int Depth);

// A multiple of a number is the product that the number is, if any.
static const Instruction *asProduct(const Instruction *S, int Depth) {
  bool IsProduct = S &&
                   (S->getOpcode() == Instruction::Mul ||
                    S->getOpcode() == Instruction::FMul) &&
                   loadsUnder(S, 0) >= 2;
  if (IsProduct && isa<Constant>(S->getOperand(1)))
    return productIn(S->getOperand(0), Depth + 1);
  return IsProduct ? S : nullptr;
}

static const Instruction *productIn(const Value *Added, int Depth) {
  enum { DepthMax = 4 };
  const Instruction *S = Depth < DepthMax ? appliedTo(Added) : nullptr;
  if (!S || !isa<SelectInst, PHINode>(S))
    return asProduct(S, Depth);
  const Instruction *First = nullptr;
  for (const Use &U : drop_begin(S->operands(), isa<SelectInst>(S))) {
    if (const auto *C = dyn_cast<Constant>(U.get()); C && C->isZeroValue())
      continue; // where nothing is added
    const Instruction *P = asProduct(appliedTo(U.get()), Depth);
    if (!P)
      return nullptr;
    First = First ? First : P;
  }
  return First;
}

const Instruction *productIn(const Value *Added) { return productIn(Added, 0); }

bool isAdding(const Instruction &I) {
  switch (I.getOpcode()) {
  case Instruction::Add:
  case Instruction::FAdd:
  case Instruction::Sub:
  case Instruction::FSub:
    return true;
  default:
    return false;
  }
}

unsigned firstFactor(const Instruction &I) {
  bool Unsigned;
  return acrossLanes(I, Unsigned) == Across::Dot ? 1 : 0;
}

bool isSumOfProduct(const Instruction &I) {
  if (const auto *Call = dyn_cast<IntrinsicInst>(&I)) {
    unsigned First = firstFactor(I);
    return (multipliesAcross(I) ||
            Call->getIntrinsicID() == Intrinsic::fmuladd ||
            Call->getIntrinsicID() == Intrinsic::fma) &&
           loadsUnder(Call->getArgOperand(First), 0) > 0 &&
           loadsUnder(Call->getArgOperand(First + 1), 0) > 0;
  }
  return isAdding(I) && any_of(I.operands(), [](const Use &U) {
           return productIn(U.get()) != nullptr;
         });
}

bool sumsProducts(const Loop &L) {
  return any_of(L.blocks(),
                [](const BasicBlock *B) { return any_of(*B, isSumOfProduct); });
}

// An element, or a constant, whichever way it is chosen.
static bool isCopied(const Value *Stored) {
  SmallSetVector<const Value *, 16> Open;
  Open.insert(Stored);
  for (unsigned N = 0; N < Open.size(); N++) {
    const Value *V = Open[N];
    if (isa<Constant, LoadInst>(V))
      continue;
    const auto *Choice = dyn_cast<SelectInst>(V);
    if ((!Choice && !isa<PHINode, CastInst>(V)) || Open.size() > 64)
      return false;
    for (const Use &U : cast<Instruction>(V)->operands())
      if (!Choice || U.get() != Choice->getCondition())
        Open.insert(U.get());
  }
  return true;
}

bool storesCopy(const Instruction &I) {
  const auto *S = dyn_cast<StoreInst>(&I);
  return S && isCopied(S->getValueOperand());
}

bool copiesOnly(const Loop &L) {
  bool Stores = false;
  for (const BasicBlock *B : L.blocks())
    for (const Instruction &I : *B)
      if (const auto *S = dyn_cast<StoreInst>(&I)) {
        if (!isCopied(S->getValueOperand()))
          return false;
        Stores = true;
      }
  return Stores;
}

// The product is added to something that may be a sum so far, as opposed to
// the arithmetic of a hash or an index.
bool isRunningSum(const Instruction &I) {
  if (!isSumOfProduct(I))
    return false;
  if (I.getType()->isFloatingPointTy())
    return true;
  unsigned Products = 0; // two: of a loop that was unrolled
  for (const Value *Side : I.operands()) {
    while (const auto *Cast = dyn_cast<CastInst>(Side))
      Side = Cast->getOperand(0);
    const auto *S = dyn_cast<Instruction>(Side);
    if (!S || isa<LoadInst>(S) || isa<PHINode>(S) ||
        S->getOpcode() == Instruction::Add ||
        S->getOpcode() == Instruction::Sub)
      return true;
    Products += S->getOpcode() == Instruction::Mul && loadsUnder(S, 0) >= 2;
  }
  return Products == 2;
}

// Up to two, which is all that is asked; Left: values that are looked at yet.
static unsigned elementsUnder(const Value *V, int &Left) {
  const auto *I = dyn_cast<Instruction>(V);
  if (!I || Left-- <= 0)
    return 0;
  if (isa<LoadInst>(I))
    return 1;
  unsigned Count = 0;
  if (isa<CastInst, UnaryOperator, BinaryOperator, SelectInst, IntrinsicInst>(
          I))
    for (const Value *X : I->operands())
      if (Count < 2)
        Count += elementsUnder(X, Left);
  return Count;
}

// A value that was computed before, perhaps with a number.
static bool isOfBefore(const Value *V) {
  while (const auto *I = dyn_cast<Instruction>(V)) {
    if (isa<LoadInst, PHINode>(I))
      return true;
    bool Number = isa<BinaryOperator>(I) && isa<Constant>(I->getOperand(1));
    if (!Number && !isa<CastInst>(I))
      return false;
    V = I->getOperand(0);
  }
  return false;
}

// Two elements are combined with what was combined so far, as a sum of products
// does, but by any operation: the maximum of sums, say.
bool combinesElements(const Instruction &I) {
  if (!isa<BinaryOperator, SelectInst, CmpInst, IntrinsicInst>(I))
    return false;
  auto OfBefore = [](const Use &U) { return isOfBefore(U.get()); };
  auto OfTwo = [](const Use &U) {
    int Left = 256;
    return elementsUnder(U.get(), Left) >= 2;
  };
  return any_of(I.operands(), OfBefore) && any_of(I.operands(), OfTwo);
}

} // namespace nputeir
