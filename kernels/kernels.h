/* kernels.h -- one core's program for one primitive.
 *
 * A primitive with data types and a block shape goes in; scheduled bundles
 * come out, as an asm_program that defines one global function which ends in
 * `ret lr`.  Blocks lie in the layout that the vector unit wants:
 *
 *   A  [m/R][k/S][R][S]   B  [k/S][n/T][S][T]   C  [m/R][n/T][R][T]
 *
 * row-major over those indices, with R x S x T the shape of the type's MAC
 * (bf16 4x8x4, int8 4x8x8, ...; kernel.def and isa.md C8; on aie2p int8 8x8x8,
 * kernel_aie2p.def).  aie2p has products alone, of integers of 8 or of 16 bits,
 * of bf16 element by element (2x2x32, 64 in a cycle; k is a multiple of 16;
 * without relu and steps) and of block floats (below).
 *
 * f32 inputs are the x3 product, for the multiplier knows no f32: each input is
 * two bf16 blocks in the layout above, one right behind the other.  The first
 * one holds the high halves, bf16(a) rounded to nearest even, the second one
 * the low halves, bf16(a - bf16(a)), or zero where that is no number.
 *
 *   C += Ah * Bh + Ah * Bl + Al * Bh
 *
 * What the halves and the missing Al * Bl leave away stays below 2^-15 of the
 * sum of |a b|, usually below 2^-16; sums are rounded to f32 in every step.
 * Low halves below 2^-133 are lost, and an infinite input may make a NaN.
 *
 * Block floats (kernel_gemm.bfp16, aie2p) are 8 values of one exponent in 9
 * bytes, the exponent first; 8 x 8 of them are 72 bytes:
 *
 *   A  [m/16][k/8][2][8 rows][9]   B  [n/16][k/8][2][8 columns][9]
 *
 * both with 8 values along K; m and n are multiples of 16, k is one of 32.
 *
 * A, B and C may lie anywhere in the tile's memory.  They are fastest in 16 KB
 * banks of their own: then no access waits for another one.
 *
 * Calling convention: p0 = A, p1 = B, p2 = C (gemm); p0 = C (zero); the
 * addresses are 32-byte aligned core data addresses (aie2p: 64).  Callee may
 * change every register except p6, p7, r16..r23, sp and lr.  No stack is used.
 */
#ifndef NPUTEIR_KERNELS_H
#define NPUTEIR_KERNELS_H

#include "asm.h"

/* The MAC's shape for a pair of input types, from kernel.def. */
struct kernel_shape {
  int m, k, n;
};
bool kernel_shape(const struct isa *, enum dtype in0, enum dtype in1,
                  enum dtype out, struct kernel_shape *);

/* Whether the product is one of block floats, which A and B become first
 * (kernel_blocks, and kernel_gemm with bfp16): of bfp16, where there are any.
 * Elsewhere bfp16 is bf16. */
bool kernel_gemm_by_blocks(const struct isa *, enum dtype in0, enum dtype in1,
                           enum dtype out);

/* Whether its multiplier has no matrices, but 64 lanes. */
bool kernel_gemm_by_lanes(const struct isa *, enum dtype in0, enum dtype in1,
                          enum dtype out);

/* How often K is walked: 3 if the inputs come in two halves, else 1; 0: there
 * is no such kernel. */
int kernel_gemm_passes(const struct isa *, enum dtype in0, enum dtype in1,
                       enum dtype out);

/* Whether C is converted on its way to memory, so that stores land later: a
 * lock operation keeps 6 instead of 4 bundles off the last one (isa.md D5). */
bool kernel_gemm_converts(const struct isa *, enum dtype in0, enum dtype in1,
                          enum dtype out);

/* How narrowing rounds and what it does with values out of range; only for
 * results that are narrower than their accumulators (isa.md E3, E4). */
enum kernel_rounding {
  KERNEL_ROUND_EVEN, /* to nearest, ties to even; ties elsewhere: */
  KERNEL_ROUND_ODD,
  KERNEL_ROUND_HALF_DOWN, /* toward -infinity */
  KERNEL_ROUND_HALF_UP,   /* toward +infinity */
  KERNEL_ROUND_HALF_TO_ZERO,
  KERNEL_ROUND_HALF_AWAY,
  KERNEL_ROUND_FLOOR,
  KERNEL_ROUND_CEILING,
  KERNEL_ROUND_TO_ZERO,
  KERNEL_ROUND_AWAY, /* from zero */
  KERNEL_ROUNDINGS
};
enum kernel_saturation {
  KERNEL_SATURATE,
  KERNEL_SATURATE_SYMMETRIC, /* the smallest value is -largest */
  KERNEL_WRAP,
  KERNEL_SATURATIONS
};

