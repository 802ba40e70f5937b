/* recognizer.h -- "is this loop nest a contraction?"
 *
 * A nest goes in (loops and the statements in them); a contraction or a reason
 * why not comes out.  Nothing here knows LLVM: passes/nest/read_ir.cpp builds
 * nests from IR, nest_parse.c from text.  Sizes and strides are values:
 * constants, or symbols, which the program computes before it enters the nest.
 */
#ifndef NPUTEIR_RECOGNIZER_H
#define NPUTEIR_RECOGNIZER_H

#include "base.h"
#include "calc.h"
#include "tensor.h"

/* One loop of the contraction: how far it runs and how each tensor moves. */
struct contraction_axis {
  const char *name;
  enum axis_role role;
  struct value extent; /* <= 0 at run time: the loop does nothing */
  struct value stride_bytes[TENSORS];
  struct loc at;
};

/* Something that must hold at run time before the contraction may replace the
 * nest: large >= small * count, or else, if `either`, small >= large * turned,
 * in 64-bit signed numbers without overflow. */
struct contraction_guard {
  struct value large, small, count, turned;
  bool either;
};

/* What the tail reads beside the sum and out: elements of a tensor that move
 * along C, M and N axes only, or a number that the program knows before it
 * enters the nest. */
struct contraction_extra {
  int tensor;  /* index into nest.tensor; -1: a number from outside */
  int outside; /* index into nest.outside; -1: a tensor */
  enum dtype type;
  bool not_out; /* its address must differ from out's at run time: the source
                 * may read it behind a store to out, the tail reads first */
  int64_t offset_bytes, rows; /* as in nest_access */
  struct value *stride_bytes; /* [axis_count] */
};

enum { TAIL_SUM, TAIL_OUT, TAIL_EXTRA }; /* inputs of a tail */
enum { MAP_ELEMENT, MAP_EXTRA };         /* inputs of a map */

/* A run-time value that is the product of two others, modulo 2^64. */
struct contraction_product {
  struct value factor[2];
};

/* sum = sum over K of in0[..] * in1[..], or of what maps make of these, in type
 * acc, of the products for which all limits hold: nothing of the others is
 * read; then
 *   without a tail  out[..] = (accumulate ? out[..] : 0) + sum
 *   with one        out[..] = tail(sum, out[..], extra[0], extra[1], ..) */
struct contraction {
  struct loc at; /* the outermost loop */
  int axis_count;
  struct contraction_axis *axis; /* in the order of the source's loops */
  enum dtype type[TENSORS];
  enum dtype acc; /* type in which the source forms the sum */
  bool accumulate;
  int symbol_count; /* run-time values, 64-bit signed integers: the nest's,
                     * and behind them the products */
  const char **symbol;
  int product_count;
  struct contraction_product *product;
  int tensor[TENSORS];           /* indices into nest.tensor; -1: `first` */
  int64_t offset_bytes[TENSORS]; /* of element 0 from the tensor's address */
  int64_t rows[TENSORS];         /* and so many times the tensor's pitch */
  /* What is multiplied in the place of an input's element, an integer or a
   * float as the sum is; its inputs are numbered MAP_..  NULL: the element.
   * With one, a tail, too. */
  const struct calc *map[2];
  const struct calc *tail; /* NULL: none; its inputs are numbered TAIL_.. */
  int extra_count;
  struct contraction_extra *extra;
  int guard_count; /* no two iterations may share a place of out */
  struct contraction_guard *guard;
  /* Of three factors: what makes an intermediate tensor, without gaps and kept
   * nowhere else, which is input `intermediate` here.  It has the same symbols,
   * and neither tail, extras nor guards.  NULL: none. */
  const struct contraction *first;
  int intermediate; /* IN0 or IN1 */
  /* Each moves with axes of in0, or of in1; or with one of M and one of N, and
   * says which elements of out there are: others are neither read nor written.
   */
  int limit_count;
  struct affine_guard *limit;
};

/* What two contractions cost, and the nest of three factors that they replace,
 * which multiplies twice in every iteration. */
struct contraction_cost {
  double first, second; /* multiplications */
  double elements;      /* of the intermediate */
  double iterations;    /* of the nest */
};
double contraction_work(struct contraction_cost);
bool contraction_pays(struct contraction_cost);

