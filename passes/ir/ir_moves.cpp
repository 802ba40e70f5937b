// ir_moves.cpp -- which loops move what a product multiplies.
//
// This is asked of code as it comes, before anything is prepared, so every
// answer is on the safe side: what no address says may be anywhere.
#include "ir_moves.h"
#include "ir_sums.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

enum {
  FactorsMax = 64, // that are looked at, of one product
  UsersMax = 200,  // of an array in the frame
};

// ---- what is multiplied ----

bool FactorMoves::isCounter(const PHINode &P) const {
  return SE.isSCEVable(P.getType()) &&
         isa<SCEVAddRecExpr>(SE.getSCEV(const_cast<PHINode *>(&P)));
}

// L computes the next value of a variable from the one before, and does not add
// something to it: sums may be formed first.
static bool isComputedFrom(const PHINode &Before, const Loop &L) {
  SmallSetVector<const Value *, 16> Open;
  for (const BasicBlock *From : Before.blocks())
    if (L.contains(From))
      Open.insert(Before.getIncomingValueForBlock(From));
  for (unsigned At = 0; At < Open.size() && At < FactorsMax; At++) {
    const auto *I = dyn_cast<Instruction>(Open[At]);
    if (!I || !L.contains(I) || isa<LoadInst>(I))
      continue;
    if (is_contained(I->operands(), &Before))
      return !isAdding(*I);
    Open.insert(I->op_begin(), I->op_end());
  }
  return false;
}

// The places of the elements that V is computed from; numbers from outside are
// none, nor are numbers of iterations, which a condition may ask.
void FactorMoves::findPlaces(const Value *V, bool IsCondition, Product &Found,
                             int &Left) {
  const auto *I = dyn_cast<Instruction>(V);
  const Loop *L = I ? LI.getLoopFor(I->getParent()) : nullptr;
  if (!L)
    return;
  auto Each = [&](auto Values) {
    for (const Use &U : Values)
      findPlaces(U.get(), IsCondition, Found, Left);
  };
  const auto *Load = dyn_cast<LoadInst>(I);
  const auto *P = dyn_cast<PHINode>(I);
  const auto *Call = dyn_cast<IntrinsicInst>(I);
  if (Left-- <= 0) {
    Found.Places.push_back(nullptr);
  } else if (Load && Load->getType()->isSingleValueType()) {
    Found.Places.push_back(
        SE.getSCEV(const_cast<Value *>(Load->getPointerOperand())));
  } else if (P && P->getParent() != L->getHeader()) {
    Each(P->incoming_values());
  } else if (P && isCounter(*P)) {
    if (!IsCondition)
      Found.Counted.insert(L);
  } else if (P && isComputedFrom(*P, *L)) {
    Found.Carried.insert(L);
  } else if (const auto *Choice = dyn_cast<SelectInst>(I)) {
    findPlaces(Choice->getCondition(), true, Found, Left);
    findPlaces(Choice->getTrueValue(), IsCondition, Found, Left);
    findPlaces(Choice->getFalseValue(), IsCondition, Found, Left);
  } else if (Call && Call->doesNotAccessMemory()) {
    Each(Call->args());
  } else if (isa<CastInst, BinaryOperator, UnaryOperator, CmpInst, FreezeInst>(
                 I)) {
    Each(I->operands());
  } else {
    Found.Places.push_back(nullptr);
  }
}

// What a loop around which Home is not has left: a sum that is a nest of its
// own, and no element.
bool FactorMoves::isInnerSum(const Value *V, const Loop &Home,
                             int Depth) const {
  enum { DepthMax = 6 };
  const auto *I = dyn_cast<Instruction>(V);
  const Loop *L = I ? LI.getLoopFor(I->getParent()) : nullptr;
  if (!L || Depth == DepthMax)
    return false;
  auto IsSum = [&](const Value *X) {
    const auto *P = dyn_cast<PHINode>(X);
    return P && P->getParent() == L->getHeader() && !isCounter(*P);
  };
  const auto *P = dyn_cast<PHINode>(I);
  if (IsSum(I) || (isAdding(*I) && any_of(I->operands(), IsSum)))
    return !L->contains(&Home);
  bool One = P ? P->getNumIncomingValues() == 1 : isa<CastInst>(I);
  bool Multiplies =
      I->getOpcode() == Instruction::Mul || I->getOpcode() == Instruction::FMul;
  return (One || Multiplies) && any_of(I->operands(), [&](const Use &U) {
           return isInnerSum(U.get(), Home, Depth + 1);
         });
}