/* Branches that count cost no cycle either; aie2p's hardware loops were seen to
 * run once on one machine, so there they are what is chosen. */
enum kernel_loops {
  KERNEL_LOOPS_CHOSEN,
  KERNEL_LOOPS_HARDWARE,
  KERNEL_LOOPS_BRANCH
};

struct kernel_gemm {
  const char *name; /* of the function */
  enum dtype in0, in1, out;
  int m, k, n; /* block extents in elements, multiples of kernel_gemm_unit's */
  /* Elements inside A's, B's or C's small blocks are transposed: [S][R],
   * [T][S], [T][R]; the order of the blocks stays. */
  bool ta, tb, tc;
  /* Accumulators hold a block of C that is higher than wide: A's bank is read
   * in every cycle and B's in every other one.  Else the reverse: B's bank has
   * no cycle left for a DMA. */
  bool tall;
  /* Leaves every fourth cycle of the banks of C and of the input that is read
   * less to a DMA, unless that makes the kernel a good deal longer. */
  bool yields;
  /* C lies in the banks of the input that is read less, so it avoids cycles in
   * which that is read, unless that makes the kernel a good deal longer. */
  bool joined;
  bool zero; /* C = A * B: what C holds before does not count */
  bool relu; /* results below zero are stored as zero (float: so is -NaN) */
  /* Integer results narrower than 32 bits (int16 x int16: 64): stored as
   * C = narrow(sum >> shift); accumulating starts from C << shift. */
  int shift;
  enum kernel_rounding rounding;
  enum kernel_saturation saturation;
  const struct isa *isa; /* that it is for; NULL: aie2 */
  enum kernel_loops loops;
  bool bfp16; /* in0 and in1 are bf16 in block floats (above) */
};
/* Of its A (0) or B (1). */
int64_t kernel_gemm_bytes(const struct kernel_gemm *, int input);
/* The step of K, of the MAC's k each, whose product is added together with what
 * C holds before to the sum of block (row, column) of 8 x 8 results: with the
 * block floats of aie2p it matters for the rounding. */
int kernel_gemm_join(const struct kernel_gemm *, int row, int column);
/* The MAC's shape for its types on its instruction set. */
bool kernel_gemm_shape(const struct kernel_gemm *, struct kernel_shape *);
/* How many multiplies a product of two small blocks of that shape takes. */
int kernel_gemm_multiplies(const struct kernel_gemm *);
/* The extents that m, k and n must be multiples of; which shapes fit. */
bool kernel_gemm_unit(const struct isa *, enum dtype in0, enum dtype in1,
                      enum dtype out, struct kernel_shape *unit);
/* Multiples of these m and n have no edges, which cost some cycles. */
bool kernel_gemm_even(const struct isa *, enum dtype in0, enum dtype in1,
                      enum dtype out, bool tall, struct kernel_shape *even);
/* C += A * B (or C = A * B) for one block. */
struct asm_program *kernel_gemm(struct arena *, const struct kernel_gemm *,
                                struct diag *);

/* Where blocks lie in a core's memory, byte offsets: the rings of A and B, and
 * C, in a group of 2 for two blocks of A and of C per block of B, whose first
 * ones belong together. */
struct kernel_places {
  int group;
  uint32_t a[2], b[2], c[2];
  /* Bytes that the channels of A and of B write one behind the other, before
   * they go elsewhere in the block; 0: all. */
  uint32_t run[2];
};
/* Cycles of one product among others of its kind while DMA channels bring the
 * next blocks of A and B: what to expect of it in a design (gemm_loaded.c).
 * HUGE_VAL: it is by lanes, and too long for a program memory.  `scratch` is
 * cleared in the end, for the next one. */
bool kernel_gemm_loaded(struct arena *scratch, const struct kernel_gemm *,
                        const struct kernel_places *, double *cycles,
                        struct diag *);

/* The same for many blocks of K, one after the other, in one function.  A and B
 * are rings of two buffers each; the kernel acquires a buffer of its ring when
 * it is full and releases it when it is empty, and the first loads from the
 * next ones run under the last multiplies on the present ones.  It acquires a
 * block of C empty before the first step and releases it full behind the last.
 *
 * Besides p0, p1 and p2: r4 and r5 are the bytes from the first buffer of A and
 * of B to the ring's other one.  If kernel_gemm.zero, only the first block of K
 * is not added to what C holds. */
