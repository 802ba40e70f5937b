// search.h -- which nests of a function are replaced, and by what.
#ifndef NPUTEIR_SEARCH_H
#define NPUTEIR_SEARCH_H

#include "assume.h"
#include "ir_copy.h"
#include "plan_nest.h"
#include "sides.h"

#include <memory>
#include <optional>

namespace nputeir {

// Reads every nest before it rewrites the first, so that what is known about a
// nest does not depend on the branches in front of those before it, and the
// work grows with the number of loops.
class Search {
  struct Taken {
    IRNest Nest;
    std::unique_ptr<AssumedLoads> Loads; // null: no loop
    Plan P;
    std::string TEIR;
    llvm::Loop *L; // null: Old is known already
    Region Old;
    std::optional<SumLoop> First; // what is taken of the loop; nothing: all
  };
  struct Reading {
    Taken What;
    Finding N;
    Sides Ways;
    bool isPlanned() const { return nputeir::isPlanned(What.P); }
  };

  llvm::Function &F;
  const options &O;
  TakenBy By;
  llvm::LoopInfo &LI;
  llvm::ScalarEvolution &SE;
  llvm::DominatorTree &DT;
  llvm::AAResults &AA;
  arena *A;
  bool MayTake;
  NestPlanner Planner;
  std::vector<Taken> Take;
  llvm::DenseMap<const llvm::Loop *, rule> Kept; // why

public:
  std::vector<Finding> Found;
  // The numbers of loops that a call leaves out.
  llvm::SmallVector<int, 2> Copies;

  Search(Copy &C, const options &O, TakenBy By,
         llvm::FunctionAnalysisManager &FAM, arena *A);

  void run();
  bool anyTaken() const { return !Take.empty(); }
  bool leavesCpu() const { return Planner.leavesCpu(); }
  // Of a nest, not only what it was.
  bool leavesCode() const;
  // Where: the name of the function in messages.
  void rewrite(llvm::StringRef Where);
  // One call for a product and the copy that it reads, in front of both; false:
  // there is no such product, or nothing is to be changed.
  bool replaceCopied(llvm::ArrayRef<const llvm::Function *> Same,
                     llvm::FunctionAnalysisManager &FAM, llvm::StringRef Where,
                     bool MayChange);

private:
  Region split(llvm::Instruction &First, llvm::Instruction &Last);
  void conclude(Finding N, IRNest Nest, bool Read, llvm::Instruction *First,
                llvm::Instruction &Last);
  void visit(llvm::CallInst &Call);
  void visit(llvm::Loop &L);
  void visitStores(llvm::Loop *L);
  Reading readLoop(llvm::Loop &L, bool Matrices, Sides Ways,
                   std::unique_ptr<AssumedLoads> &Loads);
  bool takesTriangles() const;
  Reading readAs(bool Triangle, llvm::Loop &L, bool Matrices, Sides Ways,
                 std::unique_ptr<AssumedLoads> &Loads);
  bool readSides(Reading X, llvm::function_ref<Reading(Sides)> Read,
                 std::vector<Reading> &All, int &Left);
  void take(std::vector<Reading> All);
  bool isTakenIn(const llvm::Loop &L) const;
  bool visitSums(llvm::Loop &L, size_t Before);
  bool mayNotPay(const Plan &P) const;
  // Not planned: S is as it came but for what could not be read.
  Taken readSums(llvm::Loop &L, const SumLoop &S, Finding &N);
  Taken readSumsAs(bool Ask, llvm::Loop &L, SumLoop S, Finding &N);
  bool leavesSums(llvm::Loop &L, const SumLoop &S);
  bool takeSums(llvm::Loop &L, SumLoop &S, size_t Before);
  void addMissed(Finding N, size_t Before);
};

} // namespace nputeir

#endif
