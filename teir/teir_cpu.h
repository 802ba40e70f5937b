/* teir_cpu.h -- processors as machines of the schedule: what their registers
 * and caches hold, and the blocks that a contraction is cut into for them.
 *
 * The blocks are those of Goto and van de Geijn, with sizes after Low et al.
 * (Analytical Modeling Is Enough for High-Performance BLIS): a product of
 * `rows` x `columns` stays in registers; a panel of `columns` x block_k lies in
 * the first cache, block_m x block_k in the second, block_n x block_k in the
 * third.  Vectors lie along the columns.
 *
 * Instructions that multiply and add several steps of K at once (dots) see
 * neighbouring elements of K as one: panels then hold such groups.  Blocks
 * count as many elements as one of the sum's size has room for.
 */
#ifndef NPUTEIR_TEIR_CPU_H
#define NPUTEIR_TEIR_CPU_H

#include "teir.h"

/* sum += in0[0] * in1[0] + in0[1] * in1[1] (+ ..), in every lane. */
enum teir_cpu_op {
  CPU_OP_NONE,
  CPU_OP_PMADDWD,   /* two of i16; what it gives is added separately */
  CPU_OP_VPDPWSSD,  /* two of i16 */
  CPU_OP_VPDPBUSD,  /* four: u8 and i8 */
  CPU_OP_VDPBF16PS, /* two of bf16; subnormals count as zero */
  CPU_OP_SDOT,      /* four of i8 */
  CPU_OP_UDOT,      /* four of u8 */
  /* Squares: 2 rows by 2 columns, of 8 bytes of K. */
  CPU_OP_BFMMLA, /* as VDPBF16PS */
  CPU_OP_SMMLA,  /* i8 and i8 */
  CPU_OP_UMMLA,  /* u8 and u8 */
  CPU_OP_USMMLA, /* u8 and i8 */
  /* Outer products, into a block of 4 rows and a vector of columns. */
  CPU_OP_XVF32GER,
  CPU_OP_XVF64GER,
  CPU_OP_XVI16GER2,
  CPU_OP_XVI8GER4, /* i8 and u8 */
  /* Tiles: 16 rows of 64 bytes of in0 by 64 bytes of K of 16 columns. */
  CPU_OP_TDPBF16PS, /* as VDPBF16PS */
  CPU_OP_TDPBSSD,   /* i8 and i8 */
  CPU_OP_TDPBSUD,   /* i8 and u8 */
  CPU_OP_TDPBUSD,   /* u8 and i8 */
  CPU_OP_TDPBUUD,   /* u8 and u8 */
  CPU_OPS
};
static inline bool teir_cpu_is_outer(enum teir_cpu_op op) {
  return op >= CPU_OP_XVF32GER && op <= CPU_OP_XVI8GER4;
}
static inline bool teir_cpu_is_square(enum teir_cpu_op op) {
  return op >= CPU_OP_BFMMLA && op <= CPU_OP_USMMLA;
}
static inline bool teir_cpu_is_tiled(enum teir_cpu_op op) {
  return op >= CPU_OP_TDPBF16PS && op <= CPU_OP_TDPBUUD;
}

/* How a block of registers is multiplied. */
enum teir_cpu_kernel {
  CPU_KERNEL_SPLAT, /* by one element in all lanes */
  CPU_KERNEL_LANES, /* by a lane of a vector */
  CPU_KERNEL_OUTER, /* in accumulators of their own */
  CPU_KERNEL_TILES  /* in tiles, for which the system must be asked: what else
                       there is has the row above */
};

struct teir_cpu {
  const char *name;
  const char *arch;     /* as a target triple names it */
  const char *needs;    /* features that tell it from the row above */
  const char *features; /* as LLVM names them; "": none beside the arch's */
  int vector_bytes, registers;
  enum teir_cpu_kernel kernel;
  int unrolled;  /* steps of a kernel's loop */
  bool fma;      /* multiplies and adds in one instruction */
  bool masks;    /* loads and stores parts of vectors of 32-bit elements */
  unsigned dots; /* 1 << enum teir_cpu_op, .. */
  int64_t cache_bytes[3]; /* first, second, of the third what one core gets */
};

