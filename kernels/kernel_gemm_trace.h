/* kernel_gemm_trace.h -- inside kernels/: the state of one gemm's trace, and
 * who writes which part of it. */
#ifndef NPUTEIR_KERNELS_GEMM_TRACE_H
#define NPUTEIR_KERNELS_GEMM_TRACE_H

#include "kernel_cover.h"
#include "kernel_gemm.h"

enum {
  W_BYTES = 32,
  LEFT_X = 0, /* x registers: left operands, right operands */
  LEFT_COUNT = 4,
  RIGHT_X = 4,
  RIGHT_COUNT = 8,
  RELU_ZERO = 2, /* taken from the left operands if there is a relu */
  RELU_TEMP = 3,
  TURN_X = 8, /* taken from the right ones if results are turned */
};

/* The cycles modulo 4 that a phase leaves to operations; 0: all. */
struct gemm_cycles {
  unsigned left, c_load, c_store, shuffle;
};
extern const struct gemm_cycles gemm_cycles[GEMM_PHASES];

/* One input of the multiplier. */
struct operand {
  int stream;
  int64_t index_stride, k_stride; /* bytes to the next small block */
  int64_t low;                    /* and to the low half's */
  const bool *is_low;             /* per pass */
  int parts;                      /* 32-byte loads per small block */
  int mode_reg;                   /* vshuffle mode, or -1 */
  enum mem_kind mem, other_mem;
  /* Of a ring of buffers: */
  int full, empty; /* locks */
  int products;    /* that one buffer serves; 0: it is no ring */
  int turn, back;  /* registers: bytes from the last access in a buffer to the
                      next buffer, now; now and the next time together */
  /* x registers that the multiplier reads, and those that wait for the shuffle:
   * the first one, how many there are, how many take turns, whose turn it is */
  int use, use_count, use_ring, use_next;
  int stage, stage_count, stage_ring, stage_next;
};

struct gemm {
  const struct gemm_kind *kind;
  struct trace *t;
  bool zero, relu;
  enum gemm_phase phase;
  int k_steps, pass_steps; /* in all passes, in one */
  struct operand left, right;
  int c_load, c_store;
  enum mem_kind load, store; /* of C */
  int64_t c_row, c_col;      /* bytes to the next result */
  int c_parts;
  int right_count;  /* x registers of the right operand */
  bool turned;      /* the product is: C^T = B^T A^T */
  bool tall;        /* the multiplier's first operand is `right` */
  bool relu_stores; /* relu passes results on to the stores */
  bool turns_c;     /* results are transposed between memory and accumulator */
  int config_reg, shift_reg;
  int pair_cols;           /* least columns for two K steps together */
  int block_count, number; /* of the current block */
  const struct cover_block *block;
  /* Products: one, or those of all steps; steps is NULL or tells about locks.
   */
  const struct kernel_steps *steps;
  int product_count, product; /* number of the current one */
  int before_loop;            /* steps; 0: there is no loop */
};

/* ---- gemm_position.c: where in the run it is ---- */
bool gemm_is_float(const struct gemm *);
/* Products that share a buffer of the right operand; 1 without steps. */
int gemm_group(const struct gemm *);
/* Whether a product ignores what C holds. */
bool gemm_starts_anew(const struct gemm *, int product);
bool gemm_is_first_block(const struct gemm *);
/* The operand that A is. */
bool gemm_right_is_a(const struct gemm *);
/* How many blocks follow, in all products; steps never end. */
int gemm_blocks_left(const struct gemm *);
/* Whether block i is the last one of a product that others follow. */
bool gemm_leaves_product(const struct gemm *, int i);
/* trace_op.begins of what `product` begins with. */
int gemm_loop_round(const struct gemm *, int product);
/* Pointers of different products walk different buffers. */
int gemm_region(const struct gemm *, int product, int i);
/* Bytes from an operand's start to a small block. */
int64_t gemm_operand_offset(const struct gemm *, const struct operand *,
                            int index, int k);
/* Whether a product is the last one on the operand's buffer. */
bool gemm_is_left(const struct operand *, int product);

/* ---- gemm_operand.c: what the multiplier reads ---- */
/* Chooses registers, strides and shuffles of both. */
void gemm_set_operands(struct gemm *, const struct kernel_gemm *);
/* Brings a small block into an x register, whose number it returns; `last`: the
 * last one of the current block of C. */
int gemm_load_operand(struct gemm *, struct operand *, int index, int k,
                      bool last);

/* ---- gemm_result.c: accumulators and C ---- */
/* Sets the modes of results that are turned on their way. */
void gemm_set_turn(struct gemm *, enum dtype out);
/* Block i's accumulator of result (r, c), and its register. */
int gemm_accumulator(const struct gemm *, int i, int r, int c);
int gemm_accumulator_reg(const struct gemm *, int n);
/* Loads or stores result (r, c) of block i, or all results of it. */
void gemm_move_result(struct gemm *, bool store, int product, int i, int r,
                      int c);
void gemm_move_block(struct gemm *, bool store, int product, int i);
void gemm_relu_block(struct gemm *, int i);

/* ---- gemm_ring.c: buffers that are acquired and released ---- */
void gemm_set_steps(struct gemm *);
/* Waits for the buffers that `product` is the first one to use. */
void gemm_acquire_buffers(struct gemm *, int product);
/* Releases what `product` is the last one to use, and C after the last step. */
void gemm_release_buffers(struct gemm *, int product);
void gemm_release_c(struct gemm *);

#endif