static void findFactors(const Value *V, SmallVectorImpl<const Value *> &Found) {
  enum { Max = 8 };
  const auto *I = dyn_cast<Instruction>(V);
  while (I && isa<CastInst>(I)) {
    V = I->getOperand(0);
    I = dyn_cast<Instruction>(V);
  }
  bool Multiplies = I && (I->getOpcode() == Instruction::Mul ||
                          I->getOpcode() == Instruction::FMul);
  if (Multiplies && Found.size() < Max)
    for (const Use &U : I->operands())
      findFactors(U.get(), Found);
  else
    Found.push_back(V);
}

// The products that I adds, but for squares (of distances, say) and multiples
// of what has been summed before.
void FactorMoves::findProducts(const Instruction &I, Products &Found) {
  const Loop &Home = *LI.getLoopFor(I.getParent());
  auto Add = [&](const Use &X, const Use &Y) {
    if (X.get() == Y.get() || isInnerSum(X.get(), Home) ||
        isInnerSum(Y.get(), Home))
      return;
    Product P;
    int Left = FactorsMax;
    findPlaces(X.get(), false, P, Left);
    findPlaces(Y.get(), false, P, Left);
    findFactors(X.get(), P.Factors);
    findFactors(Y.get(), P.Factors);
    Found.push_back(std::move(P));
  };
  if (isa<IntrinsicInst>(I)) {
    unsigned First = firstFactor(I);
    Add(I.getOperandUse(First), I.getOperandUse(First + 1));
    return;
  }
  for (const Value *Side : I.operands())
    if (const Instruction *Product = productIn(Side))
      Add(Product->getOperandUse(0), Product->getOperandUse(1));
}

const FactorMoves::Products &FactorMoves::productsOf(const Instruction &I) {
  auto [At, IsNew] = OfSum.try_emplace(&I);
  if (IsNew)
    findProducts(I, At->second);
  return At->second;
}

const FactorMoves::Products &FactorMoves::productsIn(const Loop &L) {
  auto [At, IsNew] = InLoop.try_emplace(&L);
  if (IsNew)
    for (const BasicBlock *B : L.blocks())
      if (LI.getLoopFor(B) == &L)
        for (const Instruction &I : *B)
          if (isSumOfProduct(I))
            findProducts(I, At->second);
  return At->second;
}

// ---- what a loop does with it ----

// A variable in the frame, or an array there that may be a copy.
static const AllocaInst *arrayInFrame(const SCEV *Place, ScalarEvolution &SE) {
  const auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Place));
  return Base ? dyn_cast<AllocaInst>(Base->getValue()) : nullptr;
}

// Of integers, as sizes and counters are.
const FactorMoves::Stored &FactorMoves::storedIn(const Loop &L) {
  auto [Found, IsNew] = Counters.try_emplace(&L);
  if (IsNew)
    for (const BasicBlock *B : L.blocks())
      for (const Instruction &I : *B)
        if (const auto *S = dyn_cast<StoreInst>(&I);
            S && S->getValueOperand()->getType()->isIntegerTy() &&
            L.isLoopInvariant(S->getPointerOperand()))
          Found->second.insert(S->getPointerOperand());
  return Found->second;
}

// V, a size or the address of an array, lies in a place that L does not move:
// the nest is read as if it did not change that, unless it is L's own counter
// or one within L.
bool FactorMoves::isUnchanging(const Value *V, const Loop &L) {
  const auto *Load = dyn_cast<LoadInst>(V);
  if (!Load || storedIn(L).count(Load->getPointerOperand()))
    return false;
  const SCEV *Place =
      SE.getSCEV(const_cast<Value *>(Load->getPointerOperand()));
  // An address in the frame, as of what a lambda captures, is no array's.
  return Load->getType()->isPointerTy() ? !changes(Place, L)
                                        : !mayMove(Place, L);
}

// Loops within L do not, wherever L begins them.
bool FactorMoves::mayMove(const SCEV *Place, const Loop &L) {
  return !Place || arrayInFrame(Place, SE) || changes(Place, L);
}

