/* teir.h -- where blocks lie (axes), when work runs (schedule), what runs
 * (primitives): the Tiled Execution IR of the specification's chapter 10.
 *
 * const arguments are borrowed.  Results live in the arena you pass and die
 * with it.  A call that fails returns NULL or false and has filled *d.
 * Inside the IR everything refers by index, so that it prints, compares,
 * copies and survives growth.
 */
#ifndef NPUTEIR_TEIR_H
#define NPUTEIR_TEIR_H

#include "tensor.h"

struct calc;
struct contraction;

/* Extents, strides and offsets are constants or run-time values, named in
 * teir.symbol and filled in by teir_bind. */
struct value teir_constant(int64_t);

struct teir_tensor {
  const char *id; /* "in0", "in1", "out" by convention */
  enum dtype type;
  struct loc at;
};

struct teir_axis {
  const char *id;
  struct value extent;        /* positive */
  struct value *stride_bytes; /* [tensor_count], non-negative */
  struct value *offset_bytes; /* [tensor_count], may be negative */
  struct loc at;
};

/* The chapter's four operations, then the element-wise tails of nests:
 * a bias is an Add whose input has stride 0 along M or N. */
enum teir_op {
  TEIR_ZERO,        /* out = 0 */
  TEIR_COPY,        /* out = in0 */
  TEIR_RELU,        /* out = max(out, 0) */
  TEIR_CONTRACTION, /* out += sum over K of in0 * in1 */
  TEIR_SCALE,       /* out = alpha * out */
  TEIR_ADD,         /* out += beta * in0 */
  TEIR_CLAMP,       /* out = min(max(out, low), high) */
  TEIR_SHIFT,       /* out = saturate(round(in0 / 2^shift)) */
  TEIR_CAST,        /* out = in0, converted to out's type */
  TEIR_MAP,         /* out = an expression over any inputs */
  TEIR_OPS
};
enum teir_role { TEIR_M, TEIR_N, TEIR_K, TEIR_ROLES };
enum { TEIR_TENSORS = 64 };  /* that a file may have */
enum { TEIR_OPERANDS = 17 }; /* of a primitive at most: CALC_INPUTS, output */

/* A role's axes, outermost first; axes are indices into teir.axis. */
struct teir_list {
  int count;
  int *item;
};

/* Metadata: `key`=`value`, both words or numbers as text. */
struct teir_property {
  const char *key, *value;
};

struct teir_primitive {
  const char *id;
  enum teir_op op;
  struct teir_list role[TEIR_ROLES]; /* K is used by Contraction only */
  struct teir_list operand; /* tensors: inputs, then output; count 0: by the
                             * names in0, in1, out (ask teir_input) */
  const struct calc *expr;  /* Map: over its inputs, by their places */
  int property_count;
  struct teir_property *property;
  struct loc at;
};

enum teir_node_kind { TEIR_ITERATION, TEIR_INVOCATION };
enum teir_policy { TEIR_SEQUENTIAL, TEIR_PARALLEL };
/* Device mapping is added information on a schedule, never another IR. */
enum teir_place { TEIR_ANYWHERE, TEIR_ROWS, TEIR_COLUMNS, TEIR_TIME };

struct teir_guard_term {
  bool last; /* else first */
  int axis;
};

struct teir_node {
  const char *id;
  enum teir_node_kind kind;
  int axis; /* iteration: index into teir.axis */
  enum teir_policy policy;
  enum teir_place place;
  struct teir_list children; /* iteration: indices into teir.node */
  int primitive;             /* invocation: index into teir.primitive */
  int guard_count;           /* 0: none */
  struct teir_guard_term *guard;
  struct loc at;
};

struct teir {
  const char *file;
  int symbol_count, tensor_count, axis_count, primitive_count, node_count;
  const char **symbol;
  struct teir_tensor *tensor;
  struct teir_axis *axis;
  struct teir_primitive *primitive;
  struct teir_node *node;
  struct teir_list roots;
  int limit_count; /* of all Contractions.  They are kept when a program is run;
                    * transformations decline programs that have any */
  struct affine_guard *limit;
};

/* ---- build, read, write ---- */
/* The plain, untiled TEIR of a contraction, tensors in order in0, in1, out:
 * one iteration per axis around scalar primitives. */
struct teir *teir_from_contraction(struct arena *, const struct contraction *,
                                   struct diag *);
struct teir *teir_parse(struct arena *, const char *file, const char *text,
                        struct diag *); /* parses and verifies */
void teir_print(const struct teir *, struct text *);
/* The same program with symbol s replaced by value[s]. */
struct teir *teir_bind(struct arena *, const struct teir *,
                       const int64_t *value, int value_count, struct diag *);

/* ---- ask ---- */
bool teir_verify(const struct teir *, struct diag *);
int teir_find_axis(const struct teir *, const char *id);      /* -1: none */
int teir_find_node(const struct teir *, const char *id);      /* -1: none */
int teir_find_primitive(const struct teir *, const char *id); /* -1: none */
int teir_find_tensor(const struct teir *, const char *id);    /* -1: none */
int teir_find_symbol(const struct teir *, const char *id);    /* -1: none */
const char *teir_op_name(enum teir_op); /* "Contraction" */
/* The tensors that a primitive reads, in place counts as one; the tensor that
 * it reads as input i, or writes, -1: none. */
int teir_input_count(const struct teir *, int primitive);
int teir_input(const struct teir *, int primitive, int i);
int teir_output(const struct teir *, int primitive);
/* A primitive's metadata; NULL: not given. */
const char *teir_property(const struct teir *, int primitive, const char *key);
/* The bytes that the program touches of a tensor lie at base + low .. base +
 * high - 1 (0, 0: untouched).  The program is well formed, nothing is
 * symbolic. */
bool teir_footprint(const struct teir *, int tensor, int64_t *low,
                    int64_t *high, struct diag *);

/* ---- transform: each gives a new program with the same meaning ---- */
/* `axis` cut into an outer axis "<id>.o", which is appended, and an inner axis
 * "<id>.i" of extent `inner`, which must divide the extent and which keeps the
 * index `axis`.  Loops over the axis become two nested loops, the inner one
 * called "<node>.i"; role lists get both, the outer first. */
struct teir *teir_split(struct arena *, const struct teir *, int axis,
                        int64_t inner, struct diag *);

/* ---- execute on host memory: the oracle for everything below ---- */
/* tensor[i] is the base address of teir.tensor[i]; nothing is symbolic.
 * Integers are exact modulo 2^n.  A Contraction sums in the type of its
 * property "acc", by default in f32 (f64 when a tensor is f64), and rounds to
 * out's type once per invocation. */
bool teir_run(const struct teir *, void *const tensor[], struct diag *);

#endif
