/* fake.h -- a compiler and a device for tests of the runtime around them: the
 * plan is a launch shape with layouts that the test picks, the device computes
 * the product naively on its own buffers.  Nothing of the array is needed. */
#ifndef NPUTEIR_TEST_FAKE_H
#define NPUTEIR_TEST_FAKE_H

#include "run.h"
#include "teir_problem.h"

/* What the next compile gives and what happened so far. */
struct fake {
  struct teir_problem finished; /* asked for results of it, in vain */
  int64_t m, n, k;              /* launch extents; 0: those of the problem */
  int64_t gap;                  /* bytes behind every row of a buffer; 0: 8 */
  int split;  /* layouts are cut into blocks of this extent; 0: not */
  int copies; /* of each buffer; 0: one */
  double lost_seconds, saved_seconds; /* of the plan */
  int compiles, opens, launches;
  int loads, unloads; /* of configurations, one for every triple of types */
  int fail_launch;    /* this launch fails (from 1); 0: none */
  bool fail_compile, fail_open, fail_layout;
};
extern struct fake fake;
extern const struct run_compiler fake_compiler; /* its device is "fake" */
/* What a launch of a fake plan computes on device buffers. */
void fake_compute(const struct run_plan *, char *const buffer[TENSORS]);

/* XRT's classes in xrt/fake_xrt.h: which command fails, and what happened. */
struct fake_xrt {
  int hang_at, throw_at; /* commands from 1; 0: none */
  bool fail_context;
  int contexts_max, contexts; /* that there may be; now */
  int contexts_made;          /* so far */
  int commands;
  int short_waits, destroyed_while_running, freed_while_running;
};
extern struct fake_xrt fake_xrt;

#endif
