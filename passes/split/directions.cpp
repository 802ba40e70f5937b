// directions.cpp -- which way the loops of a nest go through its tensors.
//
// Strides that are known when the program runs count as positive, unless they
// are written as the negative of something, as those of the recogniser do.
#include "directions.h"
#include "ir_scev.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"

using namespace llvm;

namespace nputeir {

bool Directions::add(const Instruction &Access, Loop &Outer, Overlaps &Places,
                     ScalarEvolution &SE) {
  const SCEV *S = Places.placeOf(Access);
  while (const auto *Rec = dyn_cast<SCEVAddRecExpr>(S)) {
    if (!Outer.contains(Rec->getLoop()))
      break;
    if (!Rec->isAffine())
      return false;
    const SCEV *Step = Rec->getStepRecurrence(SE);
    (looksNegative(Step) ? Down : Up).insert(Rec->getLoop());
    S = Rec->getStart();
  }
  return SE.isLoopInvariant(S, &Outer);
}

bool Directions::agree() const {
  return none_of(Down, [&](const Loop *L) { return Up.count(L); });
}

// A factor of a product, perhaps of another type there.
static bool isMultiplied(const Instruction &Element) {
  enum { UsersMax = 16 };
  SmallVector<const Instruction *, 8> Open = {&Element};
  for (int Left = UsersMax; !Open.empty() && Left > 0; Left--)
    for (const User *U : Open.pop_back_val()->users()) {
      const auto *I = cast<Instruction>(U);
      if (I->getOpcode() == Instruction::FMul ||
          I->getOpcode() == Instruction::Mul || isa<CallInst>(I))
        return true;
      if (isa<CastInst>(I))
        Open.push_back(I);
    }
  return false;
}

LoadInst *findOpposite(Loop &Outer, ArrayRef<Instruction *> Accesses,
                       Overlaps &Places, ScalarEvolution &SE) {
  Directions All;
  for (const Instruction *I : Accesses)
    if (!All.add(*I, Outer, Places, SE))
      return nullptr;
  if (All.agree())
    return nullptr;
  LoadInst *Best = nullptr;
  size_t Fewest = 0;
  for (Instruction *I : Accesses) {
    auto *Load = dyn_cast<LoadInst>(I);
    if (!Load || !isMultiplied(*Load))
      continue;
    Directions Own, Others;
    Own.add(*Load, Outer, Places, SE);
    for (const Instruction *Other : Accesses)
      if (Other != Load)
        Others.add(*Other, Outer, Places, SE);
    size_t Moving = Own.Up.size() + Own.Down.size();
    if (Others.agree() && (!Best || Moving < Fewest)) {
      Best = Load;
      Fewest = Moving;
    }
  }
  return Best;
}

} // namespace nputeir
