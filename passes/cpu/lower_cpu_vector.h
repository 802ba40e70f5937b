// lower_cpu_vector.h -- the kernels of products of a matrix and a vector, which
// lower_cpu_vector.cpp calls.
#ifndef NPUTEIR_LOWER_CPU_VECTOR_H
#define NPUTEIR_LOWER_CPU_VECTOR_H

#include "lower_cpu.h"

namespace nputeir {

// Rows or steps at once; vectors, of a few.
constexpr int Together = TEIR_CPU_TOGETHER, Few = TEIR_CPU_FEW_TOGETHER;
// May there be a few vectors, which are multiplied together?
bool mayBeFew(const CpuWork &W);
// May one kernel do all of it, if its matrix is near?
bool hasNearKernel(const CpuWork &W);
// Of a kernel, as of CpuUnit::function.
const char *vectorArguments(const CpuWork &W, CpuVectorPart Part);

} // namespace nputeir

#endif
