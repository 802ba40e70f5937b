/* teir_choose.h -- picks a schedule for a contraction from a plain description
 * of a machine: which axes a primitive consumes, block sizes, what goes over
 * rows and columns, buffers of the output, length of contiguous runs.
 *
 * The model is Taka et al.'s (equations 1 to 10), searched exhaustively.  What
 * they measured per kernel is a number of the machine here: every block of the
 * output is loaded and stored once per step along K.  Nothing is symbolic.
 */
#ifndef NPUTEIR_TEIR_CHOOSE_H
#define NPUTEIR_TEIR_CHOOSE_H

#include "teir.h"

enum { TEIR_MACHINE_RUNS = 8 };

struct teir_machine {
  int rows, columns;          /* cores */
  double clock_hz, peak_macs; /* per core and cycle */
  int unit_m, unit_n, unit_k; /* blocks are multiples of these */
  int64_t l1_bytes, l2_bytes; /* of one core; of all second-level memory */
  double l1_bytes_per_cycle;  /* of one input stream of a core */
  /* Loading and storing accumulators, cycles per element of a block of out:
   * base + per byte of its type. */
  double out_cycles, out_cycles_per_byte;
  int run_count; /* bytes per second by the length of contiguous runs */
  struct {
    int64_t run_bytes;
    double bytes_per_second;
  } run[TEIR_MACHINE_RUNS]; /* shortest first */
};
/* "<key> <number>" lines: the fields above by name, and "run <bytes> <B/s>".
 * '#' starts a comment; what is not given keeps its value. */
bool teir_machine_parse(const char *file, const char *text,
                        struct teir_machine *, struct diag *);
void teir_machine_print(const struct teir_machine *, struct text *);
/* "xdna" or "xdna2", as Taka et al. describe them for inputs of a type. */
bool teir_machine_preset(const char *name, enum dtype in,
                         struct teir_machine *);

/* What is fixed beforehand; 0, NULL or TEIR_ROLES leave the choice free. */
struct teir_wish {
  const char *axis_m, *axis_n, *axis_k; /* for the primitive */
  const char *rows, *columns;           /* axes that go over them */
  int64_t block_m, block_n, block_k, run_k;
  enum teir_role over_rows; /* M or N */
  int out_buffers;          /* 1 or 2 */
};

enum teir_bound { TEIR_BOUND_COMPUTE, TEIR_BOUND_L1, TEIR_BOUND_DRAM };

struct teir_choice {
  int axis[TEIR_ROLES];    /* the primitive's, -1: none; in `program` */
  int spatial[TEIR_ROLES]; /* M and N: the axis that goes over cores, or -1 */
  int lanes[TEIR_ROLES];   /* cores that M and N are spread over */
  enum teir_role over_rows;
  int64_t block[TEIR_ROLES];
  int64_t run_k; /* elements along K per block in the second level */
  int out_buffers;
  bool lowers;             /* the primitive is a GEMM as it stands */
  int64_t rounds, steps_k; /* blocks of out per core; blocks of K per round */
  double efficiency;       /* of a core while it computes a block */
  double l1_bytes, l2_bytes;
  double dram_bytes[3]; /* in0, in1, out */
  double compute_seconds, dram_seconds, seconds;
  enum teir_bound bound;
  long candidates;      /* block sizes that were weighed */
  struct teir *program; /* the contraction with axes fused where they can be */
};

bool teir_choose(struct arena *, const struct teir *,
                 const struct teir_machine *, const struct teir_wish *,
                 struct teir_choice *, struct diag *);
/* The choice in words: the bound that binds, traffic per level, time. */
void teir_choice_explain(const struct teir_choice *,
                         const struct teir_machine *, struct text *);
/* The schedule: branches for whole and for remaining blocks, each with loops
 * over rows, columns and time around one primitive. */
struct teir *teir_choice_apply(struct arena *, const struct teir_choice *,
                               struct diag *);

#endif
