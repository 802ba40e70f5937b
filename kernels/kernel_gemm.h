/* kernel_gemm.h -- inside kernels/: the kinds of matrix products and their
 * traces. */
#ifndef NPUTEIR_KERNELS_GEMM_H
#define NPUTEIR_KERNELS_GEMM_H

#include "kernel_trace.h"

enum gemm_part { PART_AM, PART_BM, PART_CM };

/* Products of halves in the x3 product: high * high, high * low, low * high. */
enum { GEMM_PASSES = 3 };

/* A row of kernel.def. */
struct gemm_kind {
  enum dtype in0, in1, out;
  struct kernel_shape mac_shape;
  int config;
  enum insn_id mac, mul, add_mac; /* add_mac: of two accumulators, or none */
  bool is_float;
  bool wide;  /* accumulator lanes have 64 bits, else 32 */
  int passes; /* through K: 1, or GEMM_PASSES for inputs in two halves */
  struct gemm_block {
    int rows, cols; /* results along the left, the right operand */
  } usual, tall;
  enum gemm_part part;
  enum mem_kind load, store;
  bool blocks; /* inputs are block floats */
  bool lanes;  /* the multiplier has no matrices (gemm_lanes.c) */
};

/* Its streams, in the order in which a trace has them. */
enum {
  GEMM_STREAM_B,
  GEMM_STREAM_A,
  GEMM_STREAM_C_LOAD,
  GEMM_STREAM_C_STORE,
  GEMM_STREAM_B_AGAIN /* of gemm_lanes.c: by the other port */
};

/* ---- gemm.c ---- */
/* The schedule of one product. */
bool kernel_gemm_schedule(struct arena *, const struct kernel_gemm *,
                          struct schedule *, struct diag *);

/* ---- gemm_kind.c ---- */
/* NULL: there is none. */
const struct gemm_kind *kernel_gemm_kind(const struct kernel_gemm *);
/* What m, k and n are multiples of. */
struct kernel_shape kernel_kind_unit(const struct gemm_kind *);
/* The vshuffle mode that transposes a block, or -1. */
int kernel_gemm_transpose_mode(enum dtype, int rows, int columns);

/* To which cycles operations are confined.  Those of the steady state modulo
 * four, so that what shares a resource interlocks (sched.c). */
enum gemm_phase {
  GEMM_FREE,
  GEMM_ALTERNATE, /* left and C stores in even cycles, C loads in odd ones */
  GEMM_QUARTER,   /* C loads in every fourth cycle, shuffles in the others */
  GEMM_APART,     /* no block begins before all others have ended: long programs
                     become loops */
  GEMM_PHASES
};

/* Writes the whole run of a checked kernel.  Of one with many steps (else NULL)
 * it shows those before the loop, at least one, and two rounds of the loop;
 * before_loop 0: all steps. */
void kernel_trace_gemm(struct trace *, const struct kernel_gemm *,
                       const struct kernel_steps *, int before_loop,
                       const struct gemm_kind *, enum gemm_phase);
/* ---- gemm_operand.c ---- */
/* What a schedule of that trace keeps free for DMAs (kernel_gemm). */
void kernel_trace_yield(struct trace *, bool yields, bool joined);

/* ---- gemm_lanes.c ---- */
/* The same for a kind of lanes, one product. */
void kernel_trace_lanes(struct trace *, const struct kernel_gemm *,
                        const struct gemm_kind *);

#endif