const char *axis_role_name(enum axis_role); /* "C" "M" "N" "K" */
void contraction_print(const struct contraction *, struct text *);
/* "mk,kn->mn": letters from the axes' roles, the fastest moving axis last. */
void contraction_einsum(const struct contraction *, struct text *);
/* "m=64 n=n_j k=16": each letter of the einsum with its extent. */
void contraction_sizes(const struct contraction *, struct text *);

/* ---- the nest ---- */

/* Loops refer to the loop around them, which comes earlier in nest.loop.
 *
 * A point loop may be cut by a tile loop around it, as in manual tiling:
 *     for (p = 0; p < n; p += 16) for (i = p; i < min(p + 16, n); i++)
 * Each iteration of p runs the next tile of i, all of them together run the
 * whole extent of i, and iterations of i are numbered through: p moves an
 * address only by what the numbers of i do not.
 *
 * A loop may go on where the loop before it has ended, as the remainder loop
 * of one that was unrolled by hand:
 *     for (k = 0; k + 3 < n; k += 4) ..    for (; k < n; k++) ..
 * Its numbers begin at the other's extent, which is one of the other's, too:
 * the first loop has extent n / 4 * 4, the second has extent n. */
struct nest_loop {
  const char *name;
  int parent;          /* -1: the outermost loop */
  int cut_by;          /* -1: it runs as a whole */
  int after;           /* a loop in the same parent; -1: it begins at zero */
  int64_t step;        /* from an iteration's number to the next; mostly 1 */
  bool down;           /* from the last iteration to the first */
  struct value extent; /* above the last number, and not below the first */
  struct loc at;
};

/* A place in memory: the tensor's address, a distance from it at iteration zero
 * of every loop, and how far each loop of the nest moves it.  The distance is
 * offset_bytes + rows * pitch of the tensor; strides are from number to number
 * of an iteration. */
struct nest_access {
  int tensor;
  enum dtype type;
  int64_t offset_bytes;
  int64_t rows;               /* 0 in a tensor without a pitch */
  struct value *stride_bytes; /* [loop_count] */
};

enum nest_op {
  NEST_LOAD,    /* memory at `access` */
  NEST_SCALAR,  /* the present value of scalar variable `scalar` */
  NEST_OUTSIDE, /* number `outside`, which is known before the nest */
  NEST_LIMIT,   /* 1 where `limit` holds, else 0; of type u8 */
  NEST_OTHER,   /* anything else; `what` says what, in a programmer's words */
/* NEST_NUMBER, NEST_ADD, ..: as in calc.h */
#define CALC(id, ...) NEST_##id,
#include "calc.def"
#undef CALC
};

/* Of NEST_NUMBER and what follows it. */
enum calc_op nest_calc_op(enum nest_op);

struct nest_expr {
  enum nest_op op;
  enum dtype type;
  bool reassoc;    /* arithmetic on floats: the source permits another order */
  double number;   /* NUMBER; of an integer type: `integer` as a float */
  int64_t integer; /* NUMBER of an integer type */
  struct nest_access access;
  bool conditional; /* LOAD: only limits decide where it runs */
  struct affine_guard limit;
  int loop;  /* LOAD, LIMIT: the innermost loop around it */
  int order; /* LOAD: its place in program order */
  int scalar, outside;
  const char *what;
  const struct nest_expr *arg[CALC_OPERANDS];
  struct loc at;
};

/* A store to memory, or an assignment to a scalar variable.  It runs once in
 * every iteration of the loops around it, after all that has a lower order;
 * assignments of one order happen at once.  A conditional store does so only
 * where limits hold: choices between the stored value and the old content say
 * which. */
struct nest_statement {
  bool is_store, conditional;
  int loop; /* the innermost loop around it; -1: before the outermost */
  int order;
  struct nest_access to; /* a store's place */
  int scalar;            /* else the variable */
  const struct nest_expr *value;
  struct loc at;
};

/* One symbol is so many times another. */
struct nest_multiple {
  int symbol, of;
  int64_t times;
};

