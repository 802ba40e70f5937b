/* teir_run.h -- the two halves of execution: walking a schedule, and doing one
 * call.  run.c joins them into the oracle, fast.c puts faster calls into the
 * same walk. */
#ifndef NPUTEIR_TEIR_RUN_H
#define NPUTEIR_TEIR_RUN_H

#include "teir.h"

#include <pthread.h>

struct calc_program;

/* Operands of an invocation: the inputs, then the output. */
enum { RUN_OPERANDS = TEIR_OPERANDS };

/* One loop of a primitive, with its strides on the operands. */
struct run_loop {
  int64_t extent, stride[RUN_OPERANDS];
};

/* A primitive made ready to run.  Loops [0, outer) move the output; the rest
 * sum into one element in a Contraction, and are the last loop in a Map. */
struct run_kernel {
  enum teir_op op;
  int operand_count, operand[RUN_OPERANDS];
  enum dtype type[RUN_OPERANDS];
  int64_t offset[RUN_OPERANDS]; /* of the primitive's own axes, together */
  int loop_count, outer;
  struct run_loop *loop;
  bool floating; /* the sum is formed in floating point */
  enum dtype acc;
  double alpha, low, high;
  int shift;
  bool keeps_nan; /* of a ReLU: NaN stays */
  const struct calc_program *program; /* Map: its expression, and the lock */
  pthread_mutex_t *lock;              /* under which one thread may run it */
};

/* A primitive of a verified program without symbols. */
struct run_kernel teir_run_kernel_ready(struct arena *, const struct teir *,
                                        int primitive);
/* One call, element by element; p[i] is where operand i begins, its offset
 * included. */
void teir_run_kernel_call(const struct run_kernel *,
                          char *const p[RUN_OPERANDS]);

/* Walks the schedule.  For every call: the addresses of all tensors, without
 * the offsets of the primitive's own axes.  With threads > 1 the iterations of
 * the outermost parallel loops run side by side. */
struct run_walk {
  const struct teir *t;
  int threads;
  void (*call)(const void *context, int primitive, const uint64_t *address);
  const void *context;
};
void teir_run_schedule(const struct run_walk *, void *const tensor[]);

/* What running asks of a program and its memory. */
bool teir_run_check(const struct teir *, void *const tensor[], struct diag *);

#endif