bool FactorMoves::changes(const SCEV *Place, const Loop &L) {
  return SCEVExprContains(Place, [&](const SCEV *S) {
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    const auto *Value = dyn_cast<SCEVUnknown>(S);
    return (Rec && Rec->getLoop() == &L) ||
           (Value && !SE.isLoopInvariant(Value, &L) &&
            !isUnchanging(Value->getValue(), L));
  });
}

// Unless the place is computed from the loop's counter by additions and
// multiplications.
bool FactorMoves::mayStay(const SCEV *Place, const Loop &L) {
  if (!Place)
    return true;
  bool Counts = false;
  bool Else = SCEVExprContains(Place, [&](const SCEV *S) {
    const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
    const auto *Value = dyn_cast<SCEVUnknown>(S);
    Counts |= Rec && Rec->getLoop() == &L;
    return isa<SCEVUDivExpr, SCEVMinMaxExpr>(S) ||
           (Value && isa<Instruction>(Value->getValue()) &&
            L.contains(cast<Instruction>(Value->getValue())) &&
            !isUnchanging(Value->getValue(), L));
  });
  return Else || !Counts;
}

bool FactorMoves::mayMoveOne(const Product &X, const Loop &L) {
  auto Moves = [&](const SCEV *S) { return mayMove(S, L); };
  auto Stays = [&](const SCEV *S) { return mayStay(S, L); };
  return any_of(X.Places, Moves) && any_of(X.Places, Stays);
}

// ---- what has been written out ----

// Two elements of one array, or of two rows that are read from one.
bool FactorMoves::mayBeAlike(const SCEV *X, const SCEV *Y) const {
  const auto *OfX = dyn_cast<SCEVUnknown>(SE.getPointerBase(X));
  const auto *OfY = dyn_cast<SCEVUnknown>(SE.getPointerBase(Y));
  return !OfX || !OfY || OfX == OfY ||
         (isa<Instruction>(OfX->getValue()) &&
          isa<Instruction>(OfY->getValue()));
}

// Both read one place, and do the same with what is there.
bool FactorMoves::isSame(const Value *X, const Value *Y, int Depth) const {
  enum { DepthMax = 6 };
  const auto *I = dyn_cast<Instruction>(X), *J = dyn_cast<Instruction>(Y);
  if (X == Y || !I || !J || I->getOpcode() != J->getOpcode() ||
      Depth == DepthMax)
    return X == Y || Depth == DepthMax;
  if (const auto *Load = dyn_cast<LoadInst>(I))
    return SE.getSCEV(const_cast<Value *>(Load->getPointerOperand())) ==
           SE.getSCEV(
               const_cast<Value *>(cast<LoadInst>(J)->getPointerOperand()));
  if (!isa<CastInst, BinaryOperator, UnaryOperator>(I))
    return true; // perhaps
  for (unsigned N = 0; N < I->getNumOperands(); N++)
    if (!isSame(I->getOperand(N), J->getOperand(N), Depth + 1))
      return false;
  return true;
}

// An element is multiplied by one in X and by another one like it in Y.
bool FactorMoves::areWrittenOut(const Product &X, const Product &Y) const {
  if (is_contained(Y.Places, nullptr))
    return true;
  if (none_of(X.Factors, [&](const Value *V) {
        return any_of(Y.Factors, [&](const Value *W) { return isSame(V, W); });
      }))
    return false;
  return any_of(X.Places, [&](const SCEV *Common) {
    return is_contained(Y.Places, Common) && any_of(X.Places, [&](auto *S) {
             return S != Common && any_of(Y.Places, [&](const SCEV *T) {
                      return T != Common && S != T && mayBeAlike(S, T);
                    });
           });
  });
}

bool FactorMoves::mayFormMatrix(const Instruction &I, const Loop &Outermost) {
  const Loop *Home = LI.getLoopFor(I.getParent());
  const Products &Own = productsOf(I);
  for (const Product &X : Own) {
    if (is_contained(X.Places, nullptr))
      return true;
    for (const Loop *L = Home; L && Outermost.contains(L);
         L = L->getParentLoop())
      if (mayMoveOne(X, *L))
        return true;
  }
  return any_of(Own, [&](const Product &X) {
    return any_of(productsIn(*Home),
                  [&](const Product &Y) { return areWrittenOut(X, Y); });
  });
}

