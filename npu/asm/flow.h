/* flow.h -- inside npu/asm: the bundles of a program in order, and which bundle
 * may follow which, with delay slots and hardware loops. */
#ifndef NPUTEIR_ASM_FLOW_H
#define NPUTEIR_ASM_FLOW_H

#include "parts.h"

enum {
  DELAY_SLOTS = 5,
  HORIZON = 12 /* beyond every latency and hold, in bundles */
};

struct step {
  const struct asm_line *line; /* NULL: a nop bundle that the layout added */
  int op_count;                /* without nops */
  const struct isa_op *op[SLOT_COUNT];
  const uint64_t *touched; /* a bit per unit that they read or write */
  uint32_t address, size;
  int next[2];  /* -1: none */
  bool leaves;  /* may go on where we cannot see: call, return, p register */
  bool returns; /* by `ret` or the end of the program */
  int target;   /* of the step's own branch, -1: none or not known */
  bool calls;   /* the step's branch returns behind its delay slots */
};
struct hardware_loop {
  int first, last; /* steps of the body */
  int ls, le, lc;  /* steps that set the registers, -1: not found */
};
struct flow {
  const struct isa *isa;
  struct layout layout;
  int count;
  struct step *step;
  int loop_count;
  struct hardware_loop *loop;
};

bool flow_build(struct flow *, struct arena *, const struct asm_program *,
                struct diag *);
/* The branch of a step, or NULL. */
const struct isa_op *flow_branch(const struct isa *, const struct step *);
struct loc flow_loc(const struct flow *, int step);
/* "<operation> (line 7)", cut to fit. */
const char *flow_describe(const struct flow *, int step, const struct isa_op *,
                          char out[96]);
/* Whether any operation of the step reads or writes this unit of state. */
bool flow_touches(const struct step *, int unit);
/* Whether the operation writes this unit of state; *operand tells by what. */
bool flow_writes(const struct isa *, const struct isa_op *, int unit,
                 int *operand);
int flow_register(const struct isa *, const struct isa_op *,
                  int operand); /* -1: immediate */

/* ---- check_memory.c ---- */
bool flow_check_memory(const struct flow *, struct diag *);

#endif
