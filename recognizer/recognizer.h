/* recognizer.h -- "is this loop nest a contraction?"
 *
 * A nest goes in (loops, accesses, one update); a contraction or a reason why
 * not comes out.  Nothing here knows LLVM: passes/read_ir.cpp builds nests from
 * IR, nest_text.c from text.  Sizes and strides are values: constants, or
 * symbols, which the program computes before it enters the nest.
 */
#ifndef NPUTEIR_RECOGNIZER_H
#define NPUTEIR_RECOGNIZER_H

#include "base.h"

/* A number known now (symbol < 0), or run-time value number `symbol`. */
struct value {
  int64_t constant;
  int symbol;
};

enum { IN0, IN1, OUT, TENSORS };

enum axis_role { AXIS_C, AXIS_M, AXIS_N, AXIS_K };

/* One loop of the contraction: how far it runs and how each tensor moves. */
struct contraction_axis {
  const char *name;
  enum axis_role role; /* C moves all, M in0+out, N in1+out, K in0+in1 */
  struct value extent; /* <= 0 at run time: the loop does nothing */
  struct value stride_bytes[TENSORS];
  struct loc at;
};

/* Something that must hold at run time before the contraction may replace the
 * nest: large >= small * count, in 64-bit signed numbers without overflow. */
struct contraction_guard {
  struct value large, small, count;
};

/* out[..] = (accumulate ? out[..] : 0) + sum over K of in0[..] * in1[..] */
struct contraction {
  struct loc at; /* the outermost loop */
  int axis_count;
  struct contraction_axis *axis; /* in the order of the source's loops */
  enum dtype type[TENSORS];
  enum dtype acc; /* type in which the source forms the sum */
  bool accumulate;
  int symbol_count; /* run-time values, 64-bit signed integers */
  const char **symbol;
  int tensor[TENSORS]; /* indices into nest.tensor */
  int guard_count;     /* no two iterations may share a place of out */
  struct contraction_guard *guard;
};

const char *axis_role_name(enum axis_role); /* "C" "M" "N" "K" */
void contraction_print(const struct contraction *, struct text *);
/* "mk,kn->mn": letters from the axes' roles, the fastest moving axis last. */
void contraction_einsum(const struct contraction *, struct text *);
/* "m=64 n=n_j k=16": each letter of the einsum with its extent. */
void contraction_sizes(const struct contraction *, struct text *);

/* ---- the nest ---- */

/* Loops refer to the loop around them, which comes earlier in nest.loop. */
struct nest_loop {
  const char *name;
  int parent; /* -1: the outermost loop */
  struct value extent;
  struct loc at;
};

/* A place in memory: the tensor's address at iteration zero of every loop, and
 * how far each loop of the nest moves it. */
struct nest_access {
  int tensor;
  enum dtype type;
  struct value *stride_bytes; /* [loop_count] */
};

enum nest_op {
  NEST_NUMBER, /* a constant */
  NEST_LOAD,   /* memory at `access` */
  NEST_SCALAR, /* the present value of scalar variable `scalar` */
  NEST_ADD,
  NEST_SUB,
  NEST_MUL,
  NEST_CAST,  /* lhs converted to `type` */
  NEST_OTHER, /* anything else; `what` says what, in a programmer's words */
};

struct nest_expr {
  enum nest_op op;
  enum dtype type;
  bool reassoc; /* ADD of floats: the source permits another order */
  double number;
  struct nest_access access;
  int loop;  /* LOAD: the innermost loop around it */
  int order; /* LOAD: its place in program order */
  int scalar;
  const char *what;
  const struct nest_expr *lhs, *rhs;
  struct loc at;
};

/* A store to memory, or an assignment to a scalar variable.  It runs once in
 * every iteration of the loops around it, after all that has a lower order. */
struct nest_statement {
  bool is_store;
  int loop; /* the innermost loop around it; -1: before the outermost */
  int order;
  struct nest_access to; /* a store's place */
  int scalar;            /* else the variable */
  const struct nest_expr *value;
  struct loc at;
};

struct nest {
  const char *function; /* NULL: not known */
  struct loc at;
  int loop_count, tensor_count, symbol_count, scalar_count, statement_count;
  struct nest_loop *loop;
  const char **tensor;
  const char **symbol;
  const char **scalar;
  struct nest_statement *statement; /* in program order */
};

/* Everything that an IR reader may get wrong: indices in range, parents first,
 * orders ascending.  A nest that fails is an error, not declined. */
bool nest_check(const struct nest *, struct diag *);
struct nest *nest_parse(struct arena *, const char *file, const char *text,
                        struct diag *);
void nest_print(const struct nest *, struct text *);

/* ---- the verdict: one stable name per reason ---- */
enum rule {
#define RULE(id, name, advice) RULE_##id,
#include "rule.def"
#undef RULE
  RULE_COUNT
};
const char *rule_name(enum rule);   /* "NeedsReassoc" */
const char *rule_advice(enum rule); /* what would change it; NULL: nothing */

struct verdict {
  enum rule rule; /* RULE_TAKEN or the first rule broken */
  struct diag diag;
};
/* Declines for `rule` unless *v has been declined already; returns false. */
bool verdict_decline(struct verdict *v, enum rule rule, struct loc at,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- options: one grammar, whichever door they come through ---- */
enum fp_mode { FP_STRICT, FP_RELAXED };
struct options {
  const char *device; /* NULL: not given */
  const char *preset; /* NULL: not given */
  enum fp_mode fp;
  int64_t min_macs; /* -1: not given */
  bool off, require;
};
struct options options_default(void);
/* "device=npu1,preset=phoenix,fp=relaxed,min-macs=4096,off,require",
 * comma or semicolon between items; later items win.  `door` names the source
 * of the text in the message. */
bool options_parse(struct options *, struct arena *, const char *door,
                   const char *text, struct diag *);
/* The items that the runtime must know, in the same grammar. */
void options_print(const struct options *, struct text *);

/* ---- the question ---- */
/* The contraction that the nest computes; NULL and *v filled if it is none, or
 * may not be taken under these options. */
struct contraction *recognize(struct arena *, const struct nest *,
                              const struct options *, struct verdict *v);

#endif
