/* simulate.h -- a compiled program on the simulated array, with numbers whose
 * sums are exact in any order, against the schedule's own meaning. */
#ifndef NPUTEIR_TOOL_SIMULATE_H
#define NPUTEIR_TOOL_SIMULATE_H

#include "npu.h"
#include "sim.h"

/* Sees the array after a run, also one that failed. */
struct simulate_watch {
  void (*ran)(void *context, const struct sim *);
  void *context;
};

/* Runs it on tensors of its own; without a watch, or one without ran, nobody
 * looks.  Compared are all bytes of out, also those
 * that the program must leave alone, with the TEIR's interpreter where that
 * has little to do; else a sample of elements with sums formed here.  False
 * and *d: it cannot run, or a result is wrong. */
bool simulate(const struct npu_result *, const struct sim_options *,
              const struct simulate_watch *, struct sim_report *,
              struct diag *);

#endif