struct nest {
  const char *function; /* NULL: not known */
  struct loc at;
  int loop_count, tensor_count, symbol_count, scalar_count, statement_count;
  int outside_count;
  struct nest_loop *loop;
  const char **tensor;
  int *pitch;  /* [tensor_count]; a symbol, in bytes; -1: none */
  bool *local; /* [tensor_count]; nothing but the nest can reach it, and what it
                * holds before and after the nest does not matter */
  const char **symbol;
  const char **scalar;
  const char **outside; /* numbers that are known before the nest */
  int multiple_count;
  struct nest_multiple *multiple;
  bool infinite; /* floats may be infinite or NaN: zero times one is not zero */
  /* Of two loops, which of their iterations there are, in each of which some
   * store goes to a place of its own.  Each of either loop has some of the
   * other.  Steps of other loops that are the second one, too, are the same.
   * NULL: all. */
  const struct affine_guard *within;
  struct nest_statement *statement; /* in program order */
};

/* Everything that an IR reader may get wrong: indices in range, parents first,
 * orders ascending, loops contiguous.  A nest that fails is an error, not
 * declined. */
bool nest_check(const struct nest *, struct diag *);
struct nest *nest_parse(struct arena *, const char *file, const char *text,
                        struct diag *);
void nest_print(const struct nest *, struct text *);

/* ---- the verdict: one stable name per reason ---- */
enum rule {
#define RULE(id, ...) RULE_##id,
#include "rule.def"
#undef RULE
  RULE_COUNT
};
const char *rule_name(enum rule);   /* "NeedsReassoc" */
const char *rule_meaning(enum rule);
const char *rule_advice(enum rule); /* what would change it; NULL: nothing */

struct verdict {
  enum rule rule; /* RULE_TAKEN or the first rule broken */
  struct diag diag;
  /* What a decision by size rests on; zero: sizes are known at run time only.
   * Bytes are those of all elements, each counted once. */
  int64_t macs, bytes;
};
/* Declines for `rule` unless *v has been declined already; returns false. */
bool verdict_decline(struct verdict *v, enum rule rule, struct loc at,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- options: one grammar, from every option source ---- */
enum fp_mode { FP_STRICT, FP_RELAXED };
/* What becomes of float and double inputs: kept from the NPU, rounded to bf16,
 * or split into two bf16 each and multiplied three times (2^-16 relative). */
enum f32_mode { F32_KEEP, F32_BF16, F32_BF16X3 };
/* Whether an NPU that multiplies bf16 as block floats alone may: 8 values share
 * an exponent, so that one is off by 2^-7 of the largest of them at most. */
enum bf16_mode { BF16_EXACT, BF16_BFP16 };
/* Whether there is code for the processor beside a call: CPU_AUTO leaves it to
 * options_cpu_beside(). */
enum cpu_mode { CPU_OFF, CPU_ON, CPU_AUTO };
struct options {
  const char *device; /* NULL: not given */
  const char *preset; /* NULL: not given */
  enum fp_mode fp;
  enum f32_mode f32;
  enum bf16_mode bf16;
  int64_t min_macs; /* -1: not given */
  bool off, require;
  enum cpu_mode cpu;
  bool resident; /* an NPU's transactions stay for the next launches */
};
struct options options_default(void);
/* Nothing but code for the processor is wanted. */
bool options_on_cpu(const struct options *);
/* Floats wider than 16 bits are multiplied as such, or may be rounded. */
bool options_wide_floats(const struct options *);
/* Code for the processor is wanted beside the call.  Where nothing is said it
 * is, but not where code shall be small, where a simulator or the host is to
 * do the work of tests, or where every nest must reach the device. */
bool options_cpu_beside(const struct options *, bool small_code);
/* "device=npu1,preset=phoenix,fp=relaxed,min-macs=4096,off,require",
 * comma or semicolon between items; later items win.  `source` names
 * the origin of the text in messages. */
bool options_parse(struct options *, struct arena *, const char *source,
                   const char *text, struct diag *);
/* The items that the runtime must know, in the same grammar. */
void options_print(const struct options *, struct text *);

/* ---- the question ---- */
/* The contraction that the nest computes; NULL and *v filled if it is none, or
 * may not be taken under these options. */
struct contraction *recognize(struct arena *, const struct nest *,
                              const struct options *, struct verdict *v);

#endif
