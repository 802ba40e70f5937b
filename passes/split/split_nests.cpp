// split_nests.cpp -- nests that are split, so that a part of each may be
// replaced: in two that write different arrays, a triangle in rectangles, a sum
// of several products in several sums, or several nests, a factor that is made
// of elements and the products.
#include "split_nests.h"
#include "canonical.h"
#include "column_updates.h"
#include "distribute.h"
#include "interchange.h"
#include "ir_marks.h"
#include "ir_sums.h"
#include "lanes.h"
#include "made_factors.h"
#include "split_products.h"
#include "split_updates.h"
#include "symmetric.h"
#include "triangle_sums.h"
#include "triangles.h"
#include "triangles_in_place.h"

#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace nputeir {

bool mayBeSplit(rule R) {
  switch (R) {
  case RULE_NO_PRODUCT:
  case RULE_VARIANT_EXTENT:
  case RULE_GUARDED:
  case RULE_NON_AFFINE:
  case RULE_DIRECTIONS:
  case RULE_EXTRA_STORE:
  case RULE_LIVE_OUT:
  case RULE_NOT_PRODUCT_SUM:
  case RULE_START_VALUE:
  case RULE_THREE_FACTORS:
  case RULE_PROCESSOR:
  case RULE_SEVERAL_PRODUCTS:
  case RULE_ROLES:
  case RULE_OVERLAPS_SELF:
    return true;
  default:
    return false;
  }
}

namespace {

enum { SplitsMax = 24 }; // of one function

class NestSplitter {
  Function &F;
  FunctionAnalysisManager &FAM;
  DenseSet<int> Tried, TriedSums;
  bool WantsVectors; // parts that are products of a matrix and a vector
  int64_t Least;     // as of splitNests()
  SmallVector<BasicBlock *, 4> Alike; // first blocks of loops to be tried
  BasicBlock *Rest = nullptr;         // of what stood beside a product
  SmallVector<BasicBlock *, 4> Parts; // of what was distributed
  BasicBlock *Updates = nullptr;      // of columns, which need nothing more
  SplitBranches Branches;

  std::vector<SplitNest> Found;

public:
  NestSplitter(Function &F, FunctionAnalysisManager &FAM,
               const DenseSet<int> &Without, bool WantsVectors = false,
               int64_t Least = 0)
      : F(F), FAM(FAM), Tried(Without), TriedSums(Without),
        WantsVectors(WantsVectors), Least(Least) {}

  // Loops that were not tried yet, in one way or the other, become fewer.
  bool splitNext(bool WantsSquares) {
    LoopFacts Facts = facts();
    BasicBlock *Kept = nullptr;
    if (!splitOne(Facts, WantsSquares, Kept) && !splitOneSum(Facts, Kept))
      return false;
    tidyParts(Kept);
    return true;
  }

  bool cutNext(int64_t Least) {
    LoopFacts Facts = facts();
    BasicBlock *Kept = nullptr;
    if (!splitAlike(Facts, Tried, [&](Loop &L) {
          return splitTriangleInPlace(L, Facts, Parts) ||
                 splitTriangleSum(L, Facts) || interchange(L, Facts) ||
                 splitBlock(L, Facts, Least, Kept);
        }))
      return false;
    if (Parts.empty())
      FAM.clear(F, "");
    else
      tidyParts(Kept);
    Parts.clear();
    return true;
  }

  bool splitNextSymmetric() {
    LoopFacts Facts = facts();
    BasicBlock *Kept = nullptr;
    if (!splitFirst(Facts, Tried,
                    [&](Loop &L) { return splitSymmetric(L, Facts, Kept); }))
      return false;
    FAM.clear(F, "");
    keep(*FAM.getResult<LoopAnalysis>(F).getLoopFor(Kept));
    return true;
  }

  std::vector<SplitNest> splitAll(function_ref<bool()> Next) {
    unsigned Count = 0;
    while (Count < SplitsMax && Next())
      Count++;
    FAM.clear(F, "");
    return std::move(Found);
  }

  bool mayBeCut() {
    LoopFacts Facts = facts();
    return any_of(Facts.LI.getLoopsInPreorder(), [&](Loop *L) {
      return mayBeTried(*L, Tried) &&
             (isTriangleSum(*L, Facts) || isSymmetric(*L, Facts) ||
              isTriangleInPlace(*L, Facts) || addsScattered(*L, Facts) ||
              hasRemainder(*L, Facts));
    });
  }

  bool hasVectorBeside() {
    LoopFacts Facts = facts();
    return any_of(Facts.LI.getLoopsInPreorder(), [&](Loop *L) {
      return mayBeTried(*L, Tried) &&
             (storesProductBeside(*L, Facts) || updatesColumns(*L, Facts));
    });
  }

private:
  // It runs for small work, or where tensors overlap.
  static void keep(Loop &L) {
    markKept(L);
    markRolled(L);
  }

