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
};

const char *axis_role_name(enum axis_role); /* "C" "M" "N" "K" */
void contraction_print(const struct contraction *, struct text *);
/* "mk,kn->mn": letters from the axes' roles and order. */
void contraction_einsum(const struct contraction *, struct text *);

#endif
