// passes.h -- what the files of this module share.  The shim between LLVM and
// the recogniser: a loop of the IR becomes a struct nest, a contraction becomes
// a guarded call, a verdict becomes a remark.
#ifndef NPUTEIR_PASSES_H
#define NPUTEIR_PASSES_H

extern "C" {
#include "recognizer.h"
}

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

#include <memory>
#include <string>
#include <vector>

namespace nputeir {

// What one pass was asked to do by name, beside the sources that are open to
// all.
struct OptionSources {
  std::string Pass;   // -passes=nputeir<...>
  bool Print = false; // print<nputeir>: say what would be done, change nothing
  bool IsAlone = false;  // DefineCpuPass does not follow
  bool Reported = false; // a wrong word is one error
};

// Arena with the lifetime of a C++ scope.
struct ArenaScope {
  arena *A = arena_open();
  ArenaScope() = default;
  ArenaScope(const ArenaScope &) = delete;
  ~ArenaScope() { arena_close(A); }
};

// ---- options.cpp ----
// What F's annotations add to O; false and *Problem when a word is wrong.
bool addAnnotations(const llvm::Function &F, arena *A, options &O,
                    diag *Problem);
// The sources that do not depend on a function.
bool parseSources(const OptionSources &D, arena *A, options &O, diag *Problem);

// ---- read_ir.cpp ----
// Start + step * iteration of every loop that moves it, all of them in 64 bits.
struct Sum {
  const llvm::SCEV *Start;
  struct Term {
    const llvm::SCEV *Step, *Extent;
  };
  llvm::SmallVector<Term, 4> Terms;
};
// A sum must stay a number of `Bits` bits, at most 61, in all iterations.
struct NoWrap {
  unsigned Bits;
  bool Signed;
  Sum Of;
};
// A sum that does not overflow must compare with zero in all iterations.
struct Comparison {
  llvm::CmpInst::Predicate Is; // signed, or equal, or not
  Sum Of;
};

// Large >= Small, as signed numbers of 64 bits.
struct AtLeast {
  const llvm::SCEV *Large, *Small;
};

// An array of row addresses that the nest loads one by one along a loop, or
// along two of which one goes through what the other one's steps are, as in
// float **.  The nest is described as if row i lay at Base + i * Step; both are
// placeholders in front of the nest until row_pointers.cpp computes them.
//
// Arrays whose addresses are rows themselves, as in float ***, are described
// together: Around has the rows that they are, and row i of array h lies at
// Base + h * StepAround + i * Step.
struct RowPointers {
  enum { AroundMax = 2 };
  const llvm::LoadInst *Load;
  const llvm::SCEV *Start, *Stride, *Extent; // of the array
  llvm::Instruction *Base, *Step;
  int Around = -1; // number of the rows; Start is from their address
  llvm::SmallVector<llvm::Instruction *, AroundMax> StepAround; // inner first
  llvm::SmallVector<AtLeast, 2> Counted; // for the nest to read all of them
  // Nothing is asked but what all of them reach together, from Base on: as many
  // steps, and the rest of the way to the last one.
  bool MayBeUneven = false;
  llvm::Instruction *Rest = nullptr; // known when Step is; null: nothing

  bool areIn(const llvm::SCEV *S) const; // it depends on them
};

// An access that the source makes where Condition is Side.
struct ZeroSkip {
  struct Element { // that the condition reads
    const llvm::LoadInst *Load;
    const llvm::SCEV *Start;
    std::vector<const llvm::SCEV *> Stride; // by loop; null: none
  };
  using Range = std::pair<int, const llvm::SCEV *>; // a loop and its extent
  const llvm::Instruction *Condition;
  bool Side;
  std::vector<Element> Loads;
  std::vector<Range> Common, Others; // of the loops that move Loads, those that
                                     // move the access, and others
  bool All; // iterations of Common must have the access; else first and last
};

// What two accesses reach, in bytes, must not overlap; what starts and steps
// give does not wrap.
struct Apart {
  struct Reach {
    Sum Of;
    uint64_t Bytes; // of an element
  };
  Reach Written, Read;
};

// A nest, and the LLVM values behind its numbers.
struct IRNest {
  nest *N = nullptr;
  std::vector<const llvm::SCEV *> Symbol; // 64-bit integers
  std::vector<const llvm::SCEV *> Tensor; // addresses at iteration zero
  std::vector<llvm::Value *> Outside;     // numbers from before the nest
  // Conditions under which the nest is what the description says.
  std::vector<std::pair<llvm::Value *, bool>> Assumed;
  std::vector<NoWrap> Bounded;
  std::vector<Comparison> Compared;
  std::vector<AtLeast> Counted; // of which numbers of iterations hold
  std::vector<std::pair<const llvm::SCEV *, const llvm::SCEV *>> Equal;
  std::vector<Apart> Disjoint;
  std::vector<RowPointers> Rows;
  std::vector<ZeroSkip> Skips;
  std::vector<llvm::Value *> NonZero;    // floats that must not be zero
  std::vector<contraction_guard> Guards; // beside those of the contraction

