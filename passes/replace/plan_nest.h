// plan_nest.h -- what is done about a nest that was read: a call, code for the
// processor, both, or nothing, and the verdict.
#ifndef NPUTEIR_PLAN_NEST_H
#define NPUTEIR_PLAN_NEST_H

#include "read_ir.h"
#include "remark.h"
#include "rewrite.h"

namespace nputeir {

// What is searched for, in this order: nests that a call can replace, with code
// for the processor beside it or without; products of matrices for which there
// is such code alone; any product.  A loop within a nest can be a product of a
// matrix and a vector, which would keep the nest from being split into products
// of matrices.
enum class TakenBy { Call, Matrix, Any };

// Code for the processor is wanted beside a call, and there is some.
bool wantsCpuCode(const options &O, const llvm::Function &F);

// A call may do some product in F, by what is loaded in its loops.
bool mayBeCalled(const options &O, const llvm::Function &F,
                 const llvm::LoopInfo &LI);

inline bool isPlanned(const Plan &P) { return P.Npu || P.Cpu; }

class NestPlanner {
  llvm::Function &F;
  const options &O;
  TakenBy By;
  arena *A;
  bool MayTake;
  bool LeftCpu = false;

public:
  NestPlanner(llvm::Function &F, const options &O, TakenBy By, arena *A,
              bool MayTake)
      : F(F), O(O), By(By), A(A), MayTake(MayTake) {}

  // N gets the verdict and, of what is planned, its texts.
  Plan planOf(const IRNest &Nest, Finding &N);
  // Of some nest that was not planned, as By says, there is such code.
  bool leavesCpu() const { return LeftCpu; }

private:
  bool lower(const contraction &C, bool OfTriangle, Finding &N);
  bool mayTakeCpu(const contraction &C);
  bool isBlock(const IRNest &Nest, const contraction &C) const;
  const contraction *forProcessor(const IRNest &Nest, verdict &V);
};

} // namespace nputeir

#endif
