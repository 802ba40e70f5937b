// ir_moves.cpp -- which loops move what a product multiplies.
//
// This is asked of code as it comes, before anything is prepared, so every
// answer is on the safe side: what no address says may be anywhere.
#include "ir_moves.h"
#include "ir_sums.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

enum { FactorsMax = 64 }; // that are looked at, of one product

// ---- what is multiplied ----

// The elements that V is computed from; numbers from outside, and numbers of
// iterations, are none.
bool FactorMoves::findElements(const Value *V, Elements &Found, int &Left) {
  const auto *I = dyn_cast<Instruction>(V);
  const Loop *L = I ? LI.getLoopFor(I->getParent()) : nullptr;
  if (!L)
    return true;
  if (Left-- <= 0)
    return false;
  auto Each = [&](auto Values) {
    return all_of(Values, [&](const Use &U) {
      return findElements(U.get(), Found, Left);
    });
  };
  if (const auto *Load = dyn_cast<LoadInst>(I)) {
    Found.push_back(SE.getSCEV(const_cast<Value *>(Load->getPointerOperand())));
    return Load->getType()->isSingleValueType();
  }
  if (const auto *P = dyn_cast<PHINode>(I)) {
    if (P->getParent() != L->getHeader())
      return Each(P->incoming_values());
    return SE.isSCEVable(P->getType()) &&
           isa<SCEVAddRecExpr>(SE.getSCEV(const_cast<PHINode *>(P)));
  }
  if (const auto *Call = dyn_cast<IntrinsicInst>(I))
    return Call->doesNotAccessMemory() && Each(Call->args());
  return isa<CastInst, BinaryOperator, UnaryOperator, SelectInst, CmpInst,
             FreezeInst>(I) &&
         Each(I->operands());
}

// The products that I adds.
void FactorMoves::findProducts(const Instruction &I,
                               std::vector<Elements> &Found) {
  auto Add = [&](auto Factors) {
    Elements Own;
    int Left = FactorsMax;
    if (!all_of(Factors,
                [&](const Use &U) { return findElements(U.get(), Own, Left); }))
      Own.assign(1, nullptr);
    Found.push_back(std::move(Own));
  };
  if (const auto *Call = dyn_cast<IntrinsicInst>(&I)) {
    Add(make_range(Call->arg_begin(), Call->arg_begin() + 2));
    return;
  }
  for (const Value *Side : I.operands())
    if (const Instruction *Product = productIn(Side))
      Add(Product->operands());
}

const std::vector<FactorMoves::Elements> &
FactorMoves::productsOf(const Loop &L) {
  auto [At, IsNew] = Products.try_emplace(&L);
  if (IsNew)
    for (const BasicBlock *B : L.blocks())
      for (const Instruction &I : *B)
        if (isSumOfProduct(I))
          findProducts(I, At->second);
  return At->second;
}

// ---- what a loop does with it ----

// A variable in the frame, or an array there that may be a copy.
static bool isInFrame(const SCEV *Place, ScalarEvolution &SE) {
  const auto *Base = dyn_cast<SCEVUnknown>(SE.getPointerBase(Place));
  return Base && isa<AllocaInst>(Base->getValue());
}

bool FactorMoves::mayMove(const SCEV *Place, const Loop &L) const {
  return !Place || isInFrame(Place, SE) || !SE.isLoopInvariant(Place, &L);
}

// Unless the place is computed from the loop's counter by additions and
// multiplications.
bool FactorMoves::mayStay(const SCEV *Place, const Loop &L) const {
  if (!Place)
    return true;
  bool Counts = false, Else = false;
  struct {
    const Loop &L;
    bool &Counts, &Else;
    bool follow(const SCEV *S) {
      const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
      const auto *Value = dyn_cast<SCEVUnknown>(S);
      Counts |= Rec && Rec->getLoop() == &L;
      Else |= isa<SCEVUDivExpr, SCEVMinMaxExpr>(S) ||
              (Value && isa<Instruction>(Value->getValue()) &&
               L.contains(cast<Instruction>(Value->getValue())));
      return !Else;
    }
    bool isDone() const { return Else; }
  } Look = {L, Counts, Else};
  visitAll(Place, Look);
  return Else || !Counts;
}

bool FactorMoves::mayMoveOne(const Elements &X, const Loop &L) const {
  bool Moves = any_of(X, [&](const SCEV *S) { return mayMove(S, L); });
  bool Stays = any_of(X, [&](const SCEV *S) { return mayStay(S, L); });
  return Moves && Stays;
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

// An element is multiplied by one in X and by another one like it in Y.
bool FactorMoves::areWrittenOut(const Elements &X, const Elements &Y) const {
  return is_contained(Y, nullptr) || any_of(X, [&](const SCEV *Common) {
           return is_contained(Y, Common) && any_of(X, [&](const SCEV *S) {
                    return S != Common && any_of(Y, [&](const SCEV *T) {
                             return T != Common && S != T && mayBeAlike(S, T);
                           });
                  });
         });
}

bool FactorMoves::mayFormMatrix(const Instruction &I, const Loop &Outermost) {
  const Loop *Home = LI.getLoopFor(I.getParent());
  std::vector<Elements> Own;
  findProducts(I, Own);
  for (const Elements &X : Own) {
    if (is_contained(X, nullptr))
      return true;
    for (const Loop *L = Home; L && Outermost.contains(L);
         L = L->getParentLoop())
      if (mayMoveOne(X, *L))
        return true;
  }
  return any_of(Own, [&](const Elements &X) {
    return any_of(productsOf(*Home),
                  [&](const Elements &Y) { return areWrittenOut(X, Y); });
  });
}

} // namespace nputeir
