// find_factors.cpp -- which factors of a nest's products are made in front.
//
// They are computed by operations that have no effect, of elements that the
// nest does not write, and some loop around the product does not move them.
#include "find_factors.h"
#include "directions.h"
#include "grouped_factors.h"
#include "ir_sums.h"
#include "masked_products.h"

#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace nputeir {

bool FactorFinder::find() {
  if (L.getHeader()->getParent()->hasFnAttribute("no-builtins") ||
      !canBeCopied(L) || L.getNumBlocks() > BlocksMax ||
      !findAccesses(L, Accesses) ||
      !all_of(L.getLoopsInPreorder(),
              [&](const Loop *X) { return isCounted(*X); }))
    return false;
  for (BasicBlock *B : L.blocks())
    for (Instruction &I : *B)
      if (isSumOfProduct(I) && !addMasked(I) &&
          I.getType()->isFloatingPointTy()) {
        addGrouped(I);
        addFactorsOf(I);
      }
  if (LoadInst *X = findOpposite(L, accessesBeside(), Places, SE))
    addOpposite(*X);
  chooseDirections();
  return !Factors.empty() && Factors.size() <= FactorsMax;
}

// The exit test stands in front of the body, else behind it.
bool FactorFinder::testsFirst(const Loop &X) {
  return X.getExitingBlock() == X.getHeader() &&
         X.getHeader() != X.getLoopLatch();
}

// How often the body runs.
const SCEV *FactorFinder::countOf(const Loop &X) {
  const SCEV *Count = SE.getBackedgeTakenCount(&X);
  if (isa<SCEVCouldNotCompute>(Count) ||
      SE.getTypeSizeInBits(Count->getType()) > 64)
    return SE.getCouldNotCompute();
  Count = SE.getNoopOrZeroExtend(Count, I64);
  return testsFirst(X) ? Count : SE.getAddExpr(Count, SE.getOne(I64));
}

bool FactorFinder::isCounted(const Loop &X) {
  return X.isLoopSimplifyForm() &&
         (testsFirst(X) || X.getExitingBlock() == X.getLoopLatch()) &&
         isKnown(countOf(X));
}

// In front of L.
bool FactorFinder::isKnown(const SCEV *S) {
  Expander Code(SE, *L.getHeader()->getModule());
  return !isa<SCEVCouldNotCompute>(S) && SE.isLoopInvariant(S, &L) &&
         SE.properlyDominates(S, L.getHeader()) && Code.isSafe(S);
}

// The factors in a sum of products.
void FactorFinder::addFactorsOf(const Instruction &Sum, int Depth) {
  enum { DepthMax = 3 };
  bool Fused = isa<IntrinsicInst>(Sum); // x * y + z
  for (unsigned N = 0; N < (Fused ? 3 : Sum.getNumOperands()); N++) {
    auto *X = dyn_cast<Instruction>(Sum.getOperand(N));
    if (Fused && N < 2)
      addFactor(Sum.getOperand(N), Sum);
    else if (X && L.contains(X) && X->getOpcode() == Instruction::FMul)
      for (Value *V : X->operands())
        addFactor(V, *X);
    else if (X && L.contains(X) && Depth < DepthMax &&
             (X->getOpcode() == Instruction::FAdd ||
              X->getOpcode() == Instruction::FSub))
      addFactorsOf(*X, Depth + 1);
  }
}

void FactorFinder::addGrouped(Instruction &Sum) {
  auto IsMovedBy = [&](const Value &V, MovedLoops &By) {
    Seen.clear();
    return mayBeMade(V, By);
  };
  if (Instruction *I = groupFactors(Sum, L, Facts.LI, IsMovedBy))
    add(*I, Sum);
}

void FactorFinder::addFactor(Value *V, const Instruction &Product) {
  auto *I = dyn_cast<Instruction>(V);
  if (I && L.contains(I) && !isElement(withoutCasts(V)) &&
      !isScaled(*I, Product) && !isFactor(*I))
    add(*I, Product);
}

const Value *FactorFinder::withoutCasts(const Value *V) {
  while (isa<CastInst>(V))
    V = cast<CastInst>(V)->getOperand(0);
  return V;
}

// An element times what the nest does not change, which it may multiply its
// sums by.
bool FactorFinder::isScaled(const Instruction &I, const Instruction &Product) {
  if (I.getOpcode() != Instruction::FMul || !I.hasAllowReassoc() ||
      !Product.hasAllowReassoc())
    return false;
  return any_of(I.operands(), [&](const Use &U) {
    const Value *Other = I.getOperand(1 - U.getOperandNo());
    return L.isLoopInvariant(U.get()) && isElement(withoutCasts(Other));
  });
}