  // What may be asked: nothing of rows before it is known where they lie.
  bool areOfRows(const Apart &X) const;
  template <class Visitor> void eachCondition(Visitor Visit) const {
    llvm::for_each(Assumed, Visit);
    llvm::for_each(Bounded, Visit);
    llvm::for_each(Compared, Visit);
    llvm::for_each(Counted, Visit);
    llvm::for_each(Equal, Visit);
    for (const Apart &X : Disjoint)
      if (!areOfRows(X))
        Visit(X);
  }
};
class Sides;
// A loop within a nest whose sums may be formed first: they go to an array,
// which the nest's other code reads.
struct SumLoop {
  llvm::Loop *L = nullptr;
  llvm::SmallVector<llvm::Instruction *, 4> Sums; // behind it, of one type
  llvm::Instruction *Array = nullptr; // stands for the array's address
  // The loops around L and how far each moves in the array, from the outermost.
  llvm::SmallVector<llvm::Loop *, 4> Around;
  llvm::SmallVector<const llvm::SCEV *, 4> Extent, Stride;
  // Loads of sizes and addresses that are made in front: what else is written
  // leaves them as they are.
  llvm::SmallVector<const llvm::LoadInst *, 8> Unchanged;
  // Of the sums, those that cannot be described, alone either.
  llvm::SmallVector<const llvm::Instruction *, 4> Unreadable;
};
// False and a verdict when the loop cannot be described as a nest.  With a part
// that comes first, it is described what that does.
bool readNest(llvm::Loop &Outer, llvm::LoopInfo &LI, llvm::ScalarEvolution &SE,
              llvm::DominatorTree &DT, llvm::AAResults &AA, arena *A,
              IRNest &Result, verdict &V, Sides &Ways,
              SumLoop *First = nullptr);
// The same of a nest of which some loops are rows and columns of a triangle.
bool readTriangle(llvm::Loop &Outer, llvm::LoopInfo &LI,
                  llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                  llvm::AAResults &AA, arena *A, IRNest &Result, verdict &V,
                  Sides &Ways);

// ---- calls.cpp ----
// A call of a library function that is a matrix product; and not kept.
bool callsProduct(const llvm::Instruction &I);
bool isProductCall(const llvm::Instruction &I);
// It gets sizes and factors themselves, as opposed to pointers to them.
bool takesNumbers(const llvm::CallInst &Call);
// False and a verdict when the call is not described.  Adds loads of numbers
// that are passed by pointer in front of the call.
bool readCall(llvm::CallInst &Call, llvm::ScalarEvolution &SE,
              llvm::AAResults &AA, arena *A, IRNest &Result, verdict &V);

// ---- canonical.cpp ----
// Analysis managers of our own, and the passes that prepare a function.
struct Canonical {
  llvm::LoopAnalysisManager LAM;
  llvm::FunctionAnalysisManager FAM;
  llvm::CGSCCAnalysisManager CGAM;
  llvm::ModuleAnalysisManager MAM;
  llvm::PassBuilder PB;
  llvm::FunctionPassManager Passes, AfterSplit;

