// lower_cpu_driver_parts.cpp -- what the loops around packed panels have from a
// table, as it is for each set of instructions: panels, kernels and numbers.
#include "lower_cpu.h"

using namespace llvm;

namespace nputeir {

CpuPanel driverPanel(CpuUnit &U, const CpuWork &W, int T) {
  struct teir_cpu_blocks Blocks = teir_cpu_blocks(&U.Cpu, W.Sum);
  struct teir_cpu_dot Dot = dotOf(U, W);
  bool Lines = T == IN0 && teir_cpu_is_tiled(Dot.op);
  return {T == IN0 ? Blocks.height[0] : Blocks.columns,
          W.In[T],
          Dot.packed[T],
          Lines ? Dot.group : Dot.packed_group[T],
          T == IN0 && Dot.offset,
          (int)W.Limits[T],
          W.Fills[T] >= 0,
          W.Lies[T]};
}

bool driverCrosses(CpuUnit &U, const CpuWork &W) {
  return dotOf(U, W).step == 1 && !W.Limits[IN1] && !W.Plain;
}

Function *driverKernel(CpuUnit &U, const CpuWork &W, int Height) {
  struct teir_cpu_blocks B = teir_cpu_blocks(&U.Cpu, W.Sum);
  int Rows = B.height[std::min(Height, B.height_count - 1)];
  bool Scales = isScaledPacked(U, W);
  return dotOf(U, W).op == CPU_OP_NONE && Height > 0
             ? directKernel(U, W.Sum, Rows, B.vectors, Scales)
             : multiplyFunction(U, dotOf(U, W), W.Sum, Rows, Scales);
}

SmallVector<int64_t, CpuNumbers> driverNumbers(CpuUnit &U, const CpuWork &W) {
  if (!W.Packed)
    return {};
  struct teir_cpu_blocks B = teir_cpu_blocks(&U.Cpu, W.Sum);
  SmallVector<int64_t, CpuNumbers> N;
  for (int H = 0; H < TEIR_CPU_HEIGHTS; H++)
    N.push_back(B.height[std::min(H, B.height_count - 1)]);
  N.append({B.columns, B.block_m, B.block_n, B.block_k, B.kept_n, B.sums_m,
            B.sums_n});
  assert(N.size() == CpuNumbers);
  return N;
}

} // namespace nputeir
