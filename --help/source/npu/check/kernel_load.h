/* kernel_load.h -- a gemm kernel beside the DMA channels of a design: the next
 * blocks of A and B arrive while it runs, and every 16th step a finished block
 * of C leaves, in the places that npu/map gives them. */
#ifndef NPUTEIR_KERNEL_LOAD_H
#define NPUTEIR_KERNEL_LOAD_H

#include "kernel_check.h"

/* Makes the kernel what a design asks for in these places; false: no core has
 * room for two blocks of A and of B and one of C so that ports do not meet. */
bool load_adapt(struct kernel_gemm *);
/* Per step, on average over 16.  False and *d clear: they have no places. */
struct load_outcome {
  double cycles, mac_share;
};
bool load_gemm(const struct kernel_gemm *, const struct asm_program *,
               struct load_outcome *, struct diag *);
/* Cycles of one product of many steps, by its schedule, with one or two blocks
 * of C in a core; 0: they have no places. */
bool load_steps(const struct kernel_gemm *, int group, double *cycles,
                struct diag *);

/* What that is made of: channels that move a beat per cycle, round their
 * block, beside one run of any program. */
enum { LOAD_CHANNELS = 3 };
struct load_channel {
  uint32_t at, bytes, position; /* of the block, and in it */
  int beats;                    /* in the FIFO; of a reader: room in it */
};
struct load {
  int count;           /* channels at work */
  uint32_t word_bytes; /* of a bank; set by load_run */
  struct load_channel channel[LOAD_CHANNELS];
  uint64_t waits; /* cycles that the core has lost to them so far */
};
bool load_run(const struct asm_program *, uint8_t memory[CHECK_MEMORY_BYTES],
              const uint32_t pointer[3], struct load *, struct check_outcome *,
              struct diag *);

#endif