  void tidyParts(BasicBlock *Kept) {
    FAM.clear(F, "");
    if (Kept)
      keep(*FAM.getResult<LoopAnalysis>(F).getLoopFor(Kept));
    if (Updates)
      markKept(*FAM.getResult<LoopAnalysis>(F).getLoopFor(Updates));
    Updates = nullptr;
    for (BasicBlock *First : Parts)
      dropIdleLoops(*FAM.getResult<LoopAnalysis>(F).getLoopFor(First));
    FAM.clear(F, "");
    simplifyLoops(F, FAM); // what is kept is left to the same block
  }

  bool splitBlock(Loop &L, LoopFacts &Facts, int64_t Least, BasicBlock *&Kept) {
    NestParts To;
    if (!splitRemainder(L, Facts, Least, To))
      return false;
    Kept = To.Kept;
    Parts = {To.Product, To.Rest};
    return true;
  }

  LoopFacts facts() {
    return {FAM.getResult<LoopAnalysis>(F),
            FAM.getResult<ScalarEvolutionAnalysis>(F),
            FAM.getResult<DominatorTreeAnalysis>(F),
            FAM.getResult<PostDominatorTreeAnalysis>(F),
            FAM.getResult<AAManager>(F)};
  }

  bool deepEnough(const Loop &L) const {
    return any_of(L.getSubLoops(), [&](const Loop *In) {
      return WantsVectors || !In->isInnermost();
    });
  }

  // Numbered is not a part of what is kept, and was not tried.
  bool mayBeTried(const Loop &L, const DenseSet<int> &Tried) const {
    return numberOf(L) >= 0 && !Tried.count(numberOf(L)) && deepEnough(L) &&
           sumsProducts(L) && !movesVectors(L) &&
           none_of(L.getLoopsInPreorder(),
                   [](const Loop *In) { return isKept(*In); });
  }

  // Of what the other part of a nest did, loops may be left that do nothing.
  void dropIdleLoops(Loop &L) {
    LoopFacts Facts = facts();
    SmallVector<Loop *, 8> Open(L.begin(), L.end());
    while (!Open.empty()) {
      Loop *X = Open.pop_back_val();
      if (isIdle(*X, Facts.SE))
        deleteDeadLoop(X, &Facts.DT, &Facts.SE, &Facts.LI);
      else
        Open.append(X->begin(), X->end());
    }
  }

  static bool isIdle(const Loop &L, ScalarEvolution &SE) {
    return L.isLoopSimplifyForm() && L.getExitBlock() && !isUsedAfter(L) &&
           L.getExitBlock()->phis().empty() &&
           all_of(L.getLoopsInPreorder(),
                  [&](const Loop *X) {
                    return !isa<SCEVCouldNotCompute>(
                        SE.getBackedgeTakenCount(X));
                  }) &&
           none_of(L.blocks(), [](const BasicBlock *B) {
             return any_of(*B, [](const Instruction &I) {
               return I.mayHaveSideEffects() && !isa<DbgInfoIntrinsic>(I);
             });
           });
  }

  static SplitNest describe(const Loop &L) {
    SplitNest S = {numberOf(L), {}};
    for (const Loop *In : L.getLoopsInPreorder())
      if (numberOf(*In) >= 0)
        S.Loops.insert(numberOf(*In));
    return S;
  }

  // Of the loops that may be tried, each of which counts as tried then, the
  // first that Split splits.
  bool splitFirst(LoopFacts &Facts, DenseSet<int> &Tried,
                  function_ref<bool(Loop &)> Split) {
    for (Loop *L : Facts.LI.getLoopsInPreorder()) {
      if (!mayBeTried(*L, Tried))
        continue;
      SplitNest S = describe(*L);
      Tried.insert(S.Outermost);
      if (!Split(*L))
        continue;
      Tried.insert(S.Loops.begin(), S.Loops.end());
      Found.push_back(std::move(S));
      return true;
    }
    return false;
  }

  bool distributeNest(Loop &L, LoopFacts &Facts, BasicBlock *&Kept) {
    NestParts To;
    if (!distribute(L, Facts, WantsVectors, Least, Branches, To))
      return false;
    Kept = To.Kept;
    Rest = To.Rest;
    Parts.push_back(To.Product);
    return true;
  }

  bool splitColumns(Loop &L, LoopFacts &Facts, BasicBlock *&Kept) {
    NestParts To;
    if (!WantsVectors || !splitColumnUpdate(L, Facts, To))
      return false;
    Kept = To.Kept;
    Updates = To.Rest;
    Parts.push_back(To.Product);
    return true;
  }

