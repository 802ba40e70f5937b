// find_factors.h -- factors of a nest's products that are worth to be made in
// front of it.
#ifndef NPUTEIR_FIND_FACTORS_H
#define NPUTEIR_FIND_FACTORS_H

#include "distribute.h"
#include "overlaps.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace nputeir {

struct MadeFactor {
  using Moved = llvm::SmallPtrSet<const llvm::Loop *, 4>;
  struct Condition {
    Guard Of;
    bool OfAxes; // it depends on nothing but loops that move the factor
  };
  llvm::Instruction *V = nullptr;
  const llvm::Instruction *Product = nullptr;
  Moved Moving, Down;                      // Down: the copy is read backwards
  llvm::SmallVector<Condition, 4> Asked;   // from the outermost
  llvm::SmallVector<Guard, 4> Masks;       // which ask for it instead
  llvm::SmallVector<llvm::Loop *, 4> Axes; // from the outermost
  // Where it is made.
  llvm::Value *At = nullptr;
  llvm::SmallVector<llvm::Value *, 4> Stride; // of the axes, in elements
};

class FactorFinder {
  enum { BlocksMax = 64, PartsMax = 48, FactorsMax = 4 };
  using Factor = MadeFactor;
  using MovedLoops = llvm::SmallPtrSetImpl<const llvm::Loop *>;
  using Parts = llvm::SmallPtrSet<const llvm::Instruction *, 16>;
  llvm::Loop &L;
  LoopFacts &Facts;
  llvm::ScalarEvolution &SE;
  llvm::Type *I64;
  llvm::SmallVector<llvm::Instruction *, 16> Accesses;
  Parts Seen; // of one factor
  Parts InFactors;

public:
  Overlaps Places; // what must be apart for the factors to be made
  llvm::SmallVector<Factor, 4> Factors;

  FactorFinder(llvm::Loop &L, LoopFacts &Facts)
      : L(L), Facts(Facts), SE(Facts.SE),
        I64(llvm::Type::getInt64Ty(SE.getContext())),
        Places(L, Facts.SE, Facts.AA, Facts.LI, Facts.DT) {}
  // False: there are none.  Products may have been written in another order.
  bool find();
  // How often the body runs.
  const llvm::SCEV *countOf(const llvm::Loop &X);
  // In front of the nest.
  bool isKnown(const llvm::SCEV *S);

private:
  static bool testsFirst(const llvm::Loop &X);
  bool isCounted(const llvm::Loop &X);
  void addFactorsOf(const llvm::Instruction &Sum, int Depth = 0);
  void addFactor(llvm::Value *V, const llvm::Instruction &Product);
  static const llvm::Value *withoutCasts(const llvm::Value *V);
  bool isScaled(const llvm::Instruction &I, const llvm::Instruction &Product);
  void addGrouped(llvm::Instruction &Sum);
  bool addMasked(const llvm::Instruction &Sum);
  bool addMasked(llvm::Instruction &I, const llvm::Instruction &Product,
                 llvm::ArrayRef<Guard> Guards);
  bool mayMark(llvm::ArrayRef<Guard> Guards, const llvm::Instruction &Other);
  void addOpposite(llvm::LoadInst &Element);
  void add(llvm::Instruction &I, const llvm::Instruction &Product);
  bool isFactor(const llvm::Instruction &I) const;
  bool isElement(const llvm::Value *V);
  bool setAxes(Factor &X, const llvm::Instruction &Of);
  bool findConditions(Factor &X);
  bool asksCounters() const;
  llvm::SmallVector<llvm::Instruction *, 16> accessesBeside() const;
  void chooseDirections();
  bool mayBeMade(const llvm::Value &V, MovedLoops &By);
  bool mayBeMade(const llvm::PHINode &P, MovedLoops &By);
  bool counts(const llvm::SCEV *S, MovedLoops &By);
};

} // namespace nputeir

#endif
