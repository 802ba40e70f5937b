// grouped_factors.cpp -- s += w[k][j] * d[i][k] * (1 - y[i][k]) is written as
// s += w[k][j] * (d[i][k] * (1 - y[i][k])), and s += z[i][k] > 0 ? w[k][j] *
// d[i][k] : 0 as s += w[k][j] * (z[i][k] > 0 ? d[i][k] : 0).
#include "grouped_factors.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace nputeir {

namespace {

class Grouping {
  enum { FactorsMax = 8 };
  using Loops = SmallPtrSet<const Loop *, 4>;
  struct Factor {
    Value *V; // of a choice: the condition
    bool IsChoice, Side;
    Loops By;
  };
  const Loop &Outer;
  MovedBy Moved;
  SmallVector<const Loop *, 4> Around; // the sum
  SmallVector<Factor, FactorsMax> Factors;

public:
  Grouping(const Instruction &Sum, const Loop &Outer, const LoopInfo &LI,
           MovedBy Moved)
      : Outer(Outer), Moved(Moved) {
    for (const Loop *In = LI.getLoopFor(Sum.getParent());;
         In = In->getParentLoop()) {
      Around.push_back(In);
      if (In == &Outer)
        break;
    }
  }

  Instruction *group(Instruction &Sum, unsigned Operand) {
    auto *Top = dyn_cast<Instruction>(Sum.getOperand(Operand));
    Factors.clear();
    if (!Top || !Outer.contains(Top) || !collect(Top) || Factors.size() < 3 ||
        !all_of(Factors, [this](Factor &X) { return Moved(*X.V, X.By); }))
      return nullptr;
    const auto *Of = find_if(Factors, [&](const Factor &X) { return fits(X); });
    if (Of == Factors.end())
      return nullptr;
    const Loops &By = Of->By;
    IRBuilder<> B(Top);
    B.setFastMathFlags(Sum.getFastMathFlags());
    Value *Own = nullptr, *Other = nullptr;
    for (const Factor &X : Factors)
      if (!X.IsChoice) {
        Value *&Part = isIn(X, By) ? Own : Other;
        Part = Part ? B.CreateFMul(Part, X.V) : X.V;
      }
    Value *Zero = Constant::getNullValue(Top->getType());
    for (const Factor &X : Factors)
      if (X.IsChoice)
        Own = B.CreateSelect(X.V, X.Side ? Own : Zero, X.Side ? Zero : Own);
    Sum.setOperand(Operand, B.CreateFMul(Own, Other));
    return cast<Instruction>(Own);
  }

private:
  bool collect(Value *V) {
    auto *I = dyn_cast<Instruction>(V);
    if (I && I->getOpcode() == Instruction::FMul && I->hasAllowReassoc() &&
        I->hasOneUse())
      return collect(I->getOperand(0)) && collect(I->getOperand(1));
    auto IsZero = [](const Value *V) {
      const auto *C = dyn_cast<Constant>(V);
      return C && C->isZeroValue();
    };
    auto *S = dyn_cast<SelectInst>(V);
    if (S && S->hasOneUse() && S->getCondition()->getType()->isIntegerTy() &&
        (IsZero(S->getTrueValue()) || IsZero(S->getFalseValue()))) {
      bool Side = IsZero(S->getFalseValue());
      return add(S->getCondition(), true, Side) &&
             collect(Side ? S->getTrueValue() : S->getFalseValue());
    }
    return add(V, false, true);
  }

  bool add(Value *V, bool IsChoice, bool Side) {
    if (Factors.size() == FactorsMax)
      return false;
    Factors.push_back({V, IsChoice, Side, {}});
    return true;
  }

  static bool isIn(const Factor &X, const Loops &By) {
    return !X.By.empty() &&
           all_of(X.By, [&](const Loop *L) { return By.count(L); });
  }

  // All but one of the factors that move, and all choices, are moved by no
  // loops but those of X.  A choice that moves with the other factor may say
  // which of its elements are numbers.
  bool fits(const Factor &X) const {
    unsigned Own = 0, Elements = 0, Others = 0;
    for (const Factor &Y : Factors) {
      bool Is = isIn(Y, X.By);
      if (Y.IsChoice && (!Is || any_of(Factors, [&](const Factor &Z) {
            return !isIn(Z, X.By) && isIn(Y, Z.By);
          })))
        return false;
      Own += Is;
      Elements += Is && !Y.IsChoice;
      Others += !Is && !Y.By.empty();
    }
    return Own >= 2 && Elements >= 1 && Others == 1 &&
           any_of(Around, [&](const Loop *L) { return !X.By.count(L); });
  }
};

} // namespace

Instruction *groupFactors(Instruction &Sum, const Loop &Outer,
                          const LoopInfo &LI, MovedBy Moved) {
  if (!isa<BinaryOperator>(Sum) || !Sum.getType()->isFloatingPointTy() ||
      !Sum.hasAllowReassoc() || !Sum.hasNoNaNs() || !Sum.hasNoInfs())
    return nullptr;
  Grouping G(Sum, Outer, LI, Moved);
  for (unsigned N = 0; N < Sum.getNumOperands(); N++)
    if (Instruction *Factor = G.group(Sum, N))
      return Factor;
  return nullptr;
}

} // namespace nputeir