  // As a whole, or in each iteration of loops around.
  bool distributeRest(LoopFacts &Facts, BasicBlock *&Kept) {
    BasicBlock *First = std::exchange(Rest, nullptr);
    if (!First)
      return false;
    for (Loop *X : Facts.LI.getLoopFor(First)->getLoopsInPreorder())
      if (deepEnough(*X) && sumsProducts(*X) && distributeNest(*X, Facts, Kept))
        return true;
    Parts.push_back(First);
    return false;
  }

  bool takeOutOf(Loop &L, LoopFacts &Facts) {
    BasicBlock *First = takeBatchesOut(L, Facts, Branches);
    if (First)
      Parts.push_back(First);
    return First;
  }

  // What was distributed, or is done for each of a batch, may be a triangle, or
  // sums as long as their row, or several products.
  bool splitPart(LoopFacts &Facts, bool WantsSquares, BasicBlock *&Kept) {
    while (!Parts.empty()) {
      Loop &L = *Facts.LI.getLoopFor(Parts.pop_back_val());
      if (mayBeTried(L, {}) &&
          (distributeNest(L, Facts, Kept) ||
           splitTriangle(L, Facts, WantsSquares, Kept) ||
           splitTriangleSum(L, Facts, Branches) || takeOutOf(L, Facts)))
        return true;
    }
    return false;
  }

  bool splitOne(LoopFacts &Facts, bool WantsSquares, BasicBlock *&Kept) {
    if (distributeRest(Facts, Kept) || splitPart(Facts, WantsSquares, Kept))
      return true;
    return splitFirst(Facts, Tried, [&](Loop &L) {
      return splitTriangle(L, Facts, WantsSquares, Kept) || splitProducts(L) ||
             takeOutOf(L, Facts) || splitColumns(L, Facts, Kept) ||
             distributeNest(L, Facts, Kept) || makeFactors(L, Facts, Kept);
    });
  }

  // Copies of a loop have its number: where one is split, so are the others.
  bool splitAlike(LoopFacts &Facts, DenseSet<int> &Tried,
                  function_ref<bool(Loop &)> Split) {
    while (!Alike.empty())
      if (Split(*Facts.LI.getLoopFor(Alike.pop_back_val())))
        return true;
    DenseMap<int, SmallVector<BasicBlock *, 1>> Headers; // by number
    for (Loop *X : Facts.LI.getLoopsInPreorder())
      Headers[numberOf(*X)].push_back(X->getHeader());
    return splitFirst(Facts, Tried, [&](Loop &L) {
      SmallVector<BasicBlock *, 4> Others;
      for (BasicBlock *B : Headers.lookup(numberOf(L)))
        if (B != L.getHeader() && !isKept(*Facts.LI.getLoopFor(B)))
          Others.push_back(B);
      if (!Split(L))
        return false;
      Alike = std::move(Others);
      return true;
    });
  }

  // Also in the rectangles and squares of a triangle, and of what stood beside
  // something else.
  bool splitOneSum(LoopFacts &Facts, BasicBlock *&Kept) {
    return splitAlike(Facts, TriedSums, [&](Loop &L) {
      return splitProducts(L) || splitUpdates(L, Facts, Kept) ||
             makeFactors(L, Facts, Kept);
    });
  }
};

} // namespace

std::vector<SplitNest> splitNests(Function &F, FunctionAnalysisManager &FAM,
                                  const DenseSet<int> &Without, int64_t Least,
                                  bool WantsSquares, bool WantsVectors) {
  NestSplitter S(F, FAM, Without, WantsVectors, Least);
  return S.splitAll([&] { return S.splitNext(WantsSquares); });
}

std::vector<SplitNest> cutNests(Function &F, FunctionAnalysisManager &FAM,
                                const DenseSet<int> &Without, int64_t Least) {
  NestSplitter S(F, FAM, Without);
  return S.splitAll([&] { return S.cutNext(Least); });
}

std::vector<SplitNest> splitSymmetricProducts(Function &F,
                                              FunctionAnalysisManager &FAM,
                                              const DenseSet<int> &Without) {
  NestSplitter S(F, FAM, Without);
  return S.splitAll([&] { return S.splitNextSymmetric(); });
}

bool hasVectorsBeside(Function &F, FunctionAnalysisManager &FAM) {
  bool Has = NestSplitter(F, FAM, {}, true).hasVectorBeside();
  FAM.clear(F, "");
  return Has;
}

bool mayBeCut(Function &F, FunctionAnalysisManager &FAM) {
  return NestSplitter(F, FAM, {}).mayBeCut();
}

} // namespace nputeir
