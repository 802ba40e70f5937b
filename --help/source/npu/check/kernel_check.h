/* kernel_check.h -- runs a kernel on one simulated core and compares what it
 * leaves in memory with a reference that is written from isa.md alone.
 *
 * Used by `nputeir kernel`, `nputeir bench kernels` and the kernels' tests. */
#ifndef NPUTEIR_KERNEL_CHECK_H
#define NPUTEIR_KERNEL_CHECK_H

#include "device_most.h"
#include "kernels.h"

enum { CHECK_MEMORY_BYTES = DEVICE_MOST_CORE_BYTES };

/* What the data look like. */
enum check_data {
  CHECK_RANDOM,  /* values around one; all integers */
  CHECK_WILD,    /* denormals, huge and tiny values, zeros, extremes */
  CHECK_SPECIAL, /* infinities and NaN among them; integers as CHECK_WILD */
};

struct check_outcome {
  uint64_t cycles;        /* from the first bundle to the return */
  uint64_t bundles, macs; /* issued in them; macs: bundles that multiply */
  uint64_t stalls;        /* cycles lost to memory banks */
  uint64_t first_mac, last_mac; /* cycles, from 0 */
  int program_bytes;
  int64_t wrong;   /* elements of the result that differ */
  double error;    /* f32 inputs on CHECK_RANDOM: the largest |C - exact| over
                      |C before| + sum of |a b| */
  char first[160]; /* which one, what is there, what should be */
};

/* Where A, B and C go: 16 KB banks of their own if they fit.  False if they do
 * not fit into a tile's memory. */
bool check_place(const struct kernel_gemm *, uint32_t address[3]);

/* Steps as check_gemm wants them: locks, and where the blocks of C lie. */
struct kernel_steps check_steps(int count, int group);

/* Whether all of it fits into a tile; steps may be NULL. */
bool check_fits(const struct kernel_gemm *, const struct kernel_steps *);

/* Runs `program` on data made from `seed`; fails on hazards and on writes
 * outside C.  With steps (else NULL), buffers hold noise while the kernel does
 * not own them. */
bool check_gemm(const struct kernel_gemm *, const struct kernel_steps *,
                const struct asm_program *program, enum check_data,
                uint64_t seed, struct check_outcome *, struct diag *);

/* Runs a function on the given memory with p0, p1, p2. */
bool check_run(const struct asm_program *, uint8_t memory[CHECK_MEMORY_BYTES],
               const uint32_t pointer[3], struct check_outcome *,
               struct diag *);
/* The same; `cycle` hears of every cycle up to the return which banks the core
 * uses in it (core.h). */
bool check_run_beside(const struct asm_program *p,
                      uint8_t memory[CHECK_MEMORY_BYTES],
                      const uint32_t pointer[3],
                      void (*cycle)(void *context, uint32_t banks),
                      void *context, struct check_outcome *, struct diag *);

#endif