bool FactorFinder::isFactor(const Instruction &I) const {
  return any_of(Factors, [&](const Factor &X) { return X.V == &I; });
}

// False: no condition on elements skips the product, or none of its factors
// can be zero instead.
bool FactorFinder::addMasked(const Instruction &Sum) {
  return any_of(findProducts(Sum, Facts.DT), [&](const Instruction *Product) {
    SmallVector<Guard, 4> Guards;
    if (!L.contains(Product) ||
        !findGuards(*Product, L, Facts.LI, Facts.DT, Facts.PDT, Guards) ||
        Guards.empty())
      return false;
    auto Elements = findElements(*Product);
    if (any_of(Guards,
               [&](const Guard &G) { return asksForZero(G, Elements); }))
      return false; // which a nest may ask itself
    return any_of(Elements, [&](Instruction *I) {
      return L.contains(I) && (isFactor(*I) || addMasked(*I, *Product, Guards));
    });
  });
}

// A condition that no other loops move than those of another factor may say
// which of its elements are numbers: zero times the others is none.
bool FactorFinder::mayMark(ArrayRef<Guard> Guards, const Instruction &Other) {
  MadeFactor::Moved Moving;
  Seen.clear();
  if (!mayBeMade(Other, Moving))
    return true;
  return any_of(Guards, [&](const Guard &G) {
    return any_of(
        partsOfCondition(*G.Branch->getCondition(), Facts.DT),
        [&](const Value *Of) {
          MadeFactor::Moved By;
          Seen.clear();
          return !mayBeMade(*Of, By) ||
                 all_of(By, [&](const Loop *In) { return Moving.count(In); });
        });
  });
}

bool FactorFinder::addMasked(Instruction &I, const Instruction &Product,
                             ArrayRef<Guard> Guards) {
  if (any_of(findElements(Product), [&](const Instruction *Other) {
        return Other != &I && Other->getType()->isFloatingPointTy() &&
               mayMark(Guards, *Other);
      }))
    return false;
  Factor X;
  X.V = &I;
  X.Product = &Product;
  Seen.clear();
  if (!mayBeMade(I, X.Moving))
    return false;
  Parts All = Seen;
  SmallVector<Guard, 4> OfElements;
  for (const Guard &G : Guards) {
    Seen.clear();
    if (!mayBeMade(*G.Branch->getCondition(), X.Moving))
      return false;
    if (!asksCounters())
      OfElements.push_back(G);
    X.Asked.push_back({G, true});
    All.insert(Seen.begin(), Seen.end());
  }
  auto IsWithin = [&](const Guard &G) {
    return all_of(X.Moving,
                  [&](const Loop *By) { return By->contains(G.Branch); });
  };
  copy_if(Guards, std::back_inserter(X.Masks), IsWithin);
  if (OfElements.empty() || !all_of(OfElements, IsWithin) ||
      !skipsProductsOf(X.Masks, I, L, Facts.DT, Facts.PDT) ||
      !setAxes(X, *X.Masks.front().Branch))
    return false;
  InFactors.insert(All.begin(), All.end());
  Factors.push_back(std::move(X));
  return true;
}

// Of its products, the first one.
void FactorFinder::addOpposite(LoadInst &Element) {
  SmallVector<Instruction *, 4> Open = {&Element};
  while (!Open.empty()) // along casts, which end at what casts none
    for (User *U : Open.pop_back_val()->users()) {
      auto *I = cast<Instruction>(U);
      if (!isa<CastInst>(I))
        return add(Element, *I);
      Open.push_back(I);
    }
}

void FactorFinder::add(Instruction &I, const Instruction &Product) {
  Factor X;
  X.V = &I;
  X.Product = &Product;
  Seen.clear();
  if (!L.contains(&Product) || !mayBeMade(I, X.Moving))
    return;
  Parts All = Seen;
  if (!setAxes(X, I) || !findConditions(X))
    return;
  InFactors.insert(All.begin(), All.end());
  Factors.push_back(std::move(X));
}

// False: all loops around the product move the factor, or some that are not
// around Of, which reads it.
bool FactorFinder::setAxes(MadeFactor &X, const Instruction &Of) {
  bool Stays = false;
  for (const Loop *In = Facts.LI.getLoopFor(X.Product->getParent());;
       In = In->getParentLoop()) {
    Stays |= !X.Moving.count(In);
    if (In == &L)
      break;
  }
  for (Loop *Around = Facts.LI.getLoopFor(Of.getParent());;
       Around = Around->getParentLoop()) {
    if (X.Moving.count(Around))
      X.Axes.insert(X.Axes.begin(), Around);
    if (Around == &L)
      break;
  }
  return Stays && !X.Axes.empty() && X.Axes.size() == X.Moving.size();
}