  Canonical();
  // F is new: what is known of one that was dropped, and lay at its address, is
  // forgotten.
  void begin(llvm::Function &F) { FAM.clear(F, ""); }
  void run(llvm::Function &F);
  // Gives the loops numbers.
  void number(llvm::Function &F);
  // Code of which parts were taken.
  void tidy(llvm::Function &F);
};
// Loops of code that was rewritten.
void simplifyLoops(llvm::Function &F, llvm::FunctionAnalysisManager &FAM);
// Of the branches that keep the analyses of many nests apart.
void removeBarriers(llvm::Function &F);

// ---- hoist.cpp ----
// Sizes and addresses that do not change in a nest are computed before it, and
// what a pointer or counter holds behind a loop is computed, not carried.
void addHoistPasses(llvm::FunctionPassManager &Passes);

// ---- zero_skips.cpp ----
// Looks, in front of the nest, whether what it skips can be done as well; that
// it can becomes one more assumption.
void checkZeroSkips(llvm::Loop &Outer, llvm::LoopInfo &LI,
                    llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                    IRNest &I);

// ---- rewrite.cpp ----
// The code of a nest: First is entered from Entry alone, and left to After
// alone.
struct Region {
  llvm::BasicBlock *Entry, *First, *After;
  llvm::DebugLoc At;
  // Where control goes when the work is done; null: to After.
  llvm::BasicBlock *Done = nullptr;
};
// What may stand in front of a nest, one of them at least.
struct Plan {
  const contraction *Npu = nullptr; // for a call of the runtime
  const contraction *Cpu = nullptr; // for code in the object
  int64_t LeastMacs = 0;            // that were asked for; below 0: nothing
  int64_t CpuLeastMacs = 0;         // the same for code in the object
};
// Puts the guarded call in front of the code.  Keeps the loops and dominators
// up to date; what was asked about values of the code, behind it, is stale.
// Where: the function's name in the runtime's messages.  Returns what the
// runtime said, where the code begins that was there: more than 1, and it
// compares. Null: it is not asked.
llvm::PHINode *rewriteNest(const Region &Old, llvm::LoopInfo &LI,
                           llvm::ScalarEvolution &SE, llvm::DominatorTree &DT,
                           const IRNest &I, const Plan &P, const options &O,
                           const std::string &TEIR, llvm::StringRef Where);
// The runtime is there.
llvm::Value *isLinked(llvm::Instruction *At);
constexpr const char *CallName = "nputeir_call_1";
constexpr const char *LeastName = "nputeir_least_macs_1";
constexpr const char *CompareName = "nputeir_compare_1";
constexpr const char *NestName = "nputeir.nest."; // for the processor

// ---- remark.cpp ----
struct Finding {
  llvm::DebugLoc At;
  unsigned EndLine = 0; // of loops, where it is known
  verdict V = {};
  std::string What = "nest"; // what is replaced or kept
  std::string By = "a call"; // what by
  verdict OnCpu = {};        // why there is no code for the processor
  verdict Around = {};       // why the next loop around is no part of the nest
  std::string Einsum, Sizes, Contraction, TEIR, Nest; // empty unless known
  std::string Options; // that the runtime is told
  int Loop = -1;       // its number
  bool IsUntold = false;
  bool IsBeside = false; // left of a nest that was split: is looked at already
  unsigned Depth = 0;
  int64_t MinMacs = -1; // what was asked for; -1: nothing
};
void remark(llvm::Function &F, const Finding &);
// What is no product at all, or too small a part of one.
bool isWeak(rule R);
// Every nest that may be a contraction must be taken, and there must be one.
void demand(llvm::Function &F, llvm::ArrayRef<Finding> Found);
// NPUTEIR_REPORT: a line per finding and, at the end of the compilation, one
// with the number of nests seen, taken, and declined by rule.  In a folder the
// lines of a whole build come together.
class Report {
  std::string File;
  unsigned Seen = 0, Taken = 0;
  unsigned Declined[RULE_COUNT] = {};
  bool Unwritten = false; // a line was lost, and that was said

public:
  Report() = default;
  Report(const Report &) = delete;
  ~Report();
  void add(const llvm::Function &F, const Finding &);
};
void print(const llvm::Function &F, const Finding &, llvm::raw_ostream &);

// ---- switch_off.cpp ----
// A product by what it is called.
bool saysProduct(const llvm::Instruction &I);
// Keeps all nests.
void switchOff(llvm::Function &F);
// Loops of functions that are switched off, before they are inlined elsewhere.
struct SwitchOffPass : llvm::PassInfoMixin<SwitchOffPass> {
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &);
};

// ---- offload.cpp ----
class Copy;

// What is searched for, in this order: nests that a call can replace, with code
// for the processor beside it or without; products of matrices for which there
// is such code alone; any product.  A loop within a nest can be a product of a
// matrix and a vector, which would keep the nest from being split into products
// of matrices.
enum class TakenBy { Call, Matrix, Any };

// The pass: every nest of a function, outermost first.
class OffloadPass : public llvm::PassInfoMixin<OffloadPass> {
  std::shared_ptr<OptionSources> D;
  std::shared_ptr<Canonical> Own; // made for the first function that needs it
  std::shared_ptr<Report> Log = std::make_shared<Report>();

  void tell(llvm::Function &F, llvm::ArrayRef<Finding> Found);
  // LeavesCpu becomes true when there is code for the processor alone for a
  // nest that was not asked for, or for a part of one that was split in vain.
  bool replaceNests(Copy &C, const options &O, TakenBy By, llvm::StringRef Name,
                    std::vector<Finding> &Found, arena *A, bool &LeavesCpu);
  bool cutAndReplace(Copy &C, const options &O, TakenBy By,
                     llvm::StringRef Name, std::vector<Finding> &Found,
                     arena *A, bool &LeavesCpu);
  bool splitAndReplace(Copy &C, const options &O, TakenBy By,
                       llvm::StringRef Name, std::vector<Finding> &Found,
                       arena *A, bool &LeavesCpu);
  bool takeProducts(Copy &C, const options &O, TakenBy By, llvm::StringRef Name,
                    std::vector<Finding> &Found, arena *A, bool &LeavesCpu);
  bool replaceCopied(Copy &C, llvm::ArrayRef<const llvm::Function *> Same,
                     const options &O, std::vector<Finding> &Found, arena *A);
  bool replaceCopied(Copy &C, const llvm::Function &F, const options &O,
                     std::vector<Finding> &Found, arena *A);

public:
  explicit OffloadPass(std::shared_ptr<OptionSources> D) : D(std::move(D)) {}
  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &);
};

} // namespace nputeir

#endif
