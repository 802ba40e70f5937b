/* kernel_gemm_trace.h -- inside kernels/: the state of one gemm's trace, and
 * who writes which part of it. */
#ifndef NPUTEIR_KERNELS_GEMM_TRACE_H
#define NPUTEIR_KERNELS_GEMM_TRACE_H

#include "kernel_cover.h"
#include "kernel_gemm.h"

enum {
  LEFT_X = 0, /* x registers: left operands, right operands */
  LEFT_COUNT = 4,
  RIGHT_X = 4,
  RIGHT_COUNT = 8,
  RELU_ZERO = 2, /* taken from the left operands if there is a relu */
  RELU_TEMP = 3,
  TURN_X = 8, /* taken from the right ones if results are turned */
};

/* Where accumulators are few (gemm_skew.c): the most results of a block in
 * either direction, the steps of K by which row 1 is late, the accumulator that
 * no result has, the accesses that move one. */
enum { GEMM_TILE_BYTES = 72 }; /* of 8 x 8 block floats */
enum { GEMM_SIDE = 2, GEMM_LAG = 2, GEMM_STAGE = 4, GEMM_SUM_PARTS = 4 };
struct gemm_step {
  int product, number, k;
  int left[GEMM_SIDE], right[GEMM_SIDE]; /* x registers */
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
  int parts;    /* loads per small block, of the widest access */
  bool is_half; /* or one of half the width */
  int mode_reg; /* vshuffle mode, or -1 */
  enum mem_kind mem, other_mem;
  /* Of a ring of buffers: */
  int full, empty; /* locks */
  int products;    /* that one buffer serves; 0: it is no ring */
  int turn, back;  /* registers: bytes from the last access in a buffer to the
                      next buffer, now; now and the next time together */
  /* x registers that the multiplier reads, and those that wait for the shuffle:
   * the first one, how many there are, how many take turns, whose turn it is */
  int use, use_count, use_ring, use_next;
  int segments; /* walked through, of a FIFO */
  int slot;     /* of the last step (gemm_skew.c), which has use_ring of them */
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
  int relu_zero, relu_temp; /* x registers */
  int through; /* two x registers for old results that come by port B; -1 */
  int config_reg, shift_reg;
  int pair_cols;           /* least columns for two K steps together */
  int block_count, number; /* of the current block */
  const struct cover_block *block;
  /* Products: one, or those of all steps; steps is NULL or tells about locks.
   */
  const struct kernel_steps *steps;
  int product_count, product; /* number of the current one */
  int before_loop;            /* steps; 0: there is no loop */
  struct gemm_step past[GEMM_LAG];
  int step;   /* number of the next one */
  int stored; /* products whose results are all stored */
};

/* ---- gemm_step.c: parts of a step of K ---- */
/* Accumulator n <- accumulator `from` (-1: nothing) + product. */
void gemm_multiply(struct gemm *, int n, int from, int x_left, int x_right);
/* Accumulator n <- itself + another one + product. */
void gemm_multiply_two(struct gemm *, int n, int other, int x_left,
                       int x_right);
/* Says what step k is at the first multiply behind operation `from`. */
void gemm_note_first_multiply(struct gemm *, int from, int k);
/* What lies around `count` steps of K from k on. */
void gemm_trace_locks(struct gemm *, int k, int count);

/* ---- gemm_skew.c: the run where accumulators are few ---- */
void gemm_skew_product(struct gemm *);
/* What is late after the last product. */
void gemm_skew_end(struct gemm *);

/* ---- gemm_position.c: where in the run it is, and its operands ---- */
/* Whether it is gemm_skew.c's. */
bool gemm_is_skewed(const struct gemm *);
/* Of the widest load or store. */
int gemm_access_bytes(const struct gemm *);
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
/* The registers that hold the way to the next buffer change sign about the
 * walk through one. */
void gemm_turn_round(struct gemm *, const struct operand *);
/* Whether the current product is the first one on the operand's buffer. */
bool gemm_is_opened(const struct gemm *, const struct operand *);
/* The register that the multiplier calls x. */
int gemm_operand_reg(const struct gemm *, int x);

/* ---- gemm_operand.c: what the multiplier reads ---- */
/* Chooses registers, strides and shuffles of both. */
void gemm_set_operands(struct gemm *, const struct kernel_gemm *);
/* Brings a small block into an x register, whose number it returns; `last`: the
 * last one of the current block of C. */
int gemm_load_operand(struct gemm *, struct operand *, int index, int k,
                      bool last);

/* ---- gemm_fifo.c: operands of block floats ---- */
void gemm_open_fifos(struct gemm *);
/* A tile into register x, as gemm_load_operand does it. */
void gemm_pop_operand(struct gemm *, struct operand *, int x, int index, int k,
                      bool last);
/* How far the pointer has come behind the block that ends with this index. */
int64_t gemm_fifo_walk(const struct gemm *, int last_index);

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
void gemm_relu_result(struct gemm *, int n);
void gemm_relu_block(struct gemm *, int i);

/* ---- gemm_ring.c: buffers that are acquired and released ---- */
void gemm_set_steps(struct gemm *);
/* Waits for the buffers that `product` is the first one to use. */
void gemm_acquire_buffers(struct gemm *, int product);
/* Releases what `product` is the last one to use, and C after the last step. */
void gemm_release_buffers(struct gemm *, int product);
void gemm_release_c(struct gemm *);

#endif
