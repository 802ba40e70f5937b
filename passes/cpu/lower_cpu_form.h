// lower_cpu_form.h -- a contraction as the code for the processor sees it: its
// axes by role, the tensors and limits that they move, and what of it there is
// code for.
#ifndef NPUTEIR_LOWER_CPU_FORM_H
#define NPUTEIR_LOWER_CPU_FORM_H

#include "lower_cpu.h"

namespace nputeir {

struct CpuAxis {
  value Extent;
  int64_t Times;                      // so many times that; a constant's is 1
  llvm::SmallVector<value, 8> Stride; // by tensor, then by limit
};

inline bool isConstant(value V) { return V.symbol < 0; }
inline bool isMoved(value Step) { return !isConstant(Step) || Step.constant; }
// Without its sign; not known: the largest.
inline int64_t distance(value V) {
  return isConstant(V) ? std::abs(V.constant) : INT64_MAX;
}

bool hasAxes(const contraction &C, axis_role Role);
// in0, in1, out and the epilogue's extras; with limits in the order of slots.
unsigned tensorsOf(const contraction &C);
unsigned movedOf(const contraction &C);
// Of an input: one that moves along neither M nor N leaves out steps of both.
// Of the result: at most one.
llvm::SmallVector<const affine_guard *, 8> limitsOf(const contraction &C,
                                                    int T);
const affine_guard &limitAt(const contraction &C, unsigned Moved);
value strideOf(const contraction &C, int Axis, unsigned Tensor);
bool isDense(const contraction &C, const CpuAxis &X, unsigned T);
// Of a role, the outermost first; at least one.
llvm::SmallVector<CpuAxis, 8> axesOf(const contraction &C, axis_role Role);

// A contraction whose result is dense along N if it is along M or N, and moves
// with N if it does with one of them: the roles of M and N, and the inputs, may
// have changed places.
class Arranged {
  llvm::SmallVector<contraction_axis, 8> Axes;

public:
  contraction C;
  bool Exchanged;

  explicit Arranged(const contraction &From);
  Arranged(const Arranged &) = delete;
  Arranged &operator=(const Arranged &) = delete;
};

// Of an arranged contraction, in a function (null: in any).
CpuWork workOf(const contraction &C, const llvm::Function *For);
// Does all arithmetic in F hold for floats alone that are neither infinite nor
// NaN?  What is made of it has an attribute, true or false.
bool cpuIsFinite(const llvm::Function &F);
constexpr const char *CpuFinite = "nputeir-finite";

} // namespace nputeir

#endif