bool FactorFinder::findConditions(MadeFactor &X) {
  SmallVector<Guard, 4> Guards;
  if (!findGuards(*X.V, L, Facts.LI, Facts.DT, Facts.PDT, Guards))
    return false;
  for (const Guard &G : Guards) {
    MadeFactor::Moved By;
    Seen.clear();
    if (!mayBeMade(*G.Branch->getCondition(), By) || !asksCounters())
      return false;
    X.Asked.push_back(
        {G, all_of(By, [&](const Loop *Of) { return X.Moving.count(Of); })});
  }
  return true;
}

// Of what was seen last: neither elements nor what may trap.
bool FactorFinder::asksCounters() const {
  return none_of(Seen, [](const Instruction *I) {
    return isa<LoadInst, CallInst>(I) || I->isIntDivRem();
  });
}

SmallVector<Instruction *, 16> FactorFinder::accessesBeside() const {
  SmallVector<Instruction *, 16> Others;
  copy_if(Accesses, std::back_inserter(Others),
          [&](const Instruction *I) { return !InFactors.count(I); });
  return Others;
}

// A copy goes the way of what else the nest accesses.
void FactorFinder::chooseDirections() {
  Directions Others;
  for (const Instruction *I : accessesBeside())
    Others.add(*I, L, Places, SE);
  for (Factor &X : Factors)
    for (const Loop *Axis : X.Axes)
      if (Others.Down.count(Axis) && !Others.Up.count(Axis))
        X.Down.insert(Axis);
}

// Which a nest reads as it is.
bool FactorFinder::isElement(const Value *V) {
  const auto *Load = dyn_cast<LoadInst>(V);
  if (!Load)
    return isa<PHINode>(V) &&
           Facts.LI.isLoopHeader(cast<PHINode>(V)->getParent());
  const SCEV *S = SE.getSCEV(const_cast<Value *>(Load->getPointerOperand()));
  return isa<SCEVAddRecExpr>(Places.wide(S)) || SE.isLoopInvariant(S, &L);
}

bool FactorFinder::mayBeMade(const Value &V, MovedLoops &By) {
  const auto *I = dyn_cast<Instruction>(&V);
  if (!I || !L.contains(I) || !Seen.insert(I).second)
    return true;
  if (Seen.size() > PartsMax || I->getType()->isVectorTy())
    return false;
  if (const auto *P = dyn_cast<PHINode>(I))
    return mayBeMade(*P, By);
  if (const auto *Load = dyn_cast<LoadInst>(I)) {
    if (!Load->isSimple() || !all_of(Accesses, [&](Instruction *W) {
          return isa<LoadInst>(W) || Places.areApart(*W, *Load);
        }))
      return false;
  } else if (const auto *Call = dyn_cast<CallInst>(I)) {
    if (!Call->doesNotAccessMemory() || !Call->willReturn() ||
        !Call->doesNotThrow() || Call->isConvergent() ||
        Call->hasOperandBundles() || !Call->getCalledFunction())
      return false;
  } else if (!isa<BinaryOperator, UnaryOperator, CastInst, SelectInst, CmpInst,
                  GetElementPtrInst, FreezeInst>(I))
    return false;
  return all_of(I->operands(),
                [&](const Use &U) { return mayBeMade(*U.get(), By); });
}

bool FactorFinder::mayBeMade(const PHINode &P, MovedLoops &By) {
  if (auto C = choiceOf(P, Facts.DT))
    return mayBeMade(*C->Branch->getCondition(), By) &&
           mayBeMade(*C->Side[0], By) && mayBeMade(*C->Side[1], By);
  return SE.isSCEVable(P.getType()) &&
         counts(SE.getSCEV(const_cast<PHINode *>(&P)), By);
}

// S is a start plus steps of loops.
bool FactorFinder::counts(const SCEV *S, MovedLoops &By) {
  const auto *Rec = dyn_cast<SCEVAddRecExpr>(S);
  if (!Rec || !L.contains(Rec->getLoop()))
    return isKnown(S);
  By.insert(Rec->getLoop());
  return Rec->isAffine() && isKnown(Rec->getStepRecurrence(SE)) &&
         counts(Rec->getStart(), By);
}

} // namespace nputeir
