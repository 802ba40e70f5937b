/* kernel_load.h -- a gemm kernel beside the DMA channels of a design: the next
 * blocks of A and B arrive while it runs, and every 16th step a finished block
 * of C leaves, in the places that npu/map gives them. */
#ifndef NPUTEIR_TOOL_KERNEL_LOAD_H
#define NPUTEIR_TOOL_KERNEL_LOAD_H

#include "kernels.h"

/* Makes the kernel what a design asks for in these places; false: no core has
 * room for two blocks of A and of B and one of C so that ports do not meet. */
bool load_adapt(struct kernel_gemm *);
/* Per step, on average over 16.  False and *d clear: they have no places. */
struct load_outcome {
  double cycles, mac_share;
};
bool load_gemm(const struct kernel_gemm *, const struct asm_program *,
               struct load_outcome *, struct diag *);

#endif
