/* progress.h -- how far a simulation has come, on a terminal, and its end by
 * Ctrl-C.  What takes longer than two seconds shows a line on standard error,
 * if that is a terminal: part, cycles, time that remains. */
#ifndef NPUTEIR_TOOL_PROGRESS_H
#define NPUTEIR_TOOL_PROGRESS_H

#include "sim.h"

struct progress {
  double expected_cycles; /* of all runs; 0: not known */
  int64_t runs, run;      /* how many there are, and which one it is now */
  bool quiet;             /* show nothing */
  double start, next;     /* seconds */
  bool shown, terminal;
  bool stopped; /* by Ctrl-C */
};

/* Runs with these options are shown, and end when the user presses Ctrl-C.
 * Between begin and end nothing else may handle SIGINT. */
void progress_begin(struct progress *, struct sim_options *);
void progress_end(struct progress *);

#endif