const char *teir_cpu_op_name(enum teir_cpu_op); /* "vpdpbusd" */
/* Rows of one architecture stand with the weakest first. */
int teir_cpu_count(void);
/* The row itself, or the one above that needs no tiles. */
const struct teir_cpu *teir_cpu_plain(const struct teir_cpu *);
const struct teir_cpu *teir_cpu_at(int);
const struct teir_cpu *teir_cpu_find(const char *name); /* NULL: none */

/* How products of two types are summed: as `op` does, on elements that are
 * converted to `packed` first.  Where in0 is signed and should not be, or the
 * reverse, 128 is added or subtracted (`offset`), and so many times the sum of
 * a column of in1 is too much, modulo 2^32, or too little. */
struct teir_cpu_dot {
  enum teir_cpu_op op; /* NONE: element by element, in the sum's type */
  int group;           /* elements in the size of a sum */
  int packed_group[2]; /* that are neighbours in a panel */
  int step;            /* of a kernel: zeros fill up the last one */
  enum dtype packed[2];
  bool offset;
  bool exchanged; /* in1 is the operation's first operand */
  bool converts;  /* what is not packed is converted at each use */
};
struct teir_cpu_dot teir_cpu_no_dot(enum dtype sum); /* of op NONE */
struct teir_cpu_dot teir_cpu_choose_dot(const struct teir_cpu *, enum dtype in0,
                                        enum dtype in1, enum dtype sum);

enum { TEIR_CPU_HEIGHTS = 3 };
/* Panels of in1 of so many steps are packed in the frame where in1 lies across
 * the columns; sums of so many rows wait there for all steps, if an epilogue
 * follows. */
enum { TEIR_CPU_DIRECT_K = 128, TEIR_CPU_DIRECT_M = 128 };
/* Tiles multiply from so many rows, steps and multiplications on. */
enum {
  TEIR_CPU_TILED_M = 6,
  TEIR_CPU_TILED_K = 16,
  TEIR_CPU_TILED_MACS = 48 * 48 * 48
};
/* Those that convert, from so many multiplications on. */
enum { TEIR_CPU_CONVERTS_MACS = 64 * 64 * 64 };
/* Of K, in a row of a square; those in tiles, too. */
enum { TEIR_CPU_SQUARE_BYTES = 8 };
enum { TEIR_CPU_TILE_ROWS = 16, TEIR_CPU_TILE_BYTES = 64, TEIR_CPU_TILES = 8 };

struct teir_cpu_blocks {
  int lanes;   /* elements of a vector */
  int vectors; /* along the columns */
  int columns; /* lanes * vectors */
  /* Rows that a block of registers may have, the largest first.  Packed panels
   * have as many. */
  int height_count, height[TEIR_CPU_HEIGHTS];
  /* Of products that are not packed: rows that may be multiplied at once, and
   * vectors along the columns, at most. */
  int direct_height[2], direct_vectors, direct_columns;
  int turned_columns; /* of a panel of in1 where only it is packed */
  /* That is faster where rows are as few, or where in1 (k x n) has as few
   * elements, and in0 (m x k) too or the columns are as few: where in0 lies
   * along its rows or in1 across the columns, in0 is to be near then. */
  int64_t direct_m, direct_n, direct_elements, direct_near;
  int64_t block_m, block_n, block_k;
  int64_t kept_n; /* where one block of in0 is all of it */
  /* Kernels ask for lines of their panels, and of the next one of in1, before
   * they are needed. */
  bool asks_ahead;
  bool masks; /* parts of vectors of elements of any size */
  /* Where sums are kept apart from the result until they are complete. */
  int64_t sums_m, sums_n;
};
/* For sums in a type of 4 or 8 bytes. */
struct teir_cpu_blocks teir_cpu_blocks(const struct teir_cpu *, enum dtype sum);
/* Loads and stores parts of vectors of such elements. */
bool teir_cpu_has_masks(const struct teir_cpu *, enum dtype);

/* ---- sizes, known or computed when the program runs ---- */

/* The formulas below are written once: numbers are what `apply` and `choose`
 * make of them, values of 64 bits or code that computes them.  Conditions are
 * numbers as well.  Sizes are positive. */