// ---- what lies in the way of a loop ----

// V, an index, is computed from an element that L moves.  Sizes that lie in
// memory stay where they are, also behind pointers that do, and rows of
// pointers are no index.
bool FactorMoves::namesPlace(const Value *V, const Loop &L, int &Left) {
  const auto *I = dyn_cast<Instruction>(V);
  if (!I || !L.contains(I) || Left-- <= 0)
    return false;
  if (const auto *Load = dyn_cast<LoadInst>(I))
    return changes(SE.getSCEV(const_cast<Value *>(Load->getPointerOperand())),
                   L);
  return isa<CastInst, BinaryOperator, FreezeInst>(I) &&
         any_of(I->operands(),
                [&](const Use &U) { return namesPlace(U.get(), L, Left); });
}

bool FactorMoves::isNamed(const SCEV *Place, const Loop &L) {
  return Place && SCEVExprContains(Place, [&](const SCEV *S) {
           const auto *Number = dyn_cast<SCEVUnknown>(S);
           int Left = FactorsMax;
           return Number && Number->getType()->isIntegerTy() &&
                  namesPlace(Number->getValue(), L, Left);
         });
}

const char *FactorMoves::indexObstacle(const Instruction &I, const Loop &L) {
  const Products &Own = productsOf(I);
  bool Any = any_of(Own, [&](const Product &X) {
    return any_of(X.Places, [&](const SCEV *S) { return isNamed(S, L); });
  });
  return Any ? "an element says where a factor lies" : nullptr;
}

// A sum, a quotient, a root: what no recipe for an input says.
bool FactorMoves::isComputed(const StoreInst &S) const {
  SmallSetVector<const Value *, 16> Open;
  Open.insert(S.getValueOperand());
  for (unsigned At = 0; At < Open.size() && At < FactorsMax; At++) {
    const auto *I = dyn_cast<Instruction>(Open[At]);
    const Loop *In = I ? LI.getLoopFor(I->getParent()) : nullptr;
    if (!In || isa<LoadInst>(I))
      continue;
    if (isa<CallBase, FPToSIInst, FPToUIInst>(I) ||
        (isa<PHINode>(I) && I->getParent() == In->getHeader() &&
         !isCounter(*cast<PHINode>(I))) ||
        (isa<BitCastInst>(I) &&
         I->getType()->isFloatingPointTy() !=
             I->getOperand(0)->getType()->isFloatingPointTy()))
      return true;
    if (!isa<PHINode>(I) || I->getParent() != In->getHeader())
      Open.insert(I->op_begin(), I->op_end());
  }
  return false;
}

const FactorMoves::Blocks &FactorMoves::computedFor(const AllocaInst &Array) {
  auto [Found, IsNew] = Computed.try_emplace(&Array);
  if (!IsNew)
    return Found->second;
  SmallVector<const Value *, 16> Open = {&Array};
  int Left = UsersMax;
  while (!Open.empty()) {
    const Value *Address = Open.pop_back_val();
    for (const User *U : Address->users()) {
      const auto *S = dyn_cast<StoreInst>(U);
      if (Left-- == 0)
        return Found->second;
      if (S && S->getPointerOperand() == Address && isComputed(*S))
        Found->second.push_back(S->getParent());
      else if (isa<GetElementPtrInst, BitCastInst>(U))
        Open.push_back(U);
    }
  }
  return Found->second;
}

const char *FactorMoves::factorObstacle(const Instruction &I, const Loop &L) {
  const Products &Own = productsOf(I);
  for (const Product &X : Own) {
    if (X.Counted.count(&L))
      return "an operand of the product is computed from a counter";
    if (any_of(X.Carried, [&](const Loop *In) { return L.contains(In); }))
      return "an operand of the product is computed in the nest";
  }
  auto IsFilled = [&](const SCEV *Place) {
    const AllocaInst *Array = Place ? arrayInFrame(Place, SE) : nullptr;
    return Array && any_of(computedFor(*Array),
                           [&](const BasicBlock *B) { return L.contains(B); });
  };
  return any_of(Own,
                [&](const Product &X) { return any_of(X.Places, IsFilled); })
             ? "an operand of the product is computed in the nest"
             : nullptr;
}

} // namespace nputeir
