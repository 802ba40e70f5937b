// lower_cpu_direct.h -- the kernels of small products (lower_cpu_direct.cpp),
// and what they multiply.
#ifndef NPUTEIR_LOWER_CPU_DIRECT_H
#define NPUTEIR_LOWER_CPU_DIRECT_H

#include "lower_cpu.h"

namespace nputeir {

// Which rows a kernel multiplies: as many as it has, at most as many, or blocks
// of as many.
enum class DirectRows { Height, Fewer, Blocks };

struct DirectShape {
  dtype In[2], Sum;
  int Height, Vectors, Lanes; // Lanes: 1 where columns are done one by one
  DirectRows Rows;
  bool Masks; // less than one vector
  bool Scales = false;
};

// What a kernel works on; K steps, of which the first may follow others.
// Factors are CpuAlpha of the sums and CpuBeta of what they are added to, if it
// scales.
struct DirectData {
  llvm::Value *K, *In0, *In0Row, *In0K, *In1, *In1K, *Out, *OutRow, *Rows,
      *Columns, *Add, *Factors = nullptr;
};

// ---- lower_cpu_direct_kernel.cpp ----
// Whether so many vectors may be multiplied by code in a row.
bool directIsShort(dtype Sum, int64_t Multiplications);
// At the end of the code.
void emitDirectKernel(CpuUnit &U, const DirectShape &S, Code &C,
                      const DirectData &D);
// A function of directType that has it, with the factors behind if it scales.
llvm::Function *directKernelFunction(CpuUnit &U, const DirectShape &S);
llvm::FunctionType *directKernelType(CpuUnit &U, bool Scales);
// The lower one of two heights is for what is left.
DirectRows directRows(const struct teir_cpu_blocks &B, int Height);

} // namespace nputeir

#endif