enum teir_cpu_formula {
  CPU_PLUS,
  CPU_TIMES,
  CPU_DIVIDE, /* down */
  CPU_DIVIDE_UP,
  CPU_LEAST,
  CPU_AT_MOST, /* conditions from here on */
  CPU_EQUAL,
  CPU_BOTH,
  CPU_EITHER
};
struct teir_cpu_math {
  void *(*number)(void *context, int64_t);
  void *(*apply)(void *context, enum teir_cpu_formula, void *x, void *y);
  void *(*choose)(void *context, void *condition, void *x, void *otherwise);
  void *context;
};
/* Of numbers that are known: they are `const int64_t *` in the arena. */
struct teir_cpu_math teir_cpu_known(struct arena *);

struct teir_cpu_size {
  void *m, *n, *k;
  struct teir_cpu_dot dot; /* where it is packed */
  bool turned;   /* in1 lies across the columns: its panels are packed */
  bool finishes; /* sums are complete before they go to the result */
  bool scaled;   /* but for what is not packed: kernels do what follows */
  void *across;  /* condition: in0's steps are farther apart than its rows;
                    NULL: they are not */
  bool partial;  /* the result is a triangle in m by n */
};

/* Is it one block, all columns at once, of so few rows and steps that none is
 * cut?  (Sizes may be 0.)  What kernels multiply element by element is never
 * packed then.  masks: they load and store parts of vectors. */
enum { TEIR_CPU_BLOCK = 64 };
void *teir_cpu_is_block(const struct teir_cpu_blocks *,
                        const struct teir_cpu_math *,
                        const struct teir_cpu_size *, bool masks);
/* Is it faster not to pack it?  Only what is packed is multiplied in groups. */
void *teir_cpu_is_direct(const struct teir_cpu_blocks *,
                         const struct teir_cpu_math *,
                         const struct teir_cpu_size *);
/* Of what could be multiplied in groups: is it faster not to pack it? */
void *teir_cpu_is_small_for_groups(const struct teir_cpu_blocks *,
                                   const struct teir_cpu_math *,
                                   const struct teir_cpu_size *);
/* Of known sizes: is code without loops faster than to pack it in groups, as it
 * could be?  in1, sum: the elements as they lie, and their sums. */
void *teir_cpu_is_straight(const struct teir_cpu_blocks *,
                           const struct teir_cpu_math *,
                           const struct teir_cpu_size *, enum dtype in1,
                           enum dtype sum);
/* Is it faster by the row above than by tiles? */
void *teir_cpu_is_small_for_tiles(const struct teir_cpu_math *,
                                  const struct teir_cpu_size *);
/* The blocks of a product: as many as needed, and all about as large.  Rows are
 * cut into parts (part_m), of which sums are kept, then into blocks. */
struct teir_cpu_cut {
  void *block_m, *block_n, *block_k, *part_m;
};
/* What of teir_cpu_blocks that depends on: rows are height[0]. */
struct teir_cpu_most {
  void *rows, *columns, *block_m, *block_n, *block_k, *kept_n, *sums_m, *sums_n;
};
struct teir_cpu_most teir_cpu_most(const struct teir_cpu_blocks *,
                                   const struct teir_cpu_math *);
struct teir_cpu_cut teir_cpu_cut_packed(const struct teir_cpu_most *,
                                        const struct teir_cpu_math *,
                                        const struct teir_cpu_size *);
/* Is all of in0 one block?  It is packed once then, for all columns. */
void *teir_cpu_keeps_in0(const struct teir_cpu_most *,
                         const struct teir_cpu_math *,
                         const struct teir_cpu_size *);
/* Of one that is not packed: block_m and block_k only. */
struct teir_cpu_cut teir_cpu_cut_direct(const struct teir_cpu_blocks *,
                                        const struct teir_cpu_math *,
                                        const struct teir_cpu_size *);
/* Vectors that are multiplied at once where so many columns are left; 0: one
 * column, for want of masks. */
void *teir_cpu_vectors(const struct teir_cpu_blocks *,
                       const struct teir_cpu_math *, void *columns, bool masks,
                       bool turned);
/* Rows that are multiplied at once where all sizes are known. */
int64_t teir_cpu_straight_height(const struct teir_cpu *, int vectors,
                                 int64_t m);

/* ---- which code there is for a product ---- */

