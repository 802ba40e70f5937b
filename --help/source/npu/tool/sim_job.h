/* sim_job.h -- a run on the simulated array as words ask for it: an xclbin with
 * its transaction and argument files, or a program that is compiled first.
 * What `sim` and `profile` share. */
#ifndef NPUTEIR_TOOL_SIM_JOB_H
#define NPUTEIR_TOOL_SIM_JOB_H

#include "job.h"
#include "simulate.h"

enum { SIM_JOB_ARGUMENTS = 32 };

struct sim_job_output {
  int argument;
  size_t bytes;
  const char *path;
};

struct sim_job {
  struct job program;
  const char *name; /* the first operand */
  const char *xclbin, *txn;
  const struct preset *preset;
  struct sim_buffer argument[SIM_JOB_ARGUMENTS];
  int argument_count, given; /* given: by --arg */
  struct sim_job_output output[SIM_JOB_ARGUMENTS];
  int output_count;
  int64_t repeat, budget;
  bool trace, strict;
  /* Who wants to look: then runs are recorded, and nothing is printed. */
  struct simulate_watch watch;
  /* A program, before it runs; or NULL.  Gets the watch's context. */
  void (*compiled)(void *context, const struct npu_result *);
};
extern const struct sim_job sim_job_defaults;

extern const struct tool_option sim_job_options[]; /* but for operands */
/* The first operand, into a struct sim_job. */
bool sim_job_read_input(struct tool *, void *job, const char *word);
bool sim_job_run(struct tool *, void *job);

#endif