struct kernel_steps {
  int count; /* blocks of K, at least 1 */
  /* 1, or 2: every block of B is used for two blocks of A, with two blocks of
   * C, the second one c_bytes behind the first. */
  int group;
  int c_bytes;
  struct {
    int full, empty; /* locks by their number for the core */
  } a, b, c;         /* c.full < 0: the caller gives C away; c.empty < 0: C is
                        the caller's alone */
  bool keeps_last;   /* so is the group's second block of C */
};
struct asm_program *kernel_gemm_steps(struct arena *,
                                      const struct kernel_gemm *,
                                      const struct kernel_steps *,
                                      struct diag *);
/* The same for a number of blocks of K that the caller knows when it calls: any
 * above *before, which is 1 or 2.  r14 is the number less *before + 1;
 * steps->count is not read.  NULL, too, where calls of kernel_gemm take less
 * time. */
struct asm_program *kernel_gemm_counted(struct arena *,
                                        const struct kernel_gemm *,
                                        const struct kernel_steps *,
                                        int *before, struct diag *);

/* bf16 that a gemm reads becomes the block floats of struct kernel_gemm, from
 * p0 to p2: A of m x k or B of k x n, small blocks of 8 x 8 in the layout
 * above.  Mantissas of 8 bits, rounded to nearest even, are what is left: an
 * element is off by 2^-7 of the largest of its 8 at most, and bf16 of one
 * exponent lose a bit.  Infinity and NaN are not known to become anything. */
struct kernel_blocks {
  const char *name;
  const struct isa *isa;
  int input;    /* 0: A, 1: B */
  int other, k; /* m or n, a multiple of 16, and k, one of 32 */
  int whole_k;  /* these are a part of so much k; 0: all of it */
  bool turned;  /* as ta or tb in struct kernel_gemm */
};
struct asm_program *kernel_blocks(struct arena *, const struct kernel_blocks *,
                                  struct diag *);

/* Sets `bytes`, a multiple of 32 (aie2) or 64, from p0 on to zero. */
struct asm_program *kernel_zero(struct arena *, const struct isa *,
                                const char *name, int bytes, struct diag *);

/* Copies a matrix from p0 to p1, both in small blocks of block_rows x
 * block_columns elements, 32 or 64 bytes each:
 *   from [rows/R][columns/C][R][C]   to the same, or transposed
 *   to   [columns/C][rows/R][C][R].
 * With relu, elements below zero become zero on the way; p0 = p1 is fine
 * unless it transposes. */
struct kernel_copy {
  const char *name;
  enum dtype type;
  int rows, columns, block_rows, block_columns;
  bool transpose, relu;
  const struct isa *isa; /* NULL: aie2 */
};
/* Whether there is one for the instruction set. */
bool kernel_copies(const struct isa *);
struct asm_program *kernel_copy(struct arena *, const struct kernel_copy *,
                                struct diag *);
/* Sums to results, element by element in any layout: p1[i] = narrow(p0[i]),
 * with p1 = p0 fine.  f32 becomes bf16, i32 an integer of 16 or 8 bits; either
 * may keep its type for a bias or a relu alone. */
struct kernel_narrow {
  const char *name;
  enum dtype from, to;
  int elements;
  /* Not 0: a bias of so many elements, a multiple of 16, is added first, again
   * and again: p0[i] + p2[i % bias], integers modulo 2^32, floats as the
   * multiplier adds them, which is off by one unit in the last place at most.
   */
  int bias;
  bool relu;      /* what is not above zero is zero; so is NaN, ... */
  bool keeps_nan; /* ... or it stays */
  bool apart;     /* p0 and p1 lie in banks of their own */
  bool turn;      /* of f32, on aie2: small blocks of 4 x 4 sums are transposed,
                   * before the bias */
  int shift;      /* these four as in struct kernel_gemm */
  enum kernel_rounding rounding;
  enum kernel_saturation saturation;
  const struct isa *isa;
};
/* What `elements` must be a multiple of; 0: there is no such kernel. */
int kernel_narrow_unit(const struct isa *, enum dtype from, enum dtype to);
/* Whether such sums may be turned. */
bool kernel_narrow_turns(const struct isa *, enum dtype from);
/* Whether it can add a bias to such sums. */
bool kernel_narrow_adds(const struct isa *, enum dtype from);
struct asm_program *kernel_narrow(struct arena *, const struct kernel_narrow *,
                                  struct diag *);
/* p2[i] = p0[i] + p1[i]: integers modulo 2^bits, floats rounded to nearest
 * even; `bytes` is a multiple of 64. */
struct asm_program *kernel_add(struct arena *, const char *name, enum dtype,
                               int bytes, struct diag *);

#endif