/* What is known when compiling: of the axes of a role, which are one. */
struct teir_cpu_form {
  enum dtype type[TENSORS], sum;
  bool one_axis;              /* of each role, at most */
  int64_t extent[AXIS_ROLES]; /* 0: not known */
  bool dense[AXIS_ROLES][TENSORS];
  bool finishes;
  bool limited; /* packing leaves out elements */
  /* The row that computes it, or, if `others`, one of its architecture; NULL:
   * any row. */
  const struct teir_cpu *cpu;
  bool others;
};
/* A matrix, in1, and a vector: in1 is adjacent along K, or along N. */
enum teir_cpu_vector { CPU_VECTOR_NO, CPU_VECTOR_DOT, CPU_VECTOR_ADD };
struct teir_cpu_ways {
  bool packed, direct, turned;
  enum teir_cpu_vector vector;
  /* Of a product of matrices that may turn out to have one row, or one column
   * or a few: what it is then (a column's M and N, in0 and in1 having changed
   * places). */
  enum teir_cpu_vector row, column;
  bool straight; /* code without loops, if strides are known */
};
/* What some processor needs. */
struct teir_cpu_ways teir_cpu_choose_ways(const struct teir_cpu_form *);
/* What is computed as if in0 and in1, M and N had changed places: the result
 * is dense along N if along one of them. */
bool teir_cpu_exchanges(const bool has[AXIS_ROLES], bool m_dense, bool n_dense);

/* The loops as the source has them, which can run instead. */
struct teir_cpu_loops {
  void *entered,
      *inner;       /* how often the innermost one is, and its iterations */
  void *adjacent;   /* condition: elements that it moves over are neighbours */
  bool stores;      /* so does the result: every iteration stores */
  bool known;       /* all extents and strides, when the program is compiled */
  int vector_bytes; /* that compilers use on the processor */
  bool old;         /* for which they have SSE2 alone */
};
/* Has it so few rows, or columns, that each is a product of a matrix and a
 * vector?  Then the matrix is read from memory once. */
void *teir_cpu_has_few_rows(const struct teir_cpu_math *,
                            const struct teir_cpu_size *, enum teir_cpu_vector);
void *teir_cpu_has_few_columns(const struct teir_cpu_math *,
                               const struct teir_cpu_size *,
                               enum teir_cpu_vector);
/* Are there so many rows, or columns, that dot products with each of so many
 * vectors are worth gathering these where their elements, of so many bytes, are
 * not adjacent?  A step of all has so many bytes at most. */
enum { TEIR_CPU_GATHERED_ROWS = 16, TEIR_CPU_GATHERED_COLUMNS = 32 };
void *teir_cpu_gathers(const struct teir_cpu_math *, void *vectors, void *rows,
                       int bytes, int most_bytes);
/* Those, and that it has the strides that the code for such needs; NULL where
 * the ways have none. */
struct teir_cpu_thin {
  void *row, *column;
};
/* Is the code faster?  type: of in1, and of the sums.  summed: what is added to
 * the sums follows from those of all elements of in0, of in1. */
void *teir_cpu_pays(const struct teir_cpu *, const struct teir_cpu_math *,
                    const struct teir_cpu_size *, const struct teir_cpu_thin *,
                    void *batches, const struct teir_cpu_ways *,
                    const enum dtype type[2], const bool summed[2],
                    const struct teir_cpu_loops *);

/* May it be, of a matrix and a vector?  What is asked in front of the call: no
 * code is faster than loops that are as short as that. */
void *teir_cpu_may_pay(const struct teir_cpu_math *, const enum dtype type[2],
                       const struct teir_cpu_loops *);
/* Is it at sizes for which that holds, whatever else it asks, but for a few
 * where both are alike?  NULL: there are none of such types. */
void *teir_cpu_surely_pays(const struct teir_cpu_math *,
                           const struct teir_cpu_size *,
                           const enum dtype type[2]);

/* Multiplications of a product for each thread that computes a part of it. */
enum { TEIR_CPU_THREAD_MACS = 4 << 20 };

/* Of a product of a matrix and a vector: rows, or steps, at once; vectors, of a
 * few; columns that stay in the first cache, or in a buffer. */
enum {
  TEIR_CPU_TOGETHER = 8,
  TEIR_CPU_FEW_TOGETHER = 4,
  TEIR_CPU_BUFFER_COLUMNS = 1024,
  TEIR_CPU_FEW_COLUMNS = 8,
  TEIR_CPU_FEW_ROWS = 8,
  TEIR_CPU_RESULT_BYTES = 16 << 10,
  TEIR_CPU_NEAR_BYTES = 128 << 10 /* of a matrix that is read in parts */
};

#endif
