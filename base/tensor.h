/* tensor.h -- nouns that all stages share, from the recogniser to the array:
 * the tensors of a contraction, the roles of its axes, numbers that are known
 * now or at run time, and conditions on indices. */
#ifndef NPUTEIR_TENSOR_H
#define NPUTEIR_TENSOR_H

#include "base.h"

/* The sums are a tensor of their own where they are not out's elements; what
 * an epilogue reads beside them and out comes behind. */
enum { IN0, IN1, OUT, TENSORS, SUMS = TENSORS, EXTRAS };
/* "in0", "in1" or "out". */
const char *tensor_name(int tensor);

/* C moves all three, M in0 and out, N in1 and out, K in0 and in1. */
enum axis_role { AXIS_C, AXIS_M, AXIS_N, AXIS_K, AXIS_ROLES };

/* A number known now (symbol < 0), or run-time value number `symbol`. */
struct value {
  int64_t constant;
  int symbol;
};

/* A condition on indices: start + the sum of step times index is not below
 * zero or, with `below`, is. */
struct affine_guard {
  struct value start;
  struct value *step; /* per loop of a nest, per axis of what comes after it */
  bool below;
  bool last; /* of a nest: one loop moves the sum up, to zero in iteration
                extent - 1 */
  struct loc at;
};

#endif
